#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Reasons for dropped packets and refused descriptors: XDP_DROP_STATS and the tracepoint xsk_drop.

eth0 and eth2 are ports of an X710 and of an 82599, with a cable to eth1 and eth3, which send frames
of any length. All frames on the wire are accounted for: delivered, counted by the socket for a
reason, or counted by the device. The same in copy mode on a veth pair, vd0 and vd1. Prints KTAP.
Argument: a regular expression for the names of tests.
"""

import contextlib
import errno
import re
import socket
import struct
from collections import Counter
from pathlib import Path

import xdp_program
from harness import argument, eventually, run_cases, settles
from lib.py import cmd, ip, ksft_eq, ksft_in, ksft_true
from netdev import links_up, no_ipv6, size_queues, stats
from nicsim import nicsim
from xsk import (ATTACH, CHUNK, CONTINUES, COPY, DROP_STATS, GENERIC, NATIVE, NEED_WAKEUP, PASS, SOL_XDP,
                 STATISTICS, UNALIGNED, USE_SG, ZEROCOPY, Umem, Xsk)

REASONS = ("rx_ring_full rx_no_buffer rx_too_long rx_multi_buffer rx_unbound rx_wrong_queue rx_no_ring "
           "rx_busy fill_invalid fill_duplicate tx_empty tx_addr tx_chunk tx_page tx_options "
           "tx_frags tx_packet tx_metadata tx_no_memory tx_link tx_device tx_checksum").split()
RX_DROPPED = "rx_no_buffer", "rx_too_long", "rx_multi_buffer"
TX_INVALID = ("tx_empty", "tx_addr", "tx_chunk", "tx_page", "tx_options", "tx_checksum", "tx_frags",
              "tx_packet")
# Interface, its peer, the port of nicsim or None, bind flags, counters of the device
DEVICES = {
    "veth": ("vd0", "vd1", None, COPY, ()),
    "i40e": ("eth0", "eth1", 0, ZEROCOPY, ("rx_missed_errors", "rx_dropped", "port.rx_discards",
                                           "port.rx_oversize")),
    "ixgbe": ("eth2", "eth3", 2, ZEROCOPY, ("rx_missed_errors", "rx_no_dma_resources",
                                            "rx_length_errors")),
}
SLOTS = 256
TRACING = Path("/sys/kernel/tracing")
ZC_GENERIC, NO_ZC, ZC_MTU, ZC_REFUSED, POOL_BUSY = 9, 13, 15, 17, 18
ETHERTYPE = b"\x88\xb5"  # local experimental


class Device:
    """An interface that receives, its peer, and the counts of both."""

    def __init__(self, name):
        self.name, (self.interface, self.peer, self.port, self.flags, self.counters) = name, DEVICES[name]

    def sent(self):
        """Return the number of frames that went to the interface."""
        if self.port is not None:
            return nicsim.wire(self.port)["to_chip"]
        return int(Path(f"/sys/class/net/{self.peer}/statistics/tx_packets").read_text())

    def left(self):
        """Return the number of frames that the interface has sent."""
        if self.port is not None:
            return nicsim.wire(self.port)["from_chip"]
        return int(Path(f"/sys/class/net/{self.peer}/statistics/rx_packets").read_text())

    def missed(self):
        """Return the frames that the device did not receive, by counter of ethtool -S."""
        found = stats(self.interface) if self.counters else {}
        return Counter({name: found[name] for name in self.counters if name in found})

    def frames(self, count, size=60):
        """Send frames to the interface."""
        frame = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02" + ETHERTYPE
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            sender.bind((self.peer, 0))
            before = self.sent()
            for number in range(count):
                sender.send((frame + struct.pack(">I", number)).ljust(size, b"x"))
            eventually("frames on the wire", lambda: self.sent() - before >= count)
        ksft_eq(self.sent() - before, count)


def drops(xsk):
    """Return the non-zero counters by reason. Their sums are those of XDP_STATISTICS."""
    data = xsk.socket.getsockopt(SOL_XDP, DROP_STATS, 512)
    counts = Counter({name: count for name, count in
                      zip(REASONS, struct.unpack(f"={len(REASONS)}Q", data)) if count})
    dropped, _, invalid, full, _, _ = struct.unpack("=6Q", xsk.socket.getsockopt(SOL_XDP, STATISTICS, 48))
    ksft_eq(full, counts["rx_ring_full"])
    ksft_eq(dropped, sum(counts[name] for name in RX_DROPPED))
    ksft_eq(invalid, sum(counts[name] for name in TX_INVALID))
    return counts


@contextlib.contextmanager
def traced(device, counts):
    """The tracepoint has the reasons that are added to `counts` inside, for this device."""
    event = TRACING / "events/xsk/xsk_drop/enable"
    (TRACING / "trace").write_text("")
    event.write_text("1")
    try:
        yield
    finally:
        event.write_text("0")
    found = Counter()
    index = socket.if_nametoindex(device.interface)
    for line in (TRACING / "trace").read_text().splitlines():
        match = re.search(r"xsk_drop: ifindex=(\d+) queue=0 cookie=\d+ reason=(\w+) count=(\d+) ", line)
        if match and int(match[1]) == index:
            found[match[2]] += int(match[3])
    ksft_eq(found, counts)


@contextlib.contextmanager
def bound(device, how, *, umem=None, flags=0, **options):
    """Yield a socket, attached directly, or behind a program that passes all frames."""
    attach = NATIVE | PASS if how == "behind a program" else NATIVE
    with contextlib.ExitStack() as stack:
        if how == "behind a program":
            stack.enter_context(xdp_program.attached(device.interface, "pass"))
        options = {"rings": ("fill", "completion", "rx", "tx"), "slots": SLOTS} | options
        xsk = Xsk(device.interface, attach=attach, umem=umem or Umem(), flags=device.flags | flags,
                  **options)
        stack.callback(xsk.close)
        links_up(device.interface, device.peer)
        yield xsk


def packets(xsk):
    """Receive all packets and return their number."""
    data = xsk.rx.read()
    return sum(not options & CONTINUES for _, _, options in struct.iter_unpack("=QII", data))


def accounted(device, xsk, expected, send, missed=False):
    """All frames that `send` puts on the wire are delivered, or dropped for the expected reasons."""
    wire, device_before = device.sent(), device.missed()
    counts = Counter()
    with traced(device, counts):
        send()
        with contextlib.suppress(AssertionError):  # the checks say what is missing
            eventually("the drops", lambda: (xsk.kick(), drops(xsk))[1] >= Counter(expected))
        settles("packets", lambda: (xsk.kick(), drops(xsk), xsk.rx.used, device.missed())[1:])
        counts.update(drops(xsk))
    got = packets(xsk)
    lost = device.missed() - device_before
    ksft_eq(counts, Counter(expected))
    ksft_true(bool(lost) == missed, lost)
    ksft_eq(got + sum(count for name, count in counts.items() if name.startswith("rx_"))
            + sum(lost.values()), device.sent() - wire, (got, counts, lost))
    return got, lost


# Received packets

def ring_full(device, how):
    """A socket that does not read its Rx ring; the device has chunks."""
    with bound(device, how, fill=range(SLOTS)) as xsk:
        def send():
            device.frames(SLOTS)
            eventually("a full ring", lambda: xsk.rx.used == SLOTS)
            eventually("room in the fill ring", lambda: (xsk.kick(), not xsk.fill.used)[1])
            xsk.fill.put([chunk * CHUNK for chunk in range(SLOTS, 2 * SLOTS)])
            device.frames(100)

        got, _ = accounted(device, xsk, {"rx_ring_full": 100}, send)
        ksft_eq(got, SLOTS)


def fill_empty(device, how):
    """A socket that returns no chunks: in copy mode it drops, in zero-copy mode the device does."""
    with bound(device, how, fill=range(64)) as xsk:
        def send():
            device.frames(200)
            if device.port is not None:
                # What waits in the packet buffer of the device is delivered with new chunks
                settles("frames", lambda: (device.missed(), xsk.rx.used))
                xsk.fill.put([chunk * CHUNK for chunk in range(64, 64 + SLOTS)])

        expected = {"rx_no_buffer": 136} if device.port is None else {}
        accounted(device, xsk, expected, send, missed=device.name == "i40e")


def too_long(device, how):
    """Packets that exceed a chunk, without XDP_USE_SG: the X710 itself drops and counts them."""
    # The 82599 uses 1 KB of a buffer with less than 2 KB
    size = 1200 if device.name == "ixgbe" else 1900
    expected = {"veth": {"rx_too_long": 50}, "ixgbe": {"rx_multi_buffer": 50}, "i40e": {}}[device.name]
    with bound(device, how, umem=Umem(chunk=2048), fill=range(SLOTS)) as xsk:
        def send():
            device.frames(50, size)
            device.frames(20)

        got, _ = accounted(device, xsk, expected, send, missed=device.name == "i40e")
        ksft_eq(got, 20)


def fill_invalid(device, how):
    """Addresses outside of the umem in the fill ring."""
    with bound(device, how, fill=()) as xsk:
        def send():
            xsk.fill.put([1 << 40, 0, (1 << 40) + CHUNK, CHUNK, *range(2 * CHUNK, 200 * CHUNK, CHUNK)])
            xsk.kick()
            device.frames(40)

        got, _ = accounted(device, xsk, {"fill_invalid": 2}, send)
        ksft_eq(got, 40)


# Descriptors

def tx(device, how, descs, expected, valid, **options):
    """Put descriptors into the Tx ring; all are taken, and the valid ones arrive."""
    with bound(device, how, fill=range(SLOTS, 2 * SLOTS), **options) as xsk:
        before, counts = device.left(), Counter()
        with traced(device, counts):
            xsk.tx.write(b"".join(struct.pack("=QII", *desc) for desc in descs))

            def taken():
                with contextlib.suppress(OSError):  # EAGAIN: there is more
                    xsk.socket.send(b"", socket.MSG_DONTWAIT)
                return not xsk.tx.used

            eventually("an empty Tx ring", taken)
            eventually("packets", lambda: device.left() - before >= valid)
            counts.update(drops(xsk))
        ksft_eq(counts, Counter(expected))
        ksft_eq(device.left() - before, valid)


def invalid(device, how):
    """Each check of a descriptor, between valid ones."""
    good = [(number * CHUNK, 60, 0) for number in range(12)]
    bad = {"tx_empty": [(0, 0, 0)],
           "tx_addr": [(1 << 40, 60, 0), (4096 * CHUNK, 60, 0)],
           "tx_chunk": [(CHUNK - 10, 60, 0), (0, CHUNK + 1, 0), (CHUNK, 0xffffffff, 0)],
           "tx_options": [(0, 60, 1 << 5), (0, 60, 1 << 31), (0, 60, 0x40), (0, 60, 0x80)]}
    descs = list(good)
    for number, desc in enumerate(sum(bad.values(), [])):
        descs.insert(2 * number + 1, desc)
    tx(device, how, descs, {name: len(those) for name, those in bad.items()}, len(good))


def invalid_unaligned(device, how):
    """Packets across pages that are not contiguous for the device."""
    with bound(device, how, fill=range(SLOTS, 2 * SLOTS), umem=Umem(flags=UNALIGNED)) as xsk:
        before = device.left()
        xsk.tx.put_frames([0, *(page * CHUNK - 30 for page in range(1, 100))])
        eventually("an empty Tx ring", lambda: (xsk.kick(), not xsk.tx.used)[1])
        settles("packets", device.left)
        counts = drops(xsk)
        ksft_eq(set(counts) - {"tx_page"}, set())
        ksft_true(device.port is None or counts["tx_page"], counts)
        ksft_eq(device.left() - before, 100 - counts["tx_page"])
        # In copy mode, pages need not be contiguous
        ksft_true(device.port is not None or not counts, counts)


def invalid_packets(device, how):
    """Multi-buffer packets with an invalid descriptor, and with too many."""
    parts = [(number * CHUNK, 100, CONTINUES) for number in range(3)] + [(3 * CHUNK, 100, 0)]
    descs = parts[:1] + [(1 << 40, 100, CONTINUES)] + parts[2:] + parts
    many = [(number * CHUNK, 100, CONTINUES) for number in range(29)] + [(29 * CHUNK, 100, 0)]
    tx(device, how, descs + many + parts,
       {"tx_addr": 1, "tx_packet": 3, "tx_frags": len(many)}, 2, flags=USE_SG)


def long_packets(device, how):
    """Zero-copy packets between valid ones that exceed the largest MTU of the device."""
    short = [(number * CHUNK, CHUNK, CONTINUES) for number in range(2)] + [(2 * CHUNK, 1000, 0)]
    long = short[:2] + [(2 * CHUNK, 2000, 0)]
    tx(device, how, (short + long) * 2 + short, {"tx_frags": 2 * len(long)}, 3, flags=USE_SG)


def link_down(device, how):
    """Copy mode: packets for a device without carrier are completed and counted."""
    with bound(device, how, fill=range(SLOTS, 2 * SLOTS)) as xsk:
        ip(f"link set {device.peer} down")
        try:
            for number in range(1, 6):
                xsk.tx.put_frames([number * CHUNK])
                with contextlib.suppress(OSError):  # EBUSY: it was dropped
                    xsk.socket.send(b"", socket.MSG_DONTWAIT)
            ksft_eq(drops(xsk), Counter(tx_link=5))
            ksft_eq(xsk.completion.used, 5)
        finally:
            ip(f"link set {device.peer} up")


# Refused zero-copy

@contextlib.contextmanager
def unbound():
    """Yield a way to bind a socket that fails, and to read its reason and the kernel's log."""
    def refused(interface, error, reason, text, **options):
        cmd("dmesg -C")
        seen = []

        class Failing(Xsk):
            """A socket whose reason is read before it is closed."""

            def close(self):
                seen.append(self.socket.getsockopt(SOL_XDP, ATTACH, 20))
                super().close()

        try:
            Failing(interface, rings=("fill", "completion", "rx"), slots=SLOTS, fill=(), **options).close()
            raise AssertionError("bind() has succeeded")
        except OSError as err:
            ksft_eq(err.errno, error)
        values = struct.unpack("=5I", seen[0])
        ksft_eq(values[4], reason)
        if options.get("attach"):
            ksft_eq(values[3], reason)
        if text:
            ksft_in(text, cmd("dmesg --notime").stdout)

    yield refused


