# SPDX-License-Identifier: GPL-2.0
"""Regular XDP programs: those of frags.bpf.c, and attaching one by netlink from this process."""

import contextlib
import ctypes
import operator
import os
import socket
import struct

from harness import BIN
from lib.py import cmd, ip
from xsk import LIBC

FRAGS = BIN / "frags.bpf.o"
PINNED = "/sys/fs/bpf/frags"
MAPS = "/sys/fs/bpf/maps"
BPF, BPF_MAP_UPDATE_ELEM, BPF_OBJ_GET = 321, 2, 7


def pin():
    """Load and pin the programs, and the map of to_socket."""
    cmd(f"bpftool prog loadall {FRAGS} {PINNED} type xdp pinmaps {MAPS}")


def bpf_object(path):
    """Return a file of a pinned program or map."""
    path = ctypes.create_string_buffer(path.encode())
    attr = struct.pack("=QII", ctypes.addressof(path), 0, 0)
    file = LIBC.syscall(BPF, BPF_OBJ_GET, attr, len(attr))
    assert file >= 0, os.strerror(ctypes.get_errno())
    return file


def pinned(name="drop"):
    """Return a file of a pinned program."""
    return bpf_object(f"{PINNED}/{name}")


def enter(xsk):
    """Put a socket into the map of to_socket."""
    key = ctypes.create_string_buffer(4)
    value = ctypes.create_string_buffer(struct.pack("=I", xsk.socket.fileno()), 4)
    file = bpf_object(f"{MAPS}/socket")
    attr = struct.pack("=IxxxxQQQ", file, ctypes.addressof(key), ctypes.addressof(value), 0)
    error = LIBC.syscall(BPF, BPF_MAP_UPDATE_ELEM, attr, len(attr))
    os.close(file)
    assert not error, os.strerror(ctypes.get_errno())


def attach(interface, program, make_call=operator.call):
    """Attach a program, or -1 for none, in native mode; return the errno.

    `make_call` makes the system call that does it.
    """
    # IFLA_XDP: a file, and XDP_FLAGS_DRV_MODE; RTM_SETLINK with NLM_F_REQUEST | NLM_F_ACK
    xdp = struct.pack("=HHHHiHHI", 20, 43 | 1 << 15, 8, 1, program, 8, 3, 4)
    body = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(interface), 0, 0) + xdp
    message = struct.pack("=IHHII", 16 + len(body), 19, 5, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        if make_call(LIBC.send, netlink.fileno(), message, len(message), 0) < 0:
            return ctypes.get_errno()
        return -struct.unpack_from("=i", netlink.recv(4096), 16)[0]


@contextlib.contextmanager
def attached(interface, name="drop"):
    """Have a program on an interface inside."""
    ip(f"link set {interface} xdpdrv object {FRAGS} program {name}")
    try:
        yield
    finally:
        ip(f"link set {interface} xdpdrv off")
