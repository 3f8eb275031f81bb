# SPDX-License-Identifier: GPL-2.0
"""A pool of buffers that a driver may remember after it was freed."""

import contextlib
import subprocess
import time
from pathlib import Path

from harness import links_up, shell, xdp_bench
from xsk import Xsk

FAILSLAB = Path("/sys/kernel/debug/failslab")  # there with fault injection


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
            shell(f"ip link set {interface} down")
            xsk.close()
            time.sleep(0.1)  # the pool is freed a moment later
            if up_with_fault(interface, number):
                break
            shell(f"ip link set {interface} up")
        else:
            raise AssertionError("always an allocation that failed")
    assert number > 10, f"only {number} allocations"


def up_with_fault(interface, number):
    """Bring an interface up while an allocation fails. Return whether it had fewer of them."""
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
