#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Existing applications of AF_XDP, as Debian has them. Prints KTAP.

Arguments: the kernel, "base" or "patched", and a regular expression for the names of tests. A name is
"KERNEL, DRIVER: APPLICATION", where "companions" is the patched kernel with the companions.

Ports of an X710 are eth0 to eth2, of an 82599 eth3 to eth5. Each first one has a generator and a sink,
a cable connects the second ones, each third one replays a capture.
"""

import clients_knot
import clients_rust
import clients_suricata
import clients_testpmd
import clients_xdp_tools
from clients_common import Port, Setup, Veth
from harness import argument, run_cases
from lib.py import cmd
from netdev import no_ipv6, one_queue

SETUPS = {"base": ("base",), "patched": ("patched", "companions")}  # by kernel
MODULES = clients_testpmd, clients_suricata, clients_knot, clients_xdp_tools, clients_rust
RING = 2048


def within(run, setup, place, *args):
    """Run a test while its interfaces are ready."""
    setup.require()
    with place.ready():
        run(setup, place, *args)


def main():
    """Run the tests on each interface."""
    no_ipv6()
    cmd("modprobe i40e; modprobe ixgbe")
    for number in range(6):
        one_queue(f"eth{number}", RING)
    places = Port("i40e", 0, 3), Port("ixgbe", 3, 0), Veth()
    run_cases([(f"{setup}, {place.driver}: {name}", within, run, Setup(setup), place, *args)
               for setup in SETUPS[argument(1)] for module in MODULES if setup in module.SETUPS
               for name, run, *args in module.TESTS for place in places], argument(2))


if __name__ == "__main__":
    main()
