# SPDX-License-Identifier: Apache-2.0
"""Counts individual tests: the TAP lines of each test program in meson's testlog.json."""
import glob
import json
import os
import re

_RESULT = re.compile(r"^(not )?ok\b(?:\s+\d+)?\s*-?\s*(.*)$")
_DIRECTIVE = re.compile(r"^(.*?)\s*#\s*(SKIP|TODO)\S*\s*(.*)$", re.IGNORECASE)
_PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*SKIP\S*\s*(.*))?$", re.IGNORECASE)


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = []   # "program: test"
        self.skipped = []  # ("program: test", reason)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def count_text(program, text):
    """Counts the TAP lines of one program's output. Returns (count, number of TAP result lines)."""
    count, lines = Count(), 0
    for line in text.splitlines():
        plan = _PLAN.match(line)
        if plan and plan.group(1) == "0":
            count.skipped.append((program, plan.group(2) or "no reason given"))
            lines += 1
            continue
        result = _RESULT.match(line)
        if not result:
            continue
        lines += 1
        name, kind, reason = result.group(2), "", ""
        directive = _DIRECTIVE.match(name)
        if directive:
            name, kind, reason = directive.group(1), directive.group(2).upper(), directive.group(3)
        if kind == "SKIP":
            count.skipped.append((f"{program}: {name}", reason or "no reason given"))
        elif kind == "TODO":
            count.skipped.append((f"{program}: {name}", "to do: " + reason))
        elif result.group(1):
            count.failed.append(f"{program}: {name}")
        else:
            count.passed += 1
    return count, lines


def count_program(entry):
    """One entry of testlog.json. The verdict of meson (crash, timeout, wrong plan) is a failure of its own."""
    program = entry["name"].rsplit(" / ", 1)[-1]
    verdict = entry["result"]
    count, lines = count_text(program, entry.get("stdout") or "")
    bad = verdict not in ("OK", "SKIP", "EXPECTEDFAIL")
    if lines == 0:  # not TAP, or it died before the first line
        if bad:
            count.failed.append(f"{program}: {verdict.lower()}, exit status {entry.get('returncode')}")
        elif verdict == "SKIP":
            reason = (entry.get("stdout") or entry.get("stderr") or "").strip().splitlines()
            count.skipped.append((program, reason[-1] if reason else "no reason given"))
        else:
            count.passed += 1
    elif bad and not count.failed:
        count.failed.append(f"{program}: {verdict.lower()} after {lines} tests, exit status {entry.get('returncode')}")
    return count


def testlogs(build):
    """The logs of `meson test` in JSON: testlog.json, or testlog-valgrind.json and the like under a wrapper."""
    return glob.glob(os.path.join(glob.escape(build), "meson-logs", "testlog*.json"))


def count_testlog(build):
    """Counts what the last `meson test` logged; None when it logged nothing."""
    logs = testlogs(build)
    if not logs:
        return None
    total = Count()
    for path in logs:
        with open(path, encoding="utf-8", errors="replace") as handle:
            for line in handle:
                if line.strip():
                    total.add(count_program(json.loads(line)))
    return total
