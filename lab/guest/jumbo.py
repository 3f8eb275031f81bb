#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Multi-buffer packets through zero-copy sockets, programs and the stack, with large MTUs.

Prints KTAP. Arguments: the driver; a regular expression for the names of tests.

Both ports have a generator and a sink that verifies. Frames of eth0 have 9014 bytes, those of eth1
60 to 1514. A test has fewer frames than the fill ring has chunks.
"""

import contextlib
import errno
import re
import socket
import struct
import sys
import time

import xdp_program
from harness import PATIENCE, SLOW, argument, eventually, run_cases, settles
from lib.py import cmd, ip, ksft_eq, ksft_true
from netdev import links_up, no_ipv6, one_queue, received, stats
from nicsim import nicsim
from xdpsock import start_and_wait, stop
from xsk import (CHUNK, CHUNKS, COPY, NATIVE, PASS, SLOTS, UNALIGNED, USE_SG, ZEROCOPY, Umem, Xsk)

DRIVER = sys.argv[1]
JUMBO, MIXED = 0, 1  # ports
MTU = 9000
FRAMES, RING = 100, 512
SENDING = ("fill", "completion", "rx", "tx")
CONTD = 1  # option of a descriptor
ETH_P_ALL = 3
MAX_SEGS = {"ixgbe": 18, "i40e": 8}[DRIVER]
# i40e supports five buffers per frame
CHUNK_SIZES = {"ixgbe": (2048, 4096), "i40e": (4096,)}[DRIVER]
UNALIGNED_CHUNK = 3000
RESET = {"ixgbe": "ethtool -r eth0",
         "i40e": "echo pfr >/sys/kernel/debug/i40e/0000:01:00.0/command"}[DRIVER]
# i40e refuses other rings below a zero-copy socket, and stops the rings before NAPI for another MTU
RECONFIGURATION = {"ixgbe": (RESET, "ethtool -G eth0 rx 256 tx 256", RESET, "ip link set eth0 mtu 8990",
                             f"ip link set eth0 mtu {MTU}", f"ethtool -G eth0 rx {RING} tx {RING}"),
                   "i40e": (RESET, RESET, RESET)}[DRIVER]


# Sockets and programs

@contextlib.contextmanager
def program(interface, name):
    """Have a program of frags.bpf.c on an interface inside."""
    file = xdp_program.pinned(name)
    try:
        ksft_eq(xdp_program.attach(interface, file), 0, name)
        yield
    finally:
        xdp_program.attach(interface, -1)


@contextlib.contextmanager
def bound(way, interface="eth0", **options):
    """Have a socket inside that is attached, in an XSKMAP, or behind a program that passes."""
    options = {"flags": ZEROCOPY | USE_SG, "rings": SENDING, **options}
    with contextlib.ExitStack() as stack:
        if way == "map":
            stack.enter_context(program(interface, "to_socket"))
        else:
            options["attach"] = NATIVE | (PASS if way == "behind" else 0)
        xsk = Xsk(interface, **options)
        stack.callback(xsk.close)
        if way == "map":
            xdp_program.enter(xsk)
        if way == "behind":
            stack.enter_context(program(interface, "pass"))
        links_up(interface)
        yield xsk


def kick(xsk):
    """Have the kernel send: in copy mode it may ask for another call."""
    with contextlib.suppress(BlockingIOError):
        xsk.socket.send(b"", socket.MSG_DONTWAIT)


def echo(xsk, frames=FRAMES, port=JUMBO):
    """Send all frames of the generator back: none is lost, damaged, duplicate or late."""
    nicsim("sink", port, "reset")
    nicsim.start(port, frames)
    end = time.monotonic() + PATIENCE
    while nicsim.good(port) < frames:
        xsk.kick()
        xsk.forward(xsk)
        kick(xsk)
        assert time.monotonic() < end, nicsim.port(port)
    nicsim.verified(port, frames)


def echo_stack(interface="eth0", port=JUMBO, frames=20):
    """Send frames back that the stack received; it has them unchanged."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as raw:
        raw.bind((interface, ETH_P_ALL))
        raw.settimeout(20 * SLOW)
        nicsim("sink", port, "reset")
        for _ in range(frames):
            nicsim.start(port, 1)
            frame, address = raw.recvfrom(16384)
            while address[2] == socket.PACKET_OUTGOING:
                frame, address = raw.recvfrom(16384)
            raw.send(frame)
        eventually("all frames", lambda: nicsim.good(port) >= frames)
    nicsim.verified(port, frames)


