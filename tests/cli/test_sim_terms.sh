#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz sim pack with variants, words, power and price, other orders, lessons.
# shellcheck source=tests/cli/lib.sh
. "${WZ_SOURCE_ROOT:-$(dirname "$0")/../..}/tests/cli/lib.sh"

"$wz" trace gen --like openb --nodes 40 --jobs 300 --seed 5 --out load >/dev/null || exit 99
pack="$wz sim pack --nodes load/nodes.csv --pods load/pods.csv"

digest() { sed -n 's/.*"digest":"\([^"]*\)".*/\1/p' "$out"; }

# shellcheck disable=SC2086 # $pack is a command with its words
{
	run 0 $pack --jsonl --placement jigsaw
	digest >usual
	run 0 $pack --jsonl --placement jigsaw@1:order=2,waste=1
	digest | cmp -s - usual || fail "the usual values are not the policy"
	prints '"placement":"jigsaw",'
	run 0 $pack --jsonl --placement jigsaw:price=0.1,power=0.2,fgd,jigsaw:waste=0
	prints '"placement":"jigsaw:power=0.2,price=0.1"'
	prints '"placement":"fgd"'
	prints '"placement":"jigsaw:waste=0"'
	digest | head -1 | cmp -s - usual && fail "power changes nothing"
	run 0 $pack --jsonl --placement jigsaw:power=0.7,order=1.333,order-cpu=0.5
	digest >one
	run 0 $pack --jsonl --placement jigsaw:power=0.7,order=1.333,order-cpu=0.5 --no-index
	digest | cmp -s - one || fail "the index changes a variant"
	run 2 $pack --placement jigsaw:pwer=1
	says 'jigsaw has no parameter "pwer"; the nearest is power'
	run 2 $pack --placement jigsaw:power=11
	says 'power must be 0 to 10, not 11'
	run 0 "$wz" sim pack --list
	prints ":power"
	ok "variants"

	run 0 $pack --explain 3 --explain-at 50
	[ "$(grep -c 'goes to openb-node' "$out")" = 3 ] || fail "not three placements in words"
	prints "Nodes that could take it:"
	run 1 $pack --explain 1 --placement fgd
	says "the policy fgd has no words for its choices"
	no_output
	run 2 $pack --explain 1 --jsonl
	ok "words"

	run 0 $pack --power --placement jigsaw,jigsaw:power=5 --html r.html
	prints "power of all nodes, kW"
	grep -q "Allocation against power" r.html || fail "the report lacks the chart of power"
	run 0 $pack --jsonl --power
	[ "$(wc -l <"$out")" = 2 ] || fail "a line for the run and a line for its power"
	prints '"power_w":{"50":'
	run 0 $pack --html plain.html
	grep -q "Allocation against power" plain.html && fail "a chart of nothing"
	ok "power and price"

	for order in file largest-first smallest-first; do
		run 0 $pack --jsonl --order $order
		digest | cmp -s - usual && fail "$order is as shuffled"
	done
	run 0 $pack --jsonl --order shuffled
	digest | cmp -s - usual || fail "shuffled is not the usual"
	run 2 $pack --order sorted
	says "--order is shuffled, file, largest-first or smallest-first"
	run 2 $pack --order file --bound
	ok "orders"

	run 0 $pack --jsonl --teach load/pods.csv --check
	digest | cmp -s - usual && fail "a lesson teaches nothing"
	run 3 $pack --teach nowhere.csv
	no_output
	ok "lessons"
}

finish
