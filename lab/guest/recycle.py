#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""XDP_RECYCLE on two ports of an X710, eth0 and eth1, and two of an 82599, eth2 and eth3.

Each port has a generator and a sink that verifies. A socket's chunks are counted: after each
test in which they circle, all of them are received once more. Prints TAP. Argument: a regular
expression for the names of tests.
"""

import contextlib
import errno
import os
import re
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

import xsk as api
from harness import (PATIENCE, SLOW, Nicsim, Tap, channels, eventually, finish, flow_control,
                     links_up, shell, spread, stands_still, start_and_wait, stats)
from xsk import CHUNK, OFF, ON, SWITCHING, Umem, Xsk

DRIVERS = {"i40e": (0, 1), "ixgbe": (2, 3)}
PORTS = tuple(port for ports in DRIVERS.values() for port in ports)
RINGS = ("fill", "rx", "tx")  # no completion ring
FRAMES, CHUNKS, DESCRIPTORS = 4000, 1024, 512
# Drivers refill at least this many descriptors at a time: I40E_RX_BUFFER_WRITE
REFILL = 32
ROUND, PAUSES = 400, 4
# How often partners change under load
CHANGES = 1000 if os.environ.get("FULL") else 200
TRACING = Path("/sys/kernel/tracing")
nicsim = Nicsim()


# Ports, sockets, and what goes through them

def name_of(port):
    """Return the name of a port's interface."""
    return f"eth{port}"


def queues(port, count):
    """Let a port have so many queues."""
    if f"Combined:\t{count}" not in shell(f"ethtool -l {name_of(port)} | tail -n 2"):
        channels(name_of(port), count)
        spread(name_of(port))


def set_up(ports):
    """Load the drivers and bring ports up."""
    # All that the kernel has to say, too
    shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.core.message_cost=0; "
          "modprobe i40e; modprobe ixgbe")
    for port in ports:
        shell(f"sysctl -qw net.ipv6.conf.{name_of(port)}.disable_ipv6=1; "
              f"ethtool -G {name_of(port)} rx {DESCRIPTORS} tx {DESCRIPTORS}; "
              f"ip link set {name_of(port)} promisc on up")
        queues(port, 1)
        flow_control(name_of(port))


@contextlib.contextmanager
def sockets(*places, chunks=CHUNKS, **options):
    """Yield attached sockets on places, each a port and a queue; all share a umem.

    Each has so many chunks in its fill ring, its own ones.
    """
    with contextlib.ExitStack() as stack:
        opened = []
        for number, (port, queue) in enumerate(places):
            fill = range(number * chunks, (number + 1) * chunks)
            opened.append(Xsk(name_of(port), queue, fill=fill, share=opened and opened[0] or None,
                              **{"attach": True, "inorder": True, "rings": RINGS} | options))
            stack.callback(opened[-1].close)
        links_up(*(name_of(port) for port, _ in places))
        for port in PORTS:
            nicsim("sink", port, "reset")
        yield opened


def generate(frames, *ports):
    """Send frames of the generator into ports, and do not wait."""
    for port in ports:
        nicsim("gen", port, "start", f"count={frames}")


def good(port):
    """Return how many frames the sink of a port has found good."""
    return nicsim.port(port)["wire"]["sink"]["verify"]["good"]


def describe(source, out):
    """Return what the rings of a way say, for messages."""
    rings = {name: (getattr(xsk, name).producer, getattr(xsk, name).consumer)
             for xsk, name in ((source, "fill"), (source, "rx"), (out, "tx"))}
    return rings, out.recycled()


def forward(ways, ports, frames, each_time=lambda: None):
    """Forward frames of the generators of ports along ways, pairs of sockets, and verify them.

    In rounds that are not more than the device has descriptors. As many come out of each port
    as went in.
    """
    first = good(ports[0])
    for done in range(0, frames, ROUND):
        count = min(ROUND, frames - done)
        generate(count, *ports)
        end = time.monotonic() + PATIENCE
        while not all(good(port) >= first + done + count for port in ports):
            assert time.monotonic() < end, (
                f"{done} + {count} frames: {[describe(*way) for way in ways]}, "
                f"{[nicsim.port(port)['wire'] for port in ports]}")
            for _ in range(10):
                each_time()
                for source, out in ways:
                    source.forward(out)
                    out.kick()
                    source.kick()
    for port in ports:
        nicsim.verified(port, first + frames)


def receive(opened, ports, count):
    """Receive so many frames, keep them, and return the chunks that they are in."""
    found = []
    end = time.monotonic() + PATIENCE
    while len(found) < count:
        # Not more than the device has descriptors
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


def census(ports, opened, chunks=CHUNKS):
    """Receive until no chunk is left: all that were handed out come, each once."""
    found = receive(opened, ports, chunks * len(opened))
    assert sorted(found) == list(range(chunks * len(opened))), "a chunk came twice"


