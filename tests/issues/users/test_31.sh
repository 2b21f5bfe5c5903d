#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 31: a requeue does not eat the log: one a attempt; a fixed file holds all of them, with marks.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
up
requeue_twice() { # JOB
	for n in 2 3; do
		until_true sh -c "'$wz' logs $1 2>/dev/null | grep -q 'attempt $((n - 1))\$'"
		run 0 "$wz" requeue "$1"
		until_true sh -c "'$wz' show $1 | grep -q '^attempt  *$n'"
	done
}
body='echo "attempt $WZ_ATTEMPT"; [ "$WZ_ATTEMPT" = 3 ] || sleep 1000'
own=$(submit -- sh -c "$body")
requeue_twice "$own"
run 0 "$wz" wait "$own"
for n in 1 2 3; do
	run 0 "$wz" logs --attempt $n "$own"
	echo "attempt $n" | cmp -s - "$out" || fail "attempt $n: $(cat "$out")"
done
ok "three attempts, three logs"
fixed=$(submit --cwd "$dir" -o fixed.txt -- sh -c "$body")
requeue_twice "$fixed"
run 0 "$wz" wait "$fixed"
[ "$(grep -c '^attempt' "$dir/fixed.txt")" = 3 ] || fail "$(cat "$dir/fixed.txt")"
grep -q "^\[whalezen: job $fixed task 0 attempt 3\]$" "$dir/fixed.txt" || fail "marks: $(cat "$dir/fixed.txt")"
ok "a fixed file has all three, and where each begins"
finish
