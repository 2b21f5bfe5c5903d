#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz sim pack --repack: no more moves than were earned, nothing refused that fits, all invariants, the same twice.
# shellcheck disable=SC1091,SC2154
. "${WZ_SOURCE_ROOT:-$(dirname "$0")/../..}/tests/cli/lib.sh"

"$wz" trace gen --like openb --nodes 60 --jobs 500 --seed 5 --out load >/dev/null || exit 99
pack() { "$wz" sim pack --nodes load/nodes.csv --pods load/pods.csv --seeds 1-2 --quiet --jsonl "$@"; }
field() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

pack >"$dir/plain" || fail "plain"
pack --check --repack moves-per-placement=0.05 >"$dir/repacked" || fail "repacked"
grep -q '"moves":' "$dir/plain" && fail "no moves where none are asked for"
while read -r line; do
	placed=$(echo "$line" | field placements)
	moves=$(echo "$line" | field moves)
	[ "$moves" -le $((placed / 20)) ] || fail "$moves moves for $placed placements"
done <"$dir/repacked"
pack --repack moves-per-placement=0.05 >"$dir/again" || fail "again"
[ "$(sed 's/.*"digest"//' "$dir/repacked")" = "$(sed 's/.*"digest"//' "$dir/again")" ] || fail "other digests"
pack --no-index --repack moves-per-placement=0.05 >"$dir/again" || fail "without the index"
[ "$(sed 's/.*"digest"//' "$dir/repacked")" = "$(sed 's/.*"digest"//' "$dir/again")" ] || fail "other digests without the index"
[ "$(field opened <"$dir/repacked" | tr -d "\n0")" ] || fail "nothing was opened: the test tests nothing"
ok "within the budget, checked, and the same again"

for wrong in 0.05 moves=1 moves-per-placement moves-per-placement=x moves-per-placement=200; do
	pack --repack "$wrong" >/dev/null 2>"$err" && fail "takes $wrong"
	grep -q 'moves-per-placement=N' "$err" || fail "says: $(cat "$err")"
done
pack --repack moves-per-placement=1 --repack-rules repack-colour=1 >/dev/null 2>"$err" && fail "takes a rule that is none"
grep -q "no rule 'repack-colour'" "$err" || fail "says: $(cat "$err")"
ok "wrong words are refused"
finish
