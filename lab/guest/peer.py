#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The other end of TCP transfers, in a guest or in the lab; see transfer() in harness.py.

A request is 16 bytes: "put" or "get" and a number of bytes. After "put" that many bytes
follow, and their sha256 is the answer; after "get" that many bytes and their sha256 are.
"""

import hashlib
import os
import socket
import threading

from harness import PEER_PORT, exactly


def serve(connection):
    """Serve the requests of one connection."""
    with connection:
        while True:
            request = connection.recv(16, socket.MSG_WAITALL)
            if len(request) < 16:
                return
            verb, size = request[:3], int(request[3:])
            data = exactly(connection, size) if verb == b"put" else os.urandom(size)
            if verb == b"get":
                connection.sendall(data)
            connection.sendall(hashlib.sha256(data).digest())


def main():
    """Serve all that connect."""
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    with socket.create_server(("", PEER_PORT), family=family, dualstack_ipv6=dual) as server:
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
