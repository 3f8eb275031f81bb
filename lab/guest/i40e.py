# SPDX-License-Identifier: GPL-2.0
"""Facts about i40e for nic.py, and tests for an X710 only."""

import re
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lib.py import ethtool, ksft_eq, ksft_ge, ksft_true
from netdev import links_up, reachable, stats, transfer
from ports import FRAMES, MB, PCI, mac, send_frames, works

RINGS = (64, 4096, 512)
MTUS = (9000, 9702, 1500)
FEATURES = ("rx-checksumming", "tx-checksumming", "scatter-gather", "tcp-segmentation-offload",
            "generic-receive-offload", "receive-hashing")
FIXED_RATE = "adaptive-rx off adaptive-tx off"


def counters_of_port(delta, way, count):
    """Check the counters of VSI and port for `count` frames; the port's bytes include the CRC."""
    for scope in "", "port.":
        casts = [delta[f"{scope}{way}_{cast}"] for cast in ("unicast", "multicast", "broadcast")]
        ksft_eq(sum(casts), count, (way, scope, delta))
    sizes = [delta[name] for name in delta if name.startswith(f"port.{way}_size_")]
    ksft_eq(sum(sizes), count, (way, sizes))
    ksft_eq(delta[f"port.{way}_bytes"], delta[f"{way}_bytes"] + 4 * count, (way, delta))


def registers(cfg):
    """Dumps of the registers and of the NVM."""
    ksft_true(len(ethtool(f"-d {cfg.ifname}").stdout) > 100)
    data = subprocess.run(["ethtool", "-e", cfg.ifname, "raw", "on", "length", "4096"],
                          stdout=subprocess.PIPE, check=True).stdout
    # The word with the version of the NVM
    ksft_eq(data[0x30:0x32], b"\x20\x90", data[:64])


def driver_reset(cfg, kind):
    """The driver resets function, core or NIC under a transfer, and all of it arrives.

    With one queue: 6.12 restarts its queues without running them, so that a pending frame waits for
    the next one of that queue, and TCP does not retransmit it.
    """
    ethtool(f"-L {cfg.ifname} combined 1")
    reachable(cfg.remote_v4)
    running = True

    def transfers():
        while running:
            transfer(cfg.remote_v4, 4 * MB)

    with ThreadPoolExecutor() as pool:
        result = pool.submit(transfers)
        for _ in range(3):
            time.sleep(0.5)
            Path(f"/sys/kernel/debug/i40e/{PCI[0]}/command").write_text(kind)
            reachable(cfg.remote_v4)
        running = False
        result.result(timeout=60)
    ethtool(f"-L {cfg.ifname} combined 4")
    works(cfg.remote_v4)


def loopback(cfg):
    """Transmitted frames are received again."""
    ethtool(f"-K {cfg.ifname} loopback on")
    before = stats(cfg.ifname)
    links_up(cfg.ifname)
    send_frames(cfg, socket.socket(socket.AF_PACKET, socket.SOCK_RAW), cfg.ifname, mac(cfg))
    after = stats(cfg.ifname)
    ethtool(f"-K {cfg.ifname} loopback off")
    ksft_ge(after["rx_packets"] - before["rx_packets"], FRAMES, (before, after))
    works(cfg.remote_v4)


def link_layer_discovery(cfg):
    """The firmware's LLDP agent stops and starts."""
    for state in "on", "off":
        ethtool(f"--set-priv-flags {cfg.ifname} disable-fw-lldp {state}")
        said = ethtool(f"--show-priv-flags {cfg.ifname}").stdout
        ksft_true(re.search(rf"disable-fw-lldp *: {state}", said), said)
        works(cfg.remote_v4)


TESTS = (
    ("loopback", loopback),
    ("LLDP agent", link_layer_discovery),
)
SIMULATED = (
    ("dump of registers and NVM", registers),
    *((f"reset {kind}", driver_reset, kind) for kind in ("pfr", "corer", "globr")),
)
