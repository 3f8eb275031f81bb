#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Every allocation in calls of the fast path fails once: the first, then the second ...

The calls are repeated until they make fewer allocations than that. They fail with an errno for lack of
memory, or work around it; afterwards they succeed, and nothing is left behind. On eth0, a port of a
NIC, and on veth. Prints KTAP. Arguments: the driver; a regular expression for the names of tests.
Needs a kernel with fault injection, booted with kmemleak=on (lab/kconfig/kasan.config).
"""

import contextlib
import errno
import gc
import os
import re
import socket
import struct
import sys
from pathlib import Path

import xdp_program
from harness import argument, eventually, expected, run_cases
from leaks import pinned_pages, unreferenced
from lib.py import cmd, ethtool, ip, ksft_eq, ksft_pr
from netdev import links_up, no_ipv6, size_queues
from nicsim import nicsim
from xsk import ATTACH, COPY, SOL_XDP, ZEROCOPY, Umem, Xsk

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
# EIO: the device could not be reset for an XDP program
NO_MEMORY = (errno.ENOMEM, errno.ENOBUFS, errno.EIO)
# genirq ignores a failed creation of an entry in /proc/irq, and warns when it removes the entry
EXPECTED = r"WARNING: .* remove_proc_entry\+"


class Faults:
    """The allocation that fails, counted over several system calls."""

    def __init__(self, number=0):
        self.left = number  # counted from now on; 0: none

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


# What is created under faults, alone or beside another socket

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
    """One on another queue whose chunks are recycled to the first one."""
    xsk = sharing(Faults(), interface, other)
    xsk.faults = faults
    try:
        xsk.recycle(other)
    except OSError:
        xsk.close()
        raise
    return xsk


class Program:
    """A regular program, attached and detached by netlink."""

    def __init__(self, faults, interface, _):
        self.faults, self.interface = faults, interface
        program = xdp_program.pinned()
        try:
            self._set(program)
        except OSError:
            self.close()
            raise
        finally:
            os.close(program)

    def _set(self, program):
        armed = self.faults.left
        error = xdp_program.attach(self.interface, program, self.faults)
        # Without memory for MSI-X, ixgbe falls back to IRQ 0, which is the timer's
        if error == errno.EBUSY and sys.argv[1] == "ixgbe" and armed and not self.faults.left:
            error = errno.ENOMEM
        if error:
            raise OSError(error, f"program: {os.strerror(error)}")

    def close(self):
        """Detach it, if need be by a second try."""
        try:
            self._set(-1)
        except OSError as err:
            assert err.errno in NO_MEMORY, err
            self._set(-1)


class Restarted(Program):
    """One that sees the port restart after it is attached, or could not be, and after its removal."""

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
    ip(f"link set {PORT} down")
    eventually("the port is up", lambda: not cmd(f"ip link set {PORT} up", fail=False).ret)


# Checks

def receives(xsk, interface):
    """Check that a socket receives frames."""
    state = struct.unpack("=4I", xsk.socket.getsockopt(SOL_XDP, ATTACH, 16))
    assert state[1] == ACTIVE, state
    links_up(interface)
    if interface == PORT:
        nicsim.start(0, FRAMES)
    else:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as peer:
            peer.bind((PEER, 0))
            for _ in range(FRAMES):
                peer.send(bytes(60))
    # RSS steers some of the NIC's frames to other queues
    eventually("frames", lambda: xsk.rx.used)


def left_behind():
    """Return the number of links that run an XDP program, and of pinned pages."""
    running = sum("xdp" in link for link in ip("-d link show", json=True))
    return running, pinned_pages()


def sweep(interface, make, beside, step=1):
    """Create something, beside another socket or not, and close it; each allocation fails once.

    With a step, only one allocation in `step` fails.
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
    ksft_pr(f"{number} allocations, {failed} failures")
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
    """All allocated memory is freed, or referenced."""
    ksft_eq(unreferenced(), "")


def set_up():
    """Load the driver, set port and veth up."""
    no_ipv6()
    cmd(f"modprobe {sys.argv[1]}")
    size_queues(PORT, 2, SLOTS)
    ethtool(f"-X {PORT} equal 1")
    ip(f"link set {PORT} promisc on up")
    ip(f"link add {VETH} type veth peer name {PEER}")
    ip(f"link set {VETH} up")
    ip(f"link set {PEER} up")
    xdp_program.pin()
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
    # Most allocations of a reset are alike, and two restarts per allocation take long
    ("a regular program, restarted", PORT, Restarted, False, 5),
)


@contextlib.contextmanager
def around():
    """Check that nothing inside is misbehaviour, and allow the one splat that is expected."""
    with nicsim.no_event(), expected(EXPECTED):
        yield


def main():
    """Run the tests."""
    set_up()
    run_cases([(f"allocations fail: {name}", sweep, *args) for name, *args in TESTS
               if re.search(argument(2), name)] + [("no memory is lost", no_leak)], around=around)


if __name__ == "__main__":
    main()
