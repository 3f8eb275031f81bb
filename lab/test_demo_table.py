# SPDX-License-Identifier: GPL-2.0
"""Tests of lab/demo_table.py."""

import struct
import tempfile
import unittest
from pathlib import Path

import demo_table

SHORT = bytes(range(42))
LONG = bytes(range(200))
HEADER = struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)


def back_out(frame):
    """Return a frame as it comes out of a port after its MACs were swapped."""
    return (frame[6:12] + frame[:6] + frame[12:]).ljust(60, b"\0")


class Forwarded(unittest.TestCase):
    """What counts as equal."""

    def check(self, received, equal):
        """Check the count for frames that came back out."""
        self.assertEqual(demo_table.forwarded([SHORT, LONG], received),
                         {"frames": 2, "received": len(received), "equal": equal})

    def test_all(self):
        """MACs swapped, short frames filled up."""
        self.check([back_out(SHORT), back_out(LONG)], 2)

    def test_damage(self):
        """Any other difference is seen."""
        self.check([back_out(SHORT), LONG], 1)
        self.check([back_out(SHORT), back_out(LONG)[:-1]], 1)
        self.check([back_out(LONG), back_out(SHORT)], 0)

    def test_loss(self):
        """A lost frame makes all that follow it unequal."""
        self.check([back_out(LONG)], 0)
        self.check([], 0)

    def test_file(self):
        """Frames are read as they were written."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "pcap")
            path.write_bytes(HEADER + b"".join(
                struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
                for frame in (SHORT, LONG)))
            self.assertEqual(demo_table.frames(path), [SHORT, LONG])
