# SPDX-License-Identifier: GPL-2.0
"""Facts about ixgbe for nic.py, and tests for an 82599 only."""

import re
import subprocess
from pathlib import Path

from harness import eventually
from lib.py import cmd, ethtool, ksft_eq, ksft_true
from ports import PCI, nicsim, plug_peer, works

RINGS = (64, 8192, 512)
MTUS = (9000, 9710, 1500)
FEATURES = ("rx-checksumming", "tx-checksumming", "scatter-gather", "tcp-segmentation-offload",
            "generic-receive-offload", "large-receive-offload", "receive-hashing")
FIXED_RATE = ""


def counters_of_port(delta, way, count):
    """Check the port's own counters for `count` frames; its bytes include the CRC."""
    ksft_eq(delta[f"{way}_pkts_nic"], count, (way, delta))
    ksft_eq(delta[f"{way}_bytes_nic"], delta[f"{way}_bytes"] + 4 * count, (way, delta))


def registers(cfg):
    """The register dump shows the link, the EEPROM dump has the right checksum."""
    said = ethtool(f"-d {cfg.ifname}").stdout
    ksft_true(re.search(r"LINKS.*0x7", said) and re.search(r"Link Status: +up", said), said)
    data = subprocess.run(["ethtool", "-e", cfg.ifname, "raw", "on"], stdout=subprocess.PIPE,
                          check=True).stdout
    words = [int.from_bytes(data[at:at + 2], "little") for at in range(0, 128, 2)]
    # Section 6.3.2.27 of the data sheet; this EEPROM has no sections behind pointers
    ksft_eq(sum(words) & 0xffff, 0xbaba, words)


def unplugged(cfg):
    """The NIC is pulled out and replaced by another one."""
    cmd("dmesg -C")
    nicsim("fault", 1, "unplug")
    eventually("driver notices", lambda: "Adapter removed" in cmd("dmesg").stdout)
    Path(f"/sys/bus/pci/devices/{PCI[1]}/remove").write_text("1")
    nicsim("fault", 1, "clear")
    Path("/sys/bus/pci/rescan").write_text("1")
    plug_peer()
    works(cfg.remote_v4)


TESTS = ()
SIMULATED = (
    ("dump of registers and EEPROM", registers),
    ("surprise removal", unplugged),
)
