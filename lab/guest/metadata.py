#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tx metadata: checksum requests of zero-copy sockets on i40e and ixgbe.

Prints KTAP. Argument: a regular expression for the names of tests.

Cables connect eth0 and eth1, ports of X710s, and eth2 and eth3, ports of 82599s. A zero-copy
socket of the first one of each sends, a packet socket of the second one receives.
"""

import contextlib
import itertools
import random
import socket
import struct
import time

from drops import drops
from harness import argument, child, eventually, run_cases, settles, shell
from lib.py import cmd, ksft_eq
from netdev import links_up, no_ipv6, one_queue, xsk_features
from nicsim import nicsim
from xsk import (CHUNK, CONTINUES, COPY, NEED_WAKEUP, SOL_XDP, STATISTICS, TX_METADATA, UNALIGNED, USE_SG,
                 ZEROCOPY, Umem, Xsk)

NICS = {"i40e": 0, "ixgbe": 2}  # the port that sends; its peer is the next one
VETH = ("veth0", "veth1")
LENGTH = 16  # of the metadata
TIMESTAMP, CHECKSUM = 1, 2  # its flags
SOL_PACKET, PACKET_AUXDATA, VLAN_VALID = 263, 8, 1 << 4
RING = 64  # entries of rings, also of the device's: all of them wrap
CHUNKS = 2 * RING
MACS = bytes.fromhex("020000000002020000000001")
TAG = bytes.fromhex("81000123")
TCP, UDP, SCTP = 6, 17, 132
FIELD = {TCP: 16, UDP: 6, SCTP: 8}  # of the checksum, from the L4 header
TCP_HEADER = bytes.fromhex("0001000200000003000000045010020000000000")


# Frames with a request, and what has to be on the wire

def fold(data):
    """Return the ones' complement sum of bytes."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def on_wire(frame, start=None, offset=None):
    """Return a frame with its checksum, and with padding."""
    if start is not None:
        value = fold(frame[start:]) ^ 0xffff or 0xffff
        at = start + offset
        frame = frame[:at] + struct.pack(">H", value) + frame[at + 2:]
    return frame.ljust(60, b"\0")


def transport(protocol, payload):
    """Return a transport header and its payload, with zero as the checksum."""
    if protocol == UDP:
        return struct.pack(">HHHH", 9, 9, 8 + len(payload), 0) + payload
    if protocol == TCP:
        return TCP_HEADER + payload
    return bytes(12) + payload


def ip_packet(version, protocol, data, extra=b"", fragment=0):
    """Return an IP packet; `extra` are options or an extension header."""
    addresses = bytes(range(1, 9)) if version == 4 else bytes(range(32))
    pseudo = fold(addresses + struct.pack(">HH", protocol, len(data)))
    at = FIELD[protocol]
    data = data[:at] + struct.pack(">H", pseudo) + data[at + 2:]
    if version == 4:
        header = struct.pack(">BBHHHBBH", 0x45 + len(extra) // 4, 0, 20 + len(extra) + len(data),
                             1, fragment, 64, protocol, 0) + addresses + extra
        header = header[:10] + struct.pack(">H", fold(header) ^ 0xffff) + header[12:]
    else:
        header = struct.pack(">IHBB", 6 << 28, len(extra) + len(data),
                             0 if extra else protocol, 64) + addresses + extra
    return header, data


def frame_of(version=4, protocol=UDP, tags=0, payload=b"odd", **options):
    """Return a frame and its request."""
    header, data = ip_packet(version, protocol, transport(protocol, payload), **options)
    mac = MACS + tags * TAG + (b"\x08\0" if version == 4 else b"\x86\xdd")
    return mac + header + data, len(mac) + len(header), FIELD[protocol]


def frames():
    """Yield frames with requests of all kinds."""
    sizes = (0, 1, 19, 100, 1401)
    for version, protocol, tags, size in itertools.product((4, 6), (UDP, TCP), range(4), sizes):
        yield frame_of(version, protocol, tags, random.randbytes(size))
    # The sum may be zero, which is sent as 0xffff
    frame, start, offset = frame_of(payload=b"\0\0")
    rest = fold(on_wire(frame, start, offset)[start + offset:start + offset + 2])
    yield frame[:-2] + struct.pack(">H", rest), start, offset
    # What the devices cannot do
    yield frame_of(extra=bytes(40))
    yield frame_of(6, extra=bytes([UDP, 0]) + bytes(6))
    yield frame_of(protocol=SCTP)
    yield frame_of(fragment=0x2000)
    frame, start, offset = frame_of(payload=bytes(50))
    yield frame + b"behind the packet", start, offset
    for start, offset in (0, 0), (33, 5), (35, 6), (14, 10), (0, len(frame) - 2), (len(frame) - 2, 0):
        yield frame, start, offset
    yield MACS + b"\x88\xb5" + random.randbytes(60), 20, 7


