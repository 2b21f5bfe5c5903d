#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The daemon, the agent and the shim are killed at the Nth system call of a kind, in the midst of a submit, a start, a requeue,
# a start anew and an end, for N = 1, 2, ... until the kind is not called so often any more (WZ_CRASH=all), for some, or for one of each kind.
# Whatever was killed: the job that was acknowledged ends, each attempt of it ran once, in order, and nothing is left alive.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

if ! strace -o /dev/null -e trace=none true 2>/dev/null; then
	trap - EXIT
	rm -rf "$dir"
	skip "killed at system calls" "strace is not here, or may not trace"
	finish
fi
mkdir "$dir/ledger"
cat >"$dir/job.sh" <<'SH'
#!/bin/sh
# Attempt 1 waits to be stopped; later ones end.
echo "$WZ_ATTEMPT start" >>"$1"
[ "$WZ_ATTEMPT" -gt 1 ] || while :; do sleep 0.02; done
echo "$WZ_ATTEMPT end" >>"$1"
SH
chmod 755 "$dir/job.sh"
attempt_of() { "$wz" show "$1" 2>/dev/null | sed -n 's/^attempt  *//p'; }
is_attached() { [ "$(awk '/^TracerPid/ { print $2 }' "/proc/$1/status" 2>/dev/null)" != 0 ]; }

attach() { # WHO KIND N: kills the process at the Nth call from here on
	case $1 in
	serve)
		strace -qq -f -p "$pid" -o /dev/null -e "trace=$2" -e "inject=$2:signal=SIGKILL:when=$3" 2>/dev/null &
		victim=$pid
		;;
	agent)
		victim=$(pgrep -P "$pid")
		strace -qq -p "$victim" -o /dev/null -e "trace=$2" -e "inject=$2:signal=SIGKILL:when=$3" 2>/dev/null &
		;;
	esac
	tracer=$!
	until_true is_attached "$victim"
}

alive() { [ -z "$pid" ] || kill -0 "$pid" 2>/dev/null; }
revive() {
	alive && return
	wait "$pid" 2>/dev/null
	up
}

# One job from submit to end while somebody is to be killed. Sets `hit` when it was.
scenario() { # WHO KIND N
	round=$((round + 1))
	ledger=$dir/ledger/$round
	hit=
	[ "$1" = shim ] || attach "$1" "$2" "$3"
	job=
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		job=$("$wz" submit --key "round-$round" --gpus 1 -- "$dir/job.sh" "$ledger" 2>/dev/null) && break
		revive
	done
	[ -n "$job" ] || { fail "$*: never accepted"; return; }
	tries=0
	while [ "$tries" -lt 300 ]; do
		revive
		case $(state "$job" 2>/dev/null) in
		RUNNING)
			if [ "$(attempt_of "$job")" = 1 ] && [ -s "$ledger" ]; then
				"$wz" requeue "$job" >/dev/null 2>&1
			fi
			;;
		COMPLETED | FAILED | LAUNCH_FAILED | CANCELLED | TIMEOUT) break ;;
		esac
		sleep 0.03
		tries=$((tries + 1))
	done
	[ "$1" = shim ] || kill -0 "$victim" 2>/dev/null || hit=1
	if [ "$1" != shim ]; then
		kill "$tracer" 2>/dev/null
		wait "$tracer" 2>/dev/null
	fi
	revive
	check "$@"
}

check() {
	end=$(state "$job")
	first=$(grep -c '^1 start$' "$ledger" 2>/dev/null)
	last=$(grep -c ' end$' "$ledger" 2>/dev/null)
	doubled=$(sort "$ledger" 2>/dev/null | uniq -d)
	[ -z "$doubled" ] || fail "$*: done twice: $doubled in $(tr '\n' ';' <"$ledger")"
	sort -c -n -s -k1,1 "$ledger" 2>/dev/null || [ ! -e "$ledger" ] || fail "$*: out of order: $(tr '\n' ';' <"$ledger")"
	if [ "$1" = shim ]; then # an attempt whose shim was killed is not tried again: it may have done its work
		case $end in COMPLETED | FAILED | LAUNCH_FAILED) ;; *) fail "$*: it is $end" ;; esac
	else
		[ "$end.$first.$last" = COMPLETED.1.1 ] || fail "$*: $end, $(tr '\n' ';' <"$ledger")"
	fi
	! pgrep -f "$dir/job.sh $ledger\$" >/dev/null || fail "$*: processes are left"
	"$wz" devices --json | grep -q "\"jobs\":\[$job\]" && fail "$*: its device is still held"
	return 0
}

