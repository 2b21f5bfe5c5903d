#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The body with real processes on an emulated cluster: what ends how, what waits and why, and who is adopted.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

run 5 "$wz" ps
says "not running"
says "wz serve"
no_output
run 125 "$wz" run -- true
ok "without a daemon: a clear error"

up
run 0 "$wz" nodes
prints a100-1
run 0 "$wz" devices
prints A100-SXM4-80GB
run 1 "$wz" serve --state "$state_dir" --cluster "$dir/cluster.yaml"
says "another daemon"
ok "nodes and devices of the cluster; a second daemon is refused"

good=$(submit --gpus 1 -- sh -c 'echo out; echo err >&2; exit 0')
three=$(submit --gpus 1 -- sh -c 'exit 3')
shot=$(submit --cpus 1 -- sh -c 'kill -9 $$')
none=$(submit -- /no/such/command)
run 1 "$wz" wait "$good" "$three" "$shot" "$none"
is "$good" COMPLETED || fail "good: $(state "$good")"
is "$three" FAILED || fail "three: $(state "$three")"
is "$shot" FAILED || fail "shot: $(state "$shot")"
is "$none" LAUNCH_FAILED || fail "none: $(state "$none")"
run 0 "$wz" show "$three"
prints "exit_code       3"
run 0 "$wz" show "$shot"
prints "exit_signal     9"
run 0 "$wz" wait "$good"
ok "exit 0, exit 3, killed, no such command"

run 0 "$wz" logs "$good"
prints out
prints err
long=$(submit -- sh -c 'for i in 1 2 3 4 5; do echo "line $i"; done')
run 0 "$wz" logs -f --tail 2 "$long"
run 0 "$wz" wait "$long"
run 0 "$wz" logs --tail 2 "$long"
printf 'line 4\nline 5\n' | cmp -s - "$out" || fail "tail: $(cat "$out")"
run 3 "$wz" logs 999999
ok "logs, their tail, and of no job"

run 7 "$wz" run --gpus 1 -- sh -c 'echo seen; exit 7'
prints seen
run 0 "$wz" run --gpus 2 --gpu-type t4 -- sh -c 'echo "$CUDA_VISIBLE_DEVICES $WZ_NODE"'
prints "0,1 t4"
run 0 "$wz" run -- sh -c 'echo "[$CUDA_VISIBLE_DEVICES]"'
prints "[]"
run 137 "$wz" run -- sh -c 'kill -9 $$'
run 125 "$wz" run -- /no/such/command
says LAUNCH_FAILED
ok "run: output, code, devices"

gang=$(submit --gpus 4 --tasks 2 --link nvlink -- sh -c 'echo "rank $RANK of $WORLD_SIZE on $WZ_NODE"')
run 0 "$wz" wait "$gang"
run 0 "$wz" logs "$gang"
prints "rank 0 of 2"
run 0 "$wz" logs --task 1 "$gang"
prints "rank 1 of 2"
ok "a gang on two nodes"

never=$(submit --gpus 5 -- true)
run 0 "$wz" why "$never"
prints "never"
prints "fewer devices than asked"
filler=$(submit --gpus 4 --tasks 2 -- sleep 1000)
until_true is "$filler" RUNNING
waits=$(submit --gpus 4 -- true)
run 0 "$wz" why "$waits"
prints "Busy"
run 0 "$wz" ps
prints "PENDING"
run 0 "$wz" why --json "$waits"
prints '"never":false'
ok "what cannot run, and what cannot run now, say why"

run 0 "$wz" cancel "$filler" "$never"
run 0 "$wz" wait "$waits"
is "$never" CANCELLED || fail "never: $(state "$never")"
run 1 "$wz" wait "$filler"
is "$filler" CANCELLED || fail "filler: $(state "$filler")"
run 4 "$wz" cancel "$filler"
says "ended already"
wordy=$(submit --hold -- true)
run 0 "$wz" cancel --reason "$(printf '因为%.0s' $(seq 60))" "$wordy"
is "$wordy" CANCELLED || fail "wordy: $(state "$wordy")"
run 3 "$wz" cancel 999999
ok "cancel: the running one ends, its room goes to the next"

held=$(submit --hold -- true)
is "$held" HELD || fail "held: $(state "$held")"
run 0 "$wz" release "$held"
run 0 "$wz" wait "$held"
ok "hold and release"

late=$(submit --time 1s -- sleep 1000)
run 1 "$wz" wait "$late"
is "$late" TIMEOUT || fail "late: $(state "$late")"
ok "a time limit"

one=$(submit --key same -- true)
two=$(submit --key same -- true)
[ "$one" = "$two" ] || fail "two jobs of one key: $one $two"
run 1 "$wz" submit --gpus many -- true
says "gpus"
no_output
run 2 "$wz" submit
ok "a key makes one job; a bad profile makes none"

