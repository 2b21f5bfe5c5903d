#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make run`: ends by itself with a summary, as root and as a plain user; Ctrl-C leaves no process, no cgroup and no file.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
demo=$WZ_SOURCE_ROOT/tools/run-demo
mkdir "$dir/tmp"
chmod 1777 "$dir/tmp"
chmod 755 "$dir"
export TMPDIR="$dir/tmp" WZ="$wz" WZ_RUN_EMULATE=1

nothing_left() {
	[ -z "$(ls -A "$dir/tmp")" ] || fail "files: $(ls "$dir/tmp")"
	for p in /proc/[0-9]*; do
		line=$({ tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null) || continue
		case $line in
		grep*) ;;
		*"$dir/tmp"*) fail "a process: $line" ;;
		esac
	done
	find /sys/fs/cgroup -maxdepth 6 -type d -name whalezen 2>/dev/null | sort >"$dir/cgroups.now"
	[ -z "$(comm -13 "$dir/cgroups" "$dir/cgroups.now")" ] || fail "cgroups: $(comm -13 "$dir/cgroups" "$dir/cgroups.now")"
}
find /sys/fs/cgroup -maxdepth 6 -type d -name whalezen 2>/dev/null | sort >"$dir/cgroups"

run 0 env WZ_RUN_SECONDS=14 "$demo"
prints "All went as it should"
prints "and lost no step"
prints "it can never start on this cluster"
[ "$got" = 0 ] || tail -5 "$out" | sed 's/^/# /'
nothing_left
ok "ends by itself, with a summary"

# A Ctrl-C comes to all of the group, as from a terminal.
python3 - "$demo" "$out" <<'PY' || fail "Ctrl-C: $(tail -3 "$out")"
import os, signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1]], stdout=open(sys.argv[2], "w"), stderr=subprocess.STDOUT, start_new_session=True,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
for _ in range(200):
    time.sleep(0.1)
    if "why" in open(sys.argv[2]).read():
        break
os.killpg(p.pid, signal.SIGINT)
sys.exit(p.wait(60))
PY
prints "nothing is left behind"
nothing_left
ok "Ctrl-C leaves nothing behind"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 test -x "$demo" && setpriv --reuid=65534 test -x "$wz"; then
	run 0 setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$dir/tmp" WZ_RUN_SECONDS=14 "$demo"
	prints "All went as it should"
	nothing_left
	ok "as a plain user, without rights on cgroups"
else
	skip "as a plain user, without rights on cgroups" "needs root, setpriv, and a source tree that others may enter"
fi
finish
