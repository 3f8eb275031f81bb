#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The other end of TCP transfers, in a guest or in the lab; see transfer() in netdev.py.

A request is 16 bytes: "put" or "get" and a number of bytes. "put" is followed by that many bytes and
answered with their sha256; "get" is answered with that many bytes and their sha256.
"""

import hashlib
import os
import socket
import threading

PEER_PORT = 5001


def exactly(connection, size):
    """Return `size` bytes of a connection."""
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        assert part, f"the connection ended after {len(data)} of {size} bytes"
        data += part
    return bytes(data)


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
    """Serve all connections."""
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    with socket.create_server(("", PEER_PORT), family=family, dualstack_ipv6=dual) as server:
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
