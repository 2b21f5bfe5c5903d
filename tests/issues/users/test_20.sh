#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 20: a submit timed out; was it taken? The answer is lost after the commit, the client tries again, there is one job.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
cat >"$dir/proxy.py" <<'PY'
# Passes connections on, but for the first submit: its answer is read and dropped.
import socket, sys, threading
listen, server = sys.argv[1], sys.argv[2]
dropped = threading.Event()
s = socket.socket(socket.AF_UNIX)
s.bind(listen)
s.listen(16)
def serve(c):
    u = socket.socket(socket.AF_UNIX)
    u.connect(server)
    def up():
        while (b := c.recv(65536)):
            u.sendall(b)
        u.close()
    threading.Thread(target=up, daemon=True).start()
    while (b := u.recv(65536)):
        if b"HTTP/1.1 201" in b and not dropped.is_set():
            dropped.set()
            break
        c.sendall(b)
    c.shutdown(socket.SHUT_RDWR)
    c.close()
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
PY
up
python3 "$dir/proxy.py" "$dir/proxy.sock" "$WZ_SERVER" 2>/dev/null &
proxy=$!
until_true test -S "$dir/proxy.sock"
job=$(WZ_SERVER=$dir/proxy.sock "$wz" submit -- sh -c 'echo ran >>"$1"' job "$dir/ran" 2>"$err") || fail "the client gave up"
kill "$proxy"
run 0 "$wz" wait "$job"
[ "$("$wz" ps --all --json | grep -c '"id":')" = 1 ] || fail "jobs: $("$wz" ps --all)"
[ "$(wc -l <"$dir/ran")" = 1 ] || fail "it ran $(wc -l <"$dir/ran") times"
again=$(submit --key known -- true)
crash
up
[ "$(submit --key known -- true)" = "$again" ] || fail "a key is forgotten"
ok "one job, one run, and a key that outlives the daemon"
finish
