#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A higher priority moves running jobs aside, by their contract: jobs that count run on all devices, urgent ones take their
# places, and no step is lost or done twice. A job without a contract that says it may not be moved stays.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
cat >"$dir/cluster.yaml" <<'YAML'
version: 1
nodes:
  - name: t4
    count: 2
    cpus: 16
    mem: 64Gi
    devices:
      - {model: Tesla T4, count: 2, mem: 15Gi}
YAML
is_ready() { "$wz" nodes | grep -q '^t4-1 *ready'; }
cat >"$dir/count.sh" <<'SH'
#!/bin/bash
asked=
trap 'asked=yes' USR1
n=$(cat "$1/checkpoint" 2>/dev/null || echo 0)
echo "$WZ_NODE:$CUDA_VISIBLE_DEVICES from $n" >>"$1/starts"
save() { echo "$n" >"$1/checkpoint.new" && mv "$1/checkpoint.new" "$1/checkpoint"; }
while [ "$n" -lt "$2" ]; do
	sleep 0.05
	n=$((n + 1))
	echo "$n" >>"$1/ledger"
	[ "$asked" ] || continue
	save "$1"
	: >"$WZ_ACK_FILE"
	sleep 10
done
save "$1"
SH
chmod 755 "$dir/count.sh"
up
jobs=
for i in 1 2 3 4; do
	mkdir "$dir/$i"
	jobs="$jobs $(submit --name "low$i" --priority -5 --gpus 1 --preempt signal:USR1,grace:20s,ack:file -- "$dir/count.sh" "$dir/$i" 80)"
done
for j in $jobs; do until_true is "$j" RUNNING; done
until_true test -s "$dir/4/ledger"
for round in 1 2 3; do
	urgent=$(submit --name "urgent$round" --priority 10 --gpus 2 -- sh -c 'sleep 0.3')
	run 0 "$wz" wait "$urgent"
done
# shellcheck disable=SC2086
run 0 "$wz" wait $jobs
moved=0 # a slow machine may have some of them done before the last urgent one comes
for i in 1 2 3 4; do
	seq 1 80 | cmp -s - "$dir/$i/ledger" || fail "job $i did $(sort -n "$dir/$i/ledger" | uniq -d | wc -l) steps twice, $(wc -l <"$dir/$i/ledger") of 80"
	moved=$((moved + $(wc -l <"$dir/$i/starts") - 1))
	sed "s/^/# job $i: /" "$dir/$i/starts"
done
[ "$moved" -ge 2 ] || fail "three urgent jobs of two devices moved only $moved times"
for j in $jobs; do
	"$wz" show "$j" >"$out"
	[ "$(grep -c 'attempt [0-9]*  PREEMPTED' "$out")" = "$(($(sed -n 's/^attempt  *\([0-9]*\)$/\1/p' "$out") - 1))" ] || fail "$(cat "$out")"
done
[ "$(cat "$dir"/[1-4]/starts | sed 's/ .*//' | sort -u | wc -l)" = 4 ] || fail "not all devices were used"
ok "urgent jobs take the places of counting ones, which go on without losing a step"

stays=
for i in 5 6 7 8; do
	mkdir "$dir/$i"
	stays="$stays $(submit --priority -5 --gpus 1 --preempt never -- sh -c 'until [ -e "$1/go" ]; do sleep 0.05; done' job "$dir/$i")"
done
for j in $stays; do until_true is "$j" RUNNING; done
urgent=$(submit --priority 10 --gpus 1 -- true)
sleep 1
is "$urgent" PENDING || fail "urgent is $(state "$urgent")"
touch "$dir/5/go"
run 0 "$wz" wait "$urgent"
touch "$dir/6/go" "$dir/7/go" "$dir/8/go"
# shellcheck disable=SC2086
run 0 "$wz" wait $stays
ok "who may not be moved stays"
# Two nodes: one full of work that stays, one where two count. An urgent job takes the second; when the first is free, those
# that count go on there.
fill=
for i in 1 2; do
	fill="$fill $(submit --gpus 1 --preempt never --profile 'gpu-type=t4' -- sh -c 'until [ -e "$1" ]; do sleep 0.05; done; echo "$WZ_NODE"' job "$dir/free")"
done
for j in $fill; do until_true is "$j" RUNNING; done
jobs=
for i in c1 c2; do
	mkdir "$dir/$i"
	jobs="$jobs $(submit --priority -5 --gpus 1 --preempt signal:USR1,grace:20s,ack:file -- "$dir/count.sh" "$dir/$i" 60)"
done
for j in $jobs; do until_true is "$j" RUNNING; done
until_true test -s "$dir/c2/ledger"
urgent=$(submit --priority 10 --gpus 2 -- sh -c 'until [ -e "$1" ]; do sleep 0.05; done' job "$dir/enough")
until_true is "$urgent" RUNNING
for j in $jobs; do is "$j" PENDING || fail "job $j is $(state "$j")"; done
touch "$dir/free"
# shellcheck disable=SC2086
run 0 "$wz" wait $jobs $fill
is "$urgent" RUNNING || fail "urgent is $(state "$urgent")"
touch "$dir/enough"
run 0 "$wz" wait "$urgent"
for i in c1 c2; do
	seq 1 60 | cmp -s - "$dir/$i/ledger" || fail "$i: $(wc -l <"$dir/$i/ledger") of 60"
	[ "$(sed 's/:.*//' "$dir/$i/starts" | sort -u | wc -l)" = 2 ] || fail "$i did not move: $(cat "$dir/$i/starts")"
done
ok "what is moved aside goes on, on other devices, without losing a step"
run 0 "$wz" trace verify --state "$state_dir"
finish
