#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What users and administrators do with a port, on two that a cable connects (ports.py).

Prints TAP. Arguments: the driver, ixgbe or i40e, whose facts and further tests are in a module
of its name; a regular expression for the names of tests, all but the first two.
"""

import contextlib
import importlib
import os
import re
import socket
import sys
import time
from collections import Counter
from pathlib import Path

from harness import Tap, eventually, expected, passes_self_test, ping, shell, transfer
from ports import (ADDRESS, FRAMES, MB, PCI, PEER_ADDRESS, QUEUE_PACKETS, carrier, delivered,
                   mac, nicsim, peer, peer_namespace, peer_socket, plug, plug_peer, settle, spread,
                   stats, takes, works)

DRIVER = sys.argv[1]
specific = importlib.import_module(DRIVER)
BOUND = Path("/sys/bus/pci/drivers", DRIVER)
VLAN_ADDRESS, VLAN_PEER_ADDRESS = "198.51.100.1", "198.51.100.2"
FOREIGN_MAC = bytes.fromhex("020000001234")
MULTICAST_MAC = bytes.fromhex("01005e010203")


# The tests, in the order in which they run

def probe():
    """The driver takes both ports and has nothing to complain about."""
    shell(f"dmesg -C; modprobe {DRIVER}")
    said = shell("dmesg --notime --level=emerg,alert,crit,err,warn")
    # Where this machine is slow
    said = re.sub(r"^(hrtimer: interrupt took|timekeeping watchdog|clocksource:).*\n?", "", said,
                  flags=re.MULTILINE)
    assert not said, said
    for number, address in enumerate(PCI):
        assert f"bus-info: {address}" in shell(f"ethtool -i eth{number}")


def link():
    """10 Gb/s full duplex, seen by both."""
    plug_peer()
    plug("eth0", shell, ADDRESS)
    eventually("link", carrier)
    for said in shell("ethtool eth0"), peer("ethtool eth1"):
        for wanted in "Speed: 10000Mb/s", "Duplex: Full", "Link detected: yes":
            assert wanted in said, said
    said = shell("dmesg --notime")
    assert re.search("eth0: NIC Link is Up,? 10 Gbps", said), said
    works()


def up_down():
    """Down and up, again and again."""
    for _ in range(5):
        shell("ip link set eth0 down; ip link set eth0 up")
    works()


def unload():
    """Unload the driver and load it."""
    start_over()
    works()


def rebind():
    """Take the device from the driver and give it back."""
    (BOUND / "unbind").write_text(PCI[0])
    (BOUND / "bind").write_text(PCI[0])
    plug("eth0", shell, ADDRESS)
    works()


def reset():
    """Reset the function while no driver has it."""
    (BOUND / "unbind").write_text(PCI[0])
    Path(f"/sys/bus/pci/devices/{PCI[0]}/reset").write_text("1")
    (BOUND / "bind").write_text(PCI[0])
    plug("eth0", shell, ADDRESS)
    works()


def rings(size):
    """Other ring sizes."""
    shell(f"ethtool -G eth0 rx {size} tx {size}")
    assert shell("ethtool -g eth0").count(f"\t{size}\n") >= 2, shell("ethtool -g eth0")
    works()


def channels(count):
    """Other numbers of queues, each with a vector of its own; flows spread over all of them."""
    shell(f"ethtool -L eth0 combined {count}")
    settle()
    assert count in map(int, re.findall(r"Combined:\s+(\d+)", shell("ethtool -l eth0"))[1:])
    vectors = re.findall(r"eth0-TxRx-\d+", Path("/proc/interrupts").read_text())
    assert len(vectors) == count, vectors
    shell("ethtool -N eth0 rx-flow-hash udp4 sdfn")
    queues = spread()
    assert queues == set(range(count)), queues
    works()


def hash_fields():
    """Whether ports are part of the hash decides how datagrams of one sender spread."""
    shell("ethtool -N eth0 rx-flow-hash udp4 sd")
    queues = spread()
    assert len(queues) == 1, queues
    shell("ethtool -N eth0 rx-flow-hash udp4 sdfn")
    assert len(spread()) > 1


def indirection():
    """The indirection table and the key decide the queue."""
    shell("ethtool -X eth0 equal 1")
    queues = spread()
    assert queues == {0}, queues
    shell("ethtool -X eth0 weight 0 1")
    queues = spread()
    assert queues == {1}, queues
    key = re.search(r"^[0-9a-f:]{60,}$", shell("ethtool -x eth0"), re.MULTILINE)[0]
    key = re.sub("..:..", "6d:5a", key)
    shell(f"ethtool -X eth0 hkey {key} default")
    assert key in shell("ethtool -x eth0")
    assert len(spread()) > 1


def ntuple():
    """A filter sends its datagrams to a queue, or nowhere; without it they spread again."""
    shell("ethtool -K eth0 ntuple on")
    settle()
    shell("ethtool -N eth0 rx-flow-hash udp4 sdfn")
    for action, queues in (3, {3}), (1, {1}), (-1, set()):
        shell(f"ethtool -N eth0 flow-type udp4 dst-port 4242 action {action} loc 5")
        found = spread(4242)
        assert found == queues, (action, found)
        assert len(spread(4243)) > 1, action
        shell("ethtool -N eth0 delete 5")
    assert len(spread(4242)) > 1
    shell("ethtool -K eth0 ntuple off")


def feature(name):
    """Without and with what the driver offers, frames are the same."""
    offered = re.search(rf"^{name}: (on|off)( \[.*)?$", shell("ethtool -k eth0"), re.MULTILINE)
    assert offered and not offered[2], (name, offered)
    for state in ("off", "on") if offered[1] == "on" else ("on", "off"):
        shell(f"ethtool -K eth0 {name} {state}")
        assert f"\n{name}: {state}" in shell("ethtool -k eth0"), (name, state)
        works()


def mtu(size):
    """Larger frames, in both directions."""
    peer(f"ip link set eth1 mtu {size}")
    shell(f"ip link set eth0 mtu {size}")
    settle()
    ping(PEER_ADDRESS, options=f"-M do -s {size - 28}")
    transfer(PEER_ADDRESS, 4 * MB)


def ipv6():
    """The other version of IP has checksums and segmentation of its own."""
    ends = (shell, "eth0", "2001:db8::1"), (peer, "eth1", "2001:db8::2")
    for run, interface, address in ends:
        run(f"sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=0")
        run(f"ip addr add {address}/64 dev {interface} nodad")
    eventually("ping", lambda: "1 received" in shell("ping -q -c 1 -W 1 2001:db8::2 || true"))
    ping("2001:db8::2")
    transfer("2001:db8::2", 4 * MB)
    for run, interface, _ in ends:
        run(f"sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=1")


def udp_segments():
    """What is sent at once with UDP_SEGMENT arrives as datagrams of that size."""
    data = os.urandom(20500)
    with (peer_socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
          socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender):
        receiver.bind((PEER_ADDRESS, 7000))
        receiver.settimeout(5)
        sender.setsockopt(socket.IPPROTO_UDP, 103, 1000)
        sender.sendto(data, (PEER_ADDRESS, 7000))
        parts = [receiver.recv(2000) for _ in range(21)]
    assert b"".join(parts) == data and len(parts[0]) == 1000, [len(part) for part in parts]


def unicast():
    """Frames for others come with promiscuous mode only."""
    assert takes(mac()) and takes(b"\xff" * 6)
    assert not takes(FOREIGN_MAC)
    shell("ip link set eth0 promisc on")
    assert takes(FOREIGN_MAC)
    shell("ip link set eth0 promisc off")
    assert not takes(FOREIGN_MAC)


def multicast():
    """Frames of a group come to members, and with allmulticast."""
    assert not takes(MULTICAST_MAC)
    shell(f"ip maddr add {MULTICAST_MAC.hex(':')} dev eth0")
    assert takes(MULTICAST_MAC)
    shell(f"ip maddr del {MULTICAST_MAC.hex(':')} dev eth0")
    assert not takes(MULTICAST_MAC)
    shell("ip link set eth0 allmulticast on")
    assert takes(MULTICAST_MAC)
    shell("ip link set eth0 allmulticast off")


def new_mac():
    """Another address, and the one of before."""
    old = mac().hex(":")
    for address in FOREIGN_MAC.hex(":"), old:
        shell(f"ip link set eth0 address {address}")
        works()
        assert takes(mac())
    assert not takes(FOREIGN_MAC)


def vlan(state):
    """Tags that the port inserts and strips, or the stack; a VLAN without interface is filtered."""
    for run, interface, address in ((shell, "eth0", VLAN_ADDRESS),
                                    (peer, "eth1", VLAN_PEER_ADDRESS)):
        run(f"ethtool -K {interface} rxvlan {state} txvlan {state}")
        run(f"ip link add link {interface} name vlan7 type vlan id 7")
        run(f"ip addr add {address}/24 dev vlan7")
        run("ip link set vlan7 up")
    settle()
    ping(VLAN_PEER_ADDRESS)
    transfer(VLAN_PEER_ADDRESS, MB)
    assert takes(mac(), b"\x81\x00\x00\x07")
    assert not takes(mac(), b"\x81\x00\x00\x08")
    for run, interface in (shell, "eth0"), (peer, "eth1"):
        run("ip link del vlan7")
        run(f"ethtool -K {interface} rxvlan on txvlan on")


def counts():
    """Return what driver and nicsim have counted, once that stands still.

    The driver counts a frame that it sent when it cleans up after it, the port before.
    """
    seen = []

    def still():
        time.sleep(0.5)
        seen.append((stats(), nicsim.port(0)["wire"]))
        return len(seen) > 1 and seen[-1] == seen[-2]

    eventually("counters to stand still", still)
    return seen[-1]


def counters():
    """The port, the rings, nicsim and the peer count the same frames."""
    settle()
    old, old_port = counts()
    transfer(PEER_ADDRESS, 4 * MB)
    ping(PEER_ADDRESS, 100)
    new, new_port = counts()
    delta = Counter({name: new[name] - old[name] for name in new if new[name] != old[name]})
    for way, wire in ("rx", "to_chip"), ("tx", "from_chip"):
        count = delta[f"{way}_packets"]
        queues = [delta[name] for name in delta if re.fullmatch(QUEUE_PACKETS[way], name)]
        assert count > 200 and sum(queues) == count, (way, count, queues)
        specific.counters_of_port(delta, way, count)
        assert new_port[wire] - old_port[wire] == count, (way, count, old_port, new_port)
    wrong = {name: count for name, count in delta.items() if
             re.search(r"error|missed|drop|discard|no_buffer|csum_err|fail|fault|collision|hw_rsc",
                       name)}
    assert not wrong, wrong


def self_test(how):
    """The driver's own test of registers, EEPROM, interrupts, loopback and link."""
    settle()
    passes_self_test("eth0", how)
    works()