def split(opened, held=0):
    """Return where chunks are while nothing is on its way; of paired sockets, each with a fill ring.

    What devices have is what they got, less what they filled: their own rings do not say.
    """
    states = [xsk.recycled() for xsk in opened]
    return {"user": held, "Tx": sum(xsk.tx.used for xsk in opened),
            "fill": sum(xsk.fill.used for xsk in opened), "Rx": sum(xsk.rx.used for xsk in opened),
            "waiting": sum(state.waiting for state in states),
            "device": sum(xsk.fill.consumer + state.received - xsk.rx.producer
                          for xsk, state in zip(opened, states))}


def whole(opened, held=0):
    """Check that no chunk is missing while nothing is on its way. Return where they are."""
    for xsk in opened:
        tx_done(xsk)
    found = split(opened, held)
    assert sum(found.values()) == len(opened) * CHUNKS, found
    assert 0 <= found["device"] < len(opened) * DESCRIPTORS, found
    return found


def settle(ways):
    """Forward what is still on its way, until nothing comes."""
    quiet = time.monotonic() + 0.3 * SLOW
    end = quiet + PATIENCE
    while time.monotonic() < quiet:
        assert time.monotonic() < end, [describe(*way) for way in ways]
        for source, out in ways:
            if source.forward(out) or out.tx.used:
                quiet = time.monotonic() + 0.3 * SLOW
            out.kick()
            source.kick()


def tx_done(xsk):
    """Wait until all that a socket was given to send is complete."""
    def step():
        xsk.kick()
        return not xsk.tx.used

    eventually("Tx to be complete", step)


def goes_on(xsk, port):
    """A socket that is left alone is paired with itself, gets chunks, and forwards."""
    tx_done(xsk)
    assert xsk.recycled().state != ON, xsk.recycled()
    # Whatever chunks it has left, these are its own
    xsk.fill.put([chunk * CHUNK for chunk in range(2 * CHUNKS, 3 * CHUNKS)])

    def paired():
        try:
            xsk.recycle(xsk)
        except BlockingIOError:  # the end of the other pair does not hold yet
            return False
        return True

    eventually("a pair", paired)
    settle([(xsk, xsk)])
    nicsim("sink", port, "reset")
    forward([(xsk, xsk)], (port,), FRAMES)


def counted(places, opened):
    """ethtool -S says of queues what their sockets say."""
    for (port, queue), xsk in zip(places, opened):
        said = {name.removeprefix(f"xsk_queue_{queue}_"): count
                for name, count in stats(name_of(port)).items()
                if name.startswith(f"xsk_queue_{queue}_")}
        state = xsk.recycled()
        assert said == {"rx_recycled": state.received, "rx_filled": state.filled,
                        "rx_duplicates": state.duplicates,
                        "tx_recycled": state.recycled, "tx_spilled": state.spilled,
                        "tx_kicks": state.kicks}, (said, state)


@contextlib.contextmanager
def traced():
    """Yield a function that returns the tracepoints' events since it was called last."""
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


# The chunk's circle

