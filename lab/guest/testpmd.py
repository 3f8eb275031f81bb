# SPDX-License-Identifier: GPL-2.0
"""DPDK's testpmd, and ports that change hands between Linux and DPDK."""

import os
import subprocess
from pathlib import Path

from lib.py import cmd

DEVICES, DRIVERS = Path("/sys/bus/pci/devices"), Path("/sys/bus/pci/drivers")
PROMPT = "testpmd> "


class Testpmd:
    """An interactive testpmd, with options of EAL and its own ones."""

    def __init__(self, eal, options, environment=None):
        self.process = subprocess.Popen(
            ["stdbuf", "-o0", "dpdk-testpmd", "--in-memory", "-m", "192", *eal, "--", "-i",
             "--total-num-mbufs=40000", *options],
            env=os.environ | (environment or {}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.until_prompt()

    def until_prompt(self):
        """Return its output up to the next prompt."""
        said = ""
        while not said.endswith(PROMPT):
            character = self.process.stdout.read(1)
            assert character, f"testpmd ended: {said}"
            said += character
        return said

    def __call__(self, command):
        """Run a command and return its output."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.until_prompt()

    def end(self):
        """End it."""
        self.process.communicate("quit\n", timeout=120)
        assert self.process.returncode == 0, self.process.returncode


def take(addresses):
    """Bind ports to DPDK; return the options that name them."""
    cmd("modprobe uio_pci_generic; echo 160 >/proc/sys/vm/nr_hugepages")
    for address in addresses:
        device = DEVICES / address
        if (device / "driver").exists():
            (device / "driver/unbind").write_text(address)
        (device / "driver_override").write_text("uio_pci_generic")
        (DRIVERS / "uio_pci_generic/bind").write_text(address)
    return [word for address in addresses for word in ("-a", address)]


def give_back(addresses):
    """Leave the ports without a driver, to be bound by the one that supports them."""
    for address in addresses:
        (DRIVERS / "uio_pci_generic/unbind").write_text(address)
        (DEVICES / address / "driver_override").write_text("\n")
