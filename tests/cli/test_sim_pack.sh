#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz sim pack: the contract of its output, determinism, wrong input.
# shellcheck source=tests/cli/lib.sh
. "${WZ_SOURCE_ROOT:-$(dirname "$0")/../..}/tests/cli/lib.sh"

"$wz" trace gen --like openb --nodes 40 --jobs 300 --seed 5 --out load >/dev/null || exit 99
pack="$wz sim pack --nodes load/nodes.csv --pods load/pods.csv"

digests() { sed -E 's/.*"placement":("[^"]*"),"seed":([0-9]+).*"digest":("[^"]*").*/\1 \2 \3/' "$1"; }

# shellcheck disable=SC2086 # $pack is a command with its words
{
	run 0 $pack --placement all --seeds 1-2 --jsonl
	python3 - "$out" <<-'PY' || fail "a line breaks the contract"
	import json, sys
	keys = ["trace", "placement", "seed", "allocated_pct", "fragmented_pct", "rejected", "decisions", "cpu_s",
	        "decisions_per_s", "p50_us", "p99_us", "digest"]
	points = ["50", "90", "95", "98", "100", "110", "120", "130"]
	lines = [json.loads(line) for line in open(sys.argv[1])]
	assert len(lines) >= 26 and len(lines) % 2 == 0, len(lines)
	for r in lines:
	    assert list(r) == keys, list(r)
	    assert list(r["allocated_pct"]) == points and list(r["fragmented_pct"]) == points
	    assert list(r["rejected"]) == ["cpu", "share", "one", "multi"]
	    assert 0 < r["allocated_pct"]["100"] <= 100 and r["decisions"] > 300 and len(r["digest"]) == 16
	    assert r["trace"] == "pods" and r["seed"] in (1, 2)
	PY
	ok "--jsonl keeps its contract, for every placement"

	digests "$out" >one
	run 0 $pack --placement all --seeds 1-2 --jsonl --workers 3
	digests "$out" >two
	run 0 $pack --placement all --seeds 1-2 --jsonl --no-index
	digests "$out" >three
	cmp -s one two || fail "threads change the digests"
	cmp -s one three || fail "the index changes the digests"
	[ "$(cut -d' ' -f3 one | sort -u | wc -l)" -ge 20 ] || fail "the digests hardly differ"
	ok "the same digests with three threads and without the index"

	run 0 $pack --placement jigsaw,fgd --check
	ok "all invariants hold after every arrival"

	run 0 $pack --placement jigsaw --check --ack-delay 5s --ack-loss 20000 --ack-twice 100000 --refuse 20000
	run 0 $pack --placement jigsaw --jsonl --ack-delay 5s --ack-loss 20000 --ack-twice 100000 --refuse 20000
	digests "$out" >four
	run 0 $pack --placement jigsaw --jsonl --ack-delay 5s --ack-loss 20000 --ack-twice 100000 --refuse 20000
	digests "$out" | cmp -s - four || fail "faults are not reproducible"
	if grep -qF "$(cut -d" " -f3 four)" one; then fail "faults change nothing"; fi
	ok "late, lost, doubled and refused acknowledgements: invariants hold, and it repeats"

	run 0 $pack --placement jigsaw,bestfit --seeds 1-2 --csv c.csv --html r.html
	[ "$(head -1 c.csv)" = "trace,placement,seed,arrived_pct,allocated_pct,fragmented_pct,frag_ratio_pct" ] ||
		fail "CSV header"
	[ "$(grep -c jigsaw c.csv)" -gt 200 ] || fail "CSV lines"
	grep -q '<svg' r.html || fail "no chart in the report"
	! grep -Eq '(src|href)="https?:' r.html || fail "the report fetches something"
	prints "jigsaw"
	ok "CSV and report are written"

	run 0 $wz sim pack --list
	prints "kube-least-allocated"
	ok "--list"

	run 2 $pack --placement jigsw
	says 'there is no policy named "jigsw"; the nearest is jigsaw'
	no_output
	run 2 $pack --seeds 9-3
	no_output
	run 2 $pack --workers 100000
	run 2 $pack --seeds 0-4294967295
	says "at most 10000"
	run 2 $pack --nosuch
	says "unknown option --nosuch"
	run 2 $wz sim pack --nodes load/nodes.csv
	says "both --nodes FILE and --pods FILE"
	run 2 $pack extra
	ok "wrong options are usage errors"

	run 3 $wz sim pack --nodes nowhere.csv --pods load/pods.csv
	says "nowhere.csv"
	no_output
	run 1 $wz sim pack --nodes load/nodes.csv --pods .
	no_output
	sed '3s/,[^,]*/,-5/' load/pods.csv >negative.csv
	run 1 $wz sim pack --nodes load/nodes.csv --pods load/pods.csv --pods negative.csv --csv left.csv
	says "negative.csv:3:"
	no_output
	[ ! -e left.csv ] || fail "a file was written though the input is bad"
	ok "bad input names file and line, and leaves nothing behind"

	head -1 load/nodes.csv >empty_nodes.csv
	run 1 $wz sim pack --nodes empty_nodes.csv --pods load/pods.csv
	no_output
	awk -F, 'NR == 1 || $4 == 0' load/pods.csv >cpu_only.csv
	run 1 $wz sim pack --nodes load/nodes.csv --pods cpu_only.csv
	says "no task asks for a device"
	no_output
	awk -F, 'BEGIN { OFS = FS } NR == 1 { print } NR > 1 && NR < 200 { $4 = $5 = NR == 2; $6 = ""; print }' \
		load/pods.csv >one_milli.csv
	run 1 $wz sim pack --nodes load/nodes.csv --pods one_milli.csv
	says "too few tasks ask for one"
	no_output
	ok "nothing to pack is an error"

	# A node of 2^30 CPUs with one device: the default policy squares what is free.
	{ echo sn,cpu_milli,memory_mib,gpu,model; echo n,1099511627776,1000,1,G2; } >huge_nodes.csv
	{ echo name,cpu_milli,memory_mib,num_gpu,gpu_milli; echo p,1099511627776,1,1,1000; } >huge_pods.csv
	run 0 $wz sim pack --nodes huge_nodes.csv --pods huge_pods.csv --placement all --check
	ok "the largest values that the format takes do not overflow"

	mkfifo pipe
	cat pipe >from_pipe &
	run 0 $pack --csv pipe
	[ -p pipe ] || fail "the pipe was replaced by a file"
	wait
	grep -q jigsaw from_pipe || fail "nothing came through the pipe"
	ok "a pipe is written to, not replaced"

	"$wz" trace gen --like openb --nodes 3000 --jobs 30000 --seed 5 --out big >/dev/null || fail "trace gen"
	"$wz" sim pack --nodes big/nodes.csv --pods big/pods.csv --check --csv stopped.csv >"$out" 2>"$err" &
	pid=$!
	# The handler is what is waited for, not time; and it must be that of wz, not of the shell before it became wz.
	until [ "$(sed -n -e 's/^Name:[[:space:]]*//p' -e 's/^SigCgt:.*\(.\)$/\1/p' /proc/$pid/status 2>/dev/null | tr '\n' ' ')" = "wz 2 " ]; do
		kill -0 $pid 2>/dev/null || break
	done
	kill -INT $pid
	wait $pid
	[ $? = 1 ] || fail "exit code after SIGINT"
	says "interrupted: nothing was written"
	no_output
	[ ! -e stopped.csv ] || fail "a file was written"
	ok "an interrupt ends a run, and nothing is written"

	run 0 $pack --placement jigsaw --journal journal.jsonl
	lines=$(wc -l <journal.jsonl)
	nodes=$(grep -c '^{"ev":12,' journal.jsonl)
	[ "$nodes" -gt 0 ] || fail "no nodes in the journal"
	[ "$lines" -gt "$nodes" ] || fail "the journal: $nodes of $lines"
	grep -q '^{"ef":1,' journal.jsonl || fail "no start in the journal"
	run 0 $pack --placement jigsaw --journal again.jsonl
	cmp -s journal.jsonl again.jsonl || fail "the same run has another journal"
	run 3 $pack --placement jigsaw --journal /nowhere/at/all.jsonl
	ok "a journal of the run: every node, event and start"

	run 3 $pack --csv /nowhere/at/all.csv
	no_output
	ok "an output that cannot be written is an error, and nothing is printed"
}
finish
