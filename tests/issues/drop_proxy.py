#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Passes a unix socket on to another, and drops the answer to the first N posts of a job: drop_proxy.py HERE THERE N."""
import os
import socket
import sys
import threading

here, there, drops = sys.argv[1], sys.argv[2], int(sys.argv[3])
lock = threading.Lock()


def serve(client):
    global drops
    server = socket.socket(socket.AF_UNIX)
    server.connect(there)
    post = False

    def up():
        nonlocal post
        try:
            while data := client.recv(65536):
                post = post or b"POST /v1/jobs " in data
                server.sendall(data)
        except OSError:
            pass

    threading.Thread(target=up, daemon=True).start()
    try:
        while data := server.recv(65536):
            with lock:
                drop = post and drops > 0 and data.startswith(b"HTTP/1.1 201")
                if drop:
                    drops -= 1
                    print("dropped", flush=True)
            if drop:
                break
            client.sendall(data)
    except OSError:
        pass
    for s in (client, server):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        s.close()


listener = socket.socket(socket.AF_UNIX)
listener.bind(here + ".new")
listener.listen(16)
os.rename(here + ".new", here)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
