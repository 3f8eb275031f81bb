# SPDX-License-Identifier: GPL-2.0
"""Tests of XDP_RECYCLE: a socket of a pair is closed or detached, its process killed; the events."""

import contextlib
import signal
import socket
import struct
import time

from harness import SLOW, child, eventually, settles
from lib.py import ksft_eq
from netdev import links_up
from recycle_ports import (CHUNKS, DESCRIPTORS, FRAMES, RINGS, ROUND, forward, generate, load,
                           name_of, nicsim, pair, receive, reset_sinks, still_works,
                           stop_generators, traced, tx_done)
from xdpsock import finish, start_and_wait
from xsk import CHUNK, OFF, ON, Xsk


def closes(ports, first):
    """A socket of a pair is closed under load; the other one works, and is paired again."""
    with pair(ports) as opened:
        opened[1].recycle(opened[0])
        opened[0].recycle(opened[1])
        load(opened, ports)
        opened[first].close()
        stop_generators(*ports)
        still_works(opened[not first], ports[not first])


def detaches(ports, first):
    """A socket of a pair is detached under load: nothing is recycled to it, and it still transmits."""
    with pair(ports) as opened:
        opened[1].recycle(opened[0])
        opened[0].recycle(opened[1])
        load(opened, ports)
        gone, left = opened[first], opened[not first]
        gone.detach()
        received = gone.recycled().received
        stop_generators(*ports)
        tx_done(left)
        assert left.recycled().state != ON, left.recycled()
        ksft_eq(gone.recycled().received, received)
        tx_done(gone)
        ksft_eq(gone.recycled().state, ON)
        gone.close()
        still_works(left, ports[not first])


def forwarder(*ports):
    """Start xdpsock between ports, or on one."""
    return start_and_wait(name_of(ports[0]),
                          *(("-i", name_of(ports[1]), "--fwd") if len(ports) > 1 else ("-l",)),
                          "-N", "-z", "--attach", "--force", "--inorder", "--recycle",
                          f"--frames={len(ports) * 2 * CHUNKS}", f"--ring-size={CHUNKS}")


def xdpsock(ports):
    """xdpsock forwards, is killed under load, and the next one forwards every frame."""
    process = forwarder(*ports)
    links_up(*map(name_of, ports))
    generate(FRAMES, *ports)
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30 * SLOW)
    stop_generators(*ports)
    process = forwarder(*ports)
    try:
        links_up(*map(name_of, ports))
        settles("frames of the first one", lambda: [nicsim.wire(port) for port in ports])
        reset_sinks()
        for done in range(ROUND, FRAMES + 1, ROUND):
            # Not more than the device has descriptors: the generator may not be paused in time
            generate(ROUND, *ports)
            eventually("frames", lambda done=done: all(nicsim.good(port) >= done for port in ports))
        for port in ports:
            nicsim.verified(port, FRAMES)
    finally:
        process.send_signal(signal.SIGINT)
    result = finish(process)
    assert not result["tx_outstanding"], result


@contextlib.contextmanager
def in_flight(sender, port, first):
    """Have the device delay frames of a socket: in ROUND chunks, beginning with the first."""
    nicsim("fault", port, "tx-stop", "on")
    sender.tx.put_frames([(first + i) * CHUNK for i in range(ROUND)])
    # Once is enough; more times, for a slow machine
    for _ in range(10):
        sender.socket.send(b"", socket.MSG_DONTWAIT)
        time.sleep(0.05 * SLOW)
    assert not sender.tx.consumer, sender.tx.consumer
    try:
        yield
    finally:
        nicsim("fault", port, "tx-stop", "off")


def sender_closes(ports):
    """Sockets are closed with frames in flight, one after the other: the Rx queue gets all chunks."""
    chunks = DESCRIPTORS // 2
    with pair(ports[1:], chunks=chunks) as (xsk,), traced() as events:
        for number in range(1, 4):
            sender = Xsk(name_of(ports[0]), fill=(), share=xsk, attach=True, inorder=True,
                         rings=("fill", "tx"))
            sender.recycle(xsk)
            links_up(name_of(ports[0]))
            with in_flight(sender, ports[0], number * ROUND):
                sender.close()
            ksft_eq([name for name, _ in events()], ["pair", "unpair"])
        found = receive((xsk,), ports[1:], chunks + 3 * ROUND)
        assert sorted(found) == [*range(chunks), *range(ROUND, 4 * ROUND)]
        ksft_eq(xsk.recycled().received, 3 * ROUND)


