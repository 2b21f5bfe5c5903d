#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 14: killed, but by whom? Out of memory, a signal of the owner, a time limit, a cancel: each says so.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
# shellcheck disable=SC2034
cgroup=
up
ends() { # JOB STATE TEXT
	"$wz" wait "$1" >"$out" 2>"$err"
	is "$1" "$2" || fail "job $1 is $(state "$1"), want $2"
	[ -z "$3" ] || { "$wz" show "$1" >"$out"; prints "$3"; }
}
shot=$(submit -- sh -c 'kill -9 $$')
late=$(submit --time 1s -- sleep 1000)
gone=$(submit -- sleep 1000)
until_true is "$gone" RUNNING
run 0 "$wz" signal "$gone" KILL
ends "$shot" FAILED "exit_signal     9"
ends "$gone" FAILED "exit_signal     9"
ends "$late" TIMEOUT ""
away=$(submit -- sleep 1000)
until_true is "$away" RUNNING
run 0 "$wz" cancel "$away"
ends "$away" CANCELLED ""
ok "a kill -9 is no out-of-memory; a time limit and a cancel have their names"
if [ "$(id -u)" = 0 ] && grep -q 'cgroup.*memory' /proc/self/mountinfo; then
	big=$(submit --mem 32Mi -- python3 -c 'x = bytearray(200 << 20); print(len(x))')
	ends "$big" OOM ""
	ok "out of memory"
else
	skip "out of memory" "needs root and a memory cgroup"
fi
finish
