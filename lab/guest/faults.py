#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Every allocation that calls of the fast path make fails once: the first, then the second ...

The calls are made again and again, until they make fewer allocations than that. They fail with an
errno that says so, or do without; afterwards they succeed, and nothing is left behind. On eth0, a
port of a card, and on veth. Prints TAP. Arguments: the driver; a regular expression for the names of
tests. Needs a kernel with fault injection, booted with kmemleak=on (lab/kconfig/kasan.config).
"""

import contextlib
import ctypes
import errno
import gc
import json
import os
import re
import socket
import struct
import sys
import time
from pathlib import Path

from harness import BIN, Nicsim, Tap, eventually, expected, links_up, shell
from xsk import ATTACH, COPY, LIBC, SOL_XDP, ZEROCOPY, Umem, Xsk

DEBUGFS = Path("/sys/kernel/debug")
# Any allocation of the kernel can fail
SETTINGS = {"failslab/ignore-gfp-wait": "N", "failslab/verbose": "0",
            "fail_page_alloc/ignore-gfp-wait": "N", "fail_page_alloc/min-order": "0",
            "fail_page_alloc/verbose": "0"}
MOST = 2000  # allocations
SLOTS = 64  # of each ring: few pages
FRAMES = 50
PORT, VETH, PEER = "eth0", "veth0", "veth1"
ACTIVE = 2  # state of XDP_ATTACH
PROGRAMS = "/sys/fs/bpf/faults"
BPF, BPF_OBJ_GET = 321, 7
# EIO: the device could not be reset for an XDP program
NO_MEMORY = (errno.ENOMEM, errno.ENOBUFS, errno.EIO)
# genirq ignores that an entry in /proc/irq could not be created, and warns when it removes it
EXPECTED = r"WARNING: .* remove_proc_entry\+"
nicsim = Nicsim()


class Faults:
    """The allocation that is to fail, counted over several system calls."""

    def __init__(self, number=0):
        self.left = number  # which one from now on; 0: none

    def __call__(self, function, *args):
        """Make a system call. The process does nothing else while allocations can fail."""
        if not self.left:
            return function(*args)
        file = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
        number = str(self.left).encode()
        gc.disable()
        os.pwrite(file, number, 0)
        result = function(*args)
        left = os.pread(file, 16, 0)
        os.pwrite(file, b"0", 0)
        gc.enable()
        os.close(file)
        self.left = int(left)
        return result


# What is made under faults, alone or beside another socket

class FaultyXsk(Xsk):
    """A socket with faults in its system calls."""

    def __init__(self, faults, interface, *args, **options):
        self.faults = faults
        flags = COPY if interface == VETH else ZEROCOPY
        if "share" not in options:
            options |= {"umem": Umem(2 * SLOTS), "fill": range(SLOTS)}
        super().__init__(interface, *args, attach=True, inorder=True, rings=("fill", "rx", "tx"),
                         slots=SLOTS, flags=flags, **options)

    def _call(self, function, *args):
        return self.faults(super()._call, function, *args)


def first(faults, interface, _):
    """A socket on the first queue."""
    return FaultyXsk(faults, interface)


def second(faults, interface, _):
    """One on another queue, with a umem of its own."""
    return FaultyXsk(faults, interface, 1)


def sharing(faults, interface, other):
    """One on another queue that shares the umem."""
    return FaultyXsk(faults, interface, 1, share=other, fill=())


def recycling(faults, interface, other):
    """One on another queue whose chunks go to the first one."""
    xsk = sharing(Faults(), interface, other)
    xsk.faults = faults
    try:
        xsk.recycle(other)
    except OSError:
        xsk.close()
        raise
    return xsk


class Program:
    """A regular program that comes by netlink, and goes."""

    def __init__(self, faults, interface, _):
        self.faults = faults
        self.index = socket.if_nametoindex(interface)
        path = ctypes.create_string_buffer(f"{PROGRAMS}/drop".encode())
        attr = struct.pack("=QII", ctypes.addressof(path), 0, 0)
        program = LIBC.syscall(BPF, BPF_OBJ_GET, attr, len(attr))
        assert program >= 0, os.strerror(ctypes.get_errno())
        try:
            self._set(program)
        except OSError:
            self.close()
            raise
        finally:
            os.close(program)

    def _set(self, program):
        # IFLA_XDP: a file, and XDP_FLAGS_DRV_MODE; RTM_SETLINK with NLM_F_REQUEST | NLM_F_ACK
        xdp = struct.pack("=HHHHiHHI", 20, 43 | 1 << 15, 8, 1, program, 8, 3, 4)
        body = struct.pack("=BxHiII", 0, 0, self.index, 0, 0) + xdp
        message = struct.pack("=IHHII", 16 + len(body), 19, 5, 1, 0) + body
        armed = self.faults.left
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
            if self.faults(LIBC.send, netlink.fileno(), message, len(message), 0) < 0:
                error = ctypes.get_errno()
            else:
                error = -struct.unpack_from("=i", netlink.recv(4096), 16)[0]
        # Without memory for MSI-X, ixgbe falls back to IRQ 0, which is the timer's
        if error == errno.EBUSY and sys.argv[1] == "ixgbe" and armed and not self.faults.left:
            error = errno.ENOMEM
        if error:
            raise OSError(error, f"program: {os.strerror(error)}")

    def close(self):
        """Have it go, if need be by a second try."""
        try:
            self._set(-1)
        except OSError as err:
            assert err.errno in NO_MEMORY, err
            self._set(-1)


class Restarted(Program):
    """One that sees the port restart after it has come, or could not come, and after it has gone."""

    def __init__(self, *args):
        try:
            super().__init__(*args)
        finally:
            restart()

    def close(self):
        super().close()
        restart()


def restart():
    """Set the port down and up again, which may have to wait for another reset."""
    shell(f"ip link set {PORT} down")
    eventually("the port is up", lambda: not os.system(f"ip link set {PORT} up 2>/dev/null"))


# What is checked

def receives(xsk, interface):
    """Check that a socket gets frames."""
    state = struct.unpack("=4I", xsk.socket.getsockopt(SOL_XDP, ATTACH, 16))
    assert state[1] == ACTIVE, state
    links_up(interface)
    if interface == PORT:
        nicsim("gen", 0, "start", f"count={FRAMES}")
    else:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as peer:
            peer.bind((PEER, 0))
            for _ in range(FRAMES):
                peer.send(bytes(60))
    # Some of the card's go to other queues
    eventually("frames", lambda: xsk.rx.used)


def left_behind():
    """Return the number of links that run an XDP program, and of pinned pages."""
    running = sum("xdp" in link for link in json.loads(shell("ip -j -d link show")))
    vmstat = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    pinned = int(vmstat["nr_foll_pin_acquired"]) - int(vmstat["nr_foll_pin_released"])
    return running, pinned


def sweep(interface, make, beside, step=1):
    """Make something, beside another socket or not, and close it; each allocation fails once.

    Or one in so many, if step is more than one.
    """
    before = left_behind()
    other = first(Faults(), interface, None) if beside else None
    failed = 0
    for number in range(1, MOST, step):
        faults = Faults(number)
        try:
            make(faults, interface, other).close()
        except OSError as err:
            assert err.errno in NO_MEMORY, f"allocation {number}: {err}"
            failed += 1
        if faults.left:
            break
    print(f"# {number} allocations, {failed} failures", flush=True)
    assert failed and faults.left, (number, failed)
    made = make(Faults(), interface, other)
    if other or not isinstance(made, Xsk):
        made.close()
        made = other or first(Faults(), interface, None)
    receives(made, interface)
    made.close()
    eventually(f"nothing left: {left_behind()}, before: {before}",
               lambda: left_behind() == before)


def no_leak():
    """What was allocated is freed, or somebody knows where it is."""
    for _ in range(2):
        time.sleep(6)  # kmemleak says nothing of what is younger than 5 s
        (DEBUGFS / "kmemleak").write_text("scan")
    found = (DEBUGFS / "kmemleak").read_text()
    assert not found, found


def set_up():
    """Load the driver, bring port and veth up."""
    shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1; "
          f"modprobe {sys.argv[1]}; ethtool -L {PORT} combined 2; "
          f"ethtool -X {PORT} equal 1; ethtool -G {PORT} rx {SLOTS} tx {SLOTS}; "
          f"ip link set {PORT} promisc on up; "
          f"ip link add {VETH} type veth peer name {PEER}; "
          f"ip link set {VETH} up; ip link set {PEER} up; "
          f"bpftool prog loadall {BIN}/frags.bpf.o {PROGRAMS} type xdp")
    for path, value in SETTINGS.items():
        (DEBUGFS / path).write_text(value)


TESTS = (
    ("a socket on veth", VETH, first, False),
    ("a regular program on veth", VETH, Program, True),
    ("another queue", PORT, second, True),
    ("another queue, umem shared", PORT, sharing, True),
    ("recycling", PORT, recycling, True),
    ("a regular program", PORT, Program, True),
    ("a socket", PORT, first, False),
    # Most allocations of a reset are alike, and two restarts for each take long
    ("a regular program, restarted", PORT, Restarted, False, 5),
)


@contextlib.contextmanager
def around():
    """Check that nothing inside is misbehaviour, and allow the one splat that is expected."""
    with nicsim.no_event(), expected(EXPECTED):
        yield


def main():
    """Run the tests."""
    tap = Tap(around)
    set_up()
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, *args in TESTS:
        if re.search(wanted, name):
            tap.test(f"allocations fail: {name}", sweep, *args)
    tap.test("no memory is lost", no_leak)
    tap.plan()


if __name__ == "__main__":
    main()
