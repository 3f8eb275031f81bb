#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A guest that means harm to nicsim: it goes on, and a driver finds a port in order after it.

Nothing here lets the port write to memory of the guest, which would harm the guest. Prints TAP.
"""

import mmap
import os
import random
from pathlib import Path

from harness import Nicsim, Tap, eventually, shell

PCI = "0000:01:00.0"
DEVICE = Path("/sys/bus/pci/devices", PCI)
NOWHERE = 1 << 40  # no memory of this guest is there
RING = 4096
# Data sheet, 8.2.3.8 and 8.2.3.9: per queue BASE low, BASE high, length, head, tail, control
RX = {"first": 0x1000, "step": 0x40, "tail": 0x18, "control": 0x28}
TX = {"first": 0x6000, "step": 0x40, "tail": 0x18, "control": 0x28}
ENABLE = 1 << 25
nicsim = Nicsim()


class Registers:
    """The registers of the port, 32 bits each."""

    def __init__(self):
        file = os.open(DEVICE / "resource0", os.O_RDWR)
        self.map = mmap.mmap(file, 0)
        self.words = memoryview(self.map).cast("I")
        os.close(file)

    def write(self, offset, value):
        """Write a register."""
        self.words[offset // 4] = value & 0xffffffff

    def read(self, offset):
        """Read a register."""
        return self.words[offset // 4]

    def close(self):
        """Give the registers back."""
        self.words.release()
        self.map.close()


def command(value):
    """Write the command register of PCI: 2 is memory space, 4 is bus master."""
    shell(f"setpci -s {PCI} COMMAND={value}")


def alive():
    """nicsim answers, and so does the port."""
    assert nicsim("counters")["ok"]


def random_writes(registers):
    """Any value in any register, while the port may not touch memory."""
    command(2)
    chance = random.Random(82599)
    for _ in range(30000):
        registers.write(chance.randrange(len(registers.words)) * 4, chance.getrandbits(32))
    for offset in range(0, 4 * len(registers.words), 4):
        registers.read(offset)
    alive()


def rings_nowhere(registers):
    """Rings in addresses without memory, tails beyond them, frames that come meanwhile."""
    command(2)
    registers.write(0, 1 << 26)  # CTRL.RST
    command(6)
    registers.write(0x3000, 1)  # RXCTRL.RXEN
    registers.write(0x4A80, 1)  # DMATXCTL.TE
    for ring in RX, TX:
        for queue in range(64):
            base = ring["first"] + ring["step"] * queue
            registers.write(base, queue << 12)
            registers.write(base + 4, NOWHERE >> 32)
            registers.write(base + 8, RING)
            registers.write(base + ring["control"], ENABLE)
            for tail in RING // 32, RING // 16, 0xffff:
                registers.write(base + ring["tail"], tail)
    nicsim("gen", 0, "start", "count=100")
    alive()
    assert nicsim.events(), "nothing was noticed"
    command(2)


def odd_accesses(registers):
    """Accesses of a byte, of two and of eight."""
    for size in 1, 2, 8:
        for offset in range(0, 4096, size):
            registers.map[offset:offset + size] = bytes(size)
    alive()


def config_space():
    """Any value in any byte of the PCI configuration but the base addresses."""
    chance = random.Random(82599)
    for _ in range(300):
        offset = chance.choice([*range(0, 0x10), *range(0x28, 0x100)])
        shell(f"setpci -s {PCI} {offset:x}.b={chance.getrandbits(8):x}")
    alive()


def driver():
    """The driver makes the port work again."""
    (DEVICE / "reset").write_text("1")
    shell("modprobe ixgbe; ip link set eth0 promisc on up")
    eventually("link", lambda: "LOWER_UP" in shell("ip link show eth0"))
    eventually("frames", lambda: nicsim("gen", 0, "start", "count=10") and
               int(Path("/sys/class/net/eth0/statistics/rx_packets").read_text()) > 100)


def main():
    """Run them all."""
    tap = Tap()
    registers = Registers()
    tap.test("random values in all registers", random_writes, registers)
    tap.test("rings in addresses without memory", rings_nowhere, registers)
    tap.test("accesses of odd sizes", odd_accesses, registers)
    registers.close()
    tap.test("random values in the PCI configuration", config_space)
    tap.test("the driver makes it work again", driver)
    tap.plan()


if __name__ == "__main__":
    main()
