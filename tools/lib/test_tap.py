# SPDX-License-Identifier: Apache-2.0
"""Tests of tap.py: run by tools/check as self-test-counts."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

# (testlog entry, passed, failed, skipped)
SAMPLES = [
    ({"result": "OK", "stdout": "ok 1 - a\nok 2 - b\n1..2\n"}, 2, 0, 0),
    ({"result": "OK", "stdout": "1..3\nok 1\nok 2 - b # SKIP no GPU\nok 3 - c\n"}, 2, 0, 1),
    ({"result": "FAIL", "stdout": "ok 1 - a\n# x.c:3: bad\nnot ok 2 - b (1 checks failed)\n1..2\n"}, 1, 1, 0),
    ({"result": "FAIL", "stdout": "not ok 1 - a\nnot ok 2 - b\n1..2\n"}, 0, 2, 0),
    # crashed after two tests: what it did not reach is a failure
    ({"result": "ERROR", "stdout": "ok 1 - a\nok 2 - b\n", "returncode": -4}, 2, 1, 0),
    ({"result": "TIMEOUT", "stdout": "", "returncode": -9}, 0, 1, 0),
    ({"result": "ERROR", "stdout": "ok 1 - a\n1..2\n", "returncode": 0}, 1, 1, 0),
    ({"result": "SKIP", "stdout": "1..0 # SKIP no cgroups\n"}, 0, 0, 1),
    ({"result": "OK", "stdout": "not ok 1 - later # TODO write it\n1..1\n"}, 0, 0, 1),
    # programs that do not speak TAP
    ({"result": "OK", "stdout": "fine\n"}, 1, 0, 0),
    ({"result": "FAIL", "stdout": "bad\n", "returncode": 1}, 0, 1, 0),
    ({"result": "SKIP", "stdout": "no sqlite\n", "returncode": 77}, 0, 0, 1),
]


def main():
    bad = 0
    for entry, *want in SAMPLES:
        count = tap.count_program(dict({"name": "whalezen:quick / base/x", "returncode": 0}, **entry))
        got = [count.passed, len(count.failed), len(count.skipped)]
        if got != want:
            bad += 1
            print(f"{entry}: got {got}, want {want}")
    print(f"{len(SAMPLES) - bad} of {len(SAMPLES)} samples counted rightly")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
