# SPDX-License-Identifier: Apache-2.0
"""What the check tools share: where the repository is and which files belong to it."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIP_EXIT = 77  # the exit status that says "not run, the last line printed is the reason" (as meson has it)
_NOT_OURS = {".git", "out", "__pycache__", "subprojects"}


def _git_files():
    try:
        # A checkout of another user is "dubious" to git; we only list names.
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    if done.returncode != 0:
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _walked_files():
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in _NOT_OURS and not f.startswith("build")]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return found


def files():
    """Names, relative to the root, of the files that are or may be committed, sorted. Works without git."""
    names = _git_files()
    if names is None:
        names = _walked_files()
    return sorted({name for name in names if os.path.isfile(os.path.join(ROOT, name))})


def text(name):
    """The file's text, or None when it is binary."""
    with open(os.path.join(ROOT, name), "rb") as handle:
        data = handle.read()
    if b"\0" in data[:8192]:
        return None
    return data.decode("utf-8", "replace")
