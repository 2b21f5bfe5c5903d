# SPDX-License-Identifier: Apache-2.0
"""What bench/run and bench/check share: where things are, and counting instructions with callgrind."""
import os
import re
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("WZ_BUILD", "build"))
DECIDE = os.path.join(BUILD, "bench", "bench_decide")
EVICT = os.path.join(BUILD, "bench", "bench_evict")
WZ = os.path.join(BUILD, "wz")


def build():
    """Brings bench_decide, bench_evict and wz up to date; returns why not, or None."""
    if not shutil.which("ninja") or not os.path.exists(os.path.join(BUILD, "build.ninja")):
        return f"no ninja, or {BUILD} is not configured (make)"
    done = subprocess.run(["ninja", "-C", BUILD, "wz", "bench/bench_decide", "bench/bench_evict"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stdout[-2000:]


def own_instructions(path, program):
    """Instructions in the code of `program` itself: libc picks its memcpy by CPU, so it would not compare."""
    names, ours, total, skip = {}, False, 0, False
    with open(path, encoding="utf-8") as handle:
        for line in handle:
            if line.startswith("ob="):
                match = re.match(r"ob=\((\d+)\)(?: (.*))?", line)
                if match.group(2):
                    names[match.group(1)] = match.group(2).strip()
                ours = os.path.basename(names[match.group(1)]) == os.path.basename(program)
            elif line.startswith("cob="):
                match = re.match(r"cob=\((\d+)\)(?: (.*))?", line)
                if match.group(2):
                    names[match.group(1)] = match.group(2).strip()
            elif line.startswith("calls="):
                skip = True  # the next line is the inclusive cost of the call
            elif line[:1].isdigit() or line[:1] in "+-*":
                if ours and not skip:
                    total += int(line.split()[1])
                skip = False
    return total


def instructions(argv, toggles, at_start=True):
    """Runs argv under callgrind; returns (instructions within `toggles`, standard output). Raises RuntimeError."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [f"--toggle-collect={t}" for t in toggles]
        command += [] if at_start else ["--instr-atstart=no"]
        done = subprocess.run(command + argv, capture_output=True, text=True, check=False,
                              env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
        if done.returncode != 0 or not os.path.exists(out):
            raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()[-500:]}")
        return own_instructions(out, argv[0]), done.stdout
