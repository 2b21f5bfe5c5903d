#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Work that is stopped and goes on: the checkpoint contract, requeue, suspend and resume, in real cgroups where there are any
# (as root) and without. A job that counts shows that no step is lost or done twice.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
api() { python3 "$WZ_SOURCE_ROOT/tests/serve/api.py" "$@"; }

# Counts to $2 in the directory $1: a step is work, a line of the ledger, and the number in memory. A checkpoint is taken when
# it is asked for, and at the end; a start goes on from the last one.
cat >"$dir/count.sh" <<'SH'
#!/bin/bash
# $1: directory, $2: steps, $3: how a checkpoint is acknowledged: file or socket
asked=
trap 'asked=yes' USR1
n=$(cat "$1/checkpoint" 2>/dev/null || echo 0)
echo "attempt $WZ_ATTEMPT restart $WZ_RESTART_COUNT node $WZ_NODE devices $CUDA_VISIBLE_DEVICES from $n" >>"$1/starts"
save() { echo "$n" >"$1/checkpoint.new" && mv "$1/checkpoint.new" "$1/checkpoint"; }
while [ "$n" -lt "$2" ]; do
	sleep 0.05
	n=$((n + 1))
	echo "$n" >>"$1/ledger"
	if [ "$asked" ]; then
		save "$1"
		asked=
		[ -e "$WZ_PREEMPT_FILE" ] && echo "told: $(cat "$WZ_PREEMPT_FILE")" >>"$1/starts"
		if [ "$3" = socket ]; then
			python3 -c 'import os,socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"ack", os.environ["WZ_SOCKET"])'
		else
			: >"$WZ_ACK_FILE"
		fi
		# What is stopped now loses nothing; what goes on works on.
		for i in 1 2 3 4 5 6 7 8 9 10; do [ -e "$WZ_PREEMPT_FILE" ] && sleep 0.1; done
	fi
done
save "$1"
SH
chmod 755 "$dir" "$dir/count.sh"
steps() { wc -l <"$dir/$1/ledger" 2>/dev/null || echo 0; }
has_steps() { [ "$(steps "$1")" -ge "$2" ]; }
exact() { # DIR STEPS: each was done, once
	seq 1 "$2" | cmp -s - "$dir/$1/ledger" || fail "the ledger of $1: $(uniq -d "$dir/$1/ledger" | tr '\n' ' ') twice, $(steps "$1") of $2"
}

