#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 21: quoting. The vector that was given is the vector that runs.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
cat >"$dir/args.py" <<'PY'
import json, sys
json.dump(sys.argv[2:], open(sys.argv[1], "w"))
PY
cat >"$dir/fuzz.py" <<'PY'
import json, os, random, subprocess, sys
wz, d = sys.argv[1], sys.argv[2]
rnd = random.Random(21)
alphabet = " \t\n'\"\\$`;&|<>*?[]{}()#!~%=-äλ鲸a0"
for i in range(40):
    args = ["".join(rnd.choice(alphabet) for _ in range(rnd.randrange(12))) for _ in range(rnd.randrange(8))]
    if i == 0:
        args = ["", " ", "sleep 3 && echo yo", "--", "-x"]
    out = f"{d}/out.{i}"
    subprocess.run([wz, "run", "--", "python3", f"{d}/args.py", out, *args], check=True)
    got = json.load(open(out))
    assert got == args, (args, got)
PY
up
run 0 python3 "$dir/fuzz.py" "$wz" "$dir"
ok "forty odd vectors arrive as they were given"
run 0 "$wz" run -- bash -c 'sleep 0 && echo yo'
prints yo
ok "one string is one string"
finish
