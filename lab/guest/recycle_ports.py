# SPDX-License-Identifier: GPL-2.0
"""Ports, paired sockets, traffic and checks that the tests of XDP_RECYCLE share.

eth0 and eth1 are ports of an X710, eth2 and eth3 of an 82599; each has a generator and a sink that
verifies.
"""

import contextlib
import os
import re
import struct
import time
from pathlib import Path

from harness import PATIENCE, SLOW, eventually
from lib.py import cmd, ip, ksft_eq
from netdev import channels, flow_control, links_up, no_ipv6, size_rings, spread
from nicsim import nicsim
from xsk import CHUNK, ON, Xsk, dump_recycle_stats

DRIVERS = {"i40e": (0, 1), "ixgbe": (2, 3)}
PORTS = tuple(port for ports in DRIVERS.values() for port in ports)
RINGS = ("fill", "rx", "tx")  # no completion ring
FRAMES, CHUNKS, DESCRIPTORS = 4000, 1024, 512
# Drivers refill at least this many descriptors at a time: I40E_RX_BUFFER_WRITE
REFILL = 32
ROUND = 400  # frames, fewer than the device has descriptors
TRACING = Path("/sys/kernel/tracing")


# Ports and sockets

def name_of(port):
    """Return the name of a port's interface."""
    return f"eth{port}"


def queues(port, count):
    """Set the number of a port's queues."""
    if f"Combined:\t{count}" not in cmd(f"ethtool -l {name_of(port)} | tail -n 2").stdout:
        channels(name_of(port), count)
        spread(name_of(port))


def set_up(ports):
    """Load the drivers and set ports up."""
    no_ipv6()
    # The log of every message
    cmd("sysctl -qw net.core.message_cost=0; modprobe i40e; modprobe ixgbe")
    for port in ports:
        no_ipv6(name_of(port))
        size_rings(name_of(port), DESCRIPTORS)
        ip(f"link set {name_of(port)} promisc on up")
        queues(port, 1)
        flow_control(name_of(port))


@contextlib.contextmanager
def sockets(*places, chunks=CHUNKS, **options):
    """Yield attached sockets on places, each a port and a queue; all share a umem.

    Each has `chunks` chunks of its own in its fill ring.
    """
    with contextlib.ExitStack() as stack:
        opened = []
        for number, (port, queue) in enumerate(places):
            fill = range(number * chunks, (number + 1) * chunks)
            opened.append(Xsk(name_of(port), queue, fill=fill, share=opened and opened[0] or None,
                              **{"attach": True, "inorder": True, "rings": RINGS} | options))
            stack.callback(opened[-1].close)
        links_up(*(name_of(port) for port, _ in places))
        reset_sinks()
        yield opened


@contextlib.contextmanager
def pair(ports, **options):
    """Yield sockets on the first queues of ports."""
    with sockets(*((port, 0) for port in ports), **options) as opened:
        yield opened


def reset_sinks():
    """Let all sinks count from zero."""
    for port in PORTS:
        nicsim("sink", port, "reset")


def generate(frames, *ports):
    """Send frames of the generators into ports, and do not wait."""
    for port in ports:
        nicsim.start(port, frames)


def stop_generators(*ports):
    """Stop the generators of ports."""
    for port in ports:
        nicsim("gen", port, "stop")


# Traffic

def describe(source, out):
    """Return the rings of a path, for messages."""
    rings = {name: (getattr(xsk, name).producer, getattr(xsk, name).consumer)
             for xsk, name in ((source, "fill"), (source, "rx"), (out, "tx"))}
    return rings, out.recycled()


def step(paths):
    """Forward along paths, pairs of sockets, once. Return whether there was anything."""
    busy = False
    for source, out in paths:
        busy |= bool(source.forward(out) or out.tx.used)
        out.kick()
        source.kick()
    return busy


def forward(paths, ports, frames, each_time=lambda: None):
    """Forward frames of the generators of ports along paths, and verify them.

    Each port sends as many frames as it received.
    """
    first = nicsim.good(ports[0])
    for done in range(0, frames, ROUND):
        count = min(ROUND, frames - done)
        generate(count, *ports)
        end = time.monotonic() + PATIENCE
        while not all(nicsim.good(port) >= first + done + count for port in ports):
            assert time.monotonic() < end, (
                f"{done} + {count} frames: {[describe(*path) for path in paths]}, "
                f"{[nicsim.wire(port) for port in ports]}")
            for _ in range(10):
                each_time()
                step(paths)
    for port in ports:
        nicsim.verified(port, first + frames)


