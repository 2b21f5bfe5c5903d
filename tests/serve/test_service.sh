#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The service: the manager's protocol (sockets, readiness, reload, stop), the units as systemd reads them.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
unset WZ_SERVER

cat >"$dir/manager.py" <<'PY'
# Plays the service manager: a listening socket as descriptor 3, a notification socket, two runs one after the other.
import os, socket, subprocess, sys, threading, time
wz, dir = sys.argv[1:3]
listen = socket.socket(socket.AF_UNIX)
listen.bind(dir + "/wz.sock")
listen.listen(64)
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(dir + "/notify")
notify.settimeout(20)

def start():
    def child():
        os.dup2(os.dup(listen.fileno()), 3); os.set_inheritable(3, True)
        os.environ["LISTEN_PID"] = str(os.getpid())
    env = dict(os.environ, LISTEN_FDS="1", NOTIFY_SOCKET=dir + "/notify", STATE_DIRECTORY=dir + "/state", RUNTIME_DIRECTORY=dir)
    # LISTEN_PID must be the daemon's own: a shell sets it and becomes the daemon.
    return subprocess.Popen(["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", wz, "serve", "--config", dir + "/whalezen.yaml"],
                            preexec_fn=child, close_fds=False, env=env, stderr=open(dir + "/serve.log", "a"))

def word():
    return notify.recv(4096).decode()

def ask(*args):
    return subprocess.run([wz, *args, "--server", dir + "/wz.sock"], capture_output=True, text=True, timeout=30)

p = start()
assert word() == "READY=1"
assert ask("nodes").returncode == 0, ask("nodes")
assert os.path.exists(dir + "/state/store.db")
assert ask("reload").returncode == 0
assert word().startswith("RELOADING=1\nMONOTONIC_USEC=")
assert word() == "READY=1"
p.terminate()
assert word() == "STOPPING=1"
assert p.wait(20) == 0
# Between the two runs the socket is the manager's: who asks now waits and is answered by the next one.
got = []
t = threading.Thread(target=lambda: got.append(ask("ps")))
t.start()
time.sleep(0.3)
assert not got
p = start()
assert word() == "READY=1"
t.join()
assert got[0].returncode == 0, got
# killed: nothing is said, and the socket is still there
p.kill()
p.wait()
assert os.path.exists(dir + "/wz.sock")
PY
printf 'version: 1\ncluster: %s\ncgroups: false\n' "$dir/cluster.yaml" >"$dir/whalezen.yaml"
run 0 python3 "$dir/manager.py" "$wz" "$dir"
[ "$bad" = 0 ] || sed 's/^/# /' "$dir/serve.log"
ok "socket activation, readiness, reload and stop are told; who asks during a restart waits"

printf 'version: 1\nstate: /proc/none/x\n' >"$dir/whalezen.yaml"
run 3 env LISTEN_FDS=0 "$wz" serve --config "$dir/whalezen.yaml" --socket "$dir/none.sock"
ok "a state that cannot be made is an error"

units=$WZ_SOURCE_ROOT/deploy/systemd
if command -v systemd-analyze >/dev/null; then
	mkdir -p "$dir/units"
	sed "s|@bindir@|$(dirname "$wz")|" "$units/whalezen.service.in" >"$dir/units/whalezen.service"
	cp "$units/whalezen.socket" "$dir/units/"
	systemd-analyze verify --man=no --recursive-errors=no "$dir/units/whalezen.service" "$dir/units/whalezen.socket" >"$out" 2>"$err" ||
		fail "verify"
	[ ! -s "$err" ] || fail "systemd has something to say: $(cat "$err")"
	if systemd-analyze security --offline=true --threshold=100 "$dir/units/whalezen.service" >"$out" 2>&1; then
		echo "# $(tail -1 "$out")"
	fi
	ok "the units are what systemd takes"
else
	skip "the units are what systemd takes" "systemd-analyze is not here"
fi
if command -v systemd-sysusers >/dev/null; then
	mkdir -p "$dir/root/etc"
	run 0 systemd-sysusers --root="$dir/root" "$units/whalezen.sysusers"
	grep -q '^whalezen:' "$dir/root/etc/group" || fail "no group"
	ok "sysusers makes the group"
else
	skip "sysusers makes the group" "systemd-sysusers is not here"
fi
# The state is elsewhere: nothing to clean up through a daemon.
trap 'rm -rf "$dir"' EXIT
finish
