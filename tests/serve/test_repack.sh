#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz repack: two halves of nodes are no whole; the plan is shown and changes nothing; applied, all three jobs run.
# shellcheck disable=SC1091,SC2154
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up
nodes=$("$wz" nodes | sed -n 's/^\(a100[^ ]*\).*/\1/p')
first=$(echo "$nodes" | sed -n 1p)
second=$(echo "$nodes" | sed -n 2p)

"$wz" repack | grep -q '^Nothing to gain now' || fail "an idle cluster: $("$wz" repack)"
ok "nothing to gain"

"$wz" drain --reason test "$second" || fail "drain"
a=$("$wz" submit --gpus 2 --gpu-type a100 --cpus 1 --preempt signal:USR1,grace:1s -- sleep 600)
until_true is "$a" RUNNING
"$wz" undrain "$second"
"$wz" drain --reason test "$first" || fail "drain"
b=$("$wz" submit --gpus 2 --gpu-type a100 --cpus 1 --preempt signal:USR1,grace:1s -- sleep 600)
until_true is "$b" RUNNING
"$wz" undrain "$first"
c=$("$wz" submit --gpus 4 --gpu-type a100 --cpus 1 -- sleep 600)
until_true sh -c "'$wz' why $c | grep -q Busy"
ok "a job of four devices waits beside two times two"

"$wz" repack >"$out" || fail "repack"
grep -q '^Work that waits would start' "$out" || fail "says: $(cat "$out")"
grep -q "^gain: 4.000 devices for jobs that wait ($c); with --apply" "$out" || fail "gain: $(cat "$out")"
grep -Eq "^ *($a|$b) +0 +a100[^ ]*:[0-3],[0-3] +a100[^ ]*:[0-3],[0-3] +60.0" "$out" || fail "move: $(cat "$out")"
"$wz" repack --json | grep -q "\"jobs\":\[$c\]" || fail "json: $("$wz" repack --json)"
is "$c" PENDING || fail "a question starts nothing"
is "$a" RUNNING || fail "a question moves nothing"
is "$b" RUNNING || fail "a question moves nothing"
ok "the plan is shown with its gain, and nothing is done"

"$wz" repack --apply | grep -q 'the moves were allowed and follow' || fail "apply"
until_true is "$c" RUNNING
until_true is "$a" RUNNING
until_true is "$b" RUNNING
on() { "$wz" ps | sed -n "s/^ *$1 .*\(a100[^ :]*\).*/\1/p"; }
[ "$(on "$a")" = "$(on "$b")" ] || fail "not side by side: $("$wz" ps)"
"$wz" repack | grep -q '^Nothing to gain now' || fail "afterwards: $("$wz" repack)"
"$wz" doctor --state "$state_dir" >/dev/null || fail "doctor"
ok "applied, all three run"

"$wz" repack --moves 65 2>/dev/null && fail "taken"
"$wz" repack now 2>/dev/null && fail "taken"
ok "wrong words are refused"
"$wz" cancel "$a" "$b" "$c"
until_true none_left
down
finish
