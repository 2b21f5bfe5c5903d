#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz sim run: the contract's keys, selection, wrong input.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

cat >jobs.csv <<'END'
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,a
2017-10-09 07:02:55,600,8,4800,a
2017-10-09 07:03:55,60,4,240,b
2017-10-08 07:03:55,3600,2,7200,a
END
run 0 "$wz" sim run --trace jobs.csv --cluster 1x8 --order fifo,levelled --seeds 1-2 --jsonl
[ "$(wc -l <"$out")" = 4 ] || fail "want a line for each order and seed"
keys=$(head -1 "$out" | sed 's/[,{]/\n/g' | sed -n 's/^"\([a-z0-9_]*\)":.*/\1/p' | tr '\n' ' ')
want="trace order predict seed jobs finished mean_jct_s p50_jct_s p95_jct_s p99_jct_s mean_wait_s makespan_s utilisation preemptions_per_job lost_gpu_s energy_kwh cost decisions cpu_s p99_us digest "
[ "$keys" = "$want" ] || fail "keys: $keys"
prints '"trace":"jobs","order":"fifo","predict":"none","seed":1,"jobs":4,"finished":4,'
ok "the lines of --jsonl"

run 0 "$wz" sim run --trace jobs.csv --cluster 1x8 --order fifo --queue b --jsonl
prints '"jobs":1,"finished":1,"mean_jct_s":60.000'
run 0 "$wz" sim run --trace jobs.csv --cluster 1x8 --order fifo --from 2017-10-09 --to 1d --jsonl
prints '"jobs":2'
run 0 "$wz" sim run --trace jobs.csv --cluster 1x8 --order fifo --from 2017-10-09 --jobs-csv all.csv
grep -q '^jobs,fifo,1,j2,,a,8,' all.csv || fail "the job is not in the CSV"
run 3 "$wz" sim run --trace none.csv --cluster 1x8
ok "selection"

for p in any yarn jigsaw; do
	run 0 "$wz" sim run --trace jobs.csv --cluster 2x4 --order levelled --placement $p --predict history --jsonl
	prints '"finished":4'
done
"$wz" sim run --trace jobs.csv --cluster 2x4 --order levelled --placement jigsaw --jsonl | sed 's/.*digest//' >d1
"$wz" sim run --trace jobs.csv --cluster 2x4 --order levelled --placement jigsaw --jsonl | sed 's/.*digest//' >d2
cmp -s d1 d2 || fail "two runs differ"
ok "placements, and the same digest twice"

run 0 "$wz" sim run --trace jobs.csv --cluster 2x4 --order levelled --device-mtbf 2h --device-mttr 10m --jsonl
prints '"finished":4'
"$wz" sim run --trace jobs.csv --cluster 2x4 --order levelled --jsonl | sed 's/.*digest//' >d1
sed 's/.*digest//' "$out" >d2
! cmp -s d1 d2 || fail "no device failed"
run 2 "$wz" sim run --trace jobs.csv --cluster 2x4 --device-mtbf often
says "--device-mtbf is a time such as 365d"
ok "devices fail"

run 2 "$wz" sim run --trace jobs.csv
says "no nodes"
run 2 "$wz" sim run --trace jobs.csv --cluster 1x8 --order lewelled
says "did you mean levelled"
run 2 "$wz" sim run --trace jobs.csv --cluster 1x8 --order levelled:base=0
says "expected 1.1..100"
run 2 "$wz" sim run --trace jobs.csv --cluster 1x8 --predict noise:x
says "noise:SIGMA"
run 2 "$wz" sim run --trace jobs.csv --cluster 1x8 --placement best
run 2 "$wz" sim run --trace jobs.csv --cluster 1x8 --restart-cost much
run 2 "$wz" sim run --trace jobs.csv --cluster 1x8 --from soon
run 1 "$wz" sim run --trace jobs.csv --cluster 8by8
says "such as 8x8"
run 1 "$wz" sim run --trace jobs.csv --cluster 1x8 --queue c
says 'no job of the trace is of the queue "c"'
printf 'timestamp,duration,num_gpus,gpu_time,cluster\n2017-13-09 07:01:55,66.0,1,66.0,a\n' >bad.csv
run 1 "$wz" sim run --trace bad.csv --cluster 1x8
says "bad.csv:2:1: timestamp is"
no_output
printf 'timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,-5,1,66.0,a\n' >bad.csv
run 1 "$wz" sim run --trace bad.csv --cluster 1x8
says 'bad.csv:2:21: duration is "-5"; expected a number that is not negative'
ok "wrong input"

run 0 "$wz" trace cut --first 1 --out cut jobs.csv
run 0 "$wz" trace scale --load 2 --out scaled jobs.csv
run 0 "$wz" trace merge --out merged cut/trace.wz scaled/trace.wz
run 0 "$wz" trace anon --seed 7 --out anon merged/trace.wz
for d in cut scaled merged anon; do
	run 0 "$wz" trace check $d/trace.wz
done
run 0 "$wz" sim run --trace anon/trace.wz --cluster 2x4 --order fifo,srtf --html report.html
[ -s report.html ] || fail "no report"
run 0 "$wz" whatif jobs.csv --cluster 1x8 --add-nodes 1x8
ok "a trace cut, scaled, merged, without names; a report and a purchase"
finish
