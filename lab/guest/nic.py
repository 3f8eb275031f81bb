#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Administration of a port: link, queues, RSS, filters, offloads, MTU, VLANs, counters, faults.

Prints KTAP. Arguments: the driver, ixgbe or i40e, whose facts and further tests are in a module of
its name; a regular expression for the names of tests.

In a guest with nicsim, on two ports that a cable connects (ports.py). With a real NIC, the environment
names the port and the remote end, see tools/testing/selftests/drivers/net/README.rst. The tests of
SIMULATED are left out then, and those with frames by hand skipped unless that end is a namespace.
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

from harness import argument, eventually, expected, has_failed, run_cases
from lib.py import (NetDrvEpEnv, cmd, ethtool, ip, ksft_disruptive, ksft_eq, ksft_exit,
                    ksft_in, ksft_ne, ksft_true)
from netdev import links_up, passes_self_test, ping, reachable, stats, transfer
from ports import (ADDRESS, FRAMES, MB, PCI, PEER, PEER_ADDRESS, QUEUE_PACKETS, counters_settle,
                   delivered, hit_queues, mac, nicsim, peer_namespace, peer_socket, plug, plug_peer,
                   serving, takes, works, works_at_mtu)

DRIVER = sys.argv[1]
specific = importlib.import_module(DRIVER)
BOUND = Path("/sys/bus/pci/drivers", DRIVER)
VLAN_ADDRESS, VLAN_PEER_ADDRESS = "198.51.100.1", "198.51.100.2"
FOREIGN_MAC = bytes.fromhex("020000001234")
MULTICAST_MAC = bytes.fromhex("01005e010203")


def ends(cfg, address=None, peer_address=None):
    """Return host, interface and an address of both ends."""
    return (None, cfg.ifname, address), (cfg.remote, cfg.remote_ifname, peer_address)


def device(cfg):
    """Return the PCI address of the port."""
    return Path(f"/sys/class/net/{cfg.ifname}/device").resolve().name


# The tests, in the order in which they run

def link(cfg):
    """10 Gb/s full duplex, seen by both."""
    links_up(cfg.ifname)
    for host, interface, _ in ends(cfg):
        said = ethtool(interface, host=host).stdout
        for wanted in "Speed: 10000Mb/s", "Duplex: Full", "Link detected: yes":
            ksft_in(wanted, said)
    said = cmd("dmesg --notime").stdout
    ksft_true(re.search(f"{cfg.ifname}: NIC Link is Up,? 10 Gbps", said), said)
    works(cfg.remote_v4)


def up_down(cfg):
    """Five times down and up."""
    for _ in range(5):
        ip(f"link set {cfg.ifname} down")
        ip(f"link set {cfg.ifname} up")
    works(cfg.remote_v4)


def rebind(cfg, between=lambda address: None):
    """Unbind the driver and bind it again."""
    address = device(cfg)
    (BOUND / "unbind").write_text(address)
    between(address)
    (BOUND / "bind").write_text(address)
    plug(cfg.ifname, cfg.v4)
    works(cfg.remote_v4)


def reset(cfg):
    """Reset the function while it has no driver."""
    rebind(cfg, lambda address: Path(f"/sys/bus/pci/devices/{address}/reset").write_text("1"))


def rings(cfg, size):
    """Other ring sizes."""
    ethtool(f"-G {cfg.ifname} rx {size} tx {size}")
    shown = ethtool(f"-g {cfg.ifname}").stdout
    ksft_true(shown.count(f"\t{size}\n") >= 2, shown)
    works(cfg.remote_v4)


def hash_ports(cfg, included=True):
    """Have the ports of datagrams in the RSS hash, or not."""
    ethtool(f"-N {cfg.ifname} rx-flow-hash udp4 {'sdfn' if included else 'sd'}")


def channels(cfg, count):
    """Other numbers of queues, each with its own vector; flows are spread over all of them."""
    ethtool(f"-L {cfg.ifname} combined {count}")
    reachable(cfg.remote_v4)
    shown = re.findall(r"Combined:\s+(\d+)", ethtool(f"-l {cfg.ifname}").stdout)
    ksft_eq(int(shown[1]), count)
    vectors = re.findall(rf"{cfg.ifname}-TxRx-\d+", Path("/proc/interrupts").read_text())
    ksft_eq(len(vectors), count, vectors)
    hash_ports(cfg)
    ksft_eq(hit_queues(cfg), set(range(count)))
    works(cfg.remote_v4)


