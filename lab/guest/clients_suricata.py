# SPDX-License-Identifier: GPL-2.0
"""Suricata on an AF_XDP socket counts the packets of a capture."""

import json
import struct
import tempfile
from pathlib import Path

from clients_common import running, says
from harness import eventually
from lib.py import KsftSkipEx, ksft_eq

CAPTURE = Path("/src/lab/demo.pcap")
CONFIGURATION = Path(__file__).with_name("suricata.yaml")


def sizes():
    """Return the sizes of the packets of the capture."""
    data, at, found = CAPTURE.read_bytes(), 24, []
    while at < len(data):
        found.append(struct.unpack_from("<I", data, at + 8)[0])
        at += 16 + found[-1]
    return found


def counters(folder):
    """Return its counters of packets, bytes and drops, or None before the first ones."""
    lines = [line for line in Path(folder, "eve.json").read_text().splitlines()
             if line.endswith("}")]
    if not lines:
        return None
    stats = json.loads(lines[-1])["stats"]
    return (stats["decoder"]["pkts"], stats["decoder"]["bytes"], stats["decoder"]["invalid"],
            stats["capture"]["kernel_drops"])


def counts(setup, place):
    """It counts all packets and all bytes."""
    if place.driver == "veth":
        raise KsftSkipEx("Suricata needs a device with ETHTOOL_GRXRINGS")
    interface = place.replayed
    expected = [max(size, place.shortest) for size in sizes()]
    with tempfile.TemporaryDirectory() as folder:
        command = ("suricata", "-c", CONFIGURATION, "-S", "/dev/null", f"--af-xdp={interface}",
                   "-l", folder, "-v", f"--set=af-xdp.0.force-bind-mode={place.bind}")
        with running(command, setup.environment) as process:
            says(process, "Engine started")
            setup.check_attached(interface)
            setup.check_mode(place)
            place.replay(CAPTURE)
            eventually("all packets in the counters",
                       lambda: (counters(folder) or (0,))[0] >= len(expected))
        ksft_eq(process.returncode, 0, process.log.read_text())
        ksft_eq(counters(folder), (len(expected), sum(expected), 0, 0))


SETUPS = ("base", "patched", "companions")
TESTS = (("suricata --af-xdp", counts),)