run 0 "$wz" drain --reason fans t4
run 0 "$wz" nodes
prints drained
away=$(submit --gpus 1 --gpu-type t4 -- true)
run 0 "$wz" why "$away"
prints Cordoned
run 0 "$wz" undrain t4
run 0 "$wz" wait "$away"
run 3 "$wz" drain --reason none nowhere
run 2 "$wz" drain t4
ok "drain and undrain"

told=$(submit -- sh -c 'trap "echo heard; exit 9" USR1; echo listening; while :; do sleep 0.05; done')
# shellcheck disable=SC2317 # called by name
listens() { "$wz" logs "$told" | grep -q listening; }
until_true listens
run 0 "$wz" signal "$told" USR1
run 1 "$wz" wait "$told"
run 0 "$wz" show "$told"
prints "exit_code       9"
run 4 "$wz" signal "$told" USR1
says "runs"
ok "signal"

printf '#!/bin/sh\necho "script of $WZ_JOB_NAME"\n' >"$dir/job.sh"
run 0 "$wz" run --name scripted --script "$dir/job.sh"
prints "script of scripted"
ok "a script"

# Two users. Ours is root here; the other one is nobody.
chmod 711 "$dir"
as_nobody() { su -s /bin/sh nobody -c "cd / && WZ_SERVER=$WZ_SERVER $*"; }
if [ "$(id -u)" = 0 ] && as_nobody "$wz --version" >/dev/null 2>&1; then
	mine=$(submit -- sleep 1000)
	until_true is "$mine" RUNNING
	run 0 as_nobody "$wz run -- id -un"
	prints nobody
	printf '#!/bin/sh\nid -un >"$WZ_RUN_DIR/who" && cat "$WZ_RUN_DIR/who"\n' >"$dir/who.sh"
	chmod 644 "$dir/who.sh"
	run 0 as_nobody "$wz run --script $dir/who.sh"
	prints nobody
	run 4 as_nobody "$wz cancel $mine"
	says "somebody else"
	run 4 as_nobody "$wz logs $mine"
	says "somebody else"
	run 4 as_nobody "$wz submit --priority 1 -- true"
	says "lower their priority"
	run 4 as_nobody "$wz drain --reason mischief t4"
	run 0 as_nobody "$wz show --json $mine"
	! grep -q argv "$out" || fail "somebody else's command is shown"
	is "$mine" RUNNING || fail "mine: $(state "$mine")"
	run 0 "$wz" cancel "$mine"
	ok "two users: work runs as who submitted it; others are refused"
else
	skip "two users" "needs root, and nobody who can run $wz"
fi

# Adoption.
slow=$(submit --gpus 1 -- sh -c 'until [ -e "$1" ]; do sleep 0.02; done; echo done; exit 4' job "$dir/go.4")
until_true is "$slow" RUNNING
first=$("$wz" show "$slow" | sed -n 's/^  pid  *//p')
down
up
run 0 "$wz" show "$slow"
prints "$first"
echo >"$dir/go.4"
run 1 "$wz" wait "$slow"
run 0 "$wz" show "$slow"
prints "exit_code       4"
prints "attempt         1"
run 0 "$wz" logs "$slow"
prints "done"
ok "a clean stop and start: the job is adopted"

waiter() { submit --gpus 1 -- sh -c 'until [ -e "$1" ]; do sleep 0.02; done; echo >"$1.seen"; exit "$2"' job "$dir/$1" "$2"; }
quick=$(waiter go.5 5)
slow=$(waiter go.6 6)
until_true is "$quick" RUNNING
until_true is "$slow" RUNNING
crash
echo >"$dir/go.5" # it ends while nobody watches
until_true test -e "$dir/go.5.seen"
up
is "$slow" RUNNING || fail "slow: $(state "$slow")"
echo >"$dir/go.6"
run 1 "$wz" wait "$quick" "$slow"
run 0 "$wz" show "$quick"
prints "exit_code       5"
run 0 "$wz" show "$slow"
prints "exit_code       6"
prints "attempt         1"
ok "kill -9: what ended meanwhile and what runs on are both known"

slow=$(waiter go.8 8)
until_true is "$slow" RUNNING
agent=$(pgrep -P "$pid")
kill -9 "$agent"
echo >"$dir/go.8"
run 1 "$wz" wait "$slow"
run 0 "$wz" show "$slow"
prints "exit_code       8"
run 0 "$wz" run --gpus 1 -- true
ok "the agent is killed: it comes again, and adopts"

stuck=$(submit --gpus 1 -- sleep 1000)
until_true is "$stuck" RUNNING
crash
up
run 0 "$wz" cancel "$stuck"
run 1 "$wz" wait "$stuck"
is "$stuck" CANCELLED || fail "stuck: $(state "$stuck")"
ok "an adopted job can be cancelled"

finish