def refusals(device):
    """Each reason is in struct xdp_attach, and in the log with its remedy."""
    zero_copy = ZEROCOPY | NEED_WAKEUP
    with unbound() as refused:
        for attach in False, NATIVE:
            ip(f"link set {device.interface} mtu 3000")
            refused(device.interface, errno.EINVAL, ZC_MTU, "the MTU exceeds the chunks; use larger ones",
                    umem=Umem(chunk=2048), flags=zero_copy, attach=attach)
            ip(f"link set {device.interface} mtu 1500")
            if device.name == "i40e":
                refused(device.interface, errno.EINVAL, ZC_REFUSED,
                        "i40e: Rx buffers of 384 bytes, minimum 1024: use larger chunks",
                        umem=Umem(chunk=2048, headroom=1024), flags=zero_copy | USE_SG, attach=attach)
        with bound(device, "directly"):
            refused(device.interface, errno.EBUSY, POOL_BUSY, "", flags=zero_copy)


def fallback(device):
    """A socket in copy mode knows why it is not zero-copy, also without XDP_ATTACH."""
    def reasons(xsk):
        return struct.unpack("=5I", xsk.socket.getsockopt(SOL_XDP, ATTACH, 20))[3:]

    for attach, reason in (False, NO_ZC), (NATIVE, NO_ZC), (GENERIC, ZC_GENERIC):
        xsk = Xsk(device.interface, flags=0, attach=attach)
        ksft_eq(reasons(xsk), (0, reason))
        xsk.close()
    xsk = Xsk(device.interface, flags=0)
    sharing = Xsk(device.peer, share=xsk)
    ksft_eq(reasons(sharing), (0, NO_ZC))
    sharing.close()
    xsk.close()
    with unbound() as refused:
        refused(device.interface, errno.EOPNOTSUPP, NO_ZC, "the driver has no zero-copy; use copy mode",
                flags=ZEROCOPY)


