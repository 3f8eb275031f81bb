#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A malicious guest: nicsim survives, and a driver finds the port in order afterwards.

Nothing here lets the port write to memory of the guest, which would harm the guest. Prints KTAP.
Argument: the driver.
"""

import mmap
import os
import random
import sys
import time
from pathlib import Path

from harness import eventually, run_cases
from lib.py import cmd, ip
from netdev import links_up, received
from nicsim import nicsim

PCI = "0000:01:00.0"
DEVICE = Path("/sys/bus/pci/devices", PCI)
NOWHERE = 1 << 40  # no memory of this guest
QUEUES = 64
ACCESSES = 30000


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
        """Unmap the registers."""
        self.words.release()
        self.map.close()


def command(value):
    """Write the command register of PCI: 2 is memory space, 4 is bus master."""
    cmd(f"setpci -s {PCI} COMMAND={value}")


def alive():
    """nicsim answers."""
    assert nicsim("counters")["ok"]


def random_writes(registers):
    """Any value in any register, while the port may not touch memory."""
    command(2)
    chance = random.Random(82599)
    words = len(registers.words)
    for _ in range(ACCESSES):
        registers.write(4 * chance.randrange(words), chance.getrandbits(32))
    for _ in range(ACCESSES):
        registers.read(4 * chance.randrange(words))
    alive()


def ixgbe_rings(registers):
    """Enable the queues, with rings in no memory and tails beyond them."""
    registers.write(0x3000, 1)  # RXCTRL.RXEN
    registers.write(0x4A80, 1)  # DMATXCTL.TE
    # Data sheet, 8.2.3.8 and 8.2.3.9: base low and high, length, head, tail, control
    for first in 0x1000, 0x6000:
        for base in range(first, first + 0x40 * QUEUES, 0x40):
            registers.write(base, base << 12)
            registers.write(base + 4, NOWHERE >> 32)
            registers.write(base + 8, 4096)
            registers.write(base + 0x28, 1 << 25)
            for tail in 128, 256, 0xffff:
                registers.write(base + 0x18, tail)


def i40e_rings(registers):
    """Enable admin queues and queues, with rings and queue contexts in no memory."""
    for queue in 0x80000, 0x80080:  # transmit, receive: base low and high, length, head, tail
        registers.write(queue, 0)
        registers.write(queue + 0x100, NOWHERE >> 32)
        registers.write(queue + 0x200, 1 << 31 | 64)
        registers.write(queue + 0x400, 63)
    for segment in range(8):
        registers.write(0xc0200, NOWHERE >> 32)  # PFHMC_SDDATAHIGH
        registers.write(0xc0100, 3)  # PFHMC_SDDATALOW: valid, direct
        registers.write(0xc0000, 1 << 31 | segment)  # PFHMC_SDCMD
    for count in 0xc6300, 0xc6500:  # GLHMC_LANTXCNT, GLHMC_LANRXCNT
        registers.write(count, QUEUES)
    for queue in range(0, 4 * QUEUES, 4):
        registers.write(0x104000 + queue, 2)  # QTX_CTL: of the function
        for enable, tail in (0x100000, 0x108000), (0x120000, 0x128000):
            registers.write(enable + queue, 1)
            for value in 128, 0xffff:
                registers.write(tail + queue, value)


RINGS = {"ixgbe": (0, 1 << 26, ixgbe_rings),  # CTRL.RST
         "i40e": (0x92400, 1, i40e_rings)}  # PFGEN_CTRL.PFSWR


def rings_nowhere(registers):
    """Rings in addresses without memory, and frames received meanwhile."""
    command(2)
    control, reset, fill = RINGS[sys.argv[1]]
    registers.write(control, reset)
    time.sleep(0.1)
    command(6)
    fill(registers)
    nicsim.start(0, 100)
    alive()
    assert nicsim.events(), "no misbehaviour was noticed"
    command(2)


def odd_accesses(registers):
    """Accesses of a byte, of two and of eight."""
    for size in 1, 2, 8:
        for offset in range(0, 4096, size):
            registers.map[offset:offset + size] = bytes(size)
    alive()


def config_space(registers):
    """Any value in any byte of the PCI configuration but the base addresses."""
    registers.close()
    chance = random.Random(82599)
    for _ in range(300):
        offset = chance.choice([*range(0, 0x10), *range(0x28, 0x100)])
        cmd(f"setpci -s {PCI} {offset:x}.b={chance.getrandbits(8):x}")
    alive()


def driver():
    """The port works again with the driver."""
    (DEVICE / "reset").write_text("1")
    cmd(f"modprobe {sys.argv[1]}")
    ip("link set eth0 promisc on up")
    links_up("eth0")

    def receives():
        nicsim.start(0, 10)
        return received() > 100

    eventually("frames", receives)


def main():
    """Run them all."""
    registers = Registers()
    run_cases((
        ("random values in all registers", random_writes, registers),
        ("rings in addresses without memory", rings_nowhere, registers),
        ("accesses of odd sizes", odd_accesses, registers),
        ("random values in the PCI configuration", config_space, registers),
        ("the driver makes it work again", driver)))


if __name__ == "__main__":
    main()
