#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One request to the daemon's socket: api.py METHOD PATH [BODY]. Prints the body; exits 0 for 2xx, else 1."""
import http.client, os, socket, sys


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(os.environ["WZ_SERVER"])


c = Unix("localhost", timeout=60)
body = sys.argv[3].encode() if len(sys.argv) > 3 else None
c.request(sys.argv[1], sys.argv[2], body, {"Content-Type": "application/json"} if body is not None else {})
r = c.getresponse()
sys.stdout.buffer.write(r.read())
sys.exit(r.status // 100 != 2)
