#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 2: the plan is compared with what the driver shows: a job on another card than its own is noticed within one look.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
. "$WZ_SOURCE_ROOT/tests/issues/users/smi.sh"
{ card 0 GPU-a 01 "Tesla T4"; card 1 GPU-b 02 "Tesla T4"; } >"$dir/cards"
up
job=$(submit --gpus 1 -- sleep 1000)
until_true is "$job" RUNNING
has=$("$wz" show --json "$job" | sed -n 's/.*"devices":\[\([0-9]\)\].*/\1/p')
main=$("$wz" show "$job" | sed -n 's/^  pid  *//p')
right=GPU-a wrong=GPU-b
[ "$has" = 0 ] || { right=GPU-b; wrong=GPU-a; }
echo "$right, $main, 512" >"$dir/apps"
sleep 1.5
! grep -q WRONG_DEVICE "$dir/serve.log" || fail "a false alarm: $(grep WRONG "$dir/serve.log")"
run 0 "$wz" devices --json
! grep -q '"foreign":[1-9]' "$out" || fail "our own is called a stranger"
ok "a job on its own card is no news"
echo "$wrong, $main, 512" >"$dir/apps"
until_true grep -q "WRONG_DEVICE.*job $job.*$wrong" "$dir/serve.log"
run 0 "$wz" devices --json
prints "was not given this device"
sleep 1.5
[ "$(grep -c WRONG_DEVICE "$dir/serve.log")" = 1 ] || fail "told $(grep -c WRONG_DEVICE "$dir/serve.log") times"
ok "a job on another card is told once, and shown"
echo "$wrong, 1, 512" >"$dir/apps"
until_true sh -c "'$wz' devices --json | grep -q '\"foreign\":1'"
ok "a stranger is a stranger"
finish
