#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 23: a huge environment. An array of 100,000 tasks with a 200 kB environment keeps one copy of it; what the kernel
# would not start is refused at the submit.
# shellcheck disable=SC1091,SC2154
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

bytes() { python3 - "$state_dir/store.db" "$1" <<'PY'
import sqlite3, sys
c = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
print(c.execute(sys.argv[2]).fetchone()[0])
PY
}
up
big=$(python3 -c 'print("".join("%06d " % (i * 7919 % 1000000) for i in range(15000)), end="")') # about 100 kB of text
blobs=$(bytes "select coalesce(sum(length(bytes)), 0) from blobs")
count=$(bytes "select count(*) from blobs")
array=$(BIG_A=$big BIG_B=$big submit --env-all --array 0-99999 --gpus 5 -- true)
grown=$(($(bytes "select sum(length(bytes)) from blobs") - blobs))
[ "$grown" -gt 200000 ] || fail "the environment is not there: $grown"
[ "$grown" -lt 260000 ] || fail "blobs grew by $grown bytes for one environment of 200 kB"
[ "$(($(bytes "select count(*) from blobs") - count))" = 2 ] || fail "more than the environment and what the tasks share"
tasks=$(bytes "select count(*) from jobs where array = $array")
[ "$tasks" = 100000 ] || fail "tasks: $tasks"
all=$(bytes "select page_count * page_size from pragma_page_count, pragma_page_size")
echo "# blobs grew by $grown bytes; the store has $((all / 1000000)) MB, $((all / 100000)) bytes a task"
[ "$all" -lt 150000000 ] || fail "the store has $all bytes"
run 0 "$wz" ps
prints "${array}_[0-99999]"
[ "$(wc -l <"$out")" = 2 ] || fail "an array is one line: $(head -3 "$out")"
run 0 "$wz" show "${array}_99999"
prints "array_index     99999"
run 0 "$wz" cancel "$array"
until_true none_left
ok "100,000 tasks, one environment"

run 1 "$wz" submit --array 0-100000 -- true
says "at most 100000 tasks"
python3 -c 'print("run: [\"true\", \"" + "x" * 131072 + "\"]")' >"$dir/huge.yaml"
run 1 "$wz" submit "$dir/huge.yaml"
says "longer than 128 KiB"
ok "what the kernel would not start is refused"
finish
