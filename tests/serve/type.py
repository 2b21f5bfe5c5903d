#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays a person at a terminal: type.py [--size ROWSxCOLS] STEP... -- COMMAND...

Steps, in order: "see:TEXT" waits until TEXT was shown (20 s); "type:TEXT" types it (\\r, \\x1d and the like as in Python);
"size:ROWSxCOLS" changes the window; "run:SHELL COMMAND" runs one beside; "hang" closes the terminal, as a dropped
connection does, and ends; "end" waits for the command's end. Prints all that was shown; exits with the command's code."""
import fcntl, os, pty, select, signal, struct, subprocess, sys, termios, time

args = sys.argv[1:]
cut = args.index("--")
steps, command = args[:cut], args[cut + 1:]
size = (24, 80)
if steps and steps[0] == "--size":
    size = tuple(int(n) for n in steps[1].split("x"))
    steps = steps[2:]

pid, fd = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown, seen = b"", 0


def resize(rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
    os.kill(pid, signal.SIGWINCH)


def take(until):
    """Reads what comes; False at the end of the command or of the time."""
    global shown
    left = until - time.monotonic()
    if left <= 0 or not select.select([fd], [], [], left)[0]:
        return False
    try:
        more = os.read(fd, 65536)
    except OSError:
        more = b""
    shown += more
    return bool(more)


def fail(why):
    sys.stdout.buffer.write(shown)
    sys.stdout.flush()
    print(f"\ntype.py: {why}", file=sys.stderr)
    os.kill(pid, signal.SIGKILL)
    sys.exit(99)


fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
for step in steps:
    verb, _, text = step.partition(":")
    raw = text.encode().decode("unicode_escape").encode("latin-1")
    if verb == "see":
        until = time.monotonic() + 20
        while raw not in shown[seen:]:
            if not take(until):
                fail(f"never saw {text!r}")
        seen = shown.index(raw, seen) + len(raw)
    elif verb == "type":
        os.write(fd, raw)
    elif verb == "size":
        resize(*(int(n) for n in text.split("x")))
    elif verb == "run":
        subprocess.run(text, shell=True, check=False)
    elif verb == "hang":
        os.close(fd)
        os.waitpid(pid, 0)
        sys.stdout.buffer.write(shown)
        sys.exit(0)
    elif verb == "end":
        while take(time.monotonic() + 20):
            pass
    else:
        sys.exit(f"type.py: no such step: {step}")
while take(time.monotonic() + 20):
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
