# SPDX-License-Identifier: Apache-2.0
# TAP for shell tests of the wz program. Source it, then:
#
#	run CODE wz args...     runs, keeps $out and $err (files), checks the exit code
#	says TEXT / no_output   about the last run: stderr has TEXT; stdout is empty
#	prints TEXT             stdout has TEXT
#	ok NAME                 ends a test: "ok" when nothing failed since the last one
# shellcheck shell=sh

wz=${1:?usage: test.sh PATH_OF_WZ}
case $wz in /*) ;; *) wz=$PWD/$wz ;; esac
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
out=$dir/stdout.txt
err=$dir/stderr.txt
tests=0
failed=0
bad=0

fail() {
	bad=$((bad + 1))
	echo "# $*"
	sed 's/^/#   stderr: /' "$err" | head -5
}

run() {
	want=$1
	shift
	"$@" >"$out" 2>"$err" </dev/null
	got=$?
	[ "$got" = "$want" ] || fail "exit code $got, want $want: $*"
}

says() { grep -qF -- "$1" "$err" || fail "stderr lacks: $1"; }
prints() { grep -qF -- "$1" "$out" || fail "stdout lacks: $1"; }
no_output() { [ ! -s "$out" ] || fail "stdout is not empty: $(head -c 100 "$out")"; }

ok() {
	tests=$((tests + 1))
	if [ "$bad" = 0 ]; then
		echo "ok $tests - $1"
	else
		echo "not ok $tests - $1"
		failed=1
	fi
	bad=0
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
	bad=0
}

finish() {
	echo "1..$tests"
	exit "$failed"
}