# All N of a kind, or a sample of them.
sweep() { # WHO KIND N...
	who=$1
	kind=$2
	shift 2
	count=0
	if [ "${WZ_CRASH-}" = all ]; then
		n=0
		misses=0
		while [ "$n" -lt 2000 ] && [ "$misses" -lt 3 ]; do # three in a row: it is not called so often
			n=$((n + 1))
			scenario "$who" "$kind" "$n"
			if [ "$hit" ]; then misses=0; else misses=$((misses + 1)); fi
			count=$((count + ${hit:-0}))
		done
	else
		[ "${WZ_CRASH-}" = some ] || set -- "$2" # few
		for n; do
			scenario "$who" "$kind" "$n"
			count=$((count + ${hit:-0}))
		done
	fi
	hits=$((hits + count))
	[ "${WZ_CRASH-}" != all ] || echo "# $who at $kind: killed $count times"
}

round=0
up
hits=0
for kind in pwrite64 fdatasync write sendto; do
	sweep serve $kind 1 3 9
done
[ "$hits" -ge 3 ] || fail "the daemon was killed $hits times only"
echo "# killed $hits times in $round rounds"
ok "the daemon killed at its writes, syncs and sends"

hits=0
for kind in openat mkdirat renameat sendto fchown write clone,clone3,fork,vfork; do
	sweep agent $kind 1 2 5
done
[ "$hits" -ge 3 ] || fail "the agent was killed $hits times only"
echo "# killed $hits times"
ok "the agent killed at its files, forks and messages"

# The shim: in the place of wz-shim stands a script that lets the real one run under a tracer.
mkdir "$dir/bin"
cp "$wz" "$dir/bin/wz"
cp "${wz%/wz}/wz-shim" "$dir/bin/wz-shim.real"
cat >"$dir/bin/wz-shim" <<'SH'
#!/bin/sh
here=${0%/*}
read -r kind n <"$here/inject" || exec "$here/wz-shim.real" "$@"
if mkdir "$here/taken" 2>/dev/null; then # one shim of the round
	exec strace -q -o "$here/trace" -e "trace=$kind" -e "inject=$kind:signal=SIGKILL:when=$n" "$here/wz-shim.real" "$@"
fi
exec "$here/wz-shim.real" "$@"
SH
chmod 755 "$dir/bin/wz-shim"
: >"$dir/bin/inject"
down
wz=$dir/bin/wz
up
hits=0
case ${WZ_CRASH-} in
all) numbers=$(seq 1 40) ;;
some) numbers="1 2 4 8" ;;
*) numbers=2 ;;
esac
jobs=0
for kind in openat write renameat bind sendto wait4 fsync; do
	for n in $numbers; do
		jobs=$((jobs + 1))
		rmdir "$dir/bin/taken" 2>/dev/null
		rm -f "$dir/bin/trace"
		echo "$kind $n" >"$dir/bin/inject"
		scenario shim "$kind" "$n"
		! grep -q 'killed by SIGKILL' "$dir/bin/trace" || hits=$((hits + 1))
	done
done
: >"$dir/bin/inject"
echo "# $hits of $jobs jobs lost their shim"
[ "$hits" -gt 0 ] || fail "no shim was killed"
ok "a shim killed anywhere: the attempt ends, and nothing is left"

run 0 "$wz" trace verify --state "$state_dir"
run 0 "$wz" doctor --state "$state_dir"
! grep -q '^BAD' "$out" || fail "$(cat "$out")"
ok "the journal is whole"
finish
