# SPDX-License-Identifier: GPL-2.0
"""AF_XDP sockets, zero-copy by default, with direct access to their rings.

Without attach=True, no program redirects frames to the socket: the queue only gets its buffers from
the fill ring. With it, the socket gets the frames.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import socket
import struct
import time
from collections import namedtuple

from harness import PATIENCE

AF_XDP, SOL_XDP = 44, 283
MMAP_OFFSETS, RX_RING, TX_RING, UMEM_REG, FILL_RING, COMPLETION_RING, STATISTICS = range(1, 8)
FEATURES, ATTACH, TX_INORDER, RECYCLE, RECYCLE_STATS, DROP_STATS = range(256, 262)
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, SHOW_RECYCLE, DIAG_RECYCLE = 4, 20, 1 << 30, 257
RINGS = {"rx": (RX_RING, 0, 0, 16), "tx": (TX_RING, 1, 0x80000000, 16),
         "fill": (FILL_RING, 2, 0x100000000, 8),
         "completion": (COMPLETION_RING, 3, 0x180000000, 8)}
SHARED_UMEM, COPY, ZEROCOPY, NEED_WAKEUP, USE_SG = 1, 2, 4, 8, 16  # flags of bind()
GENERIC, NATIVE, IF_NOEXIST, DETACH, PASS = 1, 2, 4, 8, 16  # flags of XDP_ATTACH
UNALIGNED, METADATA = 1, 4  # flags of the umem
TX_METADATA, CONTINUES = 2, 1  # options of a descriptor
CHUNK = 4096
SLOTS = 2048  # of each ring
CHUNKS = 2 * SLOTS
RECYCLE_FIELDS, RECYCLE_COUNTERS = struct.Struct("=iIII"), struct.Struct("=7Q")
ATTACHMENT = struct.Struct("=IIII")
Attachment = namedtuple("Attachment", ("flags", "state", "prog_id", "reason"))
ACTIVE, SHADOWED, PASSED = 2, 3, 6  # its states
RecycleStats = namedtuple("RecycleStats",
                          "pending recycled spilled kicks received filled duplicates")
Recycle = namedtuple("Recycle", ("fd", "flags", "state", "entry", *RecycleStats._fields))
CHECK = 1  # its flag
OFF, ON, SWITCHING = range(3)  # its states
PASSING = (errno.EAGAIN, errno.EBUSY, errno.ENOBUFS, errno.ENETDOWN)


# Native format: Python loads it at once, "=I" byte by byte
INDEX = struct.Struct("I")
# Python's bind() does not support the family
LIBC = ctypes.CDLL(None, use_errno=True)


def has_fast_path():
    """Tell whether the kernel has the options of the series."""
    with (contextlib.suppress(OSError),
          socket.socket(AF_XDP, socket.SOCK_RAW) as probe):
        return bool(probe.getsockopt(SOL_XDP, FEATURES, 8))
    return False


# bind() and ethtool wait until closed sockets have released their queues; those of the base fail.
# Found out early: lab/guest/faults.py counts allocations.
WAITS_FOR_RELEASE = has_fast_path()


class Ring:
    """A ring shared with the kernel: its indices, its flags and its entries."""

    def __init__(self, file, offsets, name, slots):
        _, index, page_offset, self.entry = RINGS[name]
        fields = struct.unpack_from("4Q", offsets, 32 * index)
        self.producer_at, self.consumer_at, self.entries_at, self.flags_at = fields
        self.slots = slots
        self.memory = mmap.mmap(file, self.entries_at + slots * self.entry, offset=page_offset)

    def _word(self, offset):
        return INDEX.unpack_from(self.memory, offset)[0]

    def _store(self, offset, index):
        # Not INDEX.pack_into(): it zeroes the word first, which the kernel may read
        with memoryview(self.memory) as view, view.cast("I") as words:
            words[offset // 4] = index & 0xffffffff

    @property
    def producer(self):
        """Index behind the last entry."""
        return self._word(self.producer_at)

    @producer.setter
    def producer(self, index):
        self._store(self.producer_at, index)

    @property
    def consumer(self):
        """Index of the first entry that is not consumed."""
        return self._word(self.consumer_at)

    @consumer.setter
    def consumer(self, index):
        self._store(self.consumer_at, index)

    @property
    def used(self):
        """Number of entries."""
        return (self.producer - self.consumer) & 0xffffffff

    @property
    def needs_wakeup(self):
        """The kernel requests a system call."""
        return self._word(self.flags_at) & 1

    def _slices(self, index, count):
        """Yield the slices of memory with the entries from an index on, wrapping at the end."""
        while count:
            slot = index % self.slots
            contiguous = min(count, self.slots - slot)
            start = self.entries_at + slot * self.entry
            yield slice(start, start + contiguous * self.entry)
            index, count = index + contiguous, count - contiguous

    def write(self, data):
        """Add entries, as bytes."""
        producer, count = self.producer, len(data) // self.entry
        for part in self._slices(producer, count):
            size = part.stop - part.start
            self.memory[part], data = data[:size], data[size:]
        self.producer = producer + count

    def read(self, most=None):
        """Consume entries, as bytes: all, or at most `most`."""
        count = self.used if most is None else min(most, self.used)
        consumer = self.consumer
        data = b"".join(self.memory[part] for part in self._slices(consumer, count))
        self.consumer = consumer + count
        return data

    def put(self, addresses):
        """Add entries of 8 bytes."""
        self.write(struct.pack(f"={len(addresses)}Q", *addresses))

    def put_frames(self, addresses, size=60):
        """Add descriptors of frames."""
        self.write(b"".join(struct.pack("=QII", address, size, 0) for address in addresses))


class Umem:
    """Memory for frames."""

    def __init__(self, chunks=CHUNKS, flags=0, chunk=CHUNK, headroom=0, metadata=0):
        self.fields = chunk, headroom, flags | (METADATA if metadata else 0), metadata
        self.memory = mmap.mmap(-1, chunks * CHUNK, mmap.MAP_SHARED)

    def registration(self):
        """Return the value of the option XDP_UMEM_REG."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        return struct.pack("=QQIIII", address, len(self.memory), *self.fields)