# A sender and its peer

class Sender:
    """A socket that sends, zero-copy on a NIC, and a packet socket that receives at the peer."""

    def __init__(self, port, metadata=LENGTH, flags=0, sg=False, **options):
        self.unaligned = flags & UNALIGNED
        interface, peer = VETH if port is None else (f"eth{port}", f"eth{port + 1}")
        options = {"inorder": False, **options}
        rings = ("fill", "rx", "tx", *(() if options["inorder"] else ("completion",)))
        self.xsk = Xsk(interface, rings=rings, slots=RING, attach=port is not None, fill=(),
                       umem=Umem(CHUNKS, flags, metadata=metadata),
                       flags=(COPY if port is None else ZEROCOPY) | NEED_WAKEUP |
                       (USE_SG if sg else 0), **options)
        self.metadata, self.next, self.sent = metadata, 0, 0
        self.peer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.peer.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
        self.peer.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.peer.bind((peer, 3))
        self.peer.settimeout(20)
        links_up(interface, peer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.xsk.close()
        self.peer.close()

    def place(self, data, at=None):
        """Write into the next chunk, or at an address; return the address in a descriptor."""
        if at is None:
            at = self.next % CHUNKS * CHUNK + 256
            self.next += 1
            if self.unaligned:
                at += self.next * 37 % 1000
        self.xsk.umem.memory[at:at + len(data)] = data
        if self.unaligned:
            return at // CHUNK * CHUNK | at % CHUNK << 48
        return at

    def request(self, address, start, offset, flags=CHECKSUM):
        """Write metadata in front of a packet."""
        at = (address & (1 << 48) - 1) + (address >> 48) - self.metadata
        struct.pack_into("=QHH", self.xsk.umem.memory, at, flags, start, offset)

    def done(self):
        """Return the number of completed descriptors."""
        completion = self.xsk.completion
        return completion.producer if completion else self.xsk.tx.consumer

    def kick(self):
        """Have the kernel transmit."""
        self.xsk.kick()
        if self.xsk.completion:
            self.xsk.completion.read()

    def put(self, *descriptors):
        """Send descriptors once the ring has room for them."""
        def room():
            self.kick()
            return RING - (self.sent - self.done()) >= len(descriptors)

        eventually("room in the Tx ring", room)
        self.xsk.tx.write(b"".join(struct.pack("=QII", *desc) for desc in descriptors))
        self.sent += len(descriptors)
        self.kick()

    def send(self, frame, start=None, offset=None, flags=CHECKSUM):
        """Send a frame, with a request or without."""
        address = self.place(frame)
        if start is not None:
            self.request(address, start, offset, flags)
        self.put((address, len(frame), 0 if start is None else TX_METADATA))

    def finish(self):
        """Wait until all descriptors are complete, neither less nor more."""
        def done():
            self.kick()
            return self.done() >= self.sent

        eventually("completion", done)
        ksft_eq(self.done(), self.sent)

    def receive(self):
        """Return a frame; the stack has removed a VLAN tag."""
        frame, auxiliary, _, _ = self.peer.recvmsg(CHUNK, 64)
        status, _, _, _, _, tci, kind = struct.unpack("=IIIHHHH", auxiliary[0][2])
        tag = struct.pack(">HH", kind, tci) if status & VLAN_VALID else b""
        return frame[:12] + tag + frame[12:]

    def expect(self, wanted):
        """The peer receives these frames, in order."""
        for number, frame in enumerate(wanted):
            found = self.receive()
            assert found == frame, f"frame {number}: {found.hex()}, not {frame.hex()}"

    def invalid(self):
        """Return the number of invalid Tx descriptors."""
        statistics = self.xsk.socket.getsockopt(SOL_XDP, STATISTICS, 48)
        return struct.unpack("=6Q", statistics)[2]


def send_all(sender, requests):
    """Send frames and compare what arrives."""
    with nicsim.no_event():
        wanted = []
        for request in requests:
            sender.send(*request)
            wanted.append(on_wire(*request))
            if len(wanted) == RING:
                sender.expect(wanted)
                wanted = []
        sender.finish()
        sender.expect(wanted)


def without(requests, keep):
    """Drop the request of the frames for whose number `keep` is false."""
    for number, request in enumerate(requests):
        yield request if keep(number) else request[:1]


# The tests

def features(port):
    """netdev-genl reports checksums, and no timestamps."""
    found = xsk_features(f"eth{port}")
    assert "tx-checksum" in found and "tx-timestamp" not in found, found


def kinds(port, **options):
    """Frames of all kinds have their checksum on the wire."""
    with Sender(port, **options) as sender:
        send_all(sender, frames())
        ksft_eq(sender.invalid(), 0)


def offloaded(port):
    """What the devices can do, they do: the packet in the umem remains as it is."""
    with Sender(port) as sender:
        for version, protocol, tags in itertools.product((4, 6), (UDP, TCP), range(4)):
            frame, start, offset = frame_of(version, protocol, tags)
            address = sender.place(frame)
            sender.request(address, start, offset)
            sender.put((address, len(frame), TX_METADATA))
            sender.finish()
            sender.expect([on_wire(frame, start, offset)])
            found = sender.xsk.umem.memory[address:address + len(frame)]
            ksft_eq(found == frame, tags < 3, f"IPv{version}, protocol {protocol}, {tags} tags")


def mixed(port, **options):
    """With and without requests, alternating and in runs, as the rings wrap."""
    with Sender(port, **options) as sender:
        for keep in (lambda n: n % 2, lambda n: n % 7 == 0, lambda n: n // 30 % 2,
                     lambda n: not n % 90):
            send_all(sender, without(frames(), keep))
        # All at a time: also the end of the device's ring
        for shift in range(3):
            send_all(sender, without([frame_of(tags=n % (shift + 1), payload=struct.pack("=I", n))
                                      for n in range(4 * RING)], lambda n: n % 5))


def in_order(port):
    """The consumer index is exact: nothing before the device has sent, all entries afterwards."""
    with Sender(port, inorder=True) as sender:
        for number in range(1, 6):
            nicsim("fault", port, "tx-stop", "on")
            batch = list(without([frame_of(payload=bytes(n)) for n in range(40)],
                                 lambda n, number=number: n % number == 0))
            for request in batch:
                sender.send(*request)
            for _ in range(5):
                sender.kick()
                time.sleep(0.02)
            ksft_eq(sender.done(), sender.sent - len(batch))
            nicsim("fault", port, "tx-stop", "off")
            sender.finish()
            sender.expect([on_wire(*request) for request in batch])


def recycled(port):
    """Chunks of all frames are recycled, each once."""
    with Sender(port, inorder=True) as sender:
        sender.xsk.recycle(sender.xsk)
        for number in range(1, 5):
            send_all(sender, without([frame_of(payload=bytes(n)) for n in range(30)],
                                     lambda n, number=number: n % number))
        # The Rx queue takes as many as its device has descriptors
        state = sender.xsk.recycled()
        ksft_eq((state.recycled + state.pending, state.duplicates), (sender.sent, 0))
        assert state.recycled >= RING // 2, state


def invalid(port):
    """Invalid requests are dropped, counted and completed; others are ignored."""
    # With a completion ring and without XDP_USE_SG, ixgbe reports no invalid descriptors, as on the base
    with Sender(port, inorder=True) as sender, nicsim.no_event():
        frame = frame_of(payload=bytes(40))[0]
        good = frame_of()
        size = len(frame)
        for number, (start, offset) in enumerate(((size - 1, 0), (0, size - 1), (size, 0),
                                                  (0xffff, 0xffff), (34, size)), 1):
            sender.send(*good)
            sender.send(frame, start, offset)
            sender.send(*good)
            sender.finish()
            sender.expect([on_wire(*good)] * 2)
            ksft_eq(sender.invalid(), number)
        # Unknown flags: no request
        sender.send(frame, 34, 6, 1 << 40 | CHECKSUM)
        # Not supported by the device
        sender.send(frame, 34, 6, TIMESTAMP)
        sender.finish()
        sender.expect([on_wire(frame)] * 2)
        ksft_eq(sender.invalid(), 5)
        ksft_eq(drops(sender.xsk), {"tx_checksum": 5})


def no_room(port):
    """Without room for metadata in its chunk, a descriptor is invalid, but not without the option."""
    with Sender(port, inorder=True) as sender:
        frame = frame_of(payload=bytes(40))[0]
        for address in (LENGTH - 8, CHUNK, 5 * CHUNK, 6 * CHUNK + LENGTH - 1):
            sender.place(frame, address)
            sender.put((address, len(frame), TX_METADATA), (address, len(frame), 0),
                       (address, len(frame), TX_METADATA))
        sender.finish()
        sender.expect([frame] * 4)
        ksft_eq(sender.invalid(), 8)


def not_registered(port):
    """Without metadata in the umem, the option is ignored."""
    with Sender(port, metadata=0) as sender, nicsim.no_event():
        frame, start, offset = frame_of()
        sender.metadata = LENGTH
        sender.send(frame, start, offset)
        sender.send(frame)
        sender.finish()
        sender.expect([on_wire(frame)] * 2)
        ksft_eq(sender.invalid(), 0)


def buffers(port, flags=0):
    """Multi-buffer packets: the headers in the first buffer, or not."""
    with Sender(port, flags=flags, sg=True) as sender, nicsim.no_event():
        for version, protocol, option in itertools.product((4, 6), (UDP, TCP), (TX_METADATA, 0)):
            for first, second in (43, 1), (63, 100), (75, 33), (200, 501):
                frame, start, offset = frame_of(version, protocol, payload=random.randbytes(700))
                first = max(first, start + offset + 2)
                parts = frame[:first], frame[first:first + second], frame[first + second:]
                places = [sender.place(part) for part in parts]
                sender.request(places[0], start, offset)
                # On further buffers the option has no effect
                sender.request(places[1], 0, 0)
                sender.put((places[0], len(parts[0]), CONTINUES | option),
                           (places[1], len(parts[1]), CONTINUES | (option if second > 2 else 0)),
                           (places[2], len(parts[2]), 0))
                sender.expect([on_wire(frame, start, offset) if option else on_wire(frame)])
        sender.finish()


def hostile(port):
    """Metadata and headers change while frames are sent: no misbehaviour, the queue works."""
    with Sender(port, inorder=True) as sender:
        memory = sender.xsk.umem.memory

        def change():
            values = random.Random(1)
            good = frame_of(payload=bytes(20))[0][:40]
            while True:
                at = values.randrange(CHUNKS) * CHUNK + 256
                memory[at - LENGTH:at - LENGTH + 12] = struct.pack(
                    "=QHH", CHECKSUM, values.choice((34, 54, 38, values.randrange(80))),
                    values.choice((6, 16, values.randrange(40))))
                memory[at + 12:at + 40] = good[12:]
                if values.randrange(3):
                    memory[at + values.randrange(12, 50)] = values.randrange(256)

        with nicsim.no_event():
            with child(change):
                for _ in range(150):
                    sender.put(*((sender.place(b""), 80, TX_METADATA if n % 4 else 0)
                                 for n in range(RING // 2)))
                sender.finish()
        settles("frames", lambda: nicsim.sent(port))
        sender.peer.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while sender.peer.recv(CHUNK):
                pass
        sender.peer.settimeout(20)
        send_all(sender, frames())


def tests():
    """Yield each test: name, function, arguments."""
    for name, port in NICS.items():
        yield f"{name}: features", features, port
        yield f"{name}: kinds of frames", kinds, port
        yield f"{name}: kinds of frames, unaligned", lambda p: kinds(p, flags=UNALIGNED), port
        yield f"{name}: checksums by the device", offloaded, port
        yield f"{name}: with and without requests", mixed, port
        yield f"{name}: with and without requests, in order", lambda p: mixed(p, inorder=True), port
        yield f"{name}: in-order completion", in_order, port
        yield f"{name}: recycling", recycled, port
        yield f"{name}: invalid requests", invalid, port
        yield f"{name}: no room for metadata", no_room, port
        yield f"{name}: no metadata in the umem", not_registered, port
        yield f"{name}: multi-buffer packets", buffers, port
        yield f"{name}: multi-buffer packets, unaligned", lambda p: buffers(p, UNALIGNED), port
        yield f"{name}: hostile metadata", hostile, port
    yield "veth, copy mode: no room for metadata", no_room, None


def main():
    """Prepare the ports and run the tests."""
    cmd("modprobe i40e; modprobe ixgbe")
    no_ipv6()
    cmd("ip link add veth0 type veth peer name veth1; ip link set veth0 up; ip link set veth1 up")
    for port in range(4):
        one_queue(f"eth{port}", RING)
        shell(f"ethtool -K eth{port} gro off lro off rxvlan off txvlan off || true")
    run_cases(list(tests()), argument(1))


main()
