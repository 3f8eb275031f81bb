# SPDX-License-Identifier: GPL-2.0
"""Two ports that a cable connects: a local one, and its peer in a network namespace.

Tests of nic.py get both as `cfg`, an environment of drv-net with the name of the peer's interface.
"""

import contextlib
import os
import re
import socket
from pathlib import Path

from harness import PATIENCE, settles
from lib.py import KsftSkipEx, NetNS, Remote, bkg, cmd, ip, wait_port_listen
from netdev import flow_control, no_ipv6, ping, reachable, received, stats, transfer
from nicsim import nicsim
from peer import PEER_PORT

PCI = ("0000:01:00.0", "0000:02:00.0")
ADDRESS, PEER_ADDRESS = "192.0.2.1", "192.0.2.2"
PEER = Remote("netns", "peer", __file__)
MB = 1 << 20
FRAMES = 100
EXPERIMENTAL = b"\x88\xb5"  # EtherType


# The cable and its ends

def plug(interface, address, host=None):
    """Set an interface up with an address, and with flow control, so that nothing is lost.

    Without it, which is i40e's default, an Rx queue of a slow guest runs out of descriptors.
    """
    ip(f"addr replace {address}/24 dev {interface}", host=host)
    flow_control(interface, host=host)
    ip(f"link set {interface} up", host=host)


def plug_peer(interface="eth1"):
    """Move an interface into the peer's namespace and set it up."""
    ip(f"link set {interface} netns {PEER.name}")
    plug(interface, PEER_ADDRESS, PEER)


@contextlib.contextmanager
def serving(remote=PEER):
    """Have a server for transfers on the remote end."""
    with bkg(f"exec {remote.deploy('peer.py')}", host=remote):
        wait_port_listen(PEER_PORT, host=remote, deadline=PATIENCE)
        yield


@contextlib.contextmanager
def peer_namespace():
    """Have the peer's namespace; no end sends anything unasked."""
    no_ipv6()
    no_ipv6("all")
    with NetNS(PEER.name):
        cmd("sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1",
            host=PEER)
        yield


def works(address=PEER_ADDRESS):
    """Check that frames pass both ways, from few to many at a time, once the link is up."""
    reachable(address)
    ping(address)
    transfer(address, MB)


def works_at_mtu(size, interface, peer_interface, host=PEER, address=PEER_ADDRESS):
    """Check that frames of that size pass both ways."""
    ip(f"link set {interface} mtu {size}")
    ip(f"link set {peer_interface} mtu {size}", host=host)
    reachable(address)
    ping(address, options=f"-M do -s {size - 28}")
    transfer(address, 8 * MB)


# Frames by hand, and their delivery

# How the drivers name the counter of a queue
QUEUE_PACKETS = {way: rf"{way}(?:_queue_|-)(\d+)[._]packets" for way in ("rx", "tx")}


def peer_socket(*args):
    """Return a socket of the peer's namespace."""
    namespace = Path("/run/netns", PEER.name)
    if not namespace.exists():
        raise KsftSkipEx("the remote end is not a network namespace of this machine")
    with open("/proc/self/ns/net", "rb") as here, open(namespace, "rb") as there:
        os.setns(there.fileno(), os.CLONE_NEWNET)
        try:
            return socket.socket(*args)
        finally:
            os.setns(here.fileno(), os.CLONE_NEWNET)


def mac(cfg):
    """Return the address of the local interface as bytes."""
    return bytes.fromhex(Path(f"/sys/class/net/{cfg.ifname}/address").read_text().replace(":", ""))


def counters_settle(cfg, seconds=0.2):
    """Wait until neither the interface nor the wire counts any more for some time."""
    settles("counters", lambda: (stats(cfg.ifname), nicsim and nicsim.wire(0)), seconds)


def send_frames(cfg, sender, interface, destination, tag=b""):
    """Send FRAMES frames through a packet socket, which is then closed, and let them arrive."""
    frame = destination + bytes.fromhex("020000000099") + tag + EXPERIMENTAL + bytes(46)
    with sender:
        sender.bind((interface, 0))
        for _ in range(FRAMES):
            sender.send(frame)
    counters_settle(cfg)


def delivered(cfg, destination, tag=b""):
    """Send frames from the peer and return the number delivered, give or take two."""
    before = received(cfg.ifname)
    send_frames(cfg, peer_socket(socket.AF_PACKET, socket.SOCK_RAW), cfg.remote_ifname,
                destination, tag)
    return received(cfg.ifname) - before


def takes(cfg, destination, tag=b""):
    """Tell whether the local interface accepts frames to `destination`."""
    count = delivered(cfg, destination, tag)
    assert count >= FRAMES or count < FRAMES / 10, f"{count} of {FRAMES}"
    return count >= FRAMES


def hit_queues(cfg, port=9):
    """Send datagrams of 64 flows from the peer and return the Rx queues that got more than 10."""
    before = stats(cfg.ifname)
    for _ in range(64):
        with peer_socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(16):
                sender.sendto(b"", (cfg.v4, port))
    counters_settle(cfg)
    after = stats(cfg.ifname)
    counts = {int(match[1]): after[name] - before[name] for name in after
              if (match := re.fullmatch(QUEUE_PACKETS["rx"], name))}
    return {queue for queue, count in counts.items() if count > 10}
