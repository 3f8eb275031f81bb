#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""DPDK's own driver on the two ports, through testpmd. Prints KTAP. Argument: Linux's driver.

Each port has a generator and a sink that verifies. The counters of testpmd, of the port and of nicsim
have to be the same.
"""

import contextlib
import functools
import re
import sys
import time

import testpmd
from harness import eventually, run_cases
from lib.py import cmd, ip, ksft_eq, ksft_true
from netdev import links_up
from nicsim import nicsim

PCI = ("0000:01:00.0", "0000:02:00.0")
FRAMES = 100000


@contextlib.contextmanager
def running(*args, eal=()):
    """Run testpmd inside, with links up."""
    program = testpmd.Testpmd(("-l", "0-1", *eal, "-a", PCI[0], "-a", PCI[1]),
                              ("--rss-udp", *args))
    try:
        eventually("links", lambda: len(re.findall(r" up +10 Gbps",
                                                   program("show port summary all"))) == 2)
        for port in range(len(PCI)):
            nicsim("sink", port, "reset")
        yield program
    finally:
        program.end()


def forwarded(said, way, port):
    """Return the number of packets in the output of `stop` or `show`."""
    part = said.split(f" for port {port} ", 1)[1] if " for port " in said else said
    return int(re.search(rf"{way}-packets: +(\d+)", part)[1])


def generate(program, port):
    """Send frames into a port, until testpmd has received them all."""
    nicsim.generate(port, FRAMES)
    eventually("all frames in testpmd",
               lambda: forwarded(program("show fwd stats all"), "RX", port) >= FRAMES, 60)
    time.sleep(1)


def port_counters(program, port):
    """Return the port's own counters: received, missed, sent."""
    said = program(f"show port stats {port}")
    return tuple(int(re.search(rf"{name}: +(\d+)", said)[1])
                 for name in ("RX-packets", "RX-missed", "TX-packets"))


# The tests

def receive(*args, eal=()):
    """Every frame is received."""
    with running(*args, eal=eal) as program:
        program("set fwd rxonly")
        program("start")
        generate(program, 0)
        said = program("stop")
        ksft_eq(forwarded(said, "RX", 0), FRAMES, said)
        ksft_eq(port_counters(program, 0), (FRAMES, 0, 0))


def transmit(*args, eal=()):
    """Every frame is sent."""
    with running(*args, eal=eal) as program:
        before = nicsim.sent(0)
        program("set fwd txonly")
        program("start")
        eventually("frames", lambda: nicsim.sent(0) - before > FRAMES, 60)
        said = program("stop")
        count = forwarded(said, "TX", 0)
        sent = nicsim.sent(0) - before
        ksft_true(sent > FRAMES, sent)
        ksft_eq(count, sent)
        ksft_eq(port_counters(program, 0)[2], count)


def forward(mode, *args, eal=()):
    """Frames received at one port are sent by the other, whole and in the order of each flow."""
    with running(*args, eal=eal) as program:
        program(f"set fwd {mode}")
        program("start")
        generate(program, 0)
        said = program("stop")
        ksft_eq((forwarded(said, "RX", 0), forwarded(said, "TX", 1)), (FRAMES, FRAMES), said)
        nicsim.verified(1, FRAMES)


def back_to_linux():
    """The ports work with Linux again."""
    testpmd.give_back(PCI)
    cmd(f"modprobe {sys.argv[1]}")
    ip("link set eth0 up")
    links_up("eth0")


QUEUES = ("--rxq=4", "--txq=4")
SCALAR = ("--force-max-simd-bitwidth=64",)
TESTS = (
    ("receive", receive),
    ("receive, 4 queues", receive, *QUEUES),
    ("transmit", transmit),
    ("transmit, 4 queues", transmit, *QUEUES),
    ("forward", forward, "io"),
    ("forward, MACs swapped", forward, "macswap"),
    ("forward, 4 queues", forward, "io", *QUEUES),
    ("forward, checksums by the port", forward, "csum", "--enable-rx-cksum"),
)


def tests():
    """Yield name, function and arguments: with the driver's vector paths and without."""
    for kind, eal in ("vector", ()), ("scalar", SCALAR):
        for name, run, *args in TESTS:
            yield f"{name}, {kind}", functools.partial(run, *args, eal=eal)
    yield "Linux takes the ports back", back_to_linux


def main():
    """Run them all."""
    testpmd.take(PCI)
    run_cases(tests(), around=nicsim.no_event)


if __name__ == "__main__":
    main()