def pause():
    """Pause frames off and on."""
    for state in "off", "on":
        shell(f"ethtool -A eth0 rx {state} tx {state}")
        settle()
        assert len(re.findall(rf"[RT]X:\s+{state}", shell("ethtool -a eth0"))) == 2
        works()


def coalescing():
    """Interrupts at once, and rarely."""
    for usecs in 0, 500, 1:
        shell(f"ethtool -C eth0 {specific.FIXED_RATE} rx-usecs {usecs}")
        works()


def flap():
    """The link goes and comes, once slowly, then fast."""
    nicsim("link", 0, "down")
    eventually("link down", lambda: not carrier())
    nicsim("link", 0, "up")
    eventually("link up", carrier)
    for _ in range(10):
        nicsim("link", 0, "down")
        nicsim("link", 0, "up")
    time.sleep(3)  # the driver may be at the first of them still
    works()


def hang():
    """The driver finds out that nothing is sent any more, and resets the port."""
    with expected("NETDEV WATCHDOG|Detected Tx Unit Hang"):
        stopped()
    shell("ethtool -G eth0 tx 512")
    works()


def stopped():
    """Wait until the driver resets a port that sends nothing."""
    shell("dmesg -C; ethtool -G eth0 tx 64")
    settle()
    nicsim("fault", 0, "tx-stop", "on")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)

        def noticed():
            # As many as a socket may have under way fill a ring of 64
            with contextlib.suppress(BlockingIOError):
                for _ in range(100):
                    sender.sendto(bytes(100), (PEER_ADDRESS, 9))
            return re.search("Reset adapter|tx_timeout", shell("dmesg"))

        eventually("reset", noticed, 60)
        nicsim("fault", 0, "clear")