# The tests

def forwarded(way, chunk, flags, inorder=False):
    """A socket sends all frames back, each of several buffers."""
    with bound(way, umem=Umem(chunk=chunk, flags=flags), inorder=inorder) as xsk:
        echo(xsk)
        ksft_true(xsk.rx.producer > 2 * FRAMES, "multi-buffer packets")
        if inorder:
            eventually("completion", lambda: not xsk.tx.used)
        else:
            eventually("completion", lambda: xsk.completion.producer == xsk.tx.producer)


def passed():
    """A program passes the frames of a zero-copy queue to the stack."""
    with program("eth0", "pass"):
        xsk = Xsk("eth0", umem=Umem(chunk=CHUNK_SIZES[0]), flags=ZEROCOPY | USE_SG)
        links_up("eth0")
        echo_stack()
        xsk.close()


def passed_without_socket():
    """A program passes the frames of a queue without a socket to the stack."""
    with program("eth0", "pass"):
        links_up("eth0")
        echo_stack()


def copied(way):
    """A socket in copy mode sends all frames back."""
    with bound(way, flags=COPY | USE_SG) as xsk:
        echo(xsk)


def sent_back():
    """XDP_TX sends whole frames, or none: those of zero-copy queues are not copied."""
    with program("eth0", "back"):
        links_up("eth0")
        nicsim("sink", JUMBO, "reset")
        nicsim.generate(JUMBO, FRAMES)
        eventually("all frames", lambda: nicsim.good(JUMBO) >= FRAMES)
        nicsim.verified(JUMBO, FRAMES)
        xsk = Xsk("eth0", flags=ZEROCOPY | USE_SG)
        links_up("eth0")
        nicsim("sink", JUMBO, "reset")
        before = received("eth0")
        nicsim.generate(JUMBO, FRAMES)
        eventually("frames received", lambda: received("eth0") - before >= FRAMES)
        time.sleep(SLOW)
        ksft_eq(nicsim.wire(JUMBO)["sink"]["frames"], 0)
        xsk.close()


def linear():
    """A program without frags never gets a part of a packet."""
    with program("eth1", "linear"):
        xsk = Xsk("eth1", umem=Umem(chunk=2048), flags=ZEROCOPY | USE_SG)
        links_up("eth1")
        before, dropped = received("eth1"), stats("eth1")["non_eop_descs"]
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as raw:
            raw.bind(("eth1", ETH_P_ALL))
            raw.settimeout(SLOW)
            nicsim.generate(MIXED, FRAMES)
            sizes = []
            with contextlib.suppress(TimeoutError):
                while True:
                    sizes.append(len(raw.recv(16384)))
        longer = stats("eth1")["non_eop_descs"] - dropped
        ksft_true(longer and set(sizes) <= {60, 590}, (longer, set(sizes)))
        ksft_eq(received("eth1") - before, FRAMES - longer)
        xsk.close()


