#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 21: quoting. What is submitted is what runs, byte by byte, however often it passes through files and tables; a shell
# only when asked.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up
run 0 "$wz" run -- bash -c "sleep 0.1 && echo yo"
prints yo
run 0 "$wz" run -- printf '[%s]' 'a b' '' '$HOME' '*' "it's" '"q"' 'back\slash' "$(printf 'new\nline')" '{"a": 1}' '鲸挣恩' '-x' '--' '&&'
printf '[%s]' 'a b' '' '$HOME' '*' "it's" '"q"' 'back\slash' "$(printf 'new\nline')" '{"a": 1}' '鲸挣恩' '-x' '--' '&&' >"$dir/want"
cmp -s "$dir/want" "$out" || fail "got: $(cat "$out")"
run 1 "$wz" submit -- printf "$(printf 'not \377 text')"
says "UTF-8"
ok "arguments arrive as they were given"

python3 - "$wz" "$dir" <<'PY' >"$dir/fuzz.log" 2>&1 || fail "$(tail -3 "$dir/fuzz.log")"
import json, random, subprocess, sys
wz, dir = sys.argv[1], sys.argv[2]
random.seed(7)
chars = list("ab \t\n'\"\\$`*?[]{}()<>|&;!#~%=,:.-") + ["é", "鲸", "\x01", "\x7f"]
for i in range(25):
    args = ["".join(random.choice(chars) for _ in range(random.randrange(12))) for _ in range(random.randrange(1, 6))]
    prog = "import sys,json; print(json.dumps(sys.argv[1:]))"
    got = subprocess.run([wz, "run", "--", sys.executable, "-c", prog] + args, capture_output=True, text=True)
    assert got.returncode == 0, (args, got.stderr)
    assert json.loads(got.stdout) == args, (args, got.stdout)
PY
ok "25 random argument vectors"
finish