def wire_faults():
    """Frames that are lost or come twice on the wire are what the driver counts."""
    for fault, low, high in (("drop", 0.4, 0.6), ("duplicate", 1.4, 1.6)):
        nicsim("fault", 0, fault, 2)
        count = delivered(mac())
        nicsim("fault", 0, "clear")
        assert low * FRAMES <= count <= high * FRAMES, (fault, count)
    works()


def late():
    """Completions that come late, and a bus that stands still for a moment, lose nothing."""
    nicsim("fault", 0, "tx-delay", 2000)
    works()
    nicsim("fault", 0, "clear")
    nicsim("fault", 0, "stall", 500)
    ping(PEER_ADDRESS)
    works()


TESTS = (
    ("probe without a warning", probe),
    ("link 10 Gb/s full duplex", link),
    ("down and up", up_down),
    ("rmmod and modprobe", unload),
    ("unbind and bind", rebind),
    ("reset of the function", reset),
    *((f"rings of {size}", rings, size) for size in specific.RINGS),
    *((f"{count} queues", channels, count) for count in (1, 2, 8, 4)),
    ("hash fields", hash_fields),
    ("indirection table and key", indirection),
    ("ntuple filters", ntuple),
    *((f"feature {name}", feature, name) for name in specific.FEATURES),
    *((f"MTU {size}", mtu, size) for size in specific.MTUS),
    ("IPv6", ipv6),
    ("UDP segmentation", udp_segments),
    ("unicast and promiscuous mode", unicast),
    ("multicast", multicast),
    ("another MAC address", new_mac),
    *((f"VLAN, tags by the port {state}", vlan, state) for state in ("on", "off")),
    ("counters add up", counters),
    *((f"self-test {how}", self_test, how) for how in ("offline", "online")),
    ("pause frames", pause),
    ("interrupt moderation", coalescing),
    ("link flap", flap),
    ("Tx hang", hang),
    ("loss and duplicates on the wire", wire_faults),
    ("late completions, stalled bus", late),
    *specific.TESTS,
)


def start_over():
    """Load the driver anew, whatever state a test left things in."""
    for number in range(len(PCI)):
        nicsim("fault", number, "clear")
        nicsim("link", number, "up")
    shell(f"rmmod {DRIVER}; modprobe {DRIVER}")
    plug_peer()
    plug("eth0", shell, ADDRESS)


@contextlib.contextmanager
def intact():
    """Check that a test is no misbehaviour; one that fails does not make others fail."""
    try:
        with nicsim.no_event():
            yield
    except Exception:
        start_over()
        raise


def main():
    """Run them all."""
    tap = Tap(intact)
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    with peer_namespace():
        for name, run, *args in TESTS:
            if run in (probe, link) or re.search(wanted, name):
                tap.test(name, run, *args)
    tap.plan()


if __name__ == "__main__":
    main()