def without_sg():
    """A socket without XDP_USE_SG receives no part of a multi-buffer packet, and all others."""
    with bound("attach", "eth1", umem=Umem(chunk=2048), flags=ZEROCOPY) as xsk:
        dropped = stats("eth1")["non_eop_descs"]
        nicsim.generate(MIXED, FRAMES)
        settles("frames", lambda: xsk.rx.producer)
        longer = stats("eth1")["non_eop_descs"] - dropped
        data = xsk.rx.read()
        sizes = {size for _, size, _ in struct.iter_unpack("=QII", data)}
        ksft_true(longer and sizes == {60, 590}, (longer, sizes))
        ksft_eq(len(data) // 16, FRAMES - longer)


def two_chunks():
    """A long frame that a socket without XDP_USE_SG cannot receive does not stop its queue.

    The device gets the same two chunks again and again: the model waits for all that a frame needs.
    """
    with bound("attach", "eth1", umem=Umem(chunk=2048), flags=ZEROCOPY, fill=range(2)) as xsk:
        nicsim.start(MIXED, FRAMES)
        end = time.monotonic() + PATIENCE
        got = 0
        while got < FRAMES // 4:
            xsk.kick()
            data = xsk.rx.read()
            xsk.fill.put([address for address, _, _ in struct.iter_unpack("=QII", data)])
            got += len(data) // 16
            assert time.monotonic() < end, got
        nicsim("gen", MIXED, "stop")


def segments(descriptors, size=100):
    """Return a packet of that many descriptors, as bytes."""
    return b"".join(struct.pack("=QII", (SLOTS + i) * CHUNK, size,
                                CONTD if i + 1 < descriptors else 0)
                    for i in range(descriptors))


def invalid_packets(inorder):
    """A packet that is invalid or too long is dropped as a whole, and all are completed."""
    bad = bytearray(segments(3))
    struct.pack_into("=Q", bad, 16, CHUNKS * CHUNK)
    rings = ("fill", "rx", "tx") if inorder else SENDING
    with bound("attach", rings=rings, inorder=inorder) as xsk:
        nicsim("sink", JUMBO, "reset")
        sent = 0
        for packets in ((segments(3), bad, segments(3)),
                        (segments(MAX_SEGS), segments(MAX_SEGS + 1), segments(1)),
                        (bad, segments(40), segments(2))):
            xsk.tx.write(b"".join(packets))
            sent += sum(1 for packet in packets
                        if packet is not bad and len(packet) <= 16 * MAX_SEGS)

            def done(sent=sent):
                xsk.socket.send(b"", socket.MSG_DONTWAIT)
                completed = not xsk.tx.used if inorder else (
                    xsk.completion.producer == xsk.tx.producer)
                return completed and nicsim.wire(JUMBO)["sink"]["frames"] == sent

            eventually(f"{sent} frames", done)


def across_the_end():
    """Packets across the end of the device's ring and of the socket's are sent whole, in order."""
    count = 600  # more than three times the descriptors of the device
    with bound("attach", slots=SLOTS) as xsk:
        nicsim("sink", JUMBO, "reset")
        for number in range(count):
            while xsk.tx.used > SLOTS - 8:
                xsk.socket.send(b"", socket.MSG_DONTWAIT)
            xsk.tx.write(segments(1 + number % 7, 200))
            if number % 5 == 0:
                xsk.socket.send(b"", socket.MSG_DONTWAIT)
            xsk.completion.read()
        xsk.socket.send(b"", socket.MSG_DONTWAIT)
        eventually("all frames", lambda: nicsim.wire(JUMBO)["sink"]["frames"] == count)


def bind_error(interface, **options):
    """Return the errno of bind() of a socket, 0 for none."""
    try:
        Xsk(interface, **options).close()
    except OSError as failed:
        return failed.errno
    return 0


def refused(command, text):
    """A command fails, and it or the kernel log tells why."""
    said = cmd(f"dmesg -C; {command}", fail=False)
    ksft_true(said.ret, command)
    told = said.stderr + said.stdout + cmd("dmesg").stdout
    ksft_true(re.search(text, told), told)


def mtus():
    """Large MTUs take a program and sockets that support multi-buffer packets."""
    linear_program = f"{xdp_program.PINNED}/linear"
    refused(f"ip link set eth0 xdpdrv pinned {linear_program}", "does not support frags")
    ip("link set eth0 mtu 1500")
    with program("eth0", "linear"):
        refused("ip link set eth0 mtu 9000", "xdp.frags" if DRIVER == "ixgbe" else "Max is")
    for attach in False, NATIVE:
        with (contextlib.nullcontext() if attach else program("eth0", "pass")):
            xsk = Xsk("eth0", attach=attach, flags=ZEROCOPY)
            refused("ip link set eth0 mtu 9000", "XDP_USE_SG")
            xsk.close()
            ip("link set eth0 mtu 9000")
            ksft_eq(bind_error("eth0", attach=attach, flags=ZEROCOPY), errno.EINVAL)
            ip("link set eth0 mtu 1500")
            xsk = Xsk("eth0", attach=attach, flags=ZEROCOPY | USE_SG)
            ip("link set eth0 mtu 9000")
            links_up("eth0")
            xsk.close()
            ip("link set eth0 mtu 1500")
    ip(f"link set eth0 mtu {MTU}")


def small_buffers():
    """Chunks with less than 1 KB for a frame, the smallest buffer of the 82599, are refused."""
    ip("link set eth1 mtu 500")
    for sg, largest in (0, 768), (USE_SG, 448):
        for headroom, error in (largest, 0), (largest + 64, errno.EINVAL):
            umem = Umem(chunk=2048, headroom=headroom)
            ksft_eq(bind_error("eth1", attach=NATIVE, umem=umem, flags=ZEROCOPY | sg), error, headroom)
    ip("link set eth1 mtu 1500")
    links_up("eth1")


def reconfigured():
    """Resets and other rings while frames go through a socket; after the last one, none is lost."""
    process = start_and_wait("eth0", "-l", "-N", "-z", "--frags", "--attach", "--force",
                             "--ring-size=2048", "--frames=4096")
    nicsim.start(JUMBO, 1 << 20)
    for command in RECONFIGURATION:
        time.sleep(0.2)
        cmd(command)
        links_up("eth0")
    nicsim("gen", JUMBO, "stop")
    settles("frames", lambda: nicsim.sent(JUMBO))
    nicsim("sink", JUMBO, "reset")
    nicsim.generate(JUMBO, FRAMES)
    stop(process, lambda: nicsim.wire(JUMBO)["sink"]["frames"] >= FRAMES)
    nicsim.verified(JUMBO, FRAMES)


def tests():
    """Yield name, function and arguments of the tests."""
    for way in "attach", "map", "behind":
        for chunk in CHUNK_SIZES:
            yield f"forwarded, {way}, chunks of {chunk}", forwarded, way, chunk, 0
        yield f"forwarded, {way}, unaligned chunks", forwarded, way, UNALIGNED_CHUNK, UNALIGNED
    yield "forwarded, in order", forwarded, "attach", CHUNK, 0, True
    yield "passed to the stack", passed
    yield "passed to the stack without a socket", passed_without_socket
    for way in "attach", "map":
        yield f"forwarded in copy mode, {way}", copied, way
    yield "XDP_TX", sent_back
    if DRIVER == "ixgbe":  # 1514 bytes fit into a buffer of i40e
        yield "a program without frags", linear
        yield "a socket without XDP_USE_SG", without_sg
        yield "a socket without XDP_USE_SG and two chunks", two_chunks
        yield "Rx buffers below 1 KB", small_buffers
    for inorder in False, True:
        yield f"invalid packets{', in order' * inorder}", invalid_packets, inorder
    yield "packets across the end of a ring", across_the_end
    yield "MTUs", mtus
    yield "resets and other rings under traffic", reconfigured


def main():
    """Run the tests."""
    no_ipv6()
    cmd(f"modprobe {DRIVER}")
    for interface in "eth0", "eth1":
        one_queue(interface, RING)
    ip(f"link set eth0 mtu {MTU}")
    links_up("eth0", "eth1")
    xdp_program.pin()
    run_cases(((f"multi-buffer: {name}", *call) for name, *call in tests()), argument(2),
              around=nicsim.no_event)


if __name__ == "__main__":
    main()