def hash_fields(cfg):
    """Datagrams of one sender are spread if ports are part of the hash."""
    hash_ports(cfg, False)
    ksft_eq(len(hit_queues(cfg)), 1)
    hash_ports(cfg)
    ksft_ne(len(hit_queues(cfg)), 1)


def indirection(cfg):
    """The indirection table and the key select the queue."""
    for table, queue in ("equal 1", 0), ("weight 0 1", 1):
        ethtool(f"-X {cfg.ifname} {table}")
        ksft_eq(hit_queues(cfg), {queue}, table)
    shown = ethtool(f"-x {cfg.ifname}").stdout
    key = re.search(r"^[0-9a-f:]{60,}$", shown, re.MULTILINE)[0]
    key = re.sub("..:..", "6d:5a", key)
    ethtool(f"-X {cfg.ifname} hkey {key} default")
    ksft_in(key, ethtool(f"-x {cfg.ifname}").stdout)
    ksft_true(len(hit_queues(cfg)) > 1)


def ntuple(cfg):
    """A filter steers its datagrams to a queue, or drops them; without it they are spread."""
    ethtool(f"-K {cfg.ifname} ntuple on")
    reachable(cfg.remote_v4)
    hash_ports(cfg)
    for action, queues in (3, {3}), (1, {1}), (-1, set()):
        ethtool(f"-N {cfg.ifname} flow-type udp4 dst-port 4242 action {action} loc 5")
        ksft_eq(hit_queues(cfg, 4242), queues, f"action {action}")
        ksft_true(len(hit_queues(cfg, 4243)) > 1, f"action {action}")
        ethtool(f"-N {cfg.ifname} delete 5")
    ksft_true(len(hit_queues(cfg, 4242)) > 1)
    ethtool(f"-K {cfg.ifname} ntuple off")


def feature(cfg, name):
    """Frames are the same without and with an offload of the driver."""
    shown = ethtool(f"-k {cfg.ifname}").stdout
    offered = re.search(rf"^{name}: (on|off)( \[.*)?$", shown, re.MULTILINE)
    assert offered and not offered[2], (name, offered)
    for state in ("off", "on") if offered[1] == "on" else ("on", "off"):
        ethtool(f"-K {cfg.ifname} {name} {state}")
        ksft_in(f"\n{name}: {state}", ethtool(f"-k {cfg.ifname}").stdout)
        works(cfg.remote_v4)


def mtu(cfg, size):
    """Larger frames, in both directions."""
    works_at_mtu(size, cfg.ifname, cfg.remote_ifname, cfg.remote, cfg.remote_v4)


def ipv6(cfg):
    """Checksums and segmentation of IPv6."""
    address = "2001:db8::2"
    for host, interface, own in ends(cfg, "2001:db8::1", address):
        cmd(f"sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=0", host=host)
        ip(f"addr add {own}/64 dev {interface} nodad", host=host)
    reachable(address)
    ping(address)
    transfer(address, 4 * MB)
    for host, interface, _ in ends(cfg):
        cmd(f"sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=1", host=host)


def udp_segments(cfg):
    """Data sent at once with UDP_SEGMENT arrives as datagrams of that size."""
    data = os.urandom(20500)
    with (peer_socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
          socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender):
        receiver.bind((cfg.remote_v4, 7000))
        receiver.settimeout(5)
        sender.setsockopt(socket.IPPROTO_UDP, 103, 1000)
        sender.sendto(data, (cfg.remote_v4, 7000))
        parts = [receiver.recv(2000) for _ in range(21)]
    ksft_eq(len(parts[0]), 1000)
    ksft_true(b"".join(parts) == data, [len(part) for part in parts])


def unicast(cfg):
    """Frames for other stations are delivered in promiscuous mode only."""
    ksft_true(takes(cfg, mac(cfg)))
    ksft_true(takes(cfg, b"\xff" * 6))
    for state, taken in ("off", False), ("on", True), ("off", False):
        ip(f"link set {cfg.ifname} promisc {state}")
        ksft_eq(takes(cfg, FOREIGN_MAC), taken, f"promisc {state}")


def multicast(cfg):
    """Frames of a group are delivered to members, and with allmulticast."""
    group = MULTICAST_MAC.hex(":")
    ksft_eq(takes(cfg, MULTICAST_MAC), False)
    for change, taken in ((f"maddr add {group} dev {cfg.ifname}", True),
                          (f"maddr del {group} dev {cfg.ifname}", False),
                          (f"link set {cfg.ifname} allmulticast on", True)):
        ip(change)
        ksft_eq(takes(cfg, MULTICAST_MAC), taken, change)
    ip(f"link set {cfg.ifname} allmulticast off")


