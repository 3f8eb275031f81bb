# SPDX-License-Identifier: GPL-2.0
"""Zero-copy AF_XDP sockets as their system calls give them, to look at their rings from a test.

A plain Xsk is one that no program sends anything to: the queue gets its buffers from the fill
ring, whatever becomes of the frames. With attach=True it gets the frames.
"""

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
ATTACH, TX_INORDER, RECYCLE = 257, 258, 259
RINGS = {"rx": (RX_RING, 0, 0, 16), "tx": (TX_RING, 1, 0x80000000, 16),
         "fill": (FILL_RING, 2, 0x100000000, 8),
         "completion": (COMPLETION_RING, 3, 0x180000000, 8)}
SHARED_UMEM, COPY, ZEROCOPY, NEED_WAKEUP, USE_SG = 1, 2, 4, 8, 16  # flags of bind()
NATIVE, FORCE = 2, 4  # flags of XDP_ATTACH
UNALIGNED = 1  # flag of the umem
CHUNK = 4096
SLOTS = 2048  # of each ring
CHUNKS = 2 * SLOTS
RECYCLE_FIELDS = struct.Struct("=iIIIQQQQQQQ")
Recycle = namedtuple("Recycle", "fd flags state slot waiting recycled spilled kicks received "
                                "filled duplicates")
CHECK = 1  # its flag
OFF, ON, SWITCHING = range(3)  # its states
PASSING = (errno.EAGAIN, errno.EBUSY, errno.ENOBUFS, errno.ENETDOWN)


# In the machine's own format Python reads it at once, in "=I" byte by byte
INDEX = struct.Struct("I")
# Python's own bind() does not know the family
LIBC = ctypes.CDLL(None, use_errno=True)


class Ring:
    """A ring that the kernel shares: its indexes, its flags, and its entries."""

    def __init__(self, file, offsets, name, slots):
        _, index, page_offset, self.entry = RINGS[name]
        fields = struct.unpack_from("4Q", offsets, 32 * index)
        self.producer_at, self.consumer_at, self.entries_at, self.flags_at = fields
        self.slots = slots
        self.memory = mmap.mmap(file, self.entries_at + slots * self.entry, offset=page_offset)

    def _word(self, offset):
        return INDEX.unpack_from(self.memory, offset)[0]

    def _store(self, offset, index):
        # Not INDEX.pack_into(): it zeroes the word first, which the kernel may see
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
        """Index of the first entry that is not taken."""
        return self._word(self.consumer_at)

    @consumer.setter
    def consumer(self, index):
        self._store(self.consumer_at, index)

    @property
    def used(self):
        """How many entries there are."""
        return (self.producer - self.consumer) & 0xffffffff

    @property
    def needs_wakeup(self):
        """The kernel needs a system call to go on."""
        return self._word(self.flags_at) & 1

    def _rows(self, index, count):
        """Yield where the entries from an index on are, up to the ring's end and beyond."""
        while count:
            slot = index % self.slots
            row = min(count, self.slots - slot)
            start = self.entries_at + slot * self.entry
            yield slice(start, start + row * self.entry)
            index, count = index + row, count - row

    def write(self, data):
        """Add entries, as bytes."""
        producer, count = self.producer, len(data) // self.entry
        for row in self._rows(producer, count):
            size = row.stop - row.start
            self.memory[row], data = data[:size], data[size:]
        self.producer = producer + count

    def read(self, most=None):
        """Take entries, as bytes: all, or so many at most."""
        count = self.used if most is None else min(most, self.used)
        consumer = self.consumer
        data = b"".join(self.memory[row] for row in self._rows(consumer, count))
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

    def __init__(self, chunks=CHUNKS, flags=0):
        self.chunks, self.flags = chunks, flags
        self.memory = mmap.mmap(-1, chunks * CHUNK, mmap.MAP_SHARED)

    def registration(self):
        """Return what the option takes."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        return struct.pack("=QQIIII", address, len(self.memory), CHUNK, 0, self.flags, 0)


class Xsk:
    """A zero-copy socket on a queue; it is there until close().

    `fill` are the chunks for its fill ring. With `share`, another socket, it is on the umem of
    that; with `rings` it has those, and no fill ring if it is on the same queue.
    """

    # pylint: disable-next=too-many-arguments
    def __init__(self, interface, queue=0, *, rings=("fill", "completion", "rx"), slots=SLOTS,
                 fill=range(SLOTS), attach=False, inorder=False, share=None, umem=None,
                 flags=ZEROCOPY | NEED_WAKEUP, patience=PATIENCE):
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
            self._set(ATTACH, struct.pack("=IIII", NATIVE | FORCE, 0, 0, 0))
        if inorder:
            self._set(TX_INORDER, struct.pack("=I", 1))
        self._bind(struct.pack("=HHIII", AF_XDP, SHARED_UMEM if share else flags,
                               socket.if_nametoindex(interface), queue,
                               share.socket.fileno() if share else 0), patience)

    def _call(self, function, *args):
        """Make a system call with the socket as its first argument. Return 0 or an errno."""
        return ctypes.get_errno() if function(self.socket.fileno(), *args) else 0

    def _set(self, option, value):
        error = self._call(LIBC.setsockopt, SOL_XDP, option, value, len(value))
        if error:
            raise OSError(error, f"option {option}: {os.strerror(error)}")

    def _bind(self, address, patience):
        # The kernel frees a queue a moment after its socket was closed
        end = time.monotonic() + patience
        while error := self._call(LIBC.bind, address, len(address)):
            if error != errno.EBUSY or time.monotonic() > end:
                break
            time.sleep(0.01)
        else:
            return
        self.close()
        raise OSError(error, f"bind: {os.strerror(error)}")

    def recycle(self, other, flags=0):
        """Have what it sends go to the Rx queue of a socket, of a file descriptor, or none."""
        number = other.socket.fileno() if isinstance(other, Xsk) else -1 if other is None else other
        self._set(RECYCLE, RECYCLE_FIELDS.pack(number, flags, *[0] * 9))

    def recycled(self):
        """Return what becomes of its chunks."""
        return Recycle(*RECYCLE_FIELDS.unpack(
            self.socket.getsockopt(SOL_XDP, RECYCLE, RECYCLE_FIELDS.size)))

    def kick(self):
        """Have the kernel look at the rings, if it wants to be told."""
        try:
            if self.tx and self.tx.used and self.tx.needs_wakeup:
                self.socket.send(b"", socket.MSG_DONTWAIT)
            if self.rx and self.fill and self.fill.needs_wakeup:
                self.socket.recv(1, socket.MSG_DONTWAIT)
        except OSError as err:
            if err.errno not in PASSING:
                raise

    def forward(self, out):
        """Give all that was received to the Tx ring of a socket, as far as there is room."""
        data = self.rx.read(out.tx.slots - out.tx.used)
        if data:
            out.tx.write(data)
        return len(data) // 16

    def close(self):
        """Give the queue back."""
        for name in RINGS:
            if getattr(self, name):
                getattr(self, name).memory.close()
        self._call(LIBC.close)
        self.socket.detach()
