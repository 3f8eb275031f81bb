# SPDX-License-Identifier: GPL-2.0
"""Knot's kxdpgun asks knotd, in another network namespace, both on AF_XDP sockets.

Both load their own program, and leave it attached.
"""

import json
import tempfile
from pathlib import Path

from clients_common import interrupt, says, started
from harness import eventually
from lib.py import cmd, ip, ksft_eq, ksft_true
from netdev import links_up, reachable
from ports import ADDRESS, PEER, PEER_ADDRESS, peer_namespace

CONFIGURATION = """
server:
    rundir: {folder}
    user: root
    listen: {address}@53
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
xdp:
    listen: {interface}
log:
  - target: stderr
    any: info
database:
    storage: {folder}
    kasp-db-max-size: 8M
    journal-db-max-size: 8M
    timer-db-max-size: 8M
    catalog-db-max-size: 8M
template:
  - id: default
    storage: {folder}
    journal-content: none
zone:
  - domain: example.
    file: example.zone
"""
ZONE = """
$ORIGIN example.
@ 3600 SOA ns hostmaster 1 3600 900 604800 300
@ NS ns
ns A 192.0.2.2
www A 192.0.2.3
"""


def ask(setup, folder, seconds, rate):
    """Run kxdpgun; return the numbers of queries, of replies, and of those without an error."""
    said = cmd(setup.command(f"kxdpgun -j -i {folder}/queries -Q {rate} -t {seconds} {PEER_ADDRESS}"),
               timeout=60).stdout
    result = next(part for part in json.loads(said) if part["type"] == "stats_sum")
    return result["queries"], result["responses"], result["response_rcodes"].get("NOERROR", 0)


def serves(setup, place, folder):
    """knotd answers the queries of kxdpgun."""
    interface, peer = place.cable
    command = ("nsenter", f"--net=/run/netns/{PEER.name}", "knotd", "-c", f"{folder}/knot.conf")
    process = started(command, setup.environment)
    try:
        says(process, "server started")
        setup.check_mode(place, PEER)
        reachable(PEER_ADDRESS)
        # The drivers reset the port when a program is attached
        eventually("first answers", lambda: ask(setup, folder, 1, 50)[1])
        links_up(interface)
        setup.check_attached(interface, attached=False)
        queries, replies, good = ask(setup, folder, 2, 200)
        ksft_true(queries >= 200, queries)
        ksft_eq((replies, good), (queries, queries))
    finally:
        interrupt(process)
    left = ip(f"-d link show {peer}", host=PEER).stdout
    ksft_true("xdp_redirect_dn" in left, left)


def answers(setup, place):
    """kxdpgun gets an answer to each query."""
    interface, peer = place.cable
    with tempfile.TemporaryDirectory() as folder, peer_namespace():
        for name, text in (("knot.conf", CONFIGURATION.format(
                folder=folder, address=PEER_ADDRESS, interface=peer)),
                           ("example.zone", ZONE), ("queries", "www.example. A\n")):
            Path(folder, name).write_text(text)
        ip(f"link set {peer} netns {PEER.name}")
        ip("link set lo up", host=PEER)
        place.plug(interface, ADDRESS)
        place.plug(peer, PEER_ADDRESS, PEER)
        try:
            serves(setup, place, folder)
        finally:
            ip(f"link set {peer} xdp off", host=PEER)
            ip(f"link set {interface} xdp off")
            ip(f"addr flush dev {interface}")
            ip(f"link set {peer} netns 1", host=PEER)


SETUPS = ("base", "patched", "companions")
TESTS = (("kxdpgun and knotd", answers),)
