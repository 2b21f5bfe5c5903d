#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz sim churn: the contract of its output, determinism, wrong input.
# shellcheck source=tests/cli/lib.sh
. "${WZ_SOURCE_ROOT:-$(dirname "$0")/../..}/tests/cli/lib.sh"

"$wz" trace gen --like openb --nodes 20 --jobs 300 --seed 5 --out load >/dev/null || exit 99
churn="$wz sim churn --nodes load/nodes.csv --pods load/pods.csv --warmup 2 --window 5"

digests() { sed -nE 's/.*"placement":("[^"]*").*"seed":([0-9]+).*"offered":("[^"]*"),"digest":("[^"]*").*/\1 \2 \3 \4/p' "$1"; }

# shellcheck disable=SC2086 # $churn is a command with its words
{
	run 0 $churn --placement jigsaw,fgd,random --load 90%,97.5 --seeds 1-3 --jsonl --full wait --patience 2h
	python3 - "$out" <<-'PY' || fail "a line breaks the contract"
	import json, sys
	head = ["kind", "trace", "placement", "load_pct", "full", "lives"]
	plain = ["allocated_pct", "cpu_allocated_pct", "fragmented_pct", "frag_ratio_pct"]
	classed = ["refused_jobs_pct", "refused_hours_pct", "refused_hours_drawn_pct", "wait_mean_min", "wait_p95_min"]
	run = head + ["seed"] + plain + ["arrived", "refused"] + classed + [
	    "refused_device_hours", "window_h", "mean_life_h", "cpu_load_pct", "jobs", "waiting_first", "waiting_last",
	    "decisions", "cpu_s", "decisions_per_s", "p50_us", "p99_us", "offered", "digest"]
	classes = ["cpu", "share", "1", "2", "4", "8"]
	lines = [json.loads(line) for line in open(sys.argv[1])]
	assert len(lines) == 2 * (9 + 3), len(lines)
	for r in lines:
	    assert r["full"] == "wait" and r["lives"] == "philly" and r["load_pct"] in (90, 97.5)
	    if r["kind"] == "run":
	        assert list(r) == run, list(r)
	        assert list(r["arrived"]) == classes and list(r["wait_mean_min"]) == ["all"] + classes
	        assert 50 < r["allocated_pct"] < 100 and sum(r["arrived"].values()) < r["jobs"] == r["decisions"]
	    else:
	        assert r["kind"] == "summary" and list(r) == head + ["seeds"] + plain + classed, list(r)
	        assert list(r["allocated_pct"]) == ["n", "mean", "half", "less_first", "less_first_half"]
	        assert list(r["refused_hours_pct"]) == ["all"] + classes
	        assert r["placement"] != "jigsaw" or r["allocated_pct"]["less_first"] == 0
	for load in (90, 97.5):
	    for seed in (1, 2, 3):
	        assert len({r["offered"] for r in lines if r["kind"] == "run" and (r["load_pct"], r["seed"]) == (load, seed)}) == 1
	for p in ("jigsaw", "fgd", "random"):
	    runs = [r for r in lines if r["kind"] == "run" and r["placement"] == p and r["load_pct"] == 90]
	    s = [r for r in lines if r["kind"] == "summary" and r["placement"] == p and r["load_pct"] == 90][0]
	    assert abs(sum(r["allocated_pct"] for r in runs) / 3 - s["allocated_pct"]["mean"]) < 1e-3
	PY
	ok "--jsonl keeps its contract; the policies meet the same arrivals"

	run 0 $churn --placement all --jsonl
	digests "$out" >one
	run 0 $churn --placement all --jsonl --workers 3
	digests "$out" >two
	run 0 $churn --placement all --jsonl --no-index
	digests "$out" >three
	cmp -s one two || fail "threads change the digests"
	cmp -s one three || fail "the index changes the digests"
	[ "$(cut -d' ' -f4 one | sort -u | wc -l)" -ge 10 ] || fail "the digests hardly differ"
	[ "$(cut -d' ' -f3 one | sort -u | wc -l)" = 1 ] || fail "the arrivals differ"
	ok "the same digests with three threads and without the index"

	run 0 $churn --placement jigsaw,fgd --check
	run 0 $churn --placement jigsaw --check --full wait --load 110%
	prints "waiting jobs"
	ok "all invariants hold after every event"

	run 0 $churn --placement jigsaw,bestfit --seeds 1-2 --csv c.csv
	[ "$(head -1 c.csv)" = "trace,load_pct,placement,seed,batch,class,arrived,refused,asked_milli,refused_milli,allocated_pct,fragmented_pct" ] ||
		fail "CSV header"
	[ "$(wc -l <c.csv)" = 481 ] || fail "CSV lines"
	prints "refused device-hours"
	prints "lives philly"
	ok "table and CSV"

	for lives in philly openb acme exp; do
		run 0 $churn --lives $lives
		prints "lives $lives"
	done
	ok "every kind of lives"

	for wrong in 0 0% -5 101x 95.55 1001% 95%% "" abc; do
		run 2 $churn --load "$wrong"
		no_output
	done
	run 2 $churn --load "90%,x"
	says "--load is a percentage"
	run 2 $churn --full maybe
	says "--full is reject or wait"
	run 2 $churn --patience 1h
	says "--patience needs --full wait"
	run 2 $churn --lives long
	says "--lives is philly, openb, acme or exp"
	run 2 $churn --window 0
	run 2 $churn --window 10001
	run 2 $churn --placement jigsw
	says 'there is no policy named "jigsw"; the nearest is jigsaw'
	run 2 $churn --seeds 9-3
	run 2 $churn --nosuch
	run 2 $churn --repack on
	run 2 $churn extra
	says "sim churn takes options only"
	run 2 "$wz" sim churn --nodes load/nodes.csv
	says "both --nodes FILE and --pods FILE"
	no_output
	ok "wrong options are usage errors"

	run 3 "$wz" sim churn --nodes nowhere.csv --pods load/pods.csv
	says "nowhere.csv"
	no_output
	sed '3s/,[^,]*/,-5/' load/pods.csv >negative.csv
	run 1 $churn --pods negative.csv --csv left.csv
	says "negative.csv:3:"
	no_output
	[ ! -e left.csv ] || fail "a file was written though the input is bad"
	awk -F, 'NR == 1 || $4 == 0' load/pods.csv >cpu_only.csv
	run 1 "$wz" sim churn --nodes load/nodes.csv --pods cpu_only.csv
	says "no task asks for a device"
	run 3 $churn --csv /nowhere/at/all.csv
	no_output
	ok "bad input names file and line, and leaves nothing behind"

	run 0 $churn --list
	prints "kube-least-allocated"
	ok "--list"
}
finish
