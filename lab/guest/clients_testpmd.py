# SPDX-License-Identifier: GPL-2.0
"""DPDK's testpmd on AF_XDP sockets, by DPDK's driver net_af_xdp."""

import contextlib
import re
from pathlib import Path

import testpmd
from harness import eventually
from lib.py import ksft_eq

BURSTS = 4


@contextlib.contextmanager
def running(setup, ports, *options):
    """Run testpmd inside on the queue 0 of interfaces."""
    Path("/proc/sys/vm/nr_hugepages").write_text("160")
    devices = [word for number, port in enumerate(ports) for word in
               ("--vdev", ",".join((f"net_af_xdp{number}", f"iface={port}", *options)))]
    program = testpmd.Testpmd(("-l", "0-1", "--no-pci", *devices), ("--burst=64", "--txpkts=60"),
                              setup.environment)
    try:
        for number, _ in enumerate(ports):
            eventually("link", lambda number=number: " up " in program(f"show port summary {number}"))
        yield program
    finally:
        program.end()


def packets(said, way, port):
    """Return the number of packets of a port in the output of `stop` or `show`."""
    part = said.split(f" for port {port} ", 1)[1]
    return int(re.search(rf"{way}-packets: +(\d+)", part)[1])


def forward(program, place, mode, ports):
    """Have packets received by the first port and forwarded to the last one.

    Return what testpmd says about them.
    """
    before, frames = place.sent(ports[-1]), BURSTS * place.burst
    program(f"set fwd {mode}")
    program("start")
    for number in range(1, BURSTS + 1):
        place.send(ports[0], place.burst)
        eventually("packets in testpmd", lambda number=number: packets(
            program("show fwd stats all"), "RX", 0) >= number * place.burst)
    sends = mode != "rxonly"
    eventually("packets on the wire", lambda: place.sent(ports[-1]) - before >= sends * frames)
    said = program("stop")
    ksft_eq(packets(said, "RX", 0), frames, said)
    ksft_eq(packets(said, "TX", len(ports) - 1), sends * frames, said)
    ksft_eq(place.sent(ports[-1]) - before, sends * frames)


def transmit(program, place, port):
    """Have testpmd send packets, and count them on the wire."""
    before = place.sent(port)
    program("set fwd txonly")
    program("start")
    eventually("packets", lambda: place.sent(port) - before > BURSTS * place.burst)
    count = packets(program("stop"), "TX", 0)
    eventually("all packets on the wire", lambda: place.sent(port) - before >= count)
    ksft_eq(place.sent(port) - before, count)


def one_port(setup, place):
    """Each packet is received, received and sent back, or sent."""
    ports = place.ports[:1]
    with running(setup, ports) as program:
        setup.check_attached(ports[0])
        setup.check_mode(place)
        for mode in "rxonly", "macswap":
            forward(program, place, mode, ports)
        transmit(program, place, ports[0])


def two_ports(setup, place, *options):
    """Each packet is forwarded to the other port."""
    with running(setup, place.ports, *options) as program:
        for port in place.ports:
            setup.check_attached(port)
        setup.check_mode(place)
        forward(program, place, "io", place.ports)


SETUPS = ("base", "patched", "companions")
TESTS = (
    ("testpmd rxonly, macswap, txonly", one_port),
    ("testpmd io on two ports", two_ports),
    ("testpmd io on two ports, shared_umem", two_ports, "shared_umem=1"),
)