try() { # $1: what it is called
	up
	mkdir -p "$dir/a$1" "$dir/b$1"
	a=$(submit --gpus 1 --gpu-type t4 --preempt signal:USR1,grace:20s,ack:file -- "$dir/count.sh" "$dir/a$1" 60 file)
	b=$(submit --gpus 1 --gpu-type t4 --preempt signal:USR1,grace:20s,ack:socket -- "$dir/count.sh" "$dir/b$1" 60 socket)
	for at in 8 20 32; do
		until_true has_steps "a$1" $at
		until_true has_steps "b$1" $at
		run 0 "$wz" requeue --reason "make room" "$a" "$b"
	done
	run 0 "$wz" wait "$a" "$b"
	exact "a$1" 60
	exact "b$1" 60
	for d in "a$1" "b$1"; do
		[ "$(grep -c '^attempt' "$dir/$d/starts")" = 4 ] || fail "attempts: $(cat "$dir/$d/starts")"
		[ "$(grep -c '^told: Preempted' "$dir/$d/starts")" = 3 ] || fail "told: $(cat "$dir/$d/starts")"
		grep -q '^attempt 4 restart 3 ' "$dir/$d/starts" || fail "restart count: $(cat "$dir/$d/starts")"
	done
	run 0 "$wz" show "$a"
	prints "attempt 1  PREEMPTED"
	prints "restarts        3"
	run 0 "$wz" logs --attempt 2 "$a"
	ok "$1: a job that counts is moved three times and loses no step (file and socket)"

	late=$(submit --gpus 1 --gpu-type t4 --preempt signal:USR1,grace:1s,ack:file -- sh -c 'trap "" USR1; echo "attempt $WZ_ATTEMPT"; [ "$WZ_ATTEMPT" -gt 1 ] || while :; do sleep 0.1; done')
	until_true is "$late" RUNNING
	# shellcheck disable=SC2317 # called by name
	listens() { "$wz" logs "$late" | grep -q 'attempt 1'; }
	until_true listens
	"$wz" logs -f "$late" >"$dir/follow$1" 2>&1 &
	follower=$!
	run 0 "$wz" requeue "$late"
	run 0 "$wz" wait "$late"
	wait "$follower" || fail "the follower ended with $?"
	printf 'attempt 1\nattempt 2\n' | cmp -s - "$dir/follow$1" || fail "follow: $(cat "$dir/follow$1")"
	ok "$1: who does not answer is stopped after the grace; a follower goes on into the next attempt"

	mkdir "$dir/s$1"
	s=$(submit --gpus 1 --gpu-type t4 --time 3s -- sh -c 'n=0; while [ $n -lt 20 ]; do sleep 0.05; n=$((n + 1)); echo $n >>"$1/ledger"; done' job "$dir/s$1")
	until_true has_steps "s$1" 4
	run 0 "$wz" suspend "$s"
	until_true is "$s" SUSPENDED
	sleep 0.3
	was=$(steps "s$1")
	sleep 3.2
	[ "$(steps "s$1")" = "$was" ] || fail "a frozen job works: $was, $(steps "s$1")"
	is "$s" SUSPENDED || fail "frozen beyond its limit it is $(state "$s")"
	run 0 "$wz" ps
	prints SUSPENDED
	run 0 "$wz" ps --state suspended --json
	prints "\"id\":$s"
	run 4 "$wz" suspend "$s"
	says "suspended"
	if [ "$2" ]; then # over a restart
		crash
		up
		is "$s" SUSPENDED || fail "after a crash: $(state "$s")"
		[ "$(steps "s$1")" = "$was" ] || fail "it works after a crash"
	fi
	run 0 "$wz" resume "$s"
	run 0 "$wz" wait "$s"
	exact "s$1" 20
	run 4 "$wz" resume "$s"
	says "ended"
	frozen=$(submit -- sleep 1000)
	until_true is "$frozen" RUNNING
	run 0 "$wz" suspend "$frozen"
	until_true is "$frozen" SUSPENDED
	run 0 "$wz" cancel "$frozen"
	run 1 "$wz" wait "$frozen"
	is "$frozen" CANCELLED || fail "a frozen one is cancelled to $(state "$frozen")"
	ok "$1: suspend freezes and stops the clock, resume goes on, a frozen job can be cancelled"

	r=$(submit -- sh -c 'python3 -c "import os,socket; s=socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect(os.environ[\"WZ_SOCKET\"]); s.send(b\"progress 25%\"); s.send(b\"checkpoint\")"; sleep 1000')
	until_true sh -c "'$wz' show --json $r | grep -q '\"progress_milli\":250'"
	until_true sh -c "'$wz' show --json $r | grep -q '\"checkpoint_us\":1'"
	api POST "/v1/jobs/$r/report" '{"progress_milli":400}' >/dev/null || fail "report"
	run 0 "$wz" show "$r"
	prints "progress_milli  400"
	run 0 "$wz" cancel "$r"
	run 1 "$wz" wait "$r"
	held=$(submit --hold -- true)
	run 4 "$wz" requeue "$held"
	says "only a job that runs"
	run 4 "$wz" suspend "$held"
	run 0 "$wz" cancel "$held"
	ok "$1: what a job says of itself; what cannot be asked"
	down
}

try plain ''
if [ "$(id -u)" = 0 ] && grep -q cgroup /proc/self/mountinfo; then
	# shellcheck disable=SC2034 # lib.sh's
	cgroup=
	try cgroup crash
else
	skip "in cgroups" "needs root and a cgroup file system"
fi
up
run 0 "$wz" trace verify --state "$state_dir"
prints "digests equal"
ok "the journal of all this is replayed to the same digests"
finish
