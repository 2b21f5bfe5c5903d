#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tasks of a gang are told of each other: ranks, hosts, relative throughput, and Slurm's names when asked.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
cat >"$dir/cluster.yaml" <<'YAML'
version: 1
nodes:
  - name: fast
    cpus: 16
    mem: 64Gi
    devices:
      - {model: NVIDIA A100-SXM4-80GB, count: 1, mem: 80Gi}
  - name: t4
    cpus: 16
    mem: 64Gi
    devices:
      - {model: Tesla T4, count: 1, mem: 15Gi}
YAML
up
job=$(submit --gpus 1 --tasks 2 --slurm -- sh -c 'echo "$RANK/$WORLD_SIZE $WZ_RANK/$WZ_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"; echo "on $WZ_NODE speed $WZ_SPEED_MILLI of $WZ_THROUGHPUT"; cat "$WZ_HOSTFILE"; echo "slurm $SLURM_JOB_ID $SLURM_PROCID/$SLURM_NTASKS $SLURM_JOB_NODELIST"')
run 0 "$wz" wait "$job"
"$wz" logs --task 0 "$job" >"$dir/0"
"$wz" logs --task 1 "$job" >"$dir/1"
cat "$dir/0" "$dir/1" >"$out"
prints "0/2 0/2 127.0.0.1:"
prints "1/2 1/2 127.0.0.1:"
[ "$(grep -o '127.0.0.1:[0-9]*' "$out" | sort -u | wc -l)" = 1 ] || fail "two masters"
prints "on fast speed 1000 of "
[ "$(sed -n 's/^on .* of //p' "$out" | sort -u | wc -l)" = 1 ] || fail "they differ about their throughput"
slow=$(sed -n 's/^on t4 speed \([0-9]*\) of .*/\1/p' "$out")
case ${slow:-0} in 0 | 1000) fail "a T4 is as fast as an A100: $slow" ;; esac
grep -q "^t4 speed=0\.$(printf %03d "$slow")" "$out" || fail "the host file: $(cat "$dir/0")"
prints "slurm $job 0/2 "
prints "slurm $job 1/2 "
run 1 "$wz" run -- sh -c "env | grep -c ^SLURM_"
ok "a gang on unlike nodes"
finish
