#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nonsense for the daemon's socket, from whoever runs this: fuzz_socket.py SEED SECONDS. The daemon must outlive it."""
import os, random, socket, sys, time

rnd = random.Random(int(sys.argv[1]))
until = time.monotonic() + float(sys.argv[2])
paths = ["/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/cancel", "/v1/jobs/1/terminal", "/v1/jobs/1/logs?follow=true", "/v1/nodes",
         "/v1/usage?by=day", "/v1/events", "/v1/jobs/99999999999999999999/why", "/../../etc/passwd", "/v1/jobs/%00", "/metrics"]
methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "BREW", "get"]


def noise(n):
    return bytes(rnd.randrange(256) for _ in range(rnd.randrange(n)))


def request():
    kind = rnd.randrange(5)
    if kind == 0:
        return noise(400)
    body = rnd.choice([b"", b"{}", b'{"argv":["true"]}', b'{"argv":["true"],"uid":0,"user":"root"}', b"[" * 50, noise(200),
                       b'{"keys":"zz"}', b'{"signal":"KILL"}', b'{"name":"\\ud800"}', b'{"umask":-1}'])
    head = f"{rnd.choice(methods)} {rnd.choice(paths)} HTTP/1.1\r\nHost: x\r\n".encode()
    length = rnd.choice([len(body), len(body) + 5, 0, 10**12, -1])
    if kind == 1:
        return head + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (len(body), length) + body
    if kind == 2:
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + b"%x\r\n" % rnd.randrange(2**40) + body
    if kind == 3:
        return (head + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % length + body)[:rnd.randrange(400)]
    return head + b"Content-Type: application/json\r\nAuthorization: Bearer root\r\nX-Uid: 0\r\nContent-Length: %d\r\n\r\n" % len(body) + body


n, open_ones = 0, []
while time.monotonic() < until:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(0.05)
    try:
        s.connect(os.environ["WZ_SERVER"])
        s.sendall(request())
        if rnd.random() < 0.5:
            answer = s.recv(4096)
            if answer[:10] in (b"HTTP/1.1 5",) and not answer.startswith((b"HTTP/1.1 501", b"HTTP/1.1 503", b"HTTP/1.1 505")):
                sys.exit(f"an answer of the server's own fault: {answer[:200]!r}")
    except OSError:
        pass
    n += 1
    if rnd.random() < 0.1 and len(open_ones) < 100:
        open_ones.append(s)
    else:
        s.close()
print(f"# {n} connections of nonsense")
