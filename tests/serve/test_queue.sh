#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Queues and reservations of a daemon: made by an admin, in force for submissions, told by `wz why`, there after a restart.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up

"$wz" queue list | grep -q '^no queues' || fail "wz queue list: $("$wz" queue list)"
id=$("$wz" submit --queue nowhere --cpus 1 -- true) || fail "any queue goes while there are none"
until_true is "$id" COMPLETED
ok "no queues at first"

"$wz" queue set vision guaranteed=gpu:2 limit=gpu:3,a100:2 user-limit=gpu:3 || fail "set"
"$wz" queue set vision weight=2 limit=gpu:3 || fail "change"
"$wz" queue list | grep -q '^vision *root *0 *0 *0.0 *2.0 *3.0 ' || fail "list: $("$wz" queue list)"
"$wz" queue show vision >"$out" || fail "show"
grep -q '^rules *guaranteed=gpu:2 limit=gpu:3 user-limit=gpu:3 weight=2$' "$out" || fail "rules: $(cat "$out")"
"$wz" queue show nowhere 2>"$err" && fail "there is no such queue"
grep -q 'no queue "nowhere"' "$err" || fail "says: $(cat "$err")"
ok "a queue is made, changed and shown"

"$wz" queue set vision limit=gpu:many 2>"$err" && fail "taken"
grep -q 'limit: "gpu:many" is not an amount' "$err" || fail "says: $(cat "$err")"
"$wz" queue set vision colour=red 2>"$err" && fail "taken"
grep -q 'there is no rule "colour"' "$err" || fail "says: $(cat "$err")"
"$wz" queue set x parent=y 2>"$err" && fail "taken"
grep -q 'parent: there is no queue "y"' "$err" || fail "says: $(cat "$err")"
"$wz" queue set vision limit 2>/dev/null && fail "taken"
"$wz" queue set 'a b' 2>/dev/null && fail "taken"
ok "wrong rules are refused with the field and what is expected"

"$wz" submit --queue nowhere --cpus 1 -- true 2>"$err" && fail "an unknown queue"
grep -q 'no queue "nowhere"' "$err" || fail "says: $(cat "$err")"
one=$("$wz" submit --queue vision --gpus 2 --time 1h -- sleep 600)
until_true is "$one" RUNNING
two=$("$wz" submit --queue vision --gpus 2 --time 1h -- sleep 600)
until_true sh -c "'$wz' why $two | grep -q QueueLimit"
"$wz" why "$two" | grep -q 'QueueLimit of vision: 2 of 3 gpu used, 2 more asked' || fail "why: $("$wz" why "$two")"
"$wz" queue list | grep -q '^vision *root *1 *1 *2.0 ' || fail "list: $("$wz" queue list)"
"$wz" queue show vision | grep -q "^$(id -un) *1 *1 *2.0 " || fail "users: $("$wz" queue show vision)"
"$wz" queue remove vision 2>/dev/null && fail "removed with jobs"
ok "submissions are of a queue, and held back by its rules"

crash
up
"$wz" queue show vision | grep -q 'limit=gpu:3' || fail "rules: $("$wz" queue show vision)"
"$wz" queue set vision limit= user-limit= || fail "no limit"
until_true is "$two" RUNNING
"$wz" cancel "$one" "$two"
ok "they are there after a crash"

from=$(date -u -d '+10 minutes' +%Y-%m-%dT%H:%MZ)
"$wz" reserve add --from "$from" --for 2h --nodes t4 fans || fail "add"
"$wz" reserve list | grep -q '^fans *planned .*nodes=t4' || fail "list: $("$wz" reserve list)"
long=$("$wz" submit --queue vision --gpus 1 --gpu-type t4 --time 1h -- true)
until_true sh -c "'$wz' why $long | grep -q Reserved"
short=$("$wz" submit --queue vision --gpus 1 --gpu-type t4 --time 1m -- true)
until_true is "$short" COMPLETED
"$wz" reserve remove fans || fail "remove"
until_true is "$long" COMPLETED
"$wz" reserve remove fans 2>/dev/null && fail "removed twice"
ok "maintenance keeps jobs away that could reach into it"

"$wz" reserve add --from 2030-03-26T14:00 --for 2h --gpus 1 --queue vision --weeks 3 --tz UTC class || fail "weeks"
[ "$("$wz" reserve list | grep -c '^class\.[123] ')" = 3 ] || fail "list: $("$wz" reserve list)"
"$wz" reserve add --from 2030-02-30T14:00 --for 2h --gpus 1 --queue vision x 2>/dev/null && fail "30 February"
"$wz" reserve add --from 2030-03-26T14:00 --gpus 1 --queue vision x 2>/dev/null && fail "no end"
"$wz" reserve add --from 2030-03-26T14:00 --for 2h --gpus 1 x 2>"$err" && fail "for nobody"
grep -q 'devices are reserved for a queue= or a user=' "$err" || fail "says: $(cat "$err")"
"$wz" reserve add --from 2030-03-26T14:00 --for 2h --nodes t4 --tz Mars/Olympus x 2>/dev/null && fail "a zone that is none"
ok "weeks, and what is wrong"

a=$("$wz" submit --queue vision --gpus 2 --gpu-type t4 --time 1h -- sleep 600)
until_true is "$a" RUNNING
b=$("$wz" submit --queue vision --gpus 1 --gpu-type t4 --time 1h -- true)
until_true sh -c "'$wz' why $b | grep -q 'latest by time limits'"
"$wz" why "$b" | grep -q 'likely start (80 %)' || fail "why: $("$wz" why "$b")"
"$wz" cancel "$a"
until_true is "$b" COMPLETED
until_true none_left
ok "a promised start is told"

"$wz" queue remove vision || fail "remove"
"$wz" queue show vision 2>/dev/null && fail "still there"
ok "what is empty is removed"

down
finish
