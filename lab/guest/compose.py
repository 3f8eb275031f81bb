#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""XDP_ATTACH_F_PASS beside the programs that other software attaches. Prints KTAP.

On a veth pair, and on a port of each driver with a generator: eth0 is i40e's, eth1 ixgbe's. An attached
socket on queue 0 receives the same number of frames all the time. On the ports, RSS spreads the frames
over two queues.
"""

import contextlib
import signal
import subprocess
from pathlib import Path

from harness import eventually, run_cases, settles, shell
from lib.py import cmd
from netdev import links_up, one_queue, received, size_queues, spread
from nicsim import nicsim
from samples import pair, send
from xdpsock import start_and_wait, stop
from xsk import ACTIVE, CHUNK, COPY, NATIVE, NEED_WAKEUP, PASS, PASSED, SHADOWED, ZEROCOPY, Xsk

DUMP = Path("/tmp/dump")


class Veth:
    """An end of a veth pair, whose other end sends to queue 0."""

    name = "xa"
    frames = 128  # its queue holds 256
    copy, xdpsock = COPY, ()
    ready = staticmethod(pair)

    @staticmethod
    def send(frames):
        """Send frames, and wait for their completion."""
        send("-C", str(frames))


class Port:
    """A port of a NIC, whose generator sends to both queues."""

    frames = 512
    copy, xdpsock = ZEROCOPY, ("-z",)

    def __init__(self, number):
        self.number, self.name = number, f"eth{number}"
        one_queue(self.name)
        size_queues(self.name, 2, 2048)
        spread(self.name)

    def send(self, frames):
        """Send frames into the port."""
        nicsim.generate(self.number, frames)

    @contextlib.contextmanager
    def ready(self):
        """No program of an earlier test is left, and nothing is amiss with the port."""
        with nicsim.no_event():
            yield
        unload(self)


class Receiver:
    """An attached socket on queue 0, and the number of frames of a burst that belong to it."""

    def __init__(self, port, flags):
        self.port = port
        self.xsk = Xsk(port.name, attach=NATIVE | flags, flags=port.copy | NEED_WAKEUP)
        links_up(port.name)
        self.check(ACTIVE, None)
        self.share = self.burst()
        assert port.frames / 8 < self.share <= port.frames, self.share

    def burst(self):
        """Send frames to the interface; return how many of them the socket receives."""
        self.port.send(self.port.frames)
        settles("socket", lambda: (self.xsk.rx.used, received(self.port.name)), 0.2)
        data = self.xsk.rx.read()
        self.xsk.fill.put([int.from_bytes(data[at:at + 8], "little") // CHUNK * CHUNK
                           for at in range(0, len(data), 16)])
        self.xsk.kick()
        return len(data) // 16

    def check(self, state, share="all"):
        """Check the state, and how many frames of a burst arrive: all of the queue by default."""
        attached = self.xsk.attached()
        assert attached.state == state, attached
        if share is not None:
            count = self.burst()
            assert count == (self.share if share == "all" else share), (count, self.share)


@contextlib.contextmanager
def receiver(port, flags=PASS):
    """Have an attached socket inside."""
    held = Receiver(port, flags)
    try:
        yield held
    finally:
        held.xsk.close()


@contextlib.contextmanager
def classic(port):
    """Have a socket of libxdp on queue 1 inside, with libxdp's dispatcher."""
    process = start_and_wait(port.name, "-r", "-N", "-q", "1", *port.xdpsock)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def unload(port):
    """Detach all programs of libxdp."""
    cmd(f"xdp-loader unload {port.name} --all", fail=False)


def beside_classic(port):
    """A classic socket starts on queue 1 and ends: no frame of queue 0 is missing."""
    with receiver(port) as here:
        with classic(port) as process:
            here.check(PASSED)
            here.check(PASSED)
            result = stop(process, lambda: True)
            # A port may drop the first ones, until the queue is polled and refilled
            other = port.frames - here.share
            assert other <= result["rx_packets"] <= 2 * other, result
        here.check(ACTIVE)


def shadowed_without_flag(port):
    """Without the flag, it receives nothing meanwhile."""
    with receiver(port, 0) as here, classic(port) as process:
        here.check(SHADOWED, 0)
        stop(process, lambda: True)


def left_behind(port):
    """The owner of a program is killed, and its program stays."""
    with receiver(port) as here:
        with classic(port) as process:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            here.check(PASSED)
        unload(port)
        here.check(ACTIVE)


def filtered(port):
    """A filter that allows all frames, then one that denies all, come and go."""
    with receiver(port) as here:
        for policy, share in ("allow", "all"), ("deny", 0):
            shell(f"xdp-filter load {port.name} -m native -p {policy}")
            here.check(PASSED, share)
            shell(f"xdp-filter unload {port.name}")
        here.check(ACTIVE)


@contextlib.contextmanager
def dump(port):
    """Have a dump that loads a program of its own inside."""
    # A line for each packet. By default, it does not read the last packets of a batch.
    command = ["stdbuf", "-oL", "xdpdump", "-i", port.name, "--load-xdp-program", "--perf-wakeup", "1"]
    with (DUMP.open("w") as lines,
          subprocess.Popen(command, stdout=lines, stderr=subprocess.PIPE, text=True) as process):
        try:
            eventually("xdpdump to listen", lambda: "listening" in process.stderr.readline())
            yield process
        finally:
            process.kill()


def dumped(port):
    """The frames arrive at the socket and in a dump."""
    with receiver(port) as here:
        with dump(port) as process:
            def lines():
                return DUMP.read_text().count("packet size")
            # It says that it listens before it does
            eventually("a first frame in the dump", lambda: here.burst() and lines())
            settles("dump", lines)
            before = lines()
            here.check(PASSED)
            eventually("all frames in the dump", lambda: lines() >= before + here.share)
            process.send_signal(signal.SIGINT)
            process.wait()
        here.check(ACTIVE)


TESTS = (
    ("a classic socket on another queue", beside_classic),
    ("without XDP_ATTACH_F_PASS, shadowed", shadowed_without_flag),
    ("a program whose owner was killed", left_behind),
    ("xdp-filter", filtered),
    ("xdpdump --load-xdp-program", dumped),
)


def within(run, port):
    """Run a test while its interface is ready."""
    with port.ready():
        run(port)


def main():
    """Run the tests on each interface."""
    cmd("modprobe i40e; modprobe ixgbe")
    ports = {"veth": Veth(), "i40e": Port(0), "ixgbe": Port(1)}
    run_cases([(f"{driver}: {name}", within, run, port) for driver, port in ports.items()
               for name, run in TESTS])


if __name__ == "__main__":
    main()
