#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz sim bound, and the bound beside wz sim pack.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

cat >nodes.csv <<'EOF'
sn,cpu_milli,memory_mib,gpu,model
n0,8000,65536,2,T4
n1,8000,65536,2,T4
EOF
cat >pods.csv <<'EOF'
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
p0,1000,1024,1,600,
p1,1000,1024,1,600,
EOF

run 2 "$wz" sim bound --nodes nodes.csv
says "both --nodes FILE and --pods FILE are needed"
run 2 "$wz" sim bound --nodes nodes.csv --pods pods.csv --at 0
says "--at takes percents of 1 to 130"
run 3 "$wz" sim bound --nodes nodes.csv --pods nowhere.csv
no_output
ok "wrong usage"

"$wz" sim bound --nodes nodes.csv --pods pods.csv --at 60 >"$out" 2>"$err"
if grep -q "NoLpSolver\|without CLP" "$err"; then
	skip "bounds" "built without CLP"
	finish
fi

run 0 "$wz" sim bound --nodes nodes.csv --pods pods.csv --at 60,130 --jsonl
prints '"at":60,"arrived_pct":60.000,"tasks":4,"held":0,"cpu_only":"forced","status":"optimal","bound_pct":60.000000,"bound_milli":2400'
prints '"at":130,"arrived_pct":120.000,"tasks":8,"held":0,"cpu_only":"forced","status":"optimal","bound_pct":60.000000'
run 0 "$wz" sim bound --nodes nodes.csv --pods pods.csv --seeds 1-3 --csv bounds.csv
prints "pods: no placement can hold more, tasks without a device all served (3 seeds)"
[ "$(wc -l <bounds.csv)" = 19 ] || fail "the CSV has other than 3 x 6 lines"
ok "four devices of one 600 each"

run 0 "$wz" sim bound --nodes nodes.csv --pods pods.csv --at 100 --hold-prefix 90
prints "infeasible: this prefix cannot be held by any placement"
run 0 "$wz" sim bound --nodes nodes.csv --pods pods.csv --at 100 --hold-prefix 90 --jsonl
prints '"status":"infeasible","bound_pct":null'
ok "a prefix that cannot be held is stated"

run 0 "$wz" sim pack --nodes nodes.csv --pods pods.csv --bound --hold-prefix 60
prints "LP bound, 60 % held"
run 0 "$wz" sim pack --nodes nodes.csv --pods pods.csv --jsonl
cp "$out" plain.txt
run 0 "$wz" sim pack --nodes nodes.csv --pods pods.csv --jsonl --bound --html report.html
prints '{"trace":"pods","bound_pct":{"50":60.0000,"90":60.0000'
prints '"hold_prefix_pct":null}'
[ "$(wc -l <"$out")" = 2 ] || fail "a line for the run and a line for the bound"
grep -q 'class="bound"' report.html || fail "the report draws no bound"
ok "beside wz sim pack"

finish
