#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the read verbs look: three widths and two languages against kept files (WZ_UPDATE=1 writes them), quiet, lines of JSON,
# a pager on a terminal, no colour where none is wanted.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
golden=$WZ_SOURCE_ROOT/tests/cli/golden
unset LC_ALL LC_MESSAGES LANG WZ_LANG XDG_RUNTIME_DIR
python3 "$WZ_SOURCE_ROOT/tests/cli/canned.py" "$dir/sock" &
server=$!
trap 'kill $server; rm -rf "$dir"' EXIT
i=0
while [ ! -S "$dir/sock" ] && [ $i -lt 200 ]; do
	sleep 0.05
	i=$((i + 1))
done
export WZ_SERVER="$dir/sock"

for lang in en zh_CN.UTF-8; do
	for width in 60 80 140; do
		for verb in "ps --all" nodes devices "show 22"; do
			# shellcheck disable=SC2086
			env WZ_LANG=$lang WZ_WIDTH=$width "$wz" $verb || fail "$verb"
		done >"$dir/look"
		kept=$golden/look_${width}_${lang%%_*}.txt
		[ -z "${WZ_UPDATE-}" ] || cp "$dir/look" "$kept"
		cmp -s "$dir/look" "$kept" || fail "width $width, $lang: $(diff "$dir/look" "$kept" | head -5)"
	done
done
ok "three widths, two languages"

for width in 60 80; do
	for lang in en zh; do
		WZ_LANG=$lang WZ_WIDTH=$width "$wz" ps --all | python3 -c '
import sys, unicodedata
wide = lambda s: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
for line in sys.stdin.read().splitlines():
    assert wide(line) <= int(sys.argv[1]), (wide(line), line)
    assert all(c >= " " for c in line), line' $width || fail "too wide, or a control character"
	done
done
ok "no line is wider than the terminal, and no name moves its cursor"

for v in LC_ALL LC_MESSAGES LANG; do
	env $v=zh_CN.UTF-8 "$wz" nodes | grep -q 就绪 || fail "$v"
done
env LC_ALL=C LANG=zh_CN.UTF-8 "$wz" nodes | grep -q ready || fail "LC_ALL stands above"
run 0 env WZ_LANG=zh "$wz" nodes --json
prints '"state": "ready"'
ok "the language; JSON has none"

run 0 "$wz" ps --all -q
printf '1\n22\n333\n4444\n' | cmp -s - "$out" || fail "quiet: $(cat "$out")"
run 0 "$wz" nodes --quiet
printf 'a100-0\nt4\n' | cmp -s - "$out" || fail "quiet: $(cat "$out")"
run 0 "$wz" ps --all --jsonl
[ "$(wc -l <"$out")" = 4 ] || fail "lines: $(cat "$out")"
python3 -c 'import json, sys; assert [json.loads(x)["id"] for x in open(sys.argv[1])] == [1, 22, 333, 4444]' "$out" || fail "jsonl"
run 0 "$wz" show 22 --jsonl
[ "$(wc -l <"$out")" = 1 ] || fail "one line"
run 2 "$wz" ps -q --jsonl
run 2 "$wz" submit --jsonl -- true
run 3 "$wz" show 23
ok "quiet, and JSON a line a record"

cat >"$dir/onpty.py" <<'PY'
# Runs a command on a terminal of 5 lines and 40 columns; prints what came.
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 5, 40, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
got = b""
while True:
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    got += piece
os.write(1, got)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
run 0 env TERM=xterm PAGER='sed s/^/PAGED:/' python3 "$dir/onpty.py" "$wz" ps --all
prints "PAGED:"
run 0 env TERM=xterm PAGER='sed s/^/PAGED:/' python3 "$dir/onpty.py" "$wz" nodes
grep -q PAGED "$out" && fail "a short text needs no pager"
run 0 env TERM=xterm PAGER= python3 "$dir/onpty.py" "$wz" ps --all
prints 4444
run 0 env TERM=xterm PAGER=/no/such/pager python3 "$dir/onpty.py" "$wz" ps --all
prints 4444
run 0 env TERM=xterm PAGER='head -1' python3 "$dir/onpty.py" "$wz" ps --all
grep -q 4444 "$out" && fail "the pager had left"
run 0 env TERM=xterm python3 "$dir/onpty.py" "$wz" help
grep -q "$(printf '\033')\[1m" "$out" || fail "no colour on a terminal"
run 0 env TERM=xterm NO_COLOR=1 python3 "$dir/onpty.py" "$wz" help
grep -q "$(printf '\033')\[" "$out" && fail "colour against NO_COLOR"
ok "a pager where it is needed; NO_COLOR"
finish
