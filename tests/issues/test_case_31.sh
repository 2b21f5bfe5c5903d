#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 31: a requeue eats the log. Each attempt has its own; a file of the user's that is named without an attempt has all of
# them; a script that the job removed is there again.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up
printf '#!/bin/sh\necho "this is attempt $WZ_ATTEMPT of $0"\nrm -f "$0"\n[ "$WZ_RESTART_COUNT" = 3 ]\n' >"$dir/eats.sh"
job=$(submit --retries 3 --retry-delay 50ms "$dir/eats.sh")
run 0 "$wz" wait "$job"
for attempt in 1 2 3 4; do
	run 0 "$wz" logs --attempt $attempt "$job"
	prints "this is attempt $attempt"
	[ "$(wc -l <"$out")" = 1 ] || fail "attempt $attempt: $(cat "$out")"
done
[ -s "$dir/eats.sh" ] || fail "the user's own file is not what runs"
ok "four attempts, four logs, the script each time"

job=$(submit --retries 2 --retry-delay 50ms --cwd "$dir" -o fixed.txt -- sh -c 'echo "attempt $WZ_ATTEMPT"; exit 1')
run 1 "$wz" wait "$job"
for attempt in 1 2 3; do
	grep -q "^attempt $attempt$" "$dir/fixed.txt" || fail "attempt $attempt: $(cat "$dir/fixed.txt")"
done
[ "$(grep -c "job $job task 0 attempt" "$dir/fixed.txt")" = 2 ] || fail "markers: $(cat "$dir/fixed.txt")"
each=$(submit --retries 1 --retry-delay 50ms --cwd "$dir" -o 'each-%j-%r.txt' -- sh -c 'echo "attempt $WZ_ATTEMPT"; exit 1')
run 1 "$wz" wait "$each"
grep -q "attempt 1" "$dir/each-$each-0.txt" || fail "the first"
grep -q "attempt 2" "$dir/each-$each-1.txt" || fail "the second"
ok "one file for all with markers, or one for each by %r"
finish
