#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wz sim report: one page that needs nothing beside it; the same input gives the same page but for times.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2154 # wz, out: lib.sh
{
	"$wz" trace gen --like openb --nodes 20 --jobs 120 --seed 5 --out load >/dev/null || exit 99
	run 0 "$wz" sim report --nodes load/nodes.csv --pods load/pods.csv --seeds 1-2 --out page.html --title 'A <b>title</b>'
	prints "page.html"
	for part in "What each part is worth" "每个部分值多少" "jigsaw:stranding=0" "fgd" "A &lt;b&gt;title" "wz sim report --nodes"; do
		grep -qF "$part" page.html || fail "the page lacks: $part"
	done
	if grep -Eq '(src|href)="(https?:)?//' page.html; then fail "the page fetches something"; fi
	ok "the page holds the comparison, the parts, both languages"

	digests() { grep -o '[0-9a-f]\{16\}' "$1" | sort | uniq -c; }
	digests page.html >one
	run 0 "$wz" sim report --nodes load/nodes.csv --pods load/pods.csv --seeds 1-2 --out page.html --workers 1
	digests page.html | cmp -s - one || fail "the digests differ"
	[ "$(wc -l <one)" -ge 16 ] || fail "there are hardly any digests"
	ok "the same digests again"

	run 2 "$wz" sim report --nodes load/nodes.csv
	run 2 "$wz" sim report --nodes load/nodes.csv --pods load/pods.csv --hold-prefix 101
	run 3 "$wz" sim report --nodes load/nodes.csv --pods nowhere.csv --out left.html
	no_output
	[ ! -e left.html ] || fail "a page was written though the input is bad"
	run 3 "$wz" sim report --nodes load/nodes.csv --pods load/pods.csv --seeds 1 --out /nowhere/at/all.html
	no_output
	ok "wrong input"
}
finish
