#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What users and administrators do with an i40e port, on two that a cable connects.

eth0 is the port under test; eth1 is the peer and lives in a network namespace of its own.
Prints TAP. Argument: a regular expression for the names of tests, all but the first two.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from harness import Nicsim, Tap, eventually, shell, transfer

PCI = ("0000:01:00.0", "0000:02:00.0")
DRIVER = Path("/sys/bus/pci/drivers/i40e")
ADDRESS, PEER_ADDRESS = "192.0.2.1", "192.0.2.2"
VLAN_ADDRESS, VLAN_PEER_ADDRESS = "198.51.100.1", "198.51.100.2"
MB = 1 << 20
FRAMES = 100
EXPERIMENTAL = b"\x88\xb5"  # EtherType
FOREIGN_MAC = bytes.fromhex("020000001234")
MULTICAST_MAC = bytes.fromhex("01005e010203")
nicsim = Nicsim()


# The cable and its ends

def peer(command):
    """Run a command line where the peer is."""
    return shell(f"ip netns exec peer {command}")


def plug(interface, run, address):
    """Bring an interface up with an address."""
    run(f"ip addr replace {address}/24 dev {interface}")
    run(f"ip link set {interface} up")


def plug_peer():
    """Put eth1 into the peer's namespace and bring it up."""
    shell("ip link set eth1 netns peer")
    plug("eth1", peer, PEER_ADDRESS)


def start_over():
    """Load the driver anew, whatever state a test left things in."""
    for number in range(len(PCI)):
        nicsim("fault", number, "clear")
        nicsim("link", number, "up")
    shell("rmmod i40e; modprobe i40e")
    plug_peer()
    plug("eth0", shell, ADDRESS)


@contextlib.contextmanager
def test():
    """Check that a test is no misbehaviour; one that fails does not make others fail."""
    try:
        with nicsim.no_event():
            yield
    except Exception:
        start_over()
        raise


def carrier():
    """Tell whether the driver sees a link at eth0."""
    return "LOWER_UP" in shell("ip link show eth0")


def settle():
    """Wait until frames pass both ways: the link comes up some time after the interface."""
    eventually("ping", lambda: "1 received" in
               shell(f"ping -q -c 1 -W 1 {PEER_ADDRESS} || true"))


def ping(count=20, options="", address=PEER_ADDRESS):
    """Ping the peer, 100 times a second, without a loss."""
    said = shell(f"ping -q -c {count} -i 0.01 -W 3 {options} {address} || true")
    assert f" {count} received" in said, said


def works():
    """Check that frames pass both ways, from few to many at a time."""
    settle()
    ping()
    transfer(PEER_ADDRESS, MB)


# Frames by hand, and what became of them

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


def stats():
    """Return the counters of `ethtool -S eth0`."""
    pairs = re.findall(r"^\s+(\S+): (\d+)$", shell("ethtool -S eth0"), re.MULTILINE)
    return {name: int(value) for name, value in pairs}


def received():
    """Return how many frames the rings of eth0 handed up."""
    return int(Path("/sys/class/net/eth0/statistics/rx_packets").read_text())


def delivered(destination, tag=b""):
    """Send frames from the peer and return how many eth0 hands up, one or two others aside."""
    frame = destination + bytes.fromhex("020000000099") + tag + EXPERIMENTAL + bytes(46)
    before = received()
    with peer_socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("eth1", 0))
        for _ in range(FRAMES):
            sender.send(frame)
    time.sleep(0.5)
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
    time.sleep(0.5)
    after = stats()
    counts = {int(match[1]): after[name] - before[name] for name in after
              if (match := re.fullmatch(r"rx-(\d+)\.packets", name))}
    return {queue for queue, count in counts.items() if count > 10}


# The tests, in the order in which they run

def probe():
    """The driver takes both ports and has nothing to complain about."""
    shell("dmesg -C; modprobe i40e")
    said = shell("dmesg --notime --level=emerg,alert,crit,err,warn")
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
    assert "eth0: NIC Link is Up, 10 Gbps" in said, said
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
    (DRIVER / "unbind").write_text(PCI[0])
    (DRIVER / "bind").write_text(PCI[0])
    plug("eth0", shell, ADDRESS)
    works()


