#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The frame: verbs, help, options, exit codes.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

run 0 "$wz" --version
prints "wz 0."
ok "version"

run 0 "$wz" --help
prints "usage: wz VERB"
prints "trace"
ok "help of all"

run 2 "$wz"
no_output
says "a verb is missing"
ok "no verb is a usage error, with help on stderr"

run 0 "$wz" help trace gen
prints "usage: wz trace gen"
prints "--seed N"
prints "examples:"
cp "$out" first
run 0 "$wz" trace gen --help
cmp -s "$out" first || fail "wz help trace gen and wz trace gen --help differ"
run 0 "$wz" trace gen --like openb -h
cmp -s "$out" first || fail "-h differs"
ok "help of a verb, three ways"

run 2 "$wz" trcae
no_output
says 'did you mean "trace"?'
run 2 "$wz" trace inof
says 'did you mean "info"?'
run 2 "$wz" zzzzzzzz
says 'see wz help'
run 2 "$wz" help trace nothing
no_output
ok "unknown verbs name the nearest"

run 2 "$wz" trace gen --sede 4
no_output
says "unknown option --sede; did you mean --seed?"
says "usage: wz trace gen"
run 2 "$wz" trace gen --qqqqqqqqq
says "see --help"
run 2 "$wz" trace gen -Z
says "unknown option -Z"
run 2 "$wz" trace --nope
says "unknown option"
ok "unknown options"

run 2 "$wz" trace gen --like lab --seed
says "--seed needs a value"
run 2 "$wz" trace gen --like lab --seed=-1
says "expected a whole number"
run 2 "$wz" trace gen --like lab --seed 99999999999999999999
says "too large"
run 2 "$wz" trace gen --like lab --nodes 1048577
says "at most 1048576"
run 2 "$wz" trace gen --like lab --gap 30
says "needs a unit"
run 2 "$wz" trace gen --like lab --unequal-mem=yes
says "expected no value"
run 2 "$wz" trace gen --like opneb
says "known: openb, lab, llm"
run 2 "$wz" trace gen --like lab --format csv
says "openb, wz, muri"
run 2 "$wz" trace gen
says "--like is needed"
run 2 "$wz" trace gen --like lab extra
says "no operand"
no_output
ok "bad values of options"

run 0 "$wz" trace gen --like=lab -j5 -s 3 -o -
cp "$out" first
run 0 "$wz" trace gen --out - --seed=3 --jobs 5 --like lab
cmp -s "$out" first || fail "spellings of the same options differ"
ok "spellings of options"

if [ -w /dev/full ]; then
	"$wz" --help >/dev/full 2>"$err"
	[ $? = 1 ] || fail "a full disk is not an error"
	says "no space left"
	ok "a full disk under stdout"
else
	skip "a full disk under stdout" "no /dev/full"
fi

run 0 env TERM=xterm NO_COLOR= "$wz" help
grep -q "$(printf '\033')" "$out" && fail "colour in a file"
ok "no colour where nobody looks"

finish
