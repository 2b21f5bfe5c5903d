#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Logs: followers that are told and do not look, a log that loses its middle, files of the user's own, folding.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
api() { python3 "$WZ_SOURCE_ROOT/tests/serve/api.py" "$@"; }

up
wakeups() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$pid/status"; }
idle=$(submit -- sh -c 'echo begun; until [ -e "$1" ]; do sleep 0.05; done; echo done' job "$dir/go")
until_true is "$idle" RUNNING
a=$(wakeups)
sleep 2
b=$(wakeups)
followers=
for i in 1 2 3 4 5 6 7 8; do
	"$wz" logs -f "$idle" >"$dir/follow.$i" 2>&1 &
	followers="$followers $!"
done
until_true grep -q begun "$dir/follow.8"
sleep 0.5
c=$(wakeups)
sleep 2
d=$(wakeups)
echo "# wake-ups in 2 s: $((b - a)) without followers, $((d - c)) with eight"
[ $((d - c)) -lt $((b - a + 16)) ] || fail "followers make the daemon look: $((b - a)) and $((d - c)) wake-ups"
echo >"$dir/go"
for p in $followers; do wait "$p" || fail "a follower ended with $?"; done
for i in 1 2 3 4 5 6 7 8; do
	printf 'begun\ndone\n' | cmp -s - "$dir/follow.$i" || fail "follower $i: $(cat "$dir/follow.$i")"
done
ok "eight followers are told and do not look"

# 300 kB of lines in a log of 20 kB; a follower is in the middle when it is closed.
job=$(api POST /v1/jobs "{\"argv\":[\"sh\",\"-c\",\"seq -f 'line %06g' 1 25000; until [ -e $dir/close ]; do sleep 0.02; done; echo the last\"],\"log_max_bytes\":20000}" |
	grep -o '"id":[0-9]*' | cut -d: -f2)
until_true sh -c "'$wz' logs $job | grep -q 025000"
"$wz" logs -f "$job" >"$dir/middle" 2>&1 &
follower=$!
until_true grep -q 'line 025000' "$dir/middle"
echo >"$dir/close"
wait "$follower" || fail "the follower ended with $?"
tail -2 "$dir/middle" | tr '\n' ' ' | grep -q '^line 025000 the last $' || fail "the end: $(tail -3 "$dir/middle")"
[ "$(grep '^line' "$dir/middle" | sort | uniq -d | wc -l)" = 0 ] || fail "lines twice"
run 0 "$wz" logs "$job"
prints "bytes left out here"
prints "line 000001"
prints "the last"
size=$(wc -c <"$out")
[ "$size" -lt 21000 ] || fail "$size bytes are kept"
run 0 "$wz" logs --tail 2 "$job"
printf 'line 025000\nthe last\n' | cmp -s - "$out" || fail "tail: $(cat "$out")"
total=$((25000 * 12 + 9))
api GET "/v1/jobs/$job/logs?offset=$((total - 9))" >"$dir/end"
[ "$(cat "$dir/end")" = "the last" ] || fail "an offset counts what was written: $(cat "$dir/end")"
ok "a log that lost its middle: followers, tail and offsets"

mkdir "$dir/mine"
run 0 "$wz" run --cwd "$dir" -o 'mine/%x-%j.out' -e "mine/%j.err" --name n/m -- sh -c 'echo to out; echo to err >&2'
mine=$("$wz" ps --all --json | grep -o '"id":[0-9]*' | tail -1 | cut -d: -f2)
[ "$(cat "$dir/mine/n_m-$mine.out")" = "to out" ] || fail "out: $(ls "$dir/mine")"
[ "$(cat "$dir/mine/$mine.err")" = "to err" ] || fail "err: $(ls "$dir/mine")"
run 0 "$wz" logs "$mine"
prints "to out"
run 0 "$wz" logs --errors "$mine"
prints "to err"
run 125 "$wz" run -o '/no/such/place/%j' -- true
says LAUNCH_FAILED
run 125 "$wz" run -o '%q' -- true
for i in 1 2; do run 0 "$wz" run --cwd "$dir" -o both.txt -- echo "run $i"; done
[ "$(grep -c '^\[whalezen: job' "$dir/both.txt")" = 1 ] || fail "no marker: $(cat "$dir/both.txt")"
[ "$(grep -c '^run [12]$' "$dir/both.txt")" = 2 ] || fail "both: $(cat "$dir/both.txt")"
only=$(submit --cwd "$dir" -e only.err -- sh -c 'echo kept; echo away >&2')
run 0 "$wz" wait "$only"
run 0 "$wz" logs "$only"
prints kept
[ "$(cat "$dir/only.err")" = away ] || fail "errors alone"
ok "files of the user's own, with words in their names, appended to with a marker"

bar=$(submit -- printf '10%%\r50%%\r100%%\nplain\r\nend')
run 0 "$wz" wait "$bar"
run 0 "$wz" logs --fold "$bar"
printf '100%%\nplain\nend' | cmp -s - "$out" || fail "fold: $(cat "$out")"
run 0 "$wz" logs "$bar"
printf '10%%\r50%%\r100%%\nplain\r\nend' | cmp -s - "$out" || fail "raw: $(od -c "$out")"
ok "folding on view; the bytes are kept"

finish
