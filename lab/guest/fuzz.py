#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the structured fuzzer xsk_fuzz: as root on two ports of each NIC and on virtual devices,
while nicsim injects faults, then as an ordinary user.

Prints KTAP: whether it ended well, and its depth. Arguments: seconds as root; seconds as an ordinary
user; a seed, or none; options of xsk_fuzz.
"""

import contextlib
import functools
import os
import random
import re
import subprocess
import sys

from harness import BIN, LONGEST, SLOW, expected, meanwhile, run_cases
from lib.py import cmd, ip, ksft_pr
from netdev import links_up, no_ipv6
from nicsim import nicsim

PORTS = {"eth0": "ixgbe", "eth1": "ixgbe", "eth2": "i40e", "eth3": "i40e"}
DEVICES = (*PORTS, "veth", "bond", "dummy", "tap")
# Each fault with the command that clears it
FAULTS = (("tx-delay 2000", "tx-delay 0"), ("drop 4", "clear"), ("duplicate 4", "clear"),
          ("stall 200", "clear"), ("tx-stop on", "clear"))
# xp_alloc() has one sync for a chunk on two pages, which DMA debugging reports
EXPECTED = r"WARNING: .* check_sync\+"


def inject_faults(seed, end):
    """Pull cables and slow ports down until the end."""
    chance = random.Random(seed)
    while not end.wait(chance.uniform(0.2, 2)):
        port = chance.randrange(len(PORTS))
        first, last = (f"fault {port} {fault}" for fault in chance.choice(FAULTS))
        if chance.random() < 0.5:
            first, last = f"link {port} down", f"link {port} up"
        nicsim(first)
        end.wait(chance.uniform(0, 0.3))
        nicsim(last)


class Fuzzer:
    """A run of xsk_fuzz and its output."""

    def __init__(self, seed, *options):
        self.seed, self.options, self.said = seed, options, ""

    def run(self, seconds, faults=False):
        """Run it to its end. Its output is shown at once, in case of a crash."""
        command = [BIN / "xsk_fuzz", f"--seconds={seconds}", f"--seed={self.seed}", *self.options]
        injection = functools.partial(inject_faults, self.seed)
        with (meanwhile(injection) if faults else contextlib.nullcontext(),
              subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process):
            for line in process.stdout:
                ksft_pr(line, end="")
                self.said += line
        assert process.returncode == 0, f"status {process.returncode}"

    def succeeded(self, what):
        """Check that an operation succeeded at least once."""
        counts = re.findall(rf"^{what} (\d+)$", self.said, re.MULTILINE)
        assert sum(map(int, counts)), f"no {what}: {counts}"


def set_up():
    """Load the drivers. Ordinary users may open tap devices, as on a usual system."""
    no_ipv6()
    cmd("modprobe ixgbe; modprobe i40e; chmod 666 /dev/net/tun")
    for port in PORTS:
        ip(f"link set {port} promisc on up")
    links_up(*PORTS)


def main():
    """Run the tests."""
    seconds, unprivileged, seed, *options = sys.argv[1:]
    seed = int(seed or int.from_bytes(os.urandom(4)))
    root = Fuzzer(seed, *(f"--dev={name}" for name in DEVICES), *options)
    user = Fuzzer(seed, "--unprivileged", *options)
    set_up()
    run_cases((
        ("as root it ends", root.run, int(seconds) * SLOW, True),
        *((f"a zero-copy socket of {driver}", root.succeeded, rf"zero-copy \w+ {driver}")
          for driver in sorted(set(PORTS.values()))),
        *((f"a socket is {state}", root.succeeded, state)
          for state in ("attached", "in-order", "paired")),
        ("as an ordinary user it ends", user.run, int(unprivileged) * SLOW),
        *((f"a socket of an ordinary user is {state}", user.succeeded, state)
          for state in ("attached", "in-order"))),
              around=lambda: expected(EXPECTED), longest=LONGEST + int(seconds) * SLOW)


if __name__ == "__main__":
    main()