def circles(places, ways):
    """Chunks go round: each is received many times, and the fill ring is never filled again."""
    for port in {port for port, _ in places}:
        queues(port, 1 + max(queue for _, queue in places))
    with sockets(*places) as opened:
        ways = [(opened[source], opened[out]) for source, out in ways]
        for source, out in ways:
            out.recycle(source)
        ports = sorted({port for port, _ in places})
        for _ in range(PAUSES):
            forward(ways, ports, FRAMES // PAUSES)
            whole(opened)
        for source, out in ways:
            state = out.recycled()
            assert state.state == ON and not state.spilled, state
            assert source.fill.producer == CHUNKS, source.fill.producer
        states = [xsk.recycled() for xsk in opened]
        # The device had its first ones before there was a pairing
        filled = [xsk.fill.consumer - DESCRIPTORS + 1 for xsk in opened]
        assert filled == [state.filled for state in states], (filled, states)
        recycled = sum(state.recycled for state in states)
        assert recycled == sum(state.received for state in states), states
        assert recycled >= len(ports) * FRAMES - len(places) * CHUNKS, states
        counted(places, opened)
        census(ports, opened)
    for port in ports:
        queues(port, 1)


def pairs_again(there, back):
    """Pairing is taken back and made again, while frames go through both sockets."""
    switched = errors = count = 0
    with sockets((there, 0), (back, 0)) as opened:
        ways = [(opened[0], opened[1]), (opened[1], opened[0])]
        # Of each way: from which slot on chunks go where
        history = [[(0, False)] for _ in ways]
        seen = [0, 0]

        def own_again(number):
            """Chunks that were completed unpaired are filled again by hand."""
            source, out = ways[number]
            consumer = out.tx.consumer
            for slot in range(seen[number], consumer):
                if [on for first, on in history[number] if first <= slot][-1]:
                    continue
                at = out.tx.entries_at + slot % out.tx.slots * 16
                source.fill.put(struct.unpack_from("=Q", out.tx.memory, at))
            seen[number] = consumer

        def switch():
            nonlocal switched, errors, count
            count += 1
            for number, (source, out) in enumerate(ways):
                own_again(number)
                if (count + number) % 7:
                    continue
                on = not history[number][-1][1]
                try:
                    out.recycle(source if on else None)
                except OSError as err:
                    assert err.errno == errno.EAGAIN, err
                    errors += 1
                    continue
                history[number].append((out.tx.producer, on))
                switched += 1

        forward(ways, (there, back), FRAMES, switch)
        assert switched > 20, (switched, errors)
        for number, (source, out) in enumerate(ways):
            tx_done(out)
            own_again(number)
            if not history[number][-1][1]:
                out.recycle(source)
        census((there, back), opened)


def storm(ports):
    """Partners change all the time, while frames go through both sockets: no chunk is lost."""
    changes = 0
    with sockets(*((port, 0) for port in ports)) as opened:
        ways = list(zip(opened, opened[::-1]))

        def change():
            nonlocal changes
            changes += 1
            for number, out in enumerate(opened):
                # Itself or the other, in all combinations
                out.recycle(opened[(changes >> number) % 2])

        for xsk in opened:
            xsk.recycle(xsk)
        while changes < CHANGES:
            forward(ways, ports, ROUND, change)
            whole(opened)
        for source, out in ways:
            out.recycle(source)
        census(ports, opened)


def moves(ports):
    """What a socket sends goes to one Rx queue, then to the other: those that waited, too."""
    chunks = 256
    with sockets(*((port, 0) for port in ports), chunks=chunks) as (first, second):
        first.recycle(first)
        forward([(first, first)], ports[:1], chunks)
        tx_done(first)
        # Fewer than a driver refills at once may be pending. The other queue gets them, too.
        pending = first.recycled().waiting
        first.recycle(second)
        assert first.recycled().state == ON
        forward([(first, first)], ports[:1], chunks - pending)
        tx_done(first)
        # All are in the second one's queue, and the first has none
        census(ports[1:], (second,), 2 * chunks)
        assert not first.rx.used


def feed_one(ports):
    """What the first one receives is sent by the others in turn, and all give it back."""
    with sockets(*((port, 0) for port in ports)) as (source, *outs):
        for out in outs:
            out.recycle(source)
        def step(out):
            for _ in range(20):
                source.forward(out)
                for xsk in source, *outs:
                    xsk.kick()
            return sum(map(good, ports[1:]))

        for turn in range(1, FRAMES // ROUND + 1):
            generate(ROUND, ports[0])
            end = time.monotonic() + 20
            while step(outs[turn % len(outs)]) < turn * ROUND:
                assert time.monotonic() < end, (turn, [describe(source, out) for out in outs])
        for out in outs:
            tx_done(out)
        states = [xsk.recycled() for xsk in (source, *outs)]
        assert all(state.recycled for state in states[1:]), states
        assert states[0].received == sum(state.recycled for state in states), states
        counted([(port, 0) for port in ports], (source, *outs))
        assert source.fill.producer == CHUNKS
        census(ports[:1], (source,))


# Too many, too few

def holds(port):
    """An application keeps all frames for long, and sends them at once, or fills them again."""
    with sockets((port, 0)) as (xsk,):
        xsk.recycle(xsk)
        for sends in (CHUNKS, 0, 0, CHUNKS, CHUNKS // 2, 1, CHUNKS - 1, CHUNKS):
            held = receive((xsk,), (port,), CHUNKS)
            assert sorted(held) == list(range(CHUNKS)), "a chunk came twice"
            found = whole((xsk,), CHUNKS)
            assert not found["device"], found
            addresses = [chunk * CHUNK for chunk in held]
            xsk.fill.put(addresses[sends:])
            for first in range(0, sends, ROUND):
                xsk.tx.put_frames(addresses[first:min(first + ROUND, sends)])
                tx_done(xsk)
            xsk.kick()
            eventually("the device to have its chunks", lambda:
                       split((xsk,))["device"] >= DESCRIPTORS - REFILL or xsk.kick())
            whole((xsk,))
        state = xsk.recycled()
        assert not state.spilled and state.received == state.recycled, state


def spills(port, completion):
    """A socket sends what it did not receive: chunks wait, and more go to the completion ring.

    It sends more than the kernel has room to note, while nothing is received.
    """
    slots, total = 512, 4096
    rings = RINGS + ("completion",) * completion
    with sockets((port, 0), chunks=slots, slots=slots, rings=rings) as (xsk,), traced() as events:
        xsk.recycle(xsk)
        free = [chunk * CHUNK for chunk in range(slots, total)]
        frames = 12000 if completion else len(free)
        sent = 0

        def step():
            nonlocal sent
            count = min(xsk.tx.slots - xsk.tx.used, len(free), frames - sent)
            xsk.tx.put_frames([free.pop() for _ in range(count)])
            sent += count
            xsk.kick()
            if completion:
                free.extend(addr for addr, in struct.iter_unpack("=Q", xsk.completion.read()))
            return sent == frames and not xsk.tx.used

        eventually(f"{frames} frames sent", lambda: any(step() for _ in range(50)))
        step()
        state = xsk.recycled()
        assert state.waiting + state.recycled + state.spilled == frames, state
        assert bool(state.spilled) == completion, state
        spills_seen = [fields for name, fields in events() if name == "spill"]
        assert all(fields["reason"] == "limit" for fields in spills_seen), spills_seen
        assert sum(int(fields["spilled"]) for fields in spills_seen) == state.spilled, state
        counted([(port, 0)], (xsk,))
        assert len(free) + state.waiting + state.recycled == total - slots, (len(free), state)
        # What waits is received into, as what was in the fill ring, and nothing else
        found = receive((xsk,), (port,), total - len(free))
        assert len(set(found)) == len(found)
        assert not set(found) & {addr // CHUNK for addr in free}
        assert xsk.recycled().waiting == 0


def kicks(port, other, queue=0):
    """Rx has no chunk left: what is sent wakes it up, without a system call for Rx."""
    chunks = DESCRIPTORS // 2
    with sockets((port, queue), (other, 0), chunks=chunks) as (source, out):
        # Here, since the driver sets up its table anew for the first socket
        shell(f"ethtool -X {name_of(port)} equal 1 start {queue}")
        out.recycle(source)
        for round_number in range(1, 9):
            generate(chunks, port)
            eventually("all chunks to be used", lambda: source.rx.used == chunks)
            source.forward(out)
            out.kick()
            eventually("frames", lambda: good(other) == round_number * chunks)
            tx_done(out)
        nicsim.verified(other, 8 * chunks)
        eventually("no chunk to wait", lambda: not out.recycled().waiting)
        state = out.recycled()
        assert state.kicks >= 7 and not state.waiting and state.recycled == 8 * chunks, state
        assert source.fill.consumer == chunks == source.fill.producer
    shell(f"ethtool -X {name_of(port)} default")


def kicks_late(port, other):
    """Rx had no chunk left before it was paired: what is sent wakes it up as well."""
    chunks = DESCRIPTORS // 2
    with sockets((port, 0), (other, 0), chunks=chunks) as (source, out):
        generate(chunks, port)
        eventually("all chunks to be used", lambda: source.rx.used == chunks)
        out.recycle(source)
        source.forward(out)
        out.kick()
        eventually("frames", lambda: good(other) == chunks)
        tx_done(out)
        # By the kick, not by the watchdog that polls each queue of ixgbe every two seconds
        assert out.recycled().kicks
        generate(chunks, port)
        eventually("frames again", lambda: source.rx.used == chunks)


def kicks_elsewhere(port, other):
    """Rx is on another vector than the XDP ring of the same queue, which has no own one."""
    queues(port, 2)
    kicks(port, other, queue=1)
    queues(port, 1)


# Refusals, and what user space should not do

@contextlib.contextmanager
def refused(number, why=""):
    """Expect an errno, and that the kernel's log says why."""
    try:
        yield
    except OSError as err:
        assert err.errno == number, f"{err}, not {errno.errorcode[number]}"
        said = shell("dmesg --notime | tail -n 1")
        assert not why or "AF_XDP socket not paired: " in said and why in said, (why, said)
    else:
        raise AssertionError(f"no {errno.errorcode[number]}")


def refusals(port, other):
    """Each refusal has its errno, and changes nothing."""
    unbound = socket.socket(api.AF_XDP, socket.SOCK_RAW)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with (unbound, udp, tempfile.TemporaryFile() as file, sockets((port, 0)) as (xsk,)):
        def pair_raw(sock, *values):
            sock.setsockopt(api.SOL_XDP, api.RECYCLE, api.RECYCLE_FIELDS.pack(*values))

        with refused(errno.ENOTCONN):
            pair_raw(unbound, xsk.socket.fileno(), *[0] * 10)
        for number, fd in ((errno.ENOTCONN, unbound.fileno()), (errno.ENOPROTOOPT, udp.fileno()),
                           (errno.ENOTSOCK, file.fileno()), (errno.EBADF, -2),
                           (errno.EBADF, 12345)):
            with refused(number):
                xsk.recycle(fd)
        for field in range(1, len(api.Recycle._fields)):
            values = [xsk.socket.fileno()] + [0] * 10
            values[field] = 2
            with refused(errno.EINVAL):
                pair_raw(xsk.socket, *values)
        with refused(errno.EINVAL):
            xsk.socket.setsockopt(api.SOL_XDP, api.RECYCLE, bytes(api.RECYCLE_FIELDS.size - 1))
        assert xsk.recycled() == (-1, 0, OFF) + (0,) * 8, xsk.recycled()
        cases = [(errno.EXDEV, "not the same umem", {}),
                 (errno.EOPNOTSUPP, "sends in copy mode", {"flags": api.COPY}),
                 (errno.EOPNOTSUPP, "not aligned", {"umem": Umem(flags=api.UNALIGNED)}),
                 (errno.EPROTOTYPE, "not XDP_TX_INORDER",
                  {"inorder": False, "rings": RINGS + ("completion",)}),
                 (errno.EINVAL, "no Tx ring", {"rings": ("fill", "rx", "completion")}),
                 (errno.EINVAL, "no Rx ring", {"rings": ("fill", "tx")})]
        if port in DRIVERS["i40e"]:
            cases.append((errno.EOPNOTSUPP, "several buffers",
                          {"flags": api.ZEROCOPY | api.USE_SG}))
        for number, why, options in cases:
            with sockets((other, 0), **options) as (second,), refused(number, why):
                second.recycle(xsk if number == errno.EXDEV else second)


def neighbours(port):
    """Other sockets of the queue: one that only receives, one that wants to send, too."""
    with sockets((port, 0)) as (xsk,):
        beside = {"share": xsk, "fill": (), "inorder": True}
        sender = Xsk(name_of(port), rings=("tx",), **beside)
        with refused(errno.EMLINK, "others send by its queue"):
            xsk.recycle(xsk)
        sender.close()
        xsk.recycle(xsk)
        with refused(errno.EBUSY):
            Xsk(name_of(port), rings=("tx",), patience=SLOW, **beside)
        receiver = Xsk(name_of(port), rings=("rx",), **beside)
        receiver.recycle(None)
        assert receiver.recycled().state == OFF
        with refused(errno.EINVAL):
            receiver.recycle(xsk)
        receiver.close()
        forward([(xsk, xsk)], (port,), FRAMES)
        assert xsk.recycled().state == ON
        tx_done(xsk)
        census((port,), (xsk,))


def abuse(port):
    """Chunks sent twice, sent and filled, sent while received into; indices that cannot be."""
    with sockets((port, 0)) as (xsk,):
        # A slot that never comes, as the producer goes back: the next call says so
        xsk.tx.producer = 5
        xsk.recycle(xsk)
        xsk.tx.producer = 0
        assert xsk.recycled()[2:4] == (SWITCHING, 5), xsk.recycled()
        with refused(errno.EAGAIN):
            xsk.recycle(None)
        xsk.tx.put_frames([0] * 5)
        tx_done(xsk)
        for wrong in 0x7fffffff, 0xffffff00, api.SLOTS + 6:
            xsk.recycle(None)
            xsk.tx.producer = wrong
            xsk.recycle(xsk)
            xsk.tx.producer = 5
            xsk.socket.send(b"", socket.MSG_DONTWAIT)
        generate(FRAMES, port)
        for turn in range(400):
            xsk.forward(xsk)
            if xsk.tx.slots - xsk.tx.used >= 24:
                same = turn % CHUNKS * CHUNK
                xsk.tx.put_frames([same] * 8 + [chunk * CHUNK for chunk in range(16)])
            xsk.fill.put([turn % CHUNKS * CHUNK] * (xsk.fill.used < api.SLOTS))
            xsk.kick()
            time.sleep(0.001)
        nicsim("gen", port, "stop")
        time.sleep(0.2)
    # The queue works as ever
    circles([(port, 0)], [(0, 0)])


def duplicates(port):
    """Chunks that are sent twice, or sent and filled, are refused and counted, and none is lost."""
    chunks, twice, filled = DESCRIPTORS // 2, 150, 40
    with sockets((port, 0), chunks=chunks) as (xsk,):
        if Path("/sys/kernel/debug/dma-api").exists():  # which has all memory synced
            with refused(errno.EOPNOTSUPP):
                xsk.recycle(xsk, api.CHECK)
            return
        xsk.recycle(xsk, api.CHECK)
        assert xsk.recycled().flags == api.CHECK, xsk.recycled()
        forward([(xsk, xsk)], (port,), FRAMES)
        assert not xsk.recycled().duplicates, xsk.recycled()
        found = [chunk * CHUNK for chunk in receive((xsk,), (port,), twice)]
        xsk.tx.put_frames([address for address in found for _ in range(2)])
        xsk.fill.put(found[:filled])
        tx_done(xsk)
        # The device has all others, so that it gets these and delivers none meanwhile
        census((port,), (xsk,), chunks)
        state = xsk.recycled()
        assert state.duplicates == twice + filled, state
        counted([(port, 0)], (xsk,))


# Ends, in any order

def closes(ports, first):
    """A socket of a pair is closed under load; the other goes on, and is paired anew."""
    with sockets(*((port, 0) for port in ports)) as (source, out):
        out.recycle(source)
        source.recycle(out)
        generate(FRAMES, *ports)
        for _ in range(20):
            for one, two in (source, out), (out, source):
                one.forward(two)
                two.kick()
        (source, out)[first].close()
        left, port = ((out, ports[1]), (source, ports[0]))[first]
        nicsim("gen", ports[0], "stop")
        nicsim("gen", ports[1], "stop")
        goes_on(left, port)


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
    for port in ports:
        nicsim("gen", port, "stop")
    process = forwarder(*ports)
    try:
        links_up(*map(name_of, ports))
        stands_still("frames of the first", lambda: [nicsim.port(port)["wire"] for port in ports])
        for port in PORTS:
            nicsim("sink", port, "reset")
        for done in range(ROUND, FRAMES + 1, ROUND):
            # Not more than the device has descriptors: it may not be told to pause yet
            generate(ROUND, *ports)
            eventually("frames", lambda done=done: all(good(port) >= done for port in ports))
        for port in ports:
            nicsim.verified(port, FRAMES)
    finally:
        process.send_signal(signal.SIGINT)
    result = finish(process)
    assert not result["tx_outstanding"], result


@contextlib.contextmanager
def in_flight(sender, port, first):
    """Have the device hold back what a socket sends meanwhile: ROUND chunks from the first on."""
    nicsim("fault", port, "tx-stop", "on")
    sender.tx.put_frames([(first + i) * CHUNK for i in range(ROUND)])
    # Once is enough; more times, for a machine that is late
    for _ in range(10):
        sender.socket.send(b"", socket.MSG_DONTWAIT)
        time.sleep(0.05 * SLOW)
    assert not sender.tx.consumer, sender.tx.consumer
    try:
        yield
    finally:
        nicsim("fault", port, "tx-stop", "off")


def left(ports):
    """Sockets are closed with frames in flight, one after the other: the Rx queue has them all."""
    chunks = DESCRIPTORS // 2
    with sockets((ports[1], 0), chunks=chunks) as (xsk,), traced() as events:
        for number in range(1, 4):
            sender = Xsk(name_of(ports[0]), fill=(), share=xsk, attach=True, inorder=True,
                         rings=("fill", "tx"))
            sender.recycle(xsk)
            links_up(name_of(ports[0]))
            with in_flight(sender, ports[0], number * ROUND):
                sender.close()
            assert [name for name, _ in events()] == ["pair", "unpair"]
        found = receive((xsk,), ports[1:], chunks + 3 * ROUND)
        assert sorted(found) == [*range(chunks), *range(ROUND, 4 * ROUND)]
        assert xsk.recycled().received == 3 * ROUND


def no_pair(ports):
    """The Rx queue goes with frames in flight: their chunks go to the completion ring, or wait."""
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
        assert (state.spilled, state.waiting, state.recycled) == (ROUND, 0, 0), state
        found = sender.completion.read()
        assert found == struct.pack(f"={ROUND}Q", *((DESCRIPTORS + i) * CHUNK
                                                    for i in range(ROUND))), found[:64]
        spills = [fields["reason"] for name, fields in events() if name == "spill"]
        assert set(spills) == {"no_pair"}, spills


@contextlib.contextmanager
def process(run):
    """Have a second process, which has what this one has, and is killed in the end."""
    pid = os.fork()
    if not pid:
        try:
            run()
        finally:
            os._exit(1)  # pylint: disable=protected-access
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def two_processes(ports):
    """Chunks circle through sockets of two processes; one is killed, and the other goes on."""
    with sockets((ports[0], 0)) as (own,):
        def other():
            xsk = Xsk(name_of(ports[1]), fill=range(CHUNKS, 2 * CHUNKS), share=own, attach=True,
                      inorder=True, rings=RINGS)
            xsk.recycle(own)
            own.recycle(xsk)
            while True:
                xsk.forward(xsk)
                xsk.kick()

        with process(other):
            eventually("a pair", lambda: own.recycled().state != OFF)
            links_up(*map(name_of, ports))
            forward([(own, own)], ports, FRAMES)
            state = own.recycled()
            assert state.received > FRAMES / 2 and state.recycled > FRAMES / 2, state
            generate(FRAMES, *ports)
            for _ in range(20):
                own.forward(own)
                own.kick()
        for port in ports:
            nicsim("gen", port, "stop")
        goes_on(own, ports[0])


def events_of_pairs(ports):
    """Each change of a pairing is an event, with queues and the reason."""
    indexes = [str(socket.if_nametoindex(name_of(port))) for port in ports]
    with sockets(*((port, 0) for port in ports)) as (one, two), traced() as events:
        def expect(*wanted):
            seen = [(name, fields["rx_ifindex"], fields.get("reason")) for name, fields in events()
                    if fields["tx_ifindex"] == indexes[0] and
                    fields["tx_queue"] == fields["rx_queue"] == "0"]
            assert seen == [(name, indexes[rx], reason) for name, rx, reason in wanted], seen

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


# What is done to a port, step by step: frames are forwarded between the steps

def down(port):
    """It goes down and up."""
    shell(f"ip link set {name_of(port)} down")
    yield
    shell(f"ip link set {name_of(port)} up")
    yield


def reset(port):
    """The driver resets it."""
    if port in DRIVERS["i40e"]:
        Path(f"/sys/kernel/debug/i40e/{pci_device(port).name}/command").write_text(
            "pfr", encoding="ascii")
    else:
        shell(f"ethtool -r {name_of(port)}")
    yield


def resize(port):
    """Its rings get other sizes; i40e refuses that where a socket is."""
    for count in 2 * DESCRIPTORS, DESCRIPTORS:
        done = f"ethtool -G {name_of(port)} rx {count} tx {count}"
        shell(f"! {done}" if port in DRIVERS["i40e"] else done)
        yield


def rechannel(port):
    """It gets a second queue and loses it; the first one has a socket and stays."""
    for count in 2, 1:
        shell(f"ethtool -L {name_of(port)} combined {count}")
        yield


def disturbed(ports, disturb):
    """Something is done to each port under load: no chunk is lost, and the others go on."""
    with sockets(*((port, 0) for port in ports)) as opened:
        ways = list(zip(opened, opened[1:] + opened[:1]))

        def load(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for source, out in ways:
                    source.forward(out)
                    out.kick()

        for source, out in ways:
            out.recycle(source)
        for port in ports:
            generate(100 * FRAMES, *ports)
            load(0.3)
            for _ in disturb(port):
                load(0.1)
            links_up(*map(name_of, ports))
        load(0.1)
        for port in ports:
            nicsim("gen", port, "stop")

        settle(ways)
        assert all(out.recycled().state == ON for _, out in ways)
        census(ports, opened)


def pci_device(port):
    """Return the folder of a port's device."""
    return Path(f"/sys/class/net/{name_of(port)}/device").resolve()


@contextlib.contextmanager
def unbound(port):
    """Take a port from its driver for a while."""
    device = pci_device(port)
    driver = (device / "driver").resolve()
    (driver / "unbind").write_text(device.name, encoding="ascii")
    try:
        yield
    finally:
        (driver / "bind").write_text(device.name, encoding="ascii")
        set_up([port])


@contextlib.contextmanager
def removed(port):
    """Take a port from the bus for a while."""
    (pci_device(port) / "remove").write_text("1", encoding="ascii")
    try:
        yield
    finally:
        Path("/sys/bus/pci/rescan").write_text("1", encoding="ascii")
        set_up([port])


@contextlib.contextmanager
def unplugged(port):
    """Pull a port out, which answers nothing from then on; put in another one."""
    nicsim("fault", port, "unplug")
    time.sleep(0.5 * SLOW)
    with removed(port):
        nicsim("fault", port, "clear")
        yield


@contextlib.contextmanager
def unloaded(port):
    """Unload a port's driver for a while."""
    driver = (pci_device(port) / "driver").resolve().name
    shell(f"rmmod {driver}")
    try:
        yield
    finally:
        set_up(DRIVERS[driver])


def leaves(ports, gone, leave):
    """The driver leaves one of two ports under load; the other one's socket goes on."""
    with sockets(*((port, 0) for port in ports)) as opened, traced() as events:
        opened[0].recycle(opened[1])
        opened[1].recycle(opened[0])
        generate(100 * FRAMES, *ports)
        for _ in range(100):
            for one, two in opened, opened[::-1]:
                one.forward(two)
                two.kick()
        with leave(ports[gone]):
            for port in ports:
                nicsim("gen", port, "stop")
            assert opened[gone].recycled().state == OFF
            reasons = [fields["reason"] for name, fields in events() if name == "unpair"]
            assert sorted(reasons) == ["rx_gone", "tx_gone"], reasons
            goes_on(opened[not gone], ports[not gone])


@contextlib.contextmanager
def sending(xsk, chunks):
    """Have a thread send frames, each in a chunk of its own, one after the other."""
    end = threading.Event()

    def run():
        for chunk in chunks:
            if end.wait(0.001):
                break
            xsk.tx.put_frames([chunk * CHUNK])
            xsk.kick()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def leaves_starving(ports, leave):
    """A queue that waits for chunks leaves while its partner sends: each frame would wake it up.

    Another socket of the queue came last, and so is told first.
    """
    frames = DESCRIPTORS // 2
    with (sockets(*((port, 0) for port in ports), chunks=1) as (source, out),
          contextlib.closing(Xsk(name_of(ports[0]), rings=("rx",), share=source, fill=())),
          contextlib.ExitStack() as stack):
        out.recycle(source)
        # The only chunk that it has: it wants more
        generate(1, ports[0])
        eventually("a frame", lambda: source.rx.used)
        with sending(out, range(CHUNKS, CHUNKS + frames)):
            eventually("kicks", lambda: out.recycled().kicks > 3)
            stack.enter_context(leave(ports[0]))
        tx_done(out)
        state = out.recycled()
        # Nothing may have been sent since
        assert state.state == OFF or (state.state, state.slot) == (SWITCHING, frames), state
        assert not state.spilled, state
        # Later ones are the application's
        assert state.recycled + state.waiting == state.slot, state


def tests():
    """Yield name, function and arguments of the tests."""
    (i40e, i40e2), (ixgbe, ixgbe2) = DRIVERS.values()
    one, both = [(0, 0)], [(0, 1), (1, 0)]
    for timing in "lockstep", "async":
        for driver, (first, second) in DRIVERS.items():
            where = f"{timing}: {driver}:"
            yield f"{where} the same queue", circles, [(first, 0)], one
            yield f"{where} another queue", circles, [(first, 0), (first, 1)], both
            yield f"{where} another port", circles, [(first, 0), (second, 0)], both
        yield f"{timing}: i40e and ixgbe", circles, [(i40e, 0), (ixgbe, 0)], both
        yield f"{timing}: paired again and again", pairs_again, i40e2, ixgbe2
    for driver, (first, second) in DRIVERS.items():
        yield f"{driver}: refusals", refusals, first, second
        yield f"{driver}: neighbours", neighbours, first
        yield f"{driver}: moved to another queue", moves, (first, second)
        yield f"{driver}: frames held for long", holds, first
        yield f"{driver}: more than can wait", spills, first, True
        yield f"{driver}: more than can wait, no completion ring", spills, first, False
        yield f"{driver}: kicks", kicks, first, second
        yield f"{driver}: kicks of a queue that has run dry", kicks_late, first, second
        yield f"{driver}: abuse", abuse, first
        yield f"{driver}: chunks given away twice", duplicates, first
        yield f"{driver}: xdpsock -l", xdpsock, (first,)
    yield "kicks of the other driver", kicks, i40e, ixgbe
    yield "kicks of another vector", kicks_elsewhere, ixgbe, i40e
    yield "xdpsock --fwd", xdpsock, (i40e, ixgbe)
    for first in 0, 1:
        yield f"socket {first} of a pair is closed", closes, (i40e, ixgbe), first
    yield "storm of partners", storm, (i40e, ixgbe)
    yield "two sockets feed one", feed_one, (i40e, i40e2, ixgbe)
    yield "closed with frames in flight", left, (i40e, ixgbe)
    yield "closed with frames in flight, the other way", left, (ixgbe, i40e)
    yield "the Rx queue goes with frames in flight", no_pair, (i40e, ixgbe)
    yield "the Rx queue goes with frames in flight, the other way", no_pair, (ixgbe, i40e)
    yield "two processes", two_processes, (i40e, ixgbe)
    yield "tracepoints", events_of_pairs, (i40e, ixgbe)
    pairs = [(i40e, ixgbe)]
    if os.environ.get("FULL"):
        pairs += [(i40e,), (ixgbe,), (i40e, i40e2), (ixgbe, ixgbe2)]
    for ports in pairs:
        where = " and ".join(map(name_of, ports))
        for disturb in down, reset, resize, rechannel:
            yield f"{where}: {disturb.__name__}", disturbed, ports, disturb
    for leave in unbound, unloaded, removed, unplugged:
        for gone in 0, 1:
            yield f"{leave.__name__} {gone} of a pair", leaves, (i40e, ixgbe), gone, leave
    for ports in (i40e, ixgbe), (ixgbe, i40e):
        where = " to ".join(map(name_of, ports[::-1]))
        yield f"{where}: leaves while it waits for chunks", leaves_starving, ports, unbound


def main():
    """Run the tests."""
    tap = Tap(nicsim.no_event)
    set_up(PORTS)
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, run, *args in tests():
        if not re.search(wanted, name):
            continue
        timing = name.split(":", maxsplit=1)[0]
        for port in PORTS:
            nicsim("timing", port, timing if timing == "async" else "lockstep")
        tap.test(name, run, *args)
    tap.plan()


if __name__ == "__main__":
    main()
