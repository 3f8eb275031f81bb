#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""DPDK's own driver on the two ports, through testpmd. Prints TAP. Argument: Linux's driver.

At each port are a generator and a sink that verifies. What testpmd, the port's own counters
and nicsim count has to be the same.
"""

import contextlib
import re
import subprocess
import sys
import time
from pathlib import Path

from harness import Nicsim, Tap, eventually, links_up, shell

PCI = ("0000:01:00.0", "0000:02:00.0")
DRIVERS = Path("/sys/bus/pci/drivers")
PROMPT = "testpmd> "
FRAMES = 100000
nicsim = Nicsim()


class Testpmd:
    """testpmd on both ports, to be told what to do."""

    def __init__(self, *args, eal=()):
        self.process = subprocess.Popen(
            ["stdbuf", "-o0", "dpdk-testpmd", "-l", "0-1", "--in-memory", "-m", "192", *eal,
             *(word for address in PCI for word in ("-a", address)), "--",
             "-i", "--total-num-mbufs=40000", "--rss-udp", *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = self.until_prompt()

    def until_prompt(self):
        """Return what it says until it waits for a command."""
        said = ""
        while not said.endswith(PROMPT):
            character = self.process.stdout.read(1)
            assert character, f"testpmd ended: {said}"
            said += character
        return said

    def __call__(self, command):
        """Give a command and return what it says."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.until_prompt()

    def end(self):
        """End it."""
        self.process.communicate("quit\n", timeout=60)
        assert self.process.returncode == 0, self.process.returncode


@contextlib.contextmanager
def testpmd(*args, eal=()):
    """Run testpmd inside, with links up."""
    program = Testpmd(*args, eal=eal)
    try:
        eventually("links", lambda: len(re.findall(r" up +10 Gbps",
                                                   program("show port summary all"))) == 2)
        for port in range(len(PCI)):
            nicsim("sink", port, "reset")
        yield program
    finally:
        program.end()


def forwarded(said, way, port):
    """Return how many packets the statistics of `stop` or `show` name."""
    part = said.split(f" for port {port} ", 1)[1] if " for port " in said else said
    return int(re.search(rf"{way}-packets: +(\d+)", part)[1])


def generate(program, port):
    """Send frames into a port, until testpmd has taken them all."""
    nicsim.generate(port, FRAMES)
    eventually("all frames in testpmd",
               lambda: forwarded(program("show fwd stats all"), "RX", port) >= FRAMES, 60)
    time.sleep(1)


def port_counters(program, port):
    """Return what the port itself counts: received, missed, sent."""
    said = program(f"show port stats {port}")
    return tuple(int(re.search(rf"{name}: +(\d+)", said)[1])
                 for name in ("RX-packets", "RX-missed", "TX-packets"))


# The tests

def receive(*args, eal=()):
    """Every frame is received."""
    with testpmd(*args, eal=eal) as program:
        program("set fwd rxonly")
        program("start")
        generate(program, 0)
        said = program("stop")
        assert forwarded(said, "RX", 0) == FRAMES, said
        assert port_counters(program, 0) == (FRAMES, 0, 0), port_counters(program, 0)


def transmit(*args, eal=()):
    """Every frame comes out."""
    with testpmd(*args, eal=eal) as program:
        before = nicsim.port(0)["wire"]["from_chip"]
        program("set fwd txonly")
        program("start")
        eventually("frames", lambda: nicsim.port(0)["wire"]["from_chip"] - before > FRAMES, 60)
        said = program("stop")
        count = forwarded(said, "TX", 0)
        sent = nicsim.port(0)["wire"]["from_chip"] - before
        assert count == sent > FRAMES, (count, sent)
        assert port_counters(program, 0)[2] == count, port_counters(program, 0)


def forward(mode, *args, eal=()):
    """What comes in at one port comes out of the other, whole and in the order of each flow."""
    with testpmd(*args, eal=eal) as program:
        program(f"set fwd {mode}")
        program("start")
        generate(program, 0)
        said = program("stop")
        assert forwarded(said, "RX", 0) == forwarded(said, "TX", 1) == FRAMES, said
        nicsim.verified(1, FRAMES)


def to_dpdk():
    """Take the ports from Linux."""
    shell("modprobe uio_pci_generic; echo 160 >/proc/sys/vm/nr_hugepages")
    for address in PCI:
        device = Path("/sys/bus/pci/devices", address)
        if (device / "driver").exists():
            (device / "driver/unbind").write_text(address)
        (device / "driver_override").write_text("uio_pci_generic")
        (DRIVERS / "uio_pci_generic/bind").write_text(address)


def back_to_linux():
    """Linux takes the ports after DPDK had them."""
    for address in PCI:
        (DRIVERS / "uio_pci_generic/unbind").write_text(address)
        Path(f"/sys/bus/pci/devices/{address}/driver_override").write_text("\n")
    shell(f"modprobe {sys.argv[1]}; ip link set eth0 up")
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


def main():
    """Run them all, with the driver's vector paths and without."""
    tap = Tap(nicsim.no_event)
    to_dpdk()
    for kind, eal in ("vector", ()), ("scalar", SCALAR):
        for name, run, *args in TESTS:
            tap.test(f"{name}, {kind}", lambda run=run, args=args, eal=eal: run(*args, eal=eal))
    tap.test("Linux takes the ports back", back_to_linux)
    tap.plan()


if __name__ == "__main__":
    main()