def receiver_closes(ports):
    """The Rx socket is closed with frames in flight: their chunks go to the completion ring."""
    xsk = Xsk(name_of(ports[1]), fill=range(DESCRIPTORS), attach=True, inorder=True, rings=RINGS)
    sender = Xsk(name_of(ports[0]), fill=(), share=xsk, attach=True, inorder=True,
                 rings=("fill", "tx", "completion"))
    with contextlib.closing(sender), traced() as events:
        sender.recycle(xsk)
        links_up(name_of(ports[0]))
        with in_flight(sender, ports[0], DESCRIPTORS):
            xsk.close()
        tx_done(sender)
        state = sender.recycled()
        ksft_eq((state.spilled, state.pending, state.recycled), (ROUND, 0, 0))
        found = sender.completion.read()
        assert found == struct.pack(f"={ROUND}Q", *((DESCRIPTORS + i) * CHUNK
                                                    for i in range(ROUND))), found[:64]
        ksft_eq({fields["reason"] for name, fields in events() if name == "spill"}, {"no_pair"})


def two_processes(ports):
    """Chunks circulate through sockets of two processes; one is killed, and the other one works."""
    with pair(ports[:1]) as (own,):
        def other():
            xsk = Xsk(name_of(ports[1]), fill=range(CHUNKS, 2 * CHUNKS), share=own, attach=True,
                      inorder=True, rings=RINGS)
            xsk.recycle(own)
            own.recycle(xsk)
            while True:
                xsk.forward(xsk)
                xsk.kick()

        with child(other):
            eventually("a pair", lambda: own.recycled().state != OFF)
            links_up(*map(name_of, ports))
            forward([(own, own)], ports, FRAMES)
            state = own.recycled()
            assert state.received > FRAMES / 2 and state.recycled > FRAMES / 2, state
            generate(FRAMES, *ports)
            for _ in range(20):
                own.forward(own)
                own.kick()
        stop_generators(*ports)
        still_works(own, ports[0])


def tracepoints(ports):
    """Each change of a pairing is an event, with queues and the reason."""
    indexes = [str(socket.if_nametoindex(name_of(port))) for port in ports]
    with pair(ports) as (one, two), traced() as events:
        def expect(*wanted):
            seen = [(name, fields["rx_ifindex"], fields.get("reason")) for name, fields in events()
                    if fields["tx_ifindex"] == indexes[0] and
                    fields["tx_queue"] == fields["rx_queue"] == "0"]
            ksft_eq(seen, [(name, indexes[rx], reason) for name, rx, reason in wanted])

        one.recycle(one)
        expect(("pair", 0, None))
        one.recycle(two)
        expect(("unpair", 0, "moved"), ("pair", 1, None))
        one.recycle(None)
        one.recycle(None)
        expect(("unpair", 1, "setsockopt"))
        one.recycle(two)
        two.close()
        expect(("pair", 1, None), ("unpair", 1, "rx_closed"))
        one.recycle(None)
        expect()


def tests(drivers):
    """Yield name, function and arguments of the tests."""
    for driver, (first, _) in drivers.items():
        yield f"{driver}: xdpsock -l", xdpsock, (first,)
    (i40e, _), (ixgbe, _) = drivers.values()
    yield "xdpsock --fwd", xdpsock, (i40e, ixgbe)
    for first in 0, 1:
        yield f"socket {first} of a pair is closed", closes, (i40e, ixgbe), first
        yield f"socket {first} of a pair is detached", detaches, (i40e, ixgbe), first
    for tx, rx in (i40e, ixgbe), (ixgbe, i40e):
        where = f"{name_of(tx)} to {name_of(rx)}"
        yield f"{where}: sender closed with frames in flight", sender_closes, (tx, rx)
        yield f"{where}: receiver closed with frames in flight", receiver_closes, (tx, rx)
    yield "two processes", two_processes, (i40e, ixgbe)
    yield "tracepoints", tracepoints, (i40e, ixgbe)
