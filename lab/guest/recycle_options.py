# SPDX-License-Identifier: GPL-2.0
"""Tests of XDP_RECYCLE: refusals of the option, and misuse of chunks and rings."""

import contextlib
import errno
import socket
import tempfile
import time
from pathlib import Path

import xsk as api
from harness import SLOW, eventually
from lib.py import cmd, ksft_eq
from recycle_path import circulates
from recycle_ports import (CHUNKS, DESCRIPTORS, DRIVERS, FRAMES, RINGS, census, counted, forward,
                           generate, name_of, pair, receive, stop_generators, tx_done)
from xsk import CHUNK, OFF, ON, SWITCHING, Umem, Xsk


@contextlib.contextmanager
def refused(number, why=""):
    """Expect an errno, and its reason in the kernel's log."""
    try:
        yield
    except OSError as err:
        assert err.errno == number, f"{err}, not {errno.errorcode[number]}"
        said = cmd("dmesg --notime | tail -n 1").stdout
        assert not why or "AF_XDP socket of queue 0 not paired: " in said and why in said, (why, said)
    else:
        raise AssertionError(f"no {errno.errorcode[number]}")


def refusals(port, other):
    """Each refusal has its errno, and changes nothing."""
    unbound = socket.socket(api.AF_XDP, socket.SOCK_RAW)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with (unbound, udp, tempfile.TemporaryFile() as file, pair((port,)) as (xsk,)):
        def pair_raw(sock, *values):
            sock.setsockopt(api.SOL_XDP, api.RECYCLE, api.RECYCLE_FIELDS.pack(*values))

        with refused(errno.ENOTCONN):
            pair_raw(unbound, xsk.socket.fileno(), *[0] * 3)
        for number, fd in ((errno.ENOTCONN, unbound.fileno()), (errno.ENOPROTOOPT, udp.fileno()),
                           (errno.ENOTSOCK, file.fileno()), (errno.EBADF, -2),
                           (errno.EBADF, 12345)):
            with refused(number):
                xsk.recycle(fd)
        for field in range(1, 4):
            values = [xsk.socket.fileno()] + [0] * 3
            values[field] = 2
            with refused(errno.EINVAL):
                pair_raw(xsk.socket, *values)
        with refused(errno.EINVAL):
            xsk.socket.setsockopt(api.SOL_XDP, api.RECYCLE, bytes(3))
        ksft_eq(xsk.recycled(), (-1, 0, OFF) + (0,) * 8)
        cases = [(errno.EXDEV, "do not share a umem", {}),
                 (errno.EOPNOTSUPP, "transmits in copy mode", {"flags": api.COPY}),
                 (errno.EOPNOTSUPP, "does not support unaligned chunks",
                  {"umem": Umem(flags=api.UNALIGNED)}),
                 (errno.EPROTOTYPE, "not have XDP_TX_INORDER",
                  {"inorder": False, "rings": RINGS + ("completion",)}),
                 (errno.EINVAL, "no Tx ring", {"rings": ("fill", "rx", "completion")}),
                 (errno.EINVAL, "no Rx ring", {"rings": ("fill", "tx")})]
        if port in DRIVERS["i40e"]:
            cases.append((errno.EOPNOTSUPP, "XDP_USE_SG",
                          {"flags": api.ZEROCOPY | api.USE_SG}))
        for number, why, options in cases:
            with pair((other,), **options) as (second,), refused(number, why):
                second.recycle(xsk if number == errno.EXDEV else second,
                               api.CHECK * (why == "does not support unaligned chunks"))


def neighbours(port):
    """Other sockets of the queue: one only receives, another one sends as well."""
    with pair((port,)) as (xsk,):
        beside = {"share": xsk, "fill": (), "inorder": True}
        sender = Xsk(name_of(port), rings=("tx",), **beside)
        with refused(errno.EMLINK, "other sockets transmit on its queue"):
            xsk.recycle(xsk)
        sender.close()
        xsk.recycle(xsk)
        with refused(errno.EBUSY):
            Xsk(name_of(port), rings=("tx",), **beside)
        receiver = Xsk(name_of(port), rings=("rx",), **beside)
        receiver.recycle(None)
        ksft_eq(receiver.recycled().state, OFF)
        with refused(errno.EINVAL):
            receiver.recycle(xsk)
        receiver.close()
        forward([(xsk, xsk)], (port,), FRAMES)
        ksft_eq(xsk.recycled().state, ON)
        tx_done(xsk)
        census((port,), (xsk,))


def steps_back(port):
    """The producer index steps back, a request does not reach its entry: the next call fails."""
    for _ in range(20):
        with pair((port,)) as (xsk,):
            xsk.tx.producer = 5
            xsk.recycle(xsk)
            xsk.tx.producer = 0
            time.sleep(0.02 * SLOW)
            state = xsk.recycled()
            if xsk.tx.consumer or state.state != SWITCHING:  # a poll was faster: it took the entries
                continue
            ksft_eq(state[2:4], (SWITCHING, 5))
            with refused(errno.EAGAIN):
                xsk.recycle(None)
            xsk.tx.put_frames([0] * 5)
            tx_done(xsk)
            # The request holds from entry 5: the next poll applies it, even without that entry
            eventually("recycling", lambda: (xsk.kick(), xsk.recycled().state == ON)[1])
            return
    raise AssertionError("each time a poll took the entries before the producer stepped back")


def abuse(port):
    """Chunks sent twice, sent and filled, sent while received into; impossible ring indices."""
    steps_back(port)
    with pair((port,)) as (xsk,):
        xsk.recycle(xsk)
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
        stop_generators(port)
        time.sleep(0.2)
    # The queue works as usual
    circulates([(port, 0)], [(0, 0)])


def duplicates(port):
    """Chunks sent twice, or sent and filled, are refused and counted, and none is lost."""
    chunks, twice, filled = DESCRIPTORS // 2, 150, 40
    with pair((port,), chunks=chunks) as (xsk,):
        if Path("/sys/kernel/debug/dma-api").exists():  # all memory is synced then
            with refused(errno.EOPNOTSUPP):
                xsk.recycle(xsk, api.CHECK)
            return
        xsk.recycle(xsk, api.CHECK)
        ksft_eq(xsk.recycled().flags, api.CHECK)
        forward([(xsk, xsk)], (port,), FRAMES)
        ksft_eq(xsk.recycled().duplicates, 0)
        found = [chunk * CHUNK for chunk in receive((xsk,), (port,), twice)]
        xsk.tx.put_frames([address for address in found for _ in range(2)])
        xsk.fill.put(found[:filled])
        tx_done(xsk)
        # The device has all others, so that it gets these and receives into none meanwhile
        census((port,), (xsk,), chunks)
        ksft_eq(xsk.recycled().duplicates, twice + filled)
        counted((xsk,))


def tests(drivers):
    """Yield name, function and arguments of the tests."""
    for driver, (first, second) in drivers.items():
        yield f"{driver}: refusals", refusals, first, second
        yield f"{driver}: neighbours", neighbours, first
        yield f"{driver}: abuse", abuse, first
        yield f"{driver}: duplicate chunks", duplicates, first