def new_mac(cfg):
    """Another address, and the previous one."""
    old = mac(cfg).hex(":")
    for address in FOREIGN_MAC.hex(":"), old:
        ip(f"link set {cfg.ifname} address {address}")
        works(cfg.remote_v4)
        ksft_true(takes(cfg, mac(cfg)), address)
    ksft_eq(takes(cfg, FOREIGN_MAC), False)


def vlan(cfg, state):
    """Tags by the port or by the stack; frames of a VLAN without an interface are filtered."""
    for host, interface, address in ends(cfg, VLAN_ADDRESS, VLAN_PEER_ADDRESS):
        ethtool(f"-K {interface} rxvlan {state} txvlan {state}", host=host)
        ip(f"link add link {interface} name vlan7 type vlan id 7", host=host)
        ip(f"addr add {address}/24 dev vlan7", host=host)
        ip("link set vlan7 up", host=host)
    reachable(cfg.remote_v4)
    ping(VLAN_PEER_ADDRESS)
    transfer(VLAN_PEER_ADDRESS, MB)
    ksft_eq(takes(cfg, mac(cfg), b"\x81\x00\x00\x07"), True)
    ksft_eq(takes(cfg, mac(cfg), b"\x81\x00\x00\x08"), False)
    for host, interface, _ in ends(cfg):
        ip("link del vlan7", host=host)
        ethtool(f"-K {interface} rxvlan on txvlan on", host=host)


def settled_counters(cfg):
    """Return the counters of driver and nicsim once they are stable.

    The driver counts a transmitted frame when it cleans the descriptor, later than the port.
    """
    counters_settle(cfg, 0.5)
    return stats(cfg.ifname), nicsim and nicsim.wire(0)


def counters(cfg):
    """The port, the rings, nicsim and the peer count the same frames."""
    reachable(cfg.remote_v4)
    old, old_wire = settled_counters(cfg)
    transfer(cfg.remote_v4, 4 * MB)
    ping(cfg.remote_v4, 100)
    new, new_wire = settled_counters(cfg)
    delta = Counter({name: new[name] - old[name] for name in new if new[name] != old[name]})
    for way, wire in ("rx", "to_chip"), ("tx", "from_chip"):
        count = delta[f"{way}_packets"]
        queues = [delta[name] for name in delta if re.fullmatch(QUEUE_PACKETS[way], name)]
        ksft_true(count > 200, (way, count))
        ksft_eq(sum(queues), count, (way, queues))
        specific.counters_of_port(delta, way, count)
        if nicsim:
            ksft_eq(new_wire[wire] - old_wire[wire], count, (way, old_wire, new_wire))
    wrong = {name: count for name, count in delta.items() if
             re.search(r"error|missed|drop|discard|no_buffer|csum_err|fail|fault|collision|hw_rsc",
                       name)}
    ksft_eq(wrong, {})


def self_test(cfg, how):
    """The driver's own test of registers, EEPROM, interrupts, loopback and link."""
    reachable(cfg.remote_v4)
    passes_self_test(cfg.ifname, how)
    works(cfg.remote_v4)


def pause(cfg):
    """Pause frames off and on."""
    for state in "off", "on":
        ethtool(f"-A {cfg.ifname} rx {state} tx {state}")
        reachable(cfg.remote_v4)
        shown = ethtool(f"-a {cfg.ifname}").stdout
        ksft_eq(len(re.findall(rf"[RT]X:\s+{state}", shown)), 2, shown)
        works(cfg.remote_v4)


def coalescing(cfg):
    """Interrupts without delay, and rarely."""
    for usecs in 0, 500, 1:
        ethtool(f"-C {cfg.ifname} {specific.FIXED_RATE} rx-usecs {usecs}")
        works(cfg.remote_v4)


TESTS = (
    ("link 10 Gb/s full duplex", link),
    ("down and up", up_down),
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
    *specific.TESTS,
)


# With nicsim only

def probe(_, said):
    """The driver binds to both ports and logs no warning."""
    # Of a slow machine
    said = re.sub(r"^(hrtimer: interrupt took|timekeeping watchdog|clocksource:).*\n?", "", said,
                  flags=re.MULTILINE)
    ksft_eq(said, "")
    ksft_in(f"bus-info: {PCI[0]}", ethtool("-i eth0").stdout)
    ksft_in(f"bus-info: {PCI[1]}", ethtool("-i eth1", host=PEER).stdout)


def unload(cfg):
    """Unload the driver and load it."""
    start_over()
    works(cfg.remote_v4)


