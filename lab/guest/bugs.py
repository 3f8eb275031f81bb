# SPDX-License-Identifier: GPL-2.0
"""What tests of the base's bugs share, and bugs that both drivers have with the pool of a socket."""

import contextlib
import re
import socket
import subprocess
import time
from pathlib import Path

from harness import argument, eventually, expected, run_cases
from lib.py import ip
from netdev import links_up, xdp_bench
from xsk import Xsk

BASE = argument(1) == "base"
SO_SNDBUFFORCE = 32
FAILSLAB = Path("/sys/kernel/debug/failslab")  # there with fault injection


def shows(fault, what):
    """Check that a fault is there on the base, and nowhere else."""
    assert bool(fault) == BASE, f"{what}: {fault}"


def run_bugs(tests, prefix=""):
    """Run the tests of this kernel whose names match the second argument."""
    verdict = "it shows" if BASE else "fixed"
    run_cases((f"{prefix}{name}: {verdict}", *call) for name, *call in tests
              if re.search(argument(2), name))


def free_kib():
    """Return the amount of free memory."""
    return int(re.search(r"MemFree:\s+(\d+)", Path("/proc/meminfo").read_text())[1])


def stale_pool(interface):
    """A pool that was freed while the interface is down is used when that fails to come up.

    The base keeps the pointer, but does not dereference it: it only fails with KASAN, if the
    series is there and this patch is not.
    """
    with xdp_bench("drop", interface):
        # Each ring has several allocations, and each try takes seconds with KASAN
        for number in range(1, 400, 3):
            xsk = Xsk(interface)
            links_up(interface)
            ip(f"link set {interface} down")
            xsk.close()
            time.sleep(0.1)  # the pool is freed asynchronously
            if up_with_fault(interface, number):
                break
            ip(f"link set {interface} up")
        else:
            raise AssertionError("always an allocation that failed")
    assert number > 10, f"only {number} allocations"


def up_with_fault(interface, number):
    """Set an interface up while an allocation fails. Return whether there were fewer allocations."""
    def prepare():
        Path("/proc/thread-self/fail-nth").write_text(str(number))

    # pylint: disable-next=subprocess-popen-preexec-fn
    with subprocess.Popen(["ip", "link", "set", interface, "up"], preexec_fn=prepare,
                          stderr=subprocess.DEVNULL) as process:
        left = 0
        while process.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                left = int(Path(f"/proc/{process.pid}/fail-nth").read_text())
    return process.returncode == 0 and left > 0


def full_ring_is_reset(nicsim, port, interface):
    """bind() resets the stack's full Tx ring: its queue stays stopped until the watchdog fires.

    The only queue of the interface. On the base, NETDEV WATCHDOG fails the run.
    """
    with xdp_bench("drop", interface), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw, \
            expected("Detected Tx Unit Hang"):  # where this takes two seconds
        links_up(interface)
        raw.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 24)
        raw.bind((interface, 0))
        nicsim("fault", port, "tx-stop", "on")
        with contextlib.suppress(OSError):  # the queueing discipline is full, too
            while True:
                raw.send(bytes(60))
        xsk = Xsk(interface)
        first = nicsim.sent(port)
        nicsim("fault", port, "tx-stop", "off")
        eventually("frames", lambda: nicsim.sent(port) > first + 100)
        xsk.close()
