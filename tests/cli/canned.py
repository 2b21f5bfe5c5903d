#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers of a daemon that never change, at a unix socket: canned.py SOCKET. For tests of how the client shows them."""
import json
import os
import socketserver
import sys
import time

FUTURE = int((time.time() + 86400) * 1e6)  # shown as age 0
JOBS = [
    {"id": 1, "name": "train.py", "user": "alice", "state": "COMPLETED", "submit_us": 1000000, "start_us": 2000000,
     "end_us": 3725000000, "priority": 0, "profile": "gpus=4 gpu-type=A100-SXM4-80GB link=nvlink", "reason": "Completed"},
    {"id": 22, "name": "大模型微调-第三轮实验", "user": "bob", "state": "FAILED", "submit_us": 1, "start_us": 1,
     "end_us": 90000001, "priority": -5, "profile": "gpus=1", "reason": "Failed", "reason_text": "exit 1"},
    {"id": 333, "name": "bad\u001b[2Jname\n", "user": "eve", "state": "RUNNING", "submit_us": FUTURE, "start_us": FUTURE,
     "priority": 10, "profile": "gpu-share=50% gpu-type=T4"},
    {"id": 4444, "name": "waits", "user": "alice", "state": "PENDING", "submit_us": FUTURE, "priority": 0,
     "profile": "gpus=16 link=nvlink tasks=2", "reason": "Resources", "reason_text": "no node has free all that is asked"},
]
NODES = [{"name": "a100-0", "state": "ready", "devices_total": 4, "devices_free": 1, "cpu_milli": 64000, "cpu_free_milli": 32500,
          "mem_bytes": 549755813888, "mem_free_bytes": 274877906944, "jobs_running": 3},
         {"name": "t4", "state": "draining", "devices_total": 2, "devices_free": 0, "cpu_milli": 16000, "cpu_free_milli": 0,
          "mem_bytes": 68719476736, "mem_free_bytes": 0, "jobs_running": 1}]
DEVICES = [{"node": "a100-0", "index": 0, "model": "A100-SXM4-80GB", "health": "ok", "mem_bytes": 85899345920,
            "mem_free_bytes": 42949672960, "compute_milli": 1000, "compute_free_milli": 500, "util_pct": 97, "jobs": [1, 333]},
           {"node": "t4", "index": 1, "model": "T4", "health": "failed", "mem_bytes": 16106127360, "mem_free_bytes": 16106127360,
            "compute_milli": 1000, "compute_free_milli": 1000, "util_pct": -1, "jobs": []}]
ANSWERS = {"/v1/jobs": {"jobs": JOBS}, "/v1/jobs/22": dict(JOBS[1], argv=["python", "train.py"]), "/v1/nodes": {"nodes": NODES},
           "/v1/devices": {"devices": DEVICES}}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            line = self.rfile.readline()
            if not line.strip():
                return
            while self.rfile.readline().strip():
                pass
            path = line.split()[1].decode().split("?")[0]
            known = path in ANSWERS
            body = json.dumps(ANSWERS.get(path, {"error": {"text": "no such path", "reason": "NoSuchPath"}})).encode()
            self.wfile.write(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                             % (b"200 OK" if known else b"404 Not Found", len(body)) + body)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


server = Server(sys.argv[1] + ".new", Handler)
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
