#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 7: who is on that card? A process of a job in a pid namespace of its own belongs to the job; one that is gone is nobody.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
. "$WZ_SOURCE_ROOT/tests/issues/users/smi.sh"
if ! unshare -fp true 2>/dev/null; then
	trap - EXIT
	rm -rf "$dir"
	skip "a nested pid namespace" "unshare is not permitted"
	finish
fi
card 0 GPU-a 01 "Tesla T4" >"$dir/cards"
up
job=$(submit --gpus 1 -- unshare -fp sh -c 'setsid sleep 1000 & wait')
until_true sh -c "pgrep -f '^sleep 1000' >/dev/null"
main=$("$wz" show "$job" | sed -n 's/^  pid  *//p')
below() { for c in $(pgrep -P "$1"); do echo "$c"; below "$c"; done; }
until_true sh -c "[ \$(pgrep -P $main | wc -l) -gt 0 ]"
inner=$(below "$main" | tail -1)
{ echo "GPU-a, $inner, 100"; echo "GPU-a, 4194303, 100"; } >"$dir/apps"
until_true sh -c "'$wz' devices --json | grep -q '\"foreign\":1'"
ok "the inner process is the job's; the pid that is gone is a stranger's, and no user's"
run 0 "$wz" cancel "$job"
run 1 "$wz" wait "$job"
! kill -0 "$inner" 2>/dev/null || fail "the inner process lives"
ok "and it ends with the job"
finish
