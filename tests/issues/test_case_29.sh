#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 29: waiting for what can never come. A cone of jobs behind one that failed is settled at once, and each says why.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up
{
	printf 'name: j0\nrun: sh -c "until [ -e %s ]; do sleep 0.05; done; exit 3"\n' "$dir/go"
	for i in $(seq 1 299); do
		printf -- '---\nname: j%d\nrun: true\nafter: {ok: [j%d, j%d]}\n' "$i" "$((i - 1))" "$((i / 2))"
	done
} >"$dir/dag.yaml"
run 0 "$wz" submit "$dir/dag.yaml"
first=$(head -1 "$out")
last=$(tail -1 "$out")
[ "$(wc -l <"$out")" = 300 ] || fail "300 jobs: $(wc -l <"$out")"
is "$last" PENDING || fail "the last: $(state "$last")"
echo >"$dir/go"
run 1 "$wz" wait "$first"
until_true none_left || fail "left: $("$wz" ps | head -5)"
run 0 "$wz" ps --all --state CANCELLED --limit 0
[ "$(tail -n +2 "$out" | wc -l)" = 299 ] || fail "cancelled: $(tail -n +2 "$out" | wc -l)"
run 0 "$wz" show "$last"
prints "DependencyNeverSatisfied"
prints "can no longer be met"
run 1 "$wz" submit --after "afterok:$((last + 1))" -- true
says "later one"
late=$(submit --after "afterok:$first" -- true)
until_true is "$late" CANCELLED
ok "the whole cone is settled, and a late one at once"
finish
