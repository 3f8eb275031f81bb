# SPDX-License-Identifier: GPL-2.0
"""Two ports that a cable connects: one here, its peer in a network namespace of its own.

Where no interface is named, they are eth0 and eth1.
"""

import contextlib
import os
import re
import socket
import subprocess
import time
from pathlib import Path

from harness import Nicsim, eventually, flow_control, ping, shell, stands_still, stats, transfer

PCI = ("0000:01:00.0", "0000:02:00.0")
ADDRESS, PEER_ADDRESS = "192.0.2.1", "192.0.2.2"
MB = 1 << 20
FRAMES = 100
EXPERIMENTAL = b"\x88\xb5"  # EtherType
nicsim = Nicsim()


# The cable and its ends

def peer(command):
    """Run a command line where the peer is."""
    return shell(f"ip netns exec peer {command}")


def plug(interface, run, address):
    """Bring an interface up with an address, and with flow control, so that nothing is lost.

    Without it, which is i40e's default, an Rx queue of a slow guest runs out of descriptors.
    """
    run(f"ip addr replace {address}/24 dev {interface}")
    flow_control(interface, run)
    run(f"ip link set {interface} up")


def plug_peer(interface="eth1"):
    """Put an interface into the peer's namespace and bring it up."""
    shell(f"ip link set {interface} netns peer")
    plug(interface, peer, PEER_ADDRESS)


@contextlib.contextmanager
def peer_namespace():
    """Have the peer's namespace, with a server for transfers; no end says anything by itself."""
    quiet = "sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1"
    shell(f"{quiet}; ip netns add peer")
    peer(quiet)
    with subprocess.Popen(["ip", "netns", "exec", "peer", "/src/lab/guest/peer.py"],
                          stdout=subprocess.DEVNULL) as server:
        yield
        server.terminate()


def carrier():
    """Tell whether the driver sees a link at eth0."""
    return "LOWER_UP" in shell("ip link show eth0")


def settle():
    """Wait until frames pass both ways: the link comes up some time after the interface."""
    eventually("ping", lambda: "1 received" in
               shell(f"ping -q -c 1 -W 1 {PEER_ADDRESS} || true"))


def works():
    """Check that frames pass both ways, from few to many at a time."""
    settle()
    ping(PEER_ADDRESS)
    transfer(PEER_ADDRESS, MB)


# Frames by hand, and what became of them

# How the drivers name the counter of a queue
QUEUE_PACKETS = {way: rf"{way}(?:_queue_|-)(\d+)[._]packets" for way in ("rx", "tx")}


def peer_socket(*args):
    """Return a socket of the peer's namespace."""
    with open("/proc/self/ns/net", "rb") as here, open("/run/netns/peer", "rb") as there:
        os.setns(there.fileno(), os.CLONE_NEWNET)
        try:
            return socket.socket(*args)
        finally:
            os.setns(here.fileno(), os.CLONE_NEWNET)


def mac(interface="eth0"):
    """Return the address of an interface as bytes."""
    return bytes.fromhex(Path(f"/sys/class/net/{interface}/address").read_text().replace(":", ""))


def still():
    """Wait until neither eth0 nor the wire counts any more."""
    stands_still("counting", lambda: (stats(), nicsim.port(0)["wire"]), 0.2)


def received():
    """Return how many frames the rings of eth0 handed up."""
    return int(Path("/sys/class/net/eth0/statistics/rx_packets").read_text())


def send_frames(sender, interface, destination, tag=b""):
    """Send FRAMES frames through a packet socket, which is then closed, and let them arrive."""
    frame = destination + bytes.fromhex("020000000099") + tag + EXPERIMENTAL + bytes(46)
    with sender:
        sender.bind((interface, 0))
        for _ in range(FRAMES):
            sender.send(frame)
    still()


def delivered(destination, tag=b""):
    """Send frames from the peer and return how many eth0 hands up, one or two others aside."""
    before = received()
    send_frames(peer_socket(socket.AF_PACKET, socket.SOCK_RAW), "eth1", destination, tag)
    return received() - before


def takes(destination, tag=b""):
    """Tell whether eth0 takes frames to `destination`."""
    count = delivered(destination, tag)
    assert count >= FRAMES or count < FRAMES / 10, f"{count} of {FRAMES}"
    return count >= FRAMES


def spread(port=9):
    """Send datagrams of 64 flows from the peer and return the Rx queues that got more than 10."""
    before = stats()
    for _ in range(64):
        with peer_socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(16):
                sender.sendto(b"", (ADDRESS, port))
    still()
    after = stats()
    counts = {int(match[1]): after[name] - before[name] for name in after
              if (match := re.fullmatch(QUEUE_PACKETS["rx"], name))}
    return {queue for queue, count in counts.items() if count > 10}
