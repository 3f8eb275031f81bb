# SPDX-License-Identifier: GPL-2.0
"""Tests of splat.py: logs with and without splats, and the allow list."""
import unittest
from pathlib import Path

import splat

QUIET = """\
[    0.000000] Linux version 6.12.117-xsk-base (lab@lab) #1 SMP
[    0.010000] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on
[    0.020000] Booting with warnings: none, bugs: none
[    1.000000] debugfs: BUGS file created
"""
LOUD = {
    "warning": "[    2.1] ------------[ cut here ]------------\n"
               "[    2.123456] WARNING: CPU: 0 PID: 7 at net/xdp/xsk.c:1 f+0x1/0x2",
    "caller id": "[    2.123456][  T123] BUG: KASAN: slab-use-after-free in f+0x1/0x2",
    "lockdep": "[    2.123456] WARNING: possible circular locking dependency detected",
    "wait context": "[    2.123456] [ BUG: Invalid wait context ]",
    "lock key": "[    2.123456] INFO: trying to register non-static key.",
    "sleeping": "[    2.123456] BUG: sleeping function called from invalid context at a.c:1",
    "data race": "[    2.123456] BUG: KCSAN: data-race in f / g",
    "dma": "[    2.1] ------------[ cut here ]------------\n"
           "[    2.1] DMA-API: ixgbe 0000:01:00.0: device driver frees DMA memory with wrong size\n"
           "[    2.1] WARNING: CPU: 0 PID: 7 at kernel/dma/debug.c:1 check_unmap+0x1/0x2",
    "dma debugging": "[    2.123456] DMA-API: cacheline tracking ENOMEM, dma-debug disabled",
    "rcu usage": "[    2.123456] WARNING: suspicious RCU usage",
    "slab": "[    2.123456] BUG kmalloc-64 (Not tainted): Poison overwritten",
    "oops": "[    2.123456] Oops: general protection fault, 0000 [#1] SMP",
    "stall": "[    2.123456] rcu: INFO: rcu_sched self-detected stall on CPU",
    "lockup": "[    2.123456] watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
    "hung": "[    2.123456] INFO: task ip:17 blocked for more than 122 seconds.",
    "refcount": "[    2.123456] refcount_t: underflow; use-after-free.",
    "ubsan": "[    2.123456] UBSAN: array-index-out-of-bounds in a.c:1:2",
    "panic": "[    2.123456] Kernel panic - not syncing: Fatal exception",
    "netdev": "[    2.123456] unregister_netdevice: waiting for veth0 to become free.",
    "watchdog": "[    2.123456] i40e 0000:01:00.0 eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 0 "
                "timed out 5120 ms",
    "Tx hang": "[    2.123456] ixgbe 0000:01:00.0 eth0: Detected Tx Unit Hang (XDP)",
    "bad descriptor": "[    2.123456] i40e 0000:01:00.0: Malicious Driver Detection event 0x02 on "
                      "TX queue 3 PF number 0x00 VF number 0x00",
    "driver issue": "[    2.123456] i40e 0000:01:00.0: TX driver issue detected on PF",
    "hung with thread": "[    2.123456][   T17] INFO: task kworker/0:1:9 blocked for more than 122 "
                        "seconds.",
    "pool": "[    2.123456] page_pool_release_retry() stalled pool shutdown: id 1, 2 inflight",
}


class FindSplats(unittest.TestCase):
    """What is a splat, and where it ends."""

    def test_quiet_log(self):
        self.assertEqual(splat.find_splats(QUIET.splitlines()), [])

    def test_each_kind(self):
        for name, text in LOUD.items():
            with self.subTest(name):
                self.assertEqual(len(splat.find_splats((QUIET + text).splitlines())), 1)

    def test_ends_with_its_trace(self):
        lines = ["[ 1.0] WARNING: CPU: 0", "[ 1.0] Call Trace:",
                 "[ 1.0] ---[ end trace 0000000000000000 ]---", "[ 2.0] fine"]
        self.assertEqual(splat.find_splats(lines), [lines[:3]])

    def test_two_splats(self):
        lines = ["[ 1.0] WARNING: CPU: 0", "[ 1.0] ---[ end trace 0 ]---", "[ 2.0] BUG: f"]
        self.assertEqual(len(splat.find_splats(lines)), 2)


class Expected(unittest.TestCase):
    """What a test announces in the log is no splat until it is over."""

    BEGIN = "[    2.0] lab: expected: NETDEV WATCHDOG|Detected Tx Unit Hang"
    END = "[    3.0] lab: expected: "

    def test_announced(self):
        lines = [self.BEGIN, LOUD["watchdog"], LOUD["Tx hang"], self.END]
        self.assertEqual(splat.find_splats(lines), [])

    def test_something_else(self):
        self.assertEqual(len(splat.find_splats([self.BEGIN, LOUD["hung"], self.END])), 1)

    def test_over(self):
        lines = [self.BEGIN, self.END, LOUD["watchdog"]]
        self.assertEqual(len(splat.find_splats(lines)), 1)


class AllowList(unittest.TestCase):
    """An entry hides a splat and needs a reason."""

    def test_allowed_splat_is_hidden(self):
        allowed = splat.allowed_patterns("# reason: bug 1\nsuspicious RCU\n")
        self.assertEqual(splat.find_splats([LOUD["rcu usage"]], allowed), [])
        self.assertEqual(len(splat.find_splats([LOUD["lockdep"]], allowed)), 1)

    def test_reason_is_required(self):
        for text in ("no reason\n", "# reason: one\nfirst\nsecond\n"):
            with self.assertRaises(SystemExit):
                splat.allowed_patterns(text)

    def test_list_in_use_is_well_formed(self):
        splat.allowed_patterns((Path(splat.__file__).parent / "splats-allowed").read_text())
