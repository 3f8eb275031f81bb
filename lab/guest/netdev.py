# SPDX-License-Identifier: GPL-2.0
"""Interfaces: their setup and counters, XDP programs of xdp-bench, ping and TCP transfers."""

import contextlib
import hashlib
import os
import random
import re
import signal
import socket
import subprocess
from pathlib import Path

from harness import PATIENCE, SLOW, eventually
from lib.py import NetdevFamily, cmd, ethtool, ip
from peer import PEER_PORT, exactly
from xsk import WAITS_FOR_RELEASE


def xsk_features(interface):
    """Return the names of the AF_XDP features that netdev-genl reports for an interface."""
    return NetdevFamily().dev_get({"ifindex": socket.if_nametoindex(interface)})["xsk-features"]


def queue_xsk(interface, kind, queue=0):
    """Return what netdev-genl reports about AF_XDP on an Rx or Tx queue; None if it is not in use."""
    return NetdevFamily().queue_get({"ifindex": socket.if_nametoindex(interface), "type": kind,
                                     "id": queue}).get("xsk")


def flow_control(interface, **where):
    """Enable it, which i40e does not by default: frames wait until a descriptor is free."""
    if not re.search(r"RX:\s+on", ethtool(f"-a {interface}", **where).stdout):
        ethtool(f"-A {interface} rx on tx on", **where)


def spread(interface):
    """Set an RSS key: one in 16 of the random ones steers 16 flows to a single queue."""
    key = re.search(r"RSS hash key:\s+(\S+)", ethtool(f"-x {interface}").stdout)[1]
    digits = random.Random(1).randbytes(len(key.split(":"))).hex(":")
    ethtool(f"-X {interface} hkey {digits}")


def no_ipv6(scope="default"):
    """Disable IPv6 on new interfaces, or on one: nothing is sent unasked."""
    cmd(f"sysctl -qw net.ipv6.conf.{scope}.disable_ipv6=1")


def size_rings(interface, size):
    """Set the sizes of its rings; ethtool fails if they do not change."""
    cmd(f"ethtool -G {interface} rx {size} tx {size}", fail=False)


def size_queues(interface, count, size):
    """Set the number of queues, too; ethtool fails if it does not change."""
    cmd(f"ethtool -L {interface} combined {count}", fail=False)
    size_rings(interface, size)


def one_queue(interface, ring=4096):
    """Set an interface up that receives any frame and has one queue, with flow control.

    And with the deferred interrupts of busy polling.
    """
    device = Path("/sys/class/net", interface)
    (device / "napi_defer_hard_irqs").write_text("2")
    (device / "gro_flush_timeout").write_text("200000")
    no_ipv6(interface)
    size_queues(interface, 1, ring)
    ip(f"link set {interface} promisc on up")
    flow_control(interface)


def stats(interface="eth0"):
    """Return the counters of `ethtool -S`."""
    pairs = re.findall(r"^\s+(\S+): (\d+)$", ethtool(f"-S {interface}").stdout, re.MULTILINE)
    return {name: int(value) for name, value in pairs}


def received(interface="eth0"):
    """Return the number of frames that an interface has received."""
    return int(Path(f"/sys/class/net/{interface}/statistics/rx_packets").read_text())


def channels(interface, count):
    """Set the number of queues. The base does not wait for the queue of a closed socket."""
    command = f"ethtool -L {interface} combined {count}"
    if WAITS_FOR_RELEASE:
        cmd(command)
    else:
        eventually(command, lambda: cmd(command, fail=False).ret == 0)


def interrupts_to(interface, cpu):
    """Have one CPU poll an interface; drivers request new interrupts for a program."""
    cmd(f"for irq in $(sed -n '/{interface}/s/:.*//p' /proc/interrupts); do "
        f"echo {cpu} > /proc/irq/$irq/smp_affinity_list; done")


def links_up(*interfaces):
    """Wait for carriers: the drivers reset the port when an XDP program is attached."""
    eventually("links", lambda: all("LOWER_UP" in ip(f"link show {name}").stdout
                                    for name in interfaces))


def passes_self_test(interface, how):
    """Run the driver's self-test; it waits 1 ms for an interrupt, which a busy machine can miss."""
    for _ in range(3):
        said = cmd(f"ethtool -t {interface} {how}", fail=False).stdout
        if "result is PASS" in said:
            return
    raise AssertionError(said)


@contextlib.contextmanager
def xdp_bench(action, interface, *args):
    """Run xdp-bench inside, on one interface, or between it and that in `args`."""
    with subprocess.Popen(["xdp-bench", action, interface, *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            # It polls once all programs are attached and all maps are filled
            eventually("xdp-bench to run", lambda: process.poll() is not None or
                       "poll" in Path(f"/proc/{process.pid}/wchan").read_text())
            links_up(interface, *(arg for arg in args if arg.startswith("eth")))
            yield
        finally:
            process.send_signal(signal.SIGINT)
            try:
                _, said = process.communicate(timeout=30 * SLOW)
            except subprocess.TimeoutExpired:
                process.kill()  # or the end of the block waits for it
                raise
        assert process.returncode == 0, said


# Transfers

def icmp():
    """Return the ICMP counters of this namespace."""
    with open("/proc/net/snmp", encoding="ascii") as file:
        lines = [line.split()[1:] for line in file if line.startswith("Icmp:")]
    return dict(zip(*lines))


def unanswered():
    """Return the number of echo requests of this namespace without a reply."""
    with open("/proc/net/snmp6", encoding="ascii") as file:
        six = dict(line.split() for line in file)
    four = icmp()
    return (int(four["OutEchos"]) - int(four["InEchoReps"]) +
            int(six["Icmp6OutEchos"]) - int(six["Icmp6InEchoReplies"]))


def ping(address, count=20, options=""):
    """Ping, 100 times a second, without a loss; late replies are counted as well."""
    before = unanswered()
    said = cmd(f"ping -q -c {count} -i 0.01 -w {PATIENCE} {options} {address}", fail=False).stdout
    received = re.search(r" (\d+) received", said)
    assert received and int(received[1]) >= count, said
    eventually(f"no loss: {said}", lambda: unanswered() <= before, 5 * SLOW)


def reachable(address):
    """Wait until an address replies to ping."""
    eventually(f"reply of {address}", lambda:
               cmd(f"ping -q -c 1 -W 1 {address}", fail=False).ret == 0)


def transfer(address, size):
    """Send `size` bytes to the peer, get as many from it, and compare their checksums."""
    data = os.urandom(1 << 20) * (size >> 20)
    with socket.create_connection((address, PEER_PORT), timeout=60 * SLOW) as connection:
        connection.sendall(f"put {len(data):12}".encode())
        connection.sendall(data)
        digest = exactly(connection, 32)
        assert digest == hashlib.sha256(data).digest(), "sent bytes arrived damaged"
        connection.sendall(f"get {len(data):12}".encode())
        data = exactly(connection, len(data))
        digest = exactly(connection, 32)
        assert digest == hashlib.sha256(data).digest(), "bytes received are damaged"
