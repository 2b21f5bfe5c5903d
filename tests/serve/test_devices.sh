#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Devices as they live: readings that decide where work goes, strangers on a card, a card that falls off the bus.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
cat >"$dir/cluster.yaml" <<'YAML'
version: 1
nodes:
  - name: a100
    cpus: 64
    mem: 512Gi
    devices:
      - {model: NVIDIA A100-SXM4-80GB, mem: 80Gi, telemetry: {mem_used: 60Gi}}
      - {model: NVIDIA A100-SXM4-80GB, mem: 80Gi}
      - {model: NVIDIA A100-SXM4-80GB, mem: 80Gi, telemetry: {mem_used: unsupported}}
  - name: t4
    cpus: 16
    mem: 64Gi
    devices:
      - {model: Tesla T4, count: 2, mem: 15Gi}
events:
  - {at: 9s, node: t4, device: 1, health: failed, why: fell off the bus}
processes:
  - {node: a100, device: 0, pid: 4711, mem: 3Gi, user: alice, command: python}
YAML
where() { "$wz" show --json "$1" | sed -n 's/.*"devices":\[\([0-9,]*\)\].*/\1/p' | head -1; }

up
two=$(submit --gpus 2 --gpu-type t4 -- sh -c 'trap "" TERM; while :; do sleep 0.1; done')
until_true is "$two" RUNNING
# Only device 1 of the first node is known to have half of its memory free.
free=$(submit --gpus 1 --profile 'free=50%' --gpu-type a100 -- sleep 1000)
until_true is "$free" RUNNING
[ "$(where "$free")" = 1 ] || fail "it runs on device $(where "$free"): $("$wz" show --json "$free")"
more=$(submit --gpus 1 --profile 'free=50%' --gpu-type a100 -- true)
any=$(submit --gpus 1 --gpu-type a100 -- true)
run 0 "$wz" wait "$any"
run 0 "$wz" why "$more"
prints "free memory"
run 0 "$wz" devices --json
prints '"foreign":1'
ok "free= holds: by what a card has free now, and a card that does not say has nothing"

until_true sh -c "'$wz' devices | grep -q 'Tesla-T4 *failed\|T4.*failed'"
until_true is "$two" PENDING
run 0 "$wz" why "$two"
prints "never"
python3 "$WZ_SOURCE_ROOT/tests/serve/api.py" GET "/v1/jobs/$two/attempts" >"$out"
prints '"state":"DEVICE_LOST"'
is "$free" RUNNING || fail "a job on another device is $(state "$free")"
one=$(submit --gpus 1 --gpu-type t4 -- sh -c 'echo "on $CUDA_VISIBLE_DEVICES"')
run 0 "$wz" wait "$one"
run 0 "$wz" logs "$one"
prints "on 0"
run 0 "$wz" cancel "$two"
ok "a card that falls off the bus ends its job as DEVICE_LOST, the job waits again, others go on"

down
up
is "$free" RUNNING || fail "after a restart: $(state "$free")"
run 0 "$wz" cancel "$free" "$more"
"$wz" wait "$free" "$more" >"$out" 2>"$err"
run 0 "$wz" doctor --state "$state_dir"
! grep -q '^BAD' "$out" || fail "$(cat "$out")"
ok "the journal with readings replays to the same digests"
finish
