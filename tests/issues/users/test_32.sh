#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 32: preempted is not finished: a watcher sees one end; wait follows the job.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
up
job=$(submit -- sh -c 'echo "attempt $WZ_ATTEMPT"; [ "$WZ_ATTEMPT" = 2 ] || sleep 1000')
until_true is "$job" RUNNING
python3 - "$WZ_SERVER" "$job" >"$dir/events" <<'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(f"GET /v1/events?job={sys.argv[2]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
s.settimeout(20)
text = b""
while b'"what":"ended"' not in text:
    b = s.recv(65536)
    if not b:
        break
    text += b
sys.stdout.buffer.write(text)
PY
watcher=$!
until_true test -e "$dir/events"
sleep 0.3
"$wz" wait "$job" >"$dir/waited" 2>&1 &
waiter=$!
run 0 "$wz" requeue "$job"
wait "$waiter" || fail "wait ended with $? at the preemption"
wait "$watcher"
is "$job" COMPLETED || fail "it is $(state "$job")"
[ "$(grep -c '"what":"ended"' "$dir/events")" = 1 ] || fail "ends: $(cat "$dir/events")"
run 0 "$wz" show "$job"
prints "attempt 1  PREEMPTED"
ok "one end, and it is that of the job"
finish
