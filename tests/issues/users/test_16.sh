#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 16: a restart of the daemon must be invisible: ten clean and ten hard ones under load; codes are right, attempts are one.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
up
i=0
jobs=
while [ $i -lt 20 ]; do
	i=$((i + 1))
	for c in 0 3; do
		j=$(submit --key "k$i.$c" --cpus 1 -- sh -c 'echo begun >>"$1"; sleep 0.4; exit '$c job "$dir/ran.$i.$c")
		jobs="$jobs $j:$c:$i"
	done
	if [ $((i % 2)) = 0 ]; then down; else crash; fi
	up
done
for j in $jobs; do
	id=${j%%:*}
	rest=${j#*:}
	c=${rest%%:*}
	"$wz" wait "$id" >/dev/null 2>&1
	"$wz" show "$id" >"$out"
	grep -q "^exit_code  *$c\$" "$out" || [ "$c" = 0 ] || fail "job $id: $(grep exit "$out")"
	if [ "$c" = 0 ]; then is "$id" COMPLETED || fail "job $id is $(state "$id")"; fi
	grep -q '^attempt  *1$' "$out" || fail "job $id has $(grep '^attempt' "$out")"
	[ "$(wc -l <"$dir/ran.${rest#*:}.$c")" = 1 ] || fail "job $id ran $(wc -l <"$dir/ran.${rest#*:}.$c") times"
done
ok "forty jobs over twenty restarts: each ran once, with its code"
finish