def load(opened, ports, frames=FRAMES, rounds=20):
    """Send frames into two ports and forward some of them from each socket to the other one."""
    generate(frames, *ports)
    for _ in range(rounds):
        for source, out in opened, opened[::-1]:
            source.forward(out)
            out.kick()


def settle(paths):
    """Forward the frames in flight, until there are none."""
    quiet = time.monotonic() + 0.3 * SLOW
    end = quiet + PATIENCE
    while time.monotonic() < quiet:
        assert time.monotonic() < end, [describe(*path) for path in paths]
        if step(paths):
            quiet = time.monotonic() + 0.3 * SLOW


def tx_done(xsk):
    """Wait until Tx of a socket is complete."""
    def complete():
        xsk.kick()
        return not xsk.tx.used

    eventually("Tx to be complete", complete)


def receive(opened, ports, count):
    """Receive and keep that number of frames, and return their chunks."""
    found = []
    end = time.monotonic() + PATIENCE
    while len(found) < count:
        generate(min(-((len(found) - count) // len(ports)), ROUND), *ports)
        pause = time.monotonic() + 0.05
        while time.monotonic() < pause:
            for xsk in opened:
                found += (addr // CHUNK for addr, _ in struct.iter_unpack("=Q8s", xsk.rx.read()))
                xsk.kick()
        assert time.monotonic() < end, (
            f"{len(found)} frames, not {count}, in {len(set(found))} chunks: "
            f"{[xsk.recycled() for xsk in opened if xsk.tx]}")
    return found


def still_works(xsk, port):
    """The remaining socket is paired with itself, gets chunks, and forwards."""
    tx_done(xsk)
    assert xsk.recycled().state != ON, xsk.recycled()
    # These are its own, whichever chunks it has left
    xsk.fill.put([chunk * CHUNK for chunk in range(2 * CHUNKS, 3 * CHUNKS)])
    # The end of the other pair may not be in effect yet
    xsk.recycle(xsk, patience=PATIENCE)
    settle([(xsk, xsk)])
    nicsim("sink", port, "reset")
    forward([(xsk, xsk)], (port,), FRAMES)


# Checks

def census(ports, opened, chunks=CHUNKS):
    """Receive into all chunks: each of them is received once."""
    found = receive(opened, ports, chunks * len(opened))
    assert sorted(found) == list(range(chunks * len(opened))), "a duplicate chunk"


def locate(opened, held=0):
    """Return the number of chunks per place while nothing is in flight; of paired sockets.

    Those of devices are the difference of posted and filled ones: device rings are not visible.
    """
    states = [xsk.recycled() for xsk in opened]
    return {"user": held, "Tx": sum(xsk.tx.used for xsk in opened),
            "fill": sum(xsk.fill.used for xsk in opened), "Rx": sum(xsk.rx.used for xsk in opened),
            "pending": sum(state.pending for state in states),
            "device": sum(xsk.fill.consumer + state.received - xsk.rx.producer
                          for xsk, state in zip(opened, states))}


def complete(opened, held=0):
    """Check that no chunk is missing while nothing is in flight. Return their places."""
    for xsk in opened:
        tx_done(xsk)
    found = locate(opened, held)
    assert sum(found.values()) == len(opened) * CHUNKS, found
    assert 0 <= found["device"] < len(opened) * DESCRIPTORS, found
    return found


def counted(opened):
    """The counters in sock_diag are those of the sockets."""
    found = dump_recycle_stats()
    for xsk in opened:
        ksft_eq(found[os.fstat(xsk.socket.fileno()).st_ino], xsk.recycled()[4:])


@contextlib.contextmanager
def traced():
    """Yield a function that returns the tracepoints' events since its last call."""
    def events():
        lines = (TRACING / "trace").read_text(encoding="ascii")
        (TRACING / "trace").write_text("", encoding="ascii")
        return [(name, dict(field.split("=") for field in fields.split()))
                for name, fields in re.findall(r": xsk_recycle_(\w+): (.*)", lines)]

    (TRACING / "events/xsk/enable").write_text("1", encoding="ascii")
    events()
    try:
        yield events
    finally:
        (TRACING / "events/xsk/enable").write_text("0", encoding="ascii")
