#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the structured fuzzer xsk_fuzz: as root on two ports of each NIC and on virtual devices,
while nicsim injects faults, then as an ordinary user.

Prints TAP: whether it ended well, and how deep it came. Arguments: seconds as root; seconds as an
ordinary user; a seed, or none; options of xsk_fuzz.
"""

import contextlib
import os
import random
import re
import subprocess
import sys
import threading

from harness import BIN, LONGEST, SLOW, Nicsim, Tap, expected, links_up, shell

PORTS = {"eth0": "ixgbe", "eth1": "ixgbe", "eth2": "i40e", "eth3": "i40e"}
DEVICES = (*PORTS, "veth", "bond", "dummy", "tap")
# Each fault with the command that ends it
FAULTS = (("tx-delay 2000", "tx-delay 0"), ("drop 4", "clear"), ("duplicate 4", "clear"),
          ("stall 200", "clear"), ("tx-stop on", "clear"))
# xp_alloc() has one sync for a chunk on two pages, which DMA debugging takes for wrong
EXPECTED = r"WARNING: .* check_sync\+"
nicsim = Nicsim()


@contextlib.contextmanager
def faults(seed):
    """Have cables that are pulled, and ports that are slow, while inside."""
    chance, over = random.Random(seed), threading.Event()

    def run():
        while not over.wait(chance.uniform(0.2, 2)):
            port = chance.randrange(len(PORTS))
            first, last = (f"fault {port} {fault}" for fault in chance.choice(FAULTS))
            if chance.random() < 0.5:
                first, last = f"link {port} down", f"link {port} up"
            nicsim(first)
            over.wait(chance.uniform(0, 0.3))
            nicsim(last)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Fuzzer:
    """A run of xsk_fuzz and what it printed."""

    def __init__(self, seed, *options):
        self.seed, self.options, self.said = seed, options, ""

    def run(self, seconds):
        """Run it to its end; shown as it comes, as there is no end after a crash."""
        command = [BIN / "xsk_fuzz", f"--seconds={seconds}", f"--seed={self.seed}", *self.options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                print(f"# {line}", end="", flush=True)
                self.said += line
        assert process.returncode == 0, f"status {process.returncode}"

    def succeeded(self, what):
        """Check that something was done at least once."""
        counts = re.findall(rf"^{what} (\d+)$", self.said, re.MULTILINE)
        assert sum(map(int, counts)), f"no {what}: {counts}"


def set_up():
    """Load the drivers. Who is no root gets at tap devices as on a usual system."""
    shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1; modprobe ixgbe; modprobe i40e; "
          "chmod 666 /dev/net/tun")
    for port in PORTS:
        shell(f"ip link set {port} promisc on up")
    links_up(*PORTS)


def main():
    """Run the tests."""
    seconds, unprivileged, seed, *options = sys.argv[1:]
    seed = int(seed or int.from_bytes(os.urandom(4)))
    tap = Tap(lambda: expected(EXPECTED), LONGEST + int(seconds) * SLOW)
    set_up()
    root = Fuzzer(seed, *(f"--dev={name}" for name in DEVICES), *options)
    with faults(seed):
        tap.test("as root it ends", root.run, int(seconds) * SLOW)
    for driver in sorted(set(PORTS.values())):
        tap.test(f"a zero-copy socket of {driver}", root.succeeded, rf"zero-copy \w+ {driver}")
    for what in ("attached", "in-order", "paired"):
        tap.test(f"a socket is {what}", root.succeeded, what)
    user = Fuzzer(seed, "--unprivileged", *options)
    tap.test("as an ordinary user it ends", user.run, int(unprivileged) * SLOW)
    for what in ("attached", "in-order"):
        tap.test(f"a socket of an ordinary user is {what}", user.succeeded, what)
    tap.plan()


if __name__ == "__main__":
    main()
