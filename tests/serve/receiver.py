#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A receiver of notifications: checks signatures as Feishu and DingTalk document them, and keeps what came, a JSON line each.
usage: receiver.py OUT PORTFILE SECRET. /flaky fails twice first; /slow never answers; /refuse answers with an error code."""
import base64
import hashlib
import hmac
import http.server
import json
import sys
import threading
import time
import urllib.parse

out, portfile, secret = sys.argv[1:4]
lock = threading.Lock()
seen = {"flaky": 0}


def mac(key, text):
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw)
        url = urllib.parse.urlsplit(self.path)
        query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
        note = {"path": url.path, "body": body, "query": query}
        status, reply = 200, {"code": 0, "errcode": 0}
        with lock:
            if url.path == "/feishu":
                want = mac(body["timestamp"] + "\n" + secret, "")
                note["signed"] = body["sign"] == want and abs(int(body["timestamp"]) - time.time()) < 100
            if url.path == "/dingtalk":
                want = mac(secret, query["timestamp"] + "\n" + secret)
                note["signed"] = query["sign"] == want and query["access_token"] == "t"
            if url.path == "/json":
                want = "sha256=" + hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
                note["signed"] = self.headers["X-Whalezen-Signature"] == want
            if url.path == "/flaky":
                seen["flaky"] += 1
                if seen["flaky"] <= 2:
                    status = 503
            if url.path == "/refuse":
                reply = {"code": 19021, "msg": "sign match fail"}
            with open(out, "a", encoding="utf-8") as handle:
                handle.write(json.dumps(note) + "\n")
        if url.path == "/slow":
            time.sleep(60)
        self.answer(status, reply)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(portfile + ".new", "w", encoding="ascii") as handle:
    handle.write(str(server.server_address[1]))
import os  # noqa: E402

os.rename(portfile + ".new", portfile)
server.serve_forever()
