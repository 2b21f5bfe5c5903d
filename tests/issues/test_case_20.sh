#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 20: the answer to a submit is lost after the commit. The client tries again by itself, and it is one job.
# shellcheck disable=SC1091,SC2154
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up
real=$WZ_SERVER
proxy=$dir/proxy.sock
python3 "$WZ_SOURCE_ROOT/tests/issues/drop_proxy.py" "$proxy" "$real" 2 >"$dir/proxy.log" 2>&1 &
proxy_pid=$!
until_true test -S "$proxy"
run 0 "$wz" submit --server "$proxy" --name once -- true
id=$(cat "$out")
[ "$(grep -c dropped "$dir/proxy.log")" = 2 ] || fail "dropped: $(cat "$dir/proxy.log")"
[ "$("$wz" ps --all --name once | tail -n +2 | wc -l)" = 1 ] || fail "$("$wz" ps --all --name once)"
run 0 "$wz" wait "$id"
kill "$proxy_pid"
wait "$proxy_pid" 2>/dev/null
ok "two answers are lost on the way: one job, and its number is told"

one=$(submit --key again --name k -- echo a)
down
up
two=$(submit --key again --name k -- echo a)
[ "$one" = "$two" ] || fail "after a restart: $one $two"
run 4 "$wz" submit --key again --name k -- echo b
says "earlier submit"
run 4 "$wz" submit --key again --name other -- echo a
array=$(submit --key many --array 0-9 -- true)
run 0 "$wz" submit --json --key many --array 0-9 -- true
prints '"count":10'
prints "\"id\":$array"
prints '"repeated":true'
ok "the same key: the same number over a restart, and a conflict for something else"
finish
