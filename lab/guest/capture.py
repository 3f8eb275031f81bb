#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The feature xsk-capture in zero-copy mode: tcpdump sees what nicsim saw on the wire. Prints KTAP.

On a port of each driver, with a generator, a verifying sink and a recorder: eth0 is i40e's, eth1
ixgbe's. An AF_XDP socket receives frames and sends them back. Argument: a regular expression for the
names of tests.
"""

import contextlib
import json
import re
import signal
import struct
import subprocess
import time
from pathlib import Path

from harness import argument, eventually, run_cases, shell
from lib.py import ip
from netdev import links_up, one_queue, size_queues, spread, xdp_bench
from nicsim import nicsim
from xdpsock import finish, start, start_and_wait, stop

FRAMES = 1000
OUT = Path("/out/result")
ATTACH = "--attach", "--force", "-N"
PROGRAM = ("-N",)  # libxdp's, with an XSKMAP
UNALIGNED = "--unaligned", "--frame-size=3000"
ALL = "--inorder", "--recycle"
MULTI_BUFFER = "--frags", "--frame-size=2048"


def records(file, start_at=24):
    """Return the frames of a capture, from an offset on."""
    data, frames = file.read_bytes(), []
    while start_at + 16 <= len(data):
        length, whole = struct.unpack_from("<8xII", data, start_at)
        assert length == whole, "a frame was cut"
        if start_at + 16 + length > len(data):
            break
        frames.append(data[start_at + 16:start_at + 16 + length])
        start_at += 16 + length
    return frames


class Port:
    """A port and the recorder of its wire."""

    def __init__(self, number):
        self.number, self.name = number, f"eth{number}"
        self.wire = OUT / f"capture-{number}.pcap"
        one_queue(self.name, 2048)
        self.mac = bytes.fromhex(ip(f"link show {self.name}", json=True)[0]["address"]
                                 .replace(":", ""))

    def recorded(self):
        """Return the recording. It is written with some delay, and the guest caches files."""
        time.sleep(0.5)
        Path("/proc/sys/vm/drop_caches").write_text("3")
        return self.wire.read_bytes()

    def directions(self, frames):
        """Return the IPv4 frames that the port has received, and those that it has sent."""
        frames = [frame for frame in frames if frame[12:14] == b"\x08\x00"]
        return [[frame for frame in frames if (frame[:6] == self.mac) == received]
                for received in (True, False)]


def by_flow(frames):
    """Return the frames of each flow, in order: several queues have no order among them."""
    flows = {}
    for frame in frames:
        flows.setdefault(frame[26:38], []).append(frame)
    return flows


@contextlib.contextmanager
def tcpdump(port):
    """Have a tcpdump inside; return the file that it writes."""
    file = Path("/tmp", f"{port.name}.pcap")
    with subprocess.Popen(["tcpdump", "-i", port.name, "-w", file, "-U", "-s", "2048", "-B", "65536",
                           "--immediate-mode", "-Z", "root"],
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            eventually("tcpdump to listen", lambda: "listening" in process.stderr.readline())
            yield file
        finally:
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
    assert re.search(r"^0 packets dropped by kernel", said, re.MULTILINE), said


@contextlib.contextmanager
def captured(port, frames, same_order=True):
    """Check that tcpdump sees the frames inside as the wire does: number received, and sent."""
    before = len(port.recorded())
    with tcpdump(port) as file:
        yield
        eventually("all frames at the tap", lambda: [
            len(some) for some in port.directions(records(file))] == frames)
    port.recorded()
    wire = port.directions(records(port.wire, before))
    seen = port.directions(records(file))
    for name, on_wire, by_tap in zip(("received", "sent"), wire, seen):
        assert len(by_tap) == len(on_wire), f"{name}: {len(by_tap)} of {len(on_wire)}"
        same = by_tap == on_wire if same_order else by_flow(by_tap) == by_flow(on_wire)
        assert same, f"{name}: other frames, or another order"


def runs():
    """Return the number of times that the built-in program has run."""
    return sum(prog.get("run_cnt", 0) for prog in json.loads(shell("bpftool -j prog show"))
               if prog.get("name") == "xsk_builtin")


@contextlib.contextmanager
def running(port, *args):
    """Have an xdpsock inside, and none afterwards."""
    process = start_and_wait(port.name, *args)
    try:
        links_up(port.name)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def feature(port):
    """Switch the feature on inside."""
    shell(f"ethtool -K {port.name} xsk-capture on")
    try:
        yield
    finally:
        shell(f"ethtool -K {port.name} xsk-capture off")


def forward(port, how, *options, same_order=True):
    """A socket sends all frames back. Zero-copy delivery stays direct."""
    nicsim("sink", port.number, "reset")
    with feature(port), running(port, "-l", *how, *options) as process:
        before = runs()
        with captured(port, [FRAMES, FRAMES], same_order):
            nicsim.generate(port.number, FRAMES)
        # It runs for packets that arrive when a poll ends
        if "-c" not in options:
            assert runs() - before < FRAMES // 2, f"the built-in program has run {runs() - before} times"
        result = stop(process, lambda: nicsim.wire(port.number)["sink"]["frames"] >= FRAMES)
    nicsim.verified(port.number, FRAMES)
    assert result["rx_packets"] >= FRAMES, result


def forward_queues(port):
    """The same with two sockets on two queues, which share a umem."""
    size_queues(port.name, 2, 2048)
    spread(port.name)
    try:
        forward(port, ATTACH, "-z", "--queues=2", same_order=False)
    finally:
        one_queue(port.name, 2048)


def transmit(port, *options):
    """A socket sends frames of its own."""
    with feature(port), captured(port, [0, FRAMES]):
        finish(start(port.name, "-t", "-C", str(FRAMES), *ATTACH, *options))


def program_beside(port):
    """Packets that a regular program passes to the stack are captured once."""
    with feature(port), xdp_bench("pass", port.name), captured(port, [FRAMES, 0]):
        nicsim.generate(port.number, FRAMES)


def switched(port):
    """Nothing is seen while the feature is off; then all."""
    nicsim("sink", port.number, "reset")
    with running(port, "-l", *ATTACH, "-z"):
        with tcpdump(port) as file:
            nicsim.generate(port.number, FRAMES)
            eventually("all frames", lambda: nicsim.wire(port.number)["sink"]["frames"] >= FRAMES)
        assert not any(port.directions(records(file)))
        with feature(port), captured(port, [FRAMES, FRAMES]):
            nicsim.generate(port.number, FRAMES)


def tests(driver):
    """Yield name, function and arguments of the tests of a driver."""
    yield "switched on while the socket runs", switched
    yield "direct delivery", forward, ATTACH, "-z"
    yield "direct delivery, busy poll", forward, ATTACH, "-z", "-B"
    yield "direct delivery, unaligned chunks", forward, ATTACH, "-z", *UNALIGNED
    yield "in-order completion and recycling", forward, ATTACH, "-z", *ALL
    yield "direct delivery, multi-buffer", forward, ATTACH, "-z", *MULTI_BUFFER
    yield ("direct delivery, multi-buffer, unaligned, in order", forward, ATTACH, "-z",
           "--frags", "--unaligned", "--frame-size=2100", "--inorder")
    yield "two queues, shared umem", forward_queues
    yield "program and XSKMAP", forward, PROGRAM, "-z"
    yield "program and XSKMAP, unaligned chunks", forward, PROGRAM, "-z", *UNALIGNED
    yield "copy mode", forward, ATTACH, "-c"
    yield "frames of a sender", transmit, "-z"
    yield "frames of a sender, in order", transmit, "-z", "--inorder"
    yield "a program that passes packets", program_beside


def within(run, port, *args):
    """Run a test while the NIC reports no misbehaviour."""
    with nicsim.no_event():
        run(port, *args)


def main():
    """Run the tests on a port of each driver."""
    shell("modprobe i40e; modprobe ixgbe; sysctl -qw vm.nr_hugepages=32 kernel.bpf_stats_enabled=1")
    ports = {"i40e": Port(0), "ixgbe": Port(1)}
    run_cases([(f"{driver}: {name}", within, run, port, *args)
               for driver, port in ports.items() for name, run, *args in tests(driver)],
              argument(1))


if __name__ == "__main__":
    main()