def reset():
    """Reset the function while no driver has it."""
    (DRIVER / "unbind").write_text(PCI[0])
    Path(f"/sys/bus/pci/devices/{PCI[0]}/reset").write_text("1")
    (DRIVER / "bind").write_text(PCI[0])
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
    vectors = re.findall(r"i40e-eth0-TxRx-\d+", Path("/proc/interrupts").read_text())
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
    key = ":".join(["6d", "5a"] * 26)
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
    ping(options=f"-M do -s {size - 28}")
    transfer(PEER_ADDRESS, 4 * MB)


def ipv6():
    """The other version of IP has checksums and segmentation of its own."""
    ends = (shell, "eth0", "2001:db8::1"), (peer, "eth1", "2001:db8::2")
    for run, interface, address in ends:
        run(f"sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=0")
        run(f"ip addr add {address}/64 dev {interface} nodad")
    eventually("ping", lambda: "1 received" in shell("ping -q -c 1 -W 1 2001:db8::2 || true"))
    ping(address="2001:db8::2")
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
    for run, interface, address in ((shell, "eth0", VLAN_ADDRESS), (peer, "eth1", VLAN_PEER_ADDRESS)):
        run(f"ethtool -K {interface} rxvlan {state} txvlan {state}")
        run(f"ip link add link {interface} name vlan7 type vlan id 7")
        plug("vlan7", run, address)
    settle()
    ping(address=VLAN_PEER_ADDRESS)
    transfer(VLAN_PEER_ADDRESS, MB)
    assert takes(mac(), b"\x81\x00\x00\x07")
    assert not takes(mac(), b"\x81\x00\x00\x08")
    for run, interface in (shell, "eth0"), (peer, "eth1"):
        run("ip link del vlan7")
        run(f"ethtool -K {interface} rxvlan on txvlan on")


def counters():
    """The port, the rings, nicsim and the peer count the same frames."""
    settle()
    time.sleep(1)
    old, old_port = stats(), nicsim.port(0)["wire"]
    transfer(PEER_ADDRESS, 4 * MB)
    ping(100)
    time.sleep(1)
    new, new_port = stats(), nicsim.port(0)["wire"]
    delta = {name: new[name] - old[name] for name in new}
    for way, wire in ("rx", "to_chip"), ("tx", "from_chip"):
        count = delta[f"{way}_packets"]
        queues = [delta[name] for name in delta if re.fullmatch(rf"{way}-\d+\.packets", name)]
        assert count > 200 and sum(queues) == count, (way, count, queues)
        for scope in "", "port.":
            casts = [delta[f"{scope}{way}_{cast}"] for cast in ("unicast", "multicast", "broadcast")]
            assert sum(casts) == count, (way, scope, count, delta)
        sizes = [delta[name] for name in delta if name.startswith(f"port.{way}_size_")]
        assert sum(sizes) == count, (way, sizes)
        assert new_port[wire] - old_port[wire] == count, (way, count, old_port, new_port)
        # The port counts the CRC
        assert delta[f"port.{way}_bytes"] == delta[f"{way}_bytes"] + 4 * count, (way, delta)
    wrong = {name: count for name, count in delta.items() if count and
             re.search(r"error|missed|drop|discard|csum_err|fail|collision|fault", name)}
    assert not wrong, wrong


def registers():
    """Dumps of the registers and of the NVM."""
    assert len(shell("ethtool -d eth0")) > 100
    data = subprocess.run(["ethtool", "-e", "eth0", "raw", "on", "length", "4096"], stdout=subprocess.PIPE,
                          check=True).stdout
    assert data[0x30:0x32] == b"\x20\x90", data[:64]


def self_test(how):
    """The driver's own test of registers, EEPROM, interrupts, loopback and link."""
    settle()
    said = shell(f"ethtool -t eth0 {how} || true")
    assert "result is PASS" in said, said
    works()


def pause():
    """Pause frames off and on."""
    for state in "on", "off":
        shell(f"ethtool -A eth0 rx {state} tx {state}")
        settle()
        assert len(re.findall(rf"[RT]X:\s+{state}", shell("ethtool -a eth0"))) == 2
        works()


