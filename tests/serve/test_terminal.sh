#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Terminals of jobs: a shell, leaving and coming back, a dropped connection, a killed daemon, two who look, sizes, an end.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
person() { python3 "$WZ_SOURCE_ROOT/tests/serve/type.py" "$@"; }
last_job() { "$wz" ps --all --json | grep -o '"id":[0-9]*' | tail -1 | cut -d: -f2; }
unset ENV
SHELL=/bin/sh
PS1='<$?> '
export SHELL PS1

up
run 7 person --size 30x100 'see:job' 'type:PS1="<ready> "\r' 'see:<ready> ' 'type:stty size; tty; echo $((6*7)) $WZ_GPUS\r' \
	'see:30 100' 'see:/dev/pts/' 'see:42 1' 'type:exit 7\r' -- "$wz" shell --gpus 1
one=$(last_job)
is "$one" FAILED || fail "the shell is $(state "$one")"
run 0 "$wz" logs "$one"
prints "42 1"
ok "a shell: its size, its terminal, its exit code, its log"

run 3 person 'see:job' 'type:PS1="<ready> "\r' 'see:<ready> ' 'type:trap "exit 3" INT; while :; do sleep 0.1; done\r' \
	'run:sleep 0.5' 'type:\x03' -- "$wz" shell
ok "^C reaches the job as an interrupt"

run 0 person 'see:job' 'type:PS1="<ready> "; x=kept\r' 'see:<ready> ' 'type:\x1d' 'see:the job goes on' -- "$wz" shell
two=$(last_job)
is "$two" RUNNING || fail "after leaving it is $(state "$two")"
run 0 person 'see:<ready> ' 'type:echo $x-$x\r' 'see:kept-kept' 'size:40x120' 'run:sleep 2' 'type:stty size\r' \
	'see:40 120' 'hang' -- "$wz" attach "$two"
is "$two" RUNNING || fail "after the connection dropped it is $(state "$two")"
run 0 person 'see:kept-kept' 'type:\x1d' -- "$wz" attach "$two"
ok "leaving, coming back, a dropped connection, another size: it is the same shell"

# Two look at once; both type.
person 'see:kept-kept' 'see:from-the-other' 'type:echo answer-$((1+1))\r' 'see:answer-2' 'type:\x1d' -- \
	"$wz" attach "$two" >"$dir/first.txt" 2>&1 &
first=$!
run 0 person 'see:kept-kept' 'type:echo from-$(echo the-other)\r' 'see:from-the-other' 'see:answer-2' 'type:\x1d' -- "$wz" attach "$two"
wait "$first" || fail "the first of two: $(tail -3 "$dir/first.txt")"
run 0 person 'see:kept-kept' 'type:echo must-not\x1d' -- "$wz" attach --read-only "$two"
run 0 "$wz" logs "$two"
! grep -q must-not "$out" || fail "a read-only viewer typed"
ok "two viewers at once, and one that only looks"

# The daemon and the agent are killed below it.
run 0 person 'see:kept-kept' "run:kill -9 $pid; sleep 0.3; pgrep -P $pid | xargs -r kill -9" \
	"run:$wz serve --state $state_dir --cluster $dir/cluster.yaml --no-cgroup >>$dir/serve.log 2>&1 & echo \$! >$dir/pid; until $wz ps >$dir/null 2>&1; do sleep 0.1; done; sleep 2" 'type:\r' 'run:sleep 3' \
	'type:echo again-$x\r' 'see:again-kept' 'type:\x1d' -- "$wz" attach "$two"
pid=$(cat "$dir/pid")
until_true is_ready
ok "attach survives a killed daemon"

# A lot of output, a viewer that does not read holds nobody.
run 0 person 'see:kept-kept' 'type:seq 1 200000 | tail -n 150000; echo all-$((1+2))\r' 'see:all-3' 'type:\x1d' -- "$wz" attach "$two"
run 0 "$wz" logs "$two"
[ "$(tr -d '\r' <"$out" | grep -c '^1[0-9][0-9][0-9][0-9][0-9]$')" = 100000 ] || fail "the log has lost lines"
ok "much output: all of it is in the log"

run 0 "$wz" cancel "$two"
run 1 "$wz" wait "$two"
is "$two" CANCELLED || fail "two: $(state "$two")"
run 1 "$wz" attach "$two"
says "does not run"
plain=$(submit -- sleep 100)
until_true is "$plain" RUNNING
run 1 "$wz" attach "$plain"
says "no terminal"
run 0 "$wz" cancel "$plain"
run 3 "$wz" attach 999999
ok "cancel ends a shell at once; attach where there is no terminal"

printf 'echo piped-$((2+3))\nexit 4\n' >"$dir/typed"
"$wz" shell <"$dir/typed" >"$out" 2>"$err"
[ $? = 4 ] || fail "a piped shell's code"
prints piped-5
ok "input from a pipe"

finish
