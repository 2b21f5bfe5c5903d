#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz trace: good input, and every kind of wrong input with its exit code, its place and what was expected.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

cat >nodes.csv <<'EOF'
sn,cpu_milli,memory_mib,gpu,model
n0,64000,262144,2,P100
n1,96000,393216,8,G2
EOF
cat >pods.csv <<'EOF'
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
p0,6000,12288,1,460,
p1,12000,16384,8,1000,G2
p2,1000,1024,0,0,
EOF

run 0 "$wz" trace info nodes.csv pods.csv
prints "G2"
prints "demand / capacity: GPU 84.60 %"
[ ! -s "$err" ] || fail "stderr is not empty"
run 0 "$wz" trace info --json pods.csv nodes.csv
if command -v python3 >/dev/null; then
	python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert d["nodes"]==2 and d["jobs"]==3; assert d["demand"]["gpu_milli"]==8460; assert d["classes"]["share"]["jobs"]==1' "$out" || fail "bad JSON"
fi
ok "info, as text and as JSON"

run 0 "$wz" trace check nodes.csv pods.csv
prints "ok: 2 nodes, 3 jobs"
printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\nbig,1,1,9,1000\n' >big.csv
run 0 "$wz" trace check nodes.csv big.csv
says 'the job "big" asks for more than any node has'
run 1 "$wz" trace check --strict nodes.csv big.csv
no_output
ok "check"

run 0 "$wz" trace convert --to wz --out w nodes.csv pods.csv
prints "w/trace.wz"
run 0 "$wz" trace convert --to openb --out c w/trace.wz
cmp -s nodes.csv c/nodes.csv || fail "the node list changed"
run 0 "$wz" trace convert --to wz --out - c/nodes.csv c/pods.csv
cmp -s "$out" w/trace.wz || fail "the round trip changed the trace"
"$wz" trace convert --to wz --out - - <w/trace.wz >"$out" 2>"$err" || fail "reading standard input"
cmp -s "$out" w/trace.wz || fail "standard input gives another trace"
ok "convert there and back"

run 0 "$wz" trace gen --like openb --nodes 30 --jobs 100 --seed 42 --out g1
run 0 "$wz" trace gen --like openb --nodes 30 --jobs 100 --seed 42 --out g2
cmp -s g1/pods.csv g2/pods.csv || fail "the same seed gives other pods"
cmp -s g1/nodes.csv g2/nodes.csv || fail "the same seed gives other nodes"
run 0 "$wz" trace check g1/nodes.csv g1/pods.csv
prints "ok: 30 nodes, 100 jobs"
run 1 "$wz" trace gen --like lab --format openb --out g3
no_output
says "which the openb format cannot say"
[ ! -e g3/nodes.csv ] || fail "a part was written"
run 1 "$wz" trace gen --like openb --out -
says "two files"
ok "gen"

# wrong FILE CODE PLACE EXPECTED...: info, check and convert all say the same and write nothing
wrong() {
	file=$1 code=$2 place=$3 expected=$4
	shift 4
	for verb in info check; do
		run "$code" "$wz" trace $verb "$@" "$file"
		no_output
		says "wz: $place"
		says "$expected"
	done
	run "$code" "$wz" trace convert --to wz --out never "$@" "$file"
	no_output
	says "$expected"
	[ ! -e never ] || fail "a directory was made for nothing"
}

printf 'sn,cpu_milli,gpu,model\nn0,1,1,T4\n' >f.csv
wrong f.csv 1 f.csv:1:1: 'lacks the column "memory_mib"; expected sn,cpu_milli,memory_mib,gpu,model'
ok "missing column"

printf 'sn,cpu_milli,memory_mib,gpu,model\nn0,64000,-5,1,T4\n' >f.csv
wrong f.csv 1 f.csv:2:10: 'memory_mib is negative (-5); expected a whole number 0..'
ok "negative number"

printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1,1,1,500,G3\n' >f.csv
wrong f.csv 1 f.csv:2:13: 'the model "G3" is of no node; nearest: G2' nodes.csv
ok "unknown model"

printf 'sn,cpu_milli,memory_mib,gpu,model\nn0,99999999999999999999999,1,1,T4\n' >f.csv
wrong f.csv 1 f.csv:2:4: 'too large; expected 0..1099511627776'
ok "huge number"

printf 'sn,cpu_milli,memory_mib,gpu,model\nn0,12k,1,1,T4\n' >f.csv
wrong f.csv 1 f.csv:2:4: '"12k", not a number; expected a whole number'
ok "not a number"

printf '\177ELF\000\000' >f.bin
wrong f.bin 1 f.bin:1:5: 'binary'
ok "binary file"

printf '\037\213\010\000\000\000' >f.gz
wrong f.gz 1 f.gz: 'this is not whole gzip data'
ok "half a gzip file"

: >f.csv
wrong f.csv 1 'cannot read f.csv:' 'the file is empty'
ok "empty file"

printf 'sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,0,\nn0,1,1,0,\n' >f.csv
wrong f.csv 1 f.csv:3:1: 'the node name "n0" is used twice; names must be unique'
ok "duplicate node"

printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,2,500\n' >f.csv
wrong f.csv 1 f.csv:2:9: 'expected 1000: only a single GPU can be shared'
ok "a share of several GPUs"

printf 'a,b\n1,2\n' >f.csv
wrong f.csv 1 f.csv:1:1: 'no known trace format; expected'
ok "something else"

printf 'whalezen-trace 1\njob j submit=1s : gpus=1 gpu-mm=4G\n' >f.wz
wrong f.wz 1 f.wz:2:26: 'gpu-mm'
says '^'
ok "a profile error has the file's place and a caret"

wrong none.csv 3 'cannot read none.csv:' 'no such file or directory'
ok "no such file"

mkdir folder
wrong folder 1 'cannot read folder:' 'is a directory; expected a file'
ok "a directory instead of a file"

cp nodes.csv secret.csv
chmod 000 secret.csv
if [ "$(id -u)" != 0 ]; then
	wrong secret.csv 1 'cannot read secret.csv:' 'permission denied'
	ok "no permission"
elif command -v setpriv >/dev/null && chmod 755 "$dir" && setpriv --reuid=65534 --clear-groups --inh-caps=-all "$wz" --version >/dev/null 2>&1; then
	run 1 setpriv --reuid=65534 --clear-groups --inh-caps=-all "$wz" trace info secret.csv
	no_output
	says 'cannot read secret.csv: permission denied'
	run 1 setpriv --reuid=65534 --clear-groups --inh-caps=-all "$wz" trace gen --like lab --out "$dir/mine"
	no_output
	says 'permission denied'
	ok "no permission"
else
	skip "no permission" "running as root without a usable setpriv"
fi

run 1 "$wz" trace gen --like lab --out nodes.csv
no_output
says "not a directory"
run 0 "$wz" trace check nodes.csv
ok "the output directory is a file, which stays as it was"

mkdir -p busy/trace.wz
run 1 "$wz" trace gen --like lab --out busy
no_output
says "is a directory"
[ "$(ls busy)" = trace.wz ] || fail "a temporary file was left"
ok "the output file is a directory"

run 2 "$wz" trace info
says "no file is given"
run 2 "$wz" trace convert nodes.csv
says "--to is needed"
run 1 "$wz" trace check --from wz nodes.csv
says "no known trace format"
no_output
ok "usage"

finish
