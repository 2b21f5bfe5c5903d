#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Retention: logs go by age and by room, rows by age, and nothing of what waits or runs.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

conf=$dir/whalezen.yaml
launch() {
	"$wz" serve --config "$conf" >>"$dir/serve.log" 2>&1 &
	pid=$!
}
write() {
	printf 'version: 1\nstate: %s\ncluster: %s/cluster.yaml\ncgroups: false\nretention: %s\n' "$state_dir" "$dir" "$1" >"$conf"
}
write '{logs: 90d, logs-size: 1Mi}'
WZ_TEST_KEEP_MS=86400000
export WZ_TEST_KEEP_MS
up
blow='i=0; while [ $i -lt 60 ]; do head -c 10000 /dev/zero; i=$((i+1)); done'
one=$(submit -- sh -c "$blow")
run 0 "$wz" wait "$one"
two=$(submit -- sh -c "$blow")
run 0 "$wz" wait "$two"
live=$(submit --gpus 1 -- sh -c 'echo alive; exec sleep 100')
until_true is "$live" RUNNING
waits=$(submit --gpus 8 -- true)
down
mkdir -p "$dir/elsewhere"
echo keep >"$dir/elsewhere/file"
ln -s "$dir/elsewhere" "$state_dir/logs/$one/link"

WZ_TEST_KEEP_MS=200
up
until_true grep -q "retention deleted: logs of 1 jobs" "$dir/serve.log"
[ ! -e "$state_dir/logs/$one" ] || fail "the older one is still there"
[ -e "$state_dir/logs/$two" ] || fail "the younger one is gone"
[ -e "$dir/elsewhere/file" ] || fail "a link was followed"
run 0 "$wz" logs "$two"
run 0 "$wz" show "$one"
until_true sh -c "'$wz' logs '$live' | grep -q alive"
ok "logs beyond the room that they may use, the oldest first"

down
sleep 0.1
write '{logs: 1ms, jobs: 180d}'
up
until_true sh -c "[ ! -e '$state_dir/logs/$two' ]"
run 0 "$wz" show "$two"
until_true sh -c "'$wz' logs '$live' | grep -q alive"
is "$live" RUNNING || fail "live: $(state "$live")"
is "$waits" PENDING || fail "waits: $(state "$waits")"
ok "logs by age; what runs and waits is left alone"
finish
