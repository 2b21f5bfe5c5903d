#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a job asks of labels, from the command line to the reason it waits for; and sense in what is refused.
# shellcheck disable=SC1091,SC2154
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up

node=$("$wz" nodes --json | python3 -c 'import json,sys; print(sorted(n["name"] for n in json.load(sys.stdin)["nodes"])[0])')
one=$("$wz" submit --cpus 1 --constraint "node: node=$node; ports: 8080" -- sleep 600) || fail "submit"
until_true is "$one" RUNNING
"$wz" show "$one" | grep -q "$node" || fail "it is on another node: $("$wz" show "$one")"
ok "a job goes to the node that it asks for"

two=$("$wz" submit --cpus 1 --constraint "node: node=$node; ports: 8080" -- true) || fail "submit"
until_true sh -c "'$wz' why $two | grep -q 'a task on the node holds the port'"
three=$("$wz" submit --cpus 1 --constraint "node: node=nowhere" -- true) || fail "submit"
until_true sh -c "'$wz' why $three | grep -q NodeAffinity"
ok "who waits is told what for"

crash
up
"$wz" cancel "$one"
until_true is "$two" COMPLETED
"$wz" cancel "$three"
ok "it is there after a crash"

"$wz" submit --cpus 1 --constraint "node: rack in r1" -- true 2>"$err" && fail "taken"
grep -q '( and a list of values is expected after "node: rack in "' "$err" || fail "says: $(cat "$err")"
ok "what cannot be read is refused with the place"

down
finish
