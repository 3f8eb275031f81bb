# SPDX-License-Identifier: GPL-2.0
"""Tests of XDP_RECYCLE: chunks circulate, change partners, are in surplus or short supply."""

import errno
import os
import struct
import time

from harness import eventually
from lib.py import ethtool, ksft_eq, ksft_ge, ksft_true
from recycle_ports import (CHUNKS, DESCRIPTORS, FRAMES, REFILL, RINGS, ROUND, census, complete,
                           counted, describe, forward, generate, locate, name_of, nicsim, pair,
                           queues, receive, sockets, traced, tx_done)
from xsk import CHUNK, ON

PAUSES = 4
# Changes of partners under load
CHANGES = 1000 if os.environ.get("FULL") else 200


# Circulation

def circulates(places, paths):
    """Each chunk is received many times, and the fill ring is never filled again."""
    for port in {port for port, _ in places}:
        queues(port, 1 + max(queue for _, queue in places))
    with sockets(*places) as opened:
        paths = [(opened[source], opened[out]) for source, out in paths]
        for source, out in paths:
            out.recycle(source)
        ports = sorted({port for port, _ in places})
        for _ in range(PAUSES):
            forward(paths, ports, FRAMES // PAUSES)
            complete(opened)
        for source, out in paths:
            state = out.recycled()
            assert state.state == ON and not state.spilled, state
            ksft_eq(source.fill.producer, CHUNKS)
        states = [xsk.recycled() for xsk in opened]
        # The device had its first ones before the pairing
        filled = [xsk.fill.consumer - DESCRIPTORS + 1 for xsk in opened]
        ksft_eq(filled, [state.filled for state in states], states)
        recycled = sum(state.recycled for state in states)
        ksft_eq(recycled, sum(state.received for state in states), states)
        ksft_ge(recycled, len(ports) * FRAMES - len(places) * CHUNKS, states)
        counted(opened)
        census(ports, opened)
    for port in ports:
        queues(port, 1)


class Switch:
    """The pairing of two sockets, which is removed and made again while both forward."""

    def __init__(self, opened):
        self.paths = list(zip(opened, opened[::-1]))
        # Per path: from which slot on chunks are recycled, or not
        self.history = [[(0, False)] for _ in self.paths]
        self.seen = [0] * len(self.paths)
        self.switched = self.errors = self.count = 0

    def refill(self, number):
        """Fill the chunks again that were completed without a pairing."""
        source, out = self.paths[number]
        consumer = out.tx.consumer
        for slot in range(self.seen[number], consumer):
            if [on for first, on in self.history[number] if first <= slot][-1]:
                continue
            at = out.tx.entries_at + slot % out.tx.slots * 16
            source.fill.put(struct.unpack_from("=Q", out.tx.memory, at))
        self.seen[number] = consumer

    def __call__(self):
        """Switch now and then."""
        self.count += 1
        for number, (source, out) in enumerate(self.paths):
            self.refill(number)
            if (self.count + number) % 7:
                continue
            on = not self.history[number][-1][1]
            try:
                out.recycle(source if on else None)
            except OSError as err:
                assert err.errno == errno.EAGAIN, err
                self.errors += 1
                continue
            self.history[number].append((out.tx.producer, on))
            self.switched += 1

    def end(self):
        """Leave both paths paired, with all chunks in circulation."""
        for number, (source, out) in enumerate(self.paths):
            tx_done(out)
            self.refill(number)
            if not self.history[number][-1][1]:
                out.recycle(source)


def pairs_again(*ports):
    """The pairing is removed and made again, while frames go through both sockets."""
    with pair(ports) as opened:
        switch = Switch(opened)
        forward(switch.paths, ports, FRAMES, switch)
        ksft_true(switch.switched > 20, (switch.switched, switch.errors))
        switch.end()
        census(ports, opened)


def storm(ports):
    """Partners change permanently, while frames go through both sockets: no chunk is lost."""
    changes = 0
    with pair(ports) as opened:
        paths = list(zip(opened, opened[::-1]))

        def change():
            nonlocal changes
            changes += 1
            for number, out in enumerate(opened):
                # Itself or the other, in all combinations
                out.recycle(opened[(changes >> number) % 2])

        for xsk in opened:
            xsk.recycle(xsk)
        while changes < CHANGES:
            forward(paths, ports, ROUND, change)
            complete(opened)
        for source, out in paths:
            out.recycle(source)
        census(ports, opened)


def moves(ports):
    """The chunks of a socket are recycled to one Rx queue, then to the other, pending ones too."""
    chunks = 256
    with pair(ports, chunks=chunks) as (first, second):
        first.recycle(first)
        forward([(first, first)], ports[:1], chunks)
        tx_done(first)
        # Fewer than a driver refills at once may be pending; the other queue gets them, too
        pending = first.recycled().pending
        first.recycle(second)
        ksft_eq(first.recycled().state, ON)
        forward([(first, first)], ports[:1], chunks - pending)
        tx_done(first)
        # All are in the queue of the second one, and the first has none
        census(ports[1:], (second,), 2 * chunks)
        ksft_eq(first.rx.used, 0)


def feed_one(ports):
    """Several sockets take turns to send the frames of one, and all recycle chunks to it."""
    with pair(ports) as (source, *outs):
        for out in outs:
            out.recycle(source)

        def send_by(out):
            for _ in range(20):
                source.forward(out)
                for xsk in source, *outs:
                    xsk.kick()
            return sum(map(nicsim.good, ports[1:]))

        for turn in range(1, FRAMES // ROUND + 1):
            generate(ROUND, ports[0])
            end = time.monotonic() + 20
            while send_by(outs[turn % len(outs)]) < turn * ROUND:
                assert time.monotonic() < end, (turn, [describe(source, out) for out in outs])
        for out in outs:
            tx_done(out)
        states = [xsk.recycled() for xsk in (source, *outs)]
        assert all(state.recycled for state in states[1:]), states
        ksft_eq(states[0].received, sum(state.recycled for state in states), states)
        counted((source, *outs))
        ksft_eq(source.fill.producer, CHUNKS)
        census(ports[:1], (source,))


# Surplus and shortage

def holds(port):
    """An application keeps all frames for long, and sends them at once, or fills them again."""
    with pair((port,)) as (xsk,):
        xsk.recycle(xsk)
        for sends in (CHUNKS, 0, 0, CHUNKS, CHUNKS // 2, 1, CHUNKS - 1, CHUNKS):
            held = receive((xsk,), (port,), CHUNKS)
            assert sorted(held) == list(range(CHUNKS)), "a duplicate chunk"
            found = complete((xsk,), CHUNKS)
            assert not found["device"], found
            addresses = [chunk * CHUNK for chunk in held]
            xsk.fill.put(addresses[sends:])
            for first in range(0, sends, ROUND):
                xsk.tx.put_frames(addresses[first:min(first + ROUND, sends)])
                tx_done(xsk)
            xsk.kick()
            eventually("the device to have its chunks", lambda:
                       locate((xsk,))["device"] >= DESCRIPTORS - REFILL or xsk.kick())
            complete((xsk,))
        state = xsk.recycled()
        assert not state.spilled and state.received == state.recycled, state


def spills(port, completion):
    """A socket sends chunks it did not receive: some are pending, others go to the completion ring.

    It sends more than the kernel can record while nothing is received.
    """
    slots, total = 512, 4096
    rings = RINGS + ("completion",) * completion
    with pair((port,), chunks=slots, slots=slots, rings=rings) as (xsk,), traced() as events:
        xsk.recycle(xsk)
        free = [chunk * CHUNK for chunk in range(slots, total)]
        frames = 12000 if completion else len(free)
        sent = 0

        def send():
            nonlocal sent
            count = min(xsk.tx.slots - xsk.tx.used, len(free), frames - sent)
            xsk.tx.put_frames([free.pop() for _ in range(count)])
            sent += count
            xsk.kick()
            if completion:
                free.extend(addr for addr, in struct.iter_unpack("=Q", xsk.completion.read()))
            return sent == frames and not xsk.tx.used

        eventually(f"{frames} frames sent", lambda: any(send() for _ in range(50)))
        send()
        state = xsk.recycled()
        ksft_eq(state.pending + state.recycled + state.spilled, frames, state)
        ksft_eq(bool(state.spilled), completion, state)
        spilled = [fields for name, fields in events() if name == "spill"]
        assert all(fields["reason"] == "limit" for fields in spilled), spilled
        ksft_eq(sum(int(fields["spilled"]) for fields in spilled), state.spilled, spilled)
        counted((xsk,))
        ksft_eq(len(free) + state.pending + state.recycled, total - slots, state)
        # Frames are received into pending chunks, those of the fill ring, and no others
        found = receive((xsk,), (port,), total - len(free))
        ksft_eq(len(set(found)), len(found))
        ksft_eq(set(found) & {addr // CHUNK for addr in free}, set())
        ksft_eq(xsk.recycled().pending, 0)


def kicks(port, other, queue=0):
    """Rx has no chunk left: completed Tx triggers its NAPI, without a system call for Rx."""
    chunks = DESCRIPTORS // 2
    with sockets((port, queue), (other, 0), chunks=chunks) as (source, out):
        # Here, as the driver resets its table for the first socket
        ethtool(f"-X {name_of(port)} equal 1 start {queue}")
        out.recycle(source)
        for round_number in range(1, 9):
            generate(chunks, port)
            eventually("all chunks to be used", lambda: source.rx.used == chunks)
            source.forward(out)
            out.kick()
            eventually("frames", lambda: nicsim.good(other) == round_number * chunks)
            tx_done(out)
        nicsim.verified(other, 8 * chunks)
        eventually("no pending chunk", lambda: not out.recycled().pending)
        state = out.recycled()
        assert state.kicks >= 7 and not state.pending and state.recycled == 8 * chunks, state
        ksft_eq((source.fill.consumer, source.fill.producer), (chunks, chunks))
    ethtool(f"-X {name_of(port)} default")


def kicks_late(port, other):
    """Rx had no chunk left before it was paired: completed Tx triggers its NAPI as well."""
    chunks = DESCRIPTORS // 2
    with pair((port, other), chunks=chunks) as (source, out):
        generate(chunks, port)
        eventually("all chunks to be used", lambda: source.rx.used == chunks)
        out.recycle(source)
        source.forward(out)
        out.kick()
        eventually("frames", lambda: nicsim.good(other) == chunks)
        tx_done(out)
        # By the kick, not by the watchdog that polls each queue of ixgbe every two seconds
        ksft_true(out.recycled().kicks)
        generate(chunks, port)
        eventually("frames again", lambda: source.rx.used == chunks)


def kicks_elsewhere(port, other):
    """Rx is on another vector than the XDP ring of the same queue, which has none of its own."""
    queues(port, 2)
    kicks(port, other, queue=1)
    queues(port, 1)


def tests(drivers):
    """Yield name, function and arguments of the tests."""
    (i40e, i40e2), (ixgbe, ixgbe2) = drivers.values()
    one, both = [(0, 0)], [(0, 1), (1, 0)]
    for timing in "lockstep", "async":
        for driver, (first, second) in drivers.items():
            where = f"{timing}: {driver}:"
            yield f"{where} the same queue", circulates, [(first, 0)], one
            yield f"{where} another queue", circulates, [(first, 0), (first, 1)], both
            yield f"{where} another port", circulates, [(first, 0), (second, 0)], both
        yield f"{timing}: i40e and ixgbe", circulates, [(i40e, 0), (ixgbe, 0)], both
        yield f"{timing}: paired again and again", pairs_again, i40e2, ixgbe2
    for driver, (first, second) in drivers.items():
        yield f"{driver}: moved to another queue", moves, (first, second)
        yield f"{driver}: frames held for long", holds, first
        yield f"{driver}: surplus beyond the backlog", spills, first, True
        yield f"{driver}: surplus beyond the backlog, no completion ring", spills, first, False
        yield f"{driver}: kicks", kicks, first, second
        yield f"{driver}: kicks of an empty queue", kicks_late, first, second
    yield "kicks of the other driver", kicks, i40e, ixgbe
    yield "kicks of another vector", kicks_elsewhere, ixgbe, i40e
    yield "storm of partners", storm, (i40e, ixgbe)
    yield "two sockets feed one", feed_one, (i40e, i40e2, ixgbe)