def dump_recycle_stats():
    """Return inode -> RecycleStats of all AF_XDP sockets of the network namespace."""
    header, request, attribute = map(struct.Struct, ("=IHHII", "=BBHIIII", "=HH"))
    found = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as link:
        link.send(header.pack(header.size + request.size, SOCK_DIAG_BY_FAMILY, 0x301, 0, 0)
                  + request.pack(AF_XDP, 0, 0, 0, SHOW_RECYCLE, 0, 0))
        while True:
            data = link.recv(1 << 16)
            while data:
                length, kind = header.unpack_from(data)[:2]
                if kind != SOCK_DIAG_BY_FAMILY:
                    assert kind == 3, "NLMSG_DONE expected"
                    return found
                size, name = attribute.unpack_from(data, header.size + 16)
                assert (size, name) == (attribute.size + RECYCLE_COUNTERS.size, DIAG_RECYCLE)
                found[struct.unpack_from("=I", data, header.size + 4)[0]] = RecycleStats(
                    *RECYCLE_COUNTERS.unpack_from(data, header.size + 16 + attribute.size))
                data = data[(length + 3) & ~3:]


class Xsk:
    """A zero-copy socket on a queue, until close().

    `fill` are the chunks for its fill ring. `attach` are flags of XDP_ATTACH, or True for those that
    do not allow anything else. With `share` it shares the umem of another socket; `rings`
    names its rings, without a fill ring if it is on the same queue.
    """

    # pylint: disable-next=too-many-arguments
    def __init__(self, interface, queue=0, *, rings=("fill", "completion", "rx"), slots=SLOTS,
                 fill=range(SLOTS), attach=False, inorder=False, share=None, umem=None,
                 flags=ZEROCOPY | NEED_WAKEUP):
        self.socket = socket.socket(AF_XDP, socket.SOCK_RAW)
        self.umem = share.umem if share else umem or Umem()
        if not share:
            self._set(UMEM_REG, self.umem.registration())
        for name in rings:
            self._set(RINGS[name][0], struct.pack("=I", slots))
        offsets = self.socket.getsockopt(SOL_XDP, MMAP_OFFSETS, 128)
        for name in RINGS:
            ring = Ring(self.socket.fileno(), offsets, name, slots) if name in rings else None
            setattr(self, name, ring)
        if self.fill:
            self.fill.put([chunk * CHUNK for chunk in fill])
        if attach:
            chosen = NATIVE | IF_NOEXIST if attach is True else attach
            self._set(ATTACH, ATTACHMENT.pack(chosen, 0, 0, 0))
        if inorder:
            self._set(TX_INORDER, struct.pack("=I", 1))
        self._bind(struct.pack("=HHIII", AF_XDP, SHARED_UMEM if share else flags,
                               socket.if_nametoindex(interface), queue,
                               share.socket.fileno() if share else 0))

    def _call(self, function, *args):
        """Make a system call with the socket as its first argument. Return 0 or an errno."""
        return ctypes.get_errno() if function(self.socket.fileno(), *args) else 0

    def _set(self, option, value):
        error = self._call(LIBC.setsockopt, SOL_XDP, option, value, len(value))
        if error:
            raise OSError(error, f"option {option}: {os.strerror(error)}")

    def _bind(self, address):
        # The kernel releases the queue of a closed socket asynchronously
        end = time.monotonic() + (0 if WAITS_FOR_RELEASE else PATIENCE)
        while error := self._call(LIBC.bind, address, len(address)):
            if error != errno.EBUSY or time.monotonic() > end:
                break
            time.sleep(0.01)
        else:
            return
        self.close()
        raise OSError(error, f"bind: {os.strerror(error)}")

    def attached(self):
        """Return flags, state, program and reason of XDP_ATTACH."""
        return Attachment(*ATTACHMENT.unpack(
            self.socket.getsockopt(SOL_XDP, ATTACH, ATTACHMENT.size)))

    def detach(self):
        """Give the queue back to the stack, without closing the socket."""
        self._set(ATTACH, ATTACHMENT.pack(DETACH, 0, 0, 0))

    def recycle(self, other, flags=0, patience=1):
        """Recycle its chunks to the Rx queue of a socket, of a file descriptor, or to none.

        `patience` is in seconds.
        """
        number = other.socket.fileno() if isinstance(other, Xsk) else -1 if other is None else other
        end = time.monotonic() + patience
        while True:
            try:
                return self._set(RECYCLE, RECYCLE_FIELDS.pack(number, flags, 0, 0))
            except BlockingIOError:  # an earlier call is not effective yet
                if time.monotonic() > end:
                    raise
                time.sleep(0.001)

    def recycled(self):
        """Return the state and the counters of XDP_RECYCLE."""
        return Recycle(*(value for option, fields in (
            (RECYCLE, RECYCLE_FIELDS), (RECYCLE_STATS, RECYCLE_COUNTERS)) for value in
            fields.unpack(self.socket.getsockopt(SOL_XDP, option, fields.size))))

    def kick(self):
        """Wake the kernel up, if the rings request it."""
        try:
            if self.tx and self.tx.used and self.tx.needs_wakeup:
                self.socket.send(b"", socket.MSG_DONTWAIT)
            if self.rx and self.fill and self.fill.needs_wakeup:
                self.socket.recv(1, socket.MSG_DONTWAIT)
        except OSError as err:
            if err.errno not in PASSING:
                raise

    def forward(self, out):
        """Move received frames to the Tx ring of a socket, as far as there is room.

        Return their number.
        """
        data = self.rx.read(out.tx.slots - out.tx.used)
        if data:
            out.tx.write(data)
        return len(data) // 16

    def close(self):
        """Close the socket, which releases the queue."""
        for name in RINGS:
            if getattr(self, name):
                getattr(self, name).memory.close()
        self._call(LIBC.close)
        self.socket.detach()