def flap(cfg):
    """The link is down and up, once for longer, then briefly."""
    nicsim("link", 0, "down")
    eventually("link down", lambda: "LOWER_UP" not in ip(f"link show {cfg.ifname}").stdout)
    nicsim("link", 0, "up")
    links_up(cfg.ifname)
    for _ in range(10):
        nicsim("link", 0, "down")
        nicsim("link", 0, "up")
    time.sleep(3)  # the driver may not have handled the first of them yet
    works(cfg.remote_v4)


def hang(cfg):
    """The driver detects that nothing is sent any more, and resets the port."""
    with expected("NETDEV WATCHDOG|Detected Tx Unit Hang"):
        tx_stopped(cfg)
    # After the reset: i40e deadlocks if it meets a change of the rings
    works(cfg.remote_v4)
    ethtool(f"-G {cfg.ifname} tx 512")
    works(cfg.remote_v4)


def tx_stopped(cfg):
    """Wait until the driver resets a port that sends nothing."""
    cmd("dmesg -C")
    ethtool(f"-G {cfg.ifname} tx 64")
    reachable(cfg.remote_v4)
    nicsim("fault", 0, "tx-stop", "on")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)

        def noticed():
            # The frames that a socket may have in flight fill a ring of 64
            with contextlib.suppress(BlockingIOError):
                for _ in range(100):
                    sender.sendto(bytes(100), (cfg.remote_v4, 9))
            return re.search("Reset adapter|tx_timeout", cmd("dmesg").stdout)

        eventually("reset", noticed, 60)
        nicsim("fault", 0, "clear")


def wire_faults(cfg):
    """The driver counts frames that the wire lost or duplicated accordingly."""
    for fault, low, high in (("drop", 0.4, 0.6), ("duplicate", 1.4, 1.6)):
        nicsim("fault", 0, fault, 2)
        count = delivered(cfg, mac(cfg))
        nicsim("fault", 0, "clear")
        ksft_true(low * FRAMES <= count <= high * FRAMES, (fault, count))
    works(cfg.remote_v4)


def late(cfg):
    """Late completions and a bus that stalls for a moment lose nothing."""
    nicsim("fault", 0, "tx-delay", 2000)
    works(cfg.remote_v4)
    nicsim("fault", 0, "clear")
    nicsim("fault", 0, "stall", 500)
    ping(cfg.remote_v4)
    works(cfg.remote_v4)


SIMULATED = (
    ("rmmod and modprobe", unload),
    ("link flap", flap),
    ("Tx hang", hang),
    ("loss and duplicates on the wire", wire_faults),
    ("late completions, stalled bus", late),
    *specific.SIMULATED,
)


def start_over():
    """Reload the driver, in any state that a test left behind."""
    for number in range(len(PCI)):
        nicsim("fault", number, "clear")
        nicsim("link", number, "up")
    cmd(f"rmmod {DRIVER}; modprobe {DRIVER}")
    plug_peer()
    plug("eth0", ADDRESS)


@contextlib.contextmanager
def intact():
    """Check that a test causes no misbehaviour; one that fails does not make others fail."""
    try:
        with nicsim.no_event():
            yield
        assert not has_failed(), "see the checks above"
    except Exception:
        start_over()
        raise


@contextlib.contextmanager
def simulated():
    """Set up two ports of nicsim as the environment of drv-net. Yield the warnings of the driver."""
    cmd(f"dmesg -C; modprobe {DRIVER}")
    warnings = cmd("dmesg --notime --level=emerg,alert,crit,err,warn").stdout
    os.environ.update(NETIF="eth0", LOCAL_V4=ADDRESS, REMOTE_V4=PEER_ADDRESS, REMOTE_TYPE="netns",
                      REMOTE_ARGS=PEER.name)
    with peer_namespace():
        plug_peer()
        plug("eth0", ADDRESS)
        yield warnings


def run(tests, **options):
    """Run the selected tests in the environment."""
    with NetDrvEpEnv(__file__, nsim_test=False) as cfg, serving(cfg.remote):
        PEER.name = cfg.remote.name
        links = ip(f"addr show to {cfg.remote_v4}", json=True, host=cfg.remote)
        cfg.remote_ifname = next(link["ifname"] for link in links if link)
        run_cases(((name, ksft_disruptive(test), cfg, *args) for name, test, *args in tests),
                  argument(2), **options)


def main():
    """Run them all."""
    if nicsim:
        with simulated() as warnings:
            run((("probe without a warning", probe, warnings), *TESTS, *SIMULATED), around=intact)
    else:
        run(TESTS)
    ksft_exit()


if __name__ == "__main__":
    main()