def set_up():
    """Load the drivers and set the interfaces up."""
    no_ipv6()
    cmd("sysctl -qw net.core.message_cost=0; modprobe i40e; modprobe ixgbe")
    one = "numtxqueues 1 numrxqueues 1"  # else, the queue depends on the CPU of the sender
    ip(f"link add vd0 {one} type veth peer name vd1 {one}")
    for interface, peer, port, *_ in DEVICES.values():
        for name in interface, peer:
            no_ipv6(name)
            if port is not None:
                size_queues(name, 1, 512)
            ip(f"link set {name} promisc on up")
        ip(f"link set {peer} mtu 3000")
    ip("link set vd0 mtu 3000")
    links_up(*(name for interface, peer, *_ in DEVICES.values() for name in (interface, peer)))


def tests():
    """Yield name, function and arguments of the tests."""
    for name in DEVICES:
        device = Device(name)
        for how in "directly", "behind a program":
            for what, run in (("Rx ring full", ring_full), ("fill ring empty", fill_empty),
                              ("packets longer than a chunk", too_long),
                              ("invalid addresses in the fill ring", fill_invalid)):
                yield f"{name}, {how}: {what}", run, device, how
        yield f"{name}: invalid descriptors", invalid, device, "directly"
        yield f"{name}: descriptors across pages", invalid_unaligned, device, "directly"
        yield f"{name}: invalid multi-buffer packets", invalid_packets, device, "directly"
        if name == "veth":
            yield f"{name}: no carrier", link_down, device, "directly"
            yield f"{name}: fallback to copy mode", fallback, device
        else:
            yield f"{name}: packets longer than the device transmits", long_packets, device, "directly"
            yield f"{name}: refused zero-copy", refusals, device


if __name__ == "__main__":
    set_up()
    run_cases(tests(), argument(1), around=nicsim.no_event)
