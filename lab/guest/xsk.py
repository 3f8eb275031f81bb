# SPDX-License-Identifier: GPL-2.0
"""An AF_XDP socket as its system calls give it, to look at its rings from a test.

For zero-copy sockets that no program sends anything to: the queue gets its buffers from the
fill ring, whatever becomes of the frames.
"""

import ctypes
import mmap
import os
import socket
import struct

AF_XDP, SOL_XDP = 44, 283
MMAP_OFFSETS, RX_RING, UMEM_REG, FILL_RING, COMPLETION_RING = 1, 2, 4, 5, 6
RINGS = {"rx": (0, 0, 16), "fill": (2, 0x100000000, 8), "completion": (3, 0x180000000, 8)}
ZEROCOPY, NEED_WAKEUP, USE_SG = 4, 8, 16  # flags of bind()
CHUNK = 4096
SLOTS = 2048  # of each ring
CHUNKS = 2 * SLOTS


class Ring:
    """A ring that the kernel shares: its indexes, its flags, and its entries."""

    def __init__(self, file, offsets, name):
        index, page_offset, entry = RINGS[name]
        fields = struct.unpack_from("4Q", offsets, 32 * index)
        self.producer_at, self.consumer_at, self.entries_at, self.flags_at = fields
        self.memory = mmap.mmap(file, self.entries_at + SLOTS * entry, offset=page_offset)

    def _word(self, offset):
        return struct.unpack_from("=I", self.memory, offset)[0]

    @property
    def producer(self):
        """Index behind the last entry."""
        return self._word(self.producer_at)

    @property
    def consumer(self):
        """Index of the first entry that is not taken."""
        return self._word(self.consumer_at)

    @property
    def needs_wakeup(self):
        """The kernel needs a system call to go on."""
        return self._word(self.flags_at) & 1

    def put(self, addresses):
        """Add entries of 8 bytes."""
        producer = self.producer
        for number, address in enumerate(addresses):
            slot = (producer + number) % SLOTS
            struct.pack_into("=Q", self.memory, self.entries_at + 8 * slot, address)
        struct.pack_into("=I", self.memory, self.producer_at, producer + len(addresses))


class Xsk:
    """A zero-copy socket on a queue, with a full fill ring; it is there until close()."""

    def __init__(self, interface, queue=0, flags=ZEROCOPY | NEED_WAKEUP):
        self.socket = socket.socket(AF_XDP, socket.SOCK_RAW)
        self.umem = mmap.mmap(-1, CHUNKS * CHUNK, mmap.MAP_SHARED)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.umem))
        self._set(UMEM_REG, struct.pack("=QQIIII", address, CHUNKS * CHUNK, CHUNK, 0, 0, 0))
        for ring in FILL_RING, COMPLETION_RING, RX_RING:
            self._set(ring, struct.pack("=I", SLOTS))
        offsets = self.socket.getsockopt(SOL_XDP, MMAP_OFFSETS, 128)
        self.fill, self.completion = (Ring(self.socket.fileno(), offsets, name)
                                      for name in ("fill", "completion"))
        self.fill.put(range(0, SLOTS * CHUNK, CHUNK))
        self._bind(struct.pack("=HHIII", AF_XDP, flags,
                               socket.if_nametoindex(interface), queue, 0))

    def _set(self, option, value):
        self.socket.setsockopt(SOL_XDP, option, value)

    def _bind(self, address):
        # Python's own bind() does not know the family
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.bind(self.socket.fileno(), address, len(address)):
            error = ctypes.get_errno()
            raise OSError(error, f"bind: {os.strerror(error)}")

    def close(self):
        """Give the queue back."""
        self.socket.close()
