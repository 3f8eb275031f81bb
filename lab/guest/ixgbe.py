# SPDX-License-Identifier: GPL-2.0
"""What nic.py has to know of ixgbe, and tests that only an 82599 takes."""

import re
import subprocess
from pathlib import Path

from harness import eventually, shell
from ports import PCI, nicsim, plug_peer, works

RINGS = (64, 8192, 512)
MTUS = (9000, 9710, 1500)
FEATURES = ("rx-checksumming", "tx-checksumming", "scatter-gather", "tcp-segmentation-offload",
            "generic-receive-offload", "large-receive-offload", "receive-hashing")
FIXED_RATE = ""


def counters_of_port(delta, way, count):
    """Check what the port itself counted while so many frames passed; it counts the CRC."""
    assert delta[f"{way}_pkts_nic"] == count, (way, count, delta)
    assert delta[f"{way}_bytes_nic"] == delta[f"{way}_bytes"] + 4 * count, (way, delta)


def registers():
    """A dump of the registers shows the link, one of the EEPROM has the right sum."""
    said = shell("ethtool -d eth0")
    assert re.search(r"LINKS.*0x7", said) and re.search(r"Link Status: +up", said), said
    data = subprocess.run(["ethtool", "-e", "eth0", "raw", "on"], stdout=subprocess.PIPE,
                          check=True).stdout
    words = [int.from_bytes(data[at:at + 2], "little") for at in range(0, 128, 2)]
    # Section 6.3.2.27 of the data sheet; the pointers of this EEPROM lead nowhere
    assert sum(words) & 0xffff == 0xbaba, words


def unplugged():
    """The card is pulled out; another one comes in its place."""
    shell("dmesg -C")
    nicsim("fault", 1, "unplug")
    eventually("driver notices", lambda: "Adapter removed" in shell("dmesg"))
    Path(f"/sys/bus/pci/devices/{PCI[1]}/remove").write_text("1")
    nicsim("fault", 1, "clear")
    Path("/sys/bus/pci/rescan").write_text("1")
    plug_peer()
    works()


TESTS = (
    ("dump of registers and EEPROM", registers),
    ("surprise removal", unplugged),
)