def coalescing():
    """Interrupts at once, and rarely."""
    for usecs in 0, 500, 1:
        shell(f"ethtool -C eth0 adaptive-rx off adaptive-tx off rx-usecs {usecs}")
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
    """The driver finds out that nothing is sent any more, and resets the function."""
    shell("dmesg -C; ethtool -G eth0 tx 64")
    settle()
    nicsim("fault", 0, "tx-stop", "on")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)

        def timed_out():
            with contextlib.suppress(BlockingIOError):
                sender.sendto(bytes(100), (PEER_ADDRESS, 9))
            return "tx_timeout" in shell("dmesg") if time.monotonic() % 1 < 0.2 else False

        eventually("reset", timed_out, 60)
        nicsim("fault", 0, "clear")
    shell("ethtool -G eth0 tx 512")
    works()


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
    ping()
    works()


def driver_reset(kind):
    """The driver resets the function, the core or the whole card, and recovers."""
    shell("mountpoint -q /sys/kernel/debug || mount -t debugfs debug /sys/kernel/debug")
    with subprocess.Popen(["ping", "-q", "-i", "0.02", PEER_ADDRESS],
                          stdout=subprocess.DEVNULL) as pinger:
        Path(f"/sys/kernel/debug/i40e/{PCI[0]}/command").write_text(kind)
        time.sleep(3)
        pinger.terminate()
    works()


def loopback():
    """What is sent comes back."""
    before = stats()
    shell("ethtool -K eth0 loopback on")
    time.sleep(1)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("eth0", 0))
        for _ in range(FRAMES):
            sender.send(mac() + bytes.fromhex("020000000099") + EXPERIMENTAL + bytes(46))
    time.sleep(0.5)
    after = stats()
    shell("ethtool -K eth0 loopback off")
    assert after["rx_packets"] >= FRAMES, (before["rx_packets"], after["rx_packets"])
    works()


TESTS = (
    ("probe without a warning", probe),
    ("link 10 Gb/s full duplex", link),
    ("down and up", up_down),
    ("rmmod and modprobe", unload),
    ("unbind and bind", rebind),
    *((f"rings of {size}", rings, size) for size in (64, 4096, 512)),
    *((f"{count} queues", channels, count) for count in (1, 2, 8, 4)),
    ("hash fields", hash_fields),
    ("indirection table and key", indirection),
    ("ntuple filters", ntuple),
    *((f"feature {name}", feature, name) for name in (
        "rx-checksumming", "tx-checksumming", "scatter-gather", "tcp-segmentation-offload",
        "generic-receive-offload", "receive-hashing")),
    *((f"MTU {size}", mtu, size) for size in (9000, 9702, 1500)),
    ("IPv6", ipv6),
    ("UDP segmentation", udp_segments),
    ("unicast and promiscuous mode", unicast),
    ("multicast", multicast),
    ("another MAC address", new_mac),
    *((f"VLAN, tags by the port {state}", vlan, state) for state in ("on", "off")),
    ("counters add up", counters),
    ("dump of registers and EEPROM", registers),
    *((f"self-test {how}", self_test, how) for how in ("offline", "online")),
    ("pause frames", pause),
    ("interrupt moderation", coalescing),
    ("link flap", flap),
    ("Tx hang", hang),
    ("loss and duplicates on the wire", wire_faults),
    ("late completions, stalled bus", late),
    *((f"reset {kind}", driver_reset, kind) for kind in ("pfr", "corer", "globr")),
    ("loopback", loopback),
)


def main():
    """Run them all."""
    tap = Tap(test)
    quiet = "sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1"
    shell(f"{quiet}; ip netns add peer")
    peer(quiet)
    with subprocess.Popen(["ip", "netns", "exec", "peer", "/src/lab/guest/peer.py"],
                          stdout=subprocess.DEVNULL) as server:
        wanted = sys.argv[1] if len(sys.argv) > 1 else ""
        for name, run, *args in TESTS:
            if run in (probe, link) or re.search(wanted, name):
                tap.test(name, run, *args)
        server.terminate()
    tap.plan()


if __name__ == "__main__":
    main()
