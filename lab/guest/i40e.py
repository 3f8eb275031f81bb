# SPDX-License-Identifier: GPL-2.0
"""What nic.py has to know of i40e, and tests that only an X710 takes."""

import re
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import eventually, shell, transfer
from ports import (FRAMES, MB, PCI, PEER_ADDRESS, carrier, mac, send_frames, settle, stats,
                   works)

RINGS = (64, 4096, 512)
MTUS = (9000, 9702, 1500)
FEATURES = ("rx-checksumming", "tx-checksumming", "scatter-gather", "tcp-segmentation-offload",
            "generic-receive-offload", "receive-hashing")
FIXED_RATE = "adaptive-rx off adaptive-tx off"


def counters_of_port(delta, way, count):
    """Check what VSI and port counted while so many frames passed; the port counts the CRC."""
    for scope in "", "port.":
        casts = [delta[f"{scope}{way}_{cast}"] for cast in ("unicast", "multicast", "broadcast")]
        assert sum(casts) == count, (way, scope, count, delta)
    sizes = [delta[name] for name in delta if name.startswith(f"port.{way}_size_")]
    assert sum(sizes) == count, (way, sizes)
    assert delta[f"port.{way}_bytes"] == delta[f"{way}_bytes"] + 4 * count, (way, delta)


def registers():
    """Dumps of the registers and of the NVM."""
    assert len(shell("ethtool -d eth0")) > 100
    data = subprocess.run(["ethtool", "-e", "eth0", "raw", "on", "length", "4096"],
                          stdout=subprocess.PIPE, check=True).stdout
    # The word that tells the version of the NVM
    assert data[0x30:0x32] == b"\x20\x90", data[:64]


def driver_reset(kind):
    """The driver resets function, core or card under a transfer, and all of it arrives.

    With one queue: as 6.12 starts its queues again without running them, a frame stays where
    it waits until another one goes through that queue, and TCP does not send it twice.
    """
    shell("ethtool -L eth0 combined 1")
    settle()
    running = True

    def transfers():
        while running:
            transfer(PEER_ADDRESS, 4 * MB)

    with ThreadPoolExecutor() as pool:
        result = pool.submit(transfers)
        for _ in range(3):
            time.sleep(0.5)
            Path(f"/sys/kernel/debug/i40e/{PCI[0]}/command").write_text(kind)
            settle()
        running = False
        result.result(timeout=60)
    shell("ethtool -L eth0 combined 4")
    works()


def loopback():
    """What is sent comes back."""
    shell("ethtool -K eth0 loopback on")
    before = stats()
    eventually("link", carrier)
    send_frames(socket.socket(socket.AF_PACKET, socket.SOCK_RAW), "eth0", mac())
    after = stats()
    shell("ethtool -K eth0 loopback off")
    assert after["rx_packets"] - before["rx_packets"] >= FRAMES, (before, after)
    works()


def link_layer_discovery():
    """The firmware's agent of LLDP stops and starts."""
    for state in "on", "off":
        shell(f"ethtool --set-priv-flags eth0 disable-fw-lldp {state}")
        assert re.search(rf"disable-fw-lldp *: {state}", shell("ethtool --show-priv-flags eth0"))
        works()


TESTS = (
    ("dump of registers and NVM", registers),
    *((f"reset {kind}", driver_reset, kind) for kind in ("pfr", "corer", "globr")),
    ("loopback", loopback),
    ("LLDP agent", link_layer_discovery),
)
