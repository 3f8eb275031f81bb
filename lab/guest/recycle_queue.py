# SPDX-License-Identifier: GPL-2.0
"""Tests of queue-get of netdev-genl: what it reports about the sockets of a queue."""

import contextlib
import os
import socket

from harness import eventually
from lib.py import cmd, ip, ksft_eq
from netdev import queue_xsk
from recycle_ports import RINGS, name_of, pair, queues, tx_done
from xsk import CHUNK, CHUNKS, Xsk

OTHER = "other"  # a network namespace


def apply(xsk):
    """Send a frame of a chunk that is in no ring: the last request of recycling takes effect."""
    xsk.tx.put_frames([(CHUNKS - 1) * CHUNK])
    tx_done(xsk)


def reports(port, kind, **expected):
    """Check all attributes of the nest."""
    ksft_eq(queue_xsk(name_of(port), kind), {"zero-copy": True} |
            {name.replace("_", "-"): value for name, value in expected.items()},
            f"{name_of(port)} {kind}")


def reports_tx(port, state, to=None):
    """Check those of a Tx queue; `to` is the port whose Rx queue 0 takes its chunks."""
    peer = {} if to is None else {"recycle_ifindex": socket.if_nametoindex(name_of(to)),
                                  "recycle_queue": 0}
    reports(port, "tx", tx_inorder=True, recycle_state=state, **peer)


def pairing(first, second):
    """The Tx queue of one port returns its chunks to the Rx queue of the other, until unpaired."""
    with pair((first, second)) as (near, far):
        for port, xsk in (first, near), (second, far):
            reports(port, "rx", attach_state="active", attach_flags={"drv-mode", "if-noexist"},
                    attach_prog_id=xsk.attached().prog_id, attach_reason="none")
            reports_tx(port, "off")
        near.recycle(far)
        apply(near)
        reports_tx(first, "on", second)
        reports_tx(second, "off")
        # As the reference page says
        said = cmd("/out/linux/tools/net/ynl/cli.py --no-schema --spec "
                   "/out/linux/Documentation/netlink/specs/netdev.yaml --dump queue-get").stdout
        assert "'recycle-state': 'on'" in said and "'attach-state': 'active'" in said, said
        near.recycle(None)
        apply(near)
        reports_tx(first, "off")
    for kind in "rx", "tx":
        eventually("release of the queue",
                   lambda kind=kind: queue_xsk(name_of(first), kind) is None)


@contextlib.contextmanager
def inside():
    """Run the block in the other namespace."""
    with open("/proc/self/ns/net", "rb") as here, open(f"/run/netns/{OTHER}", "rb") as there:
        os.setns(there.fileno(), os.CLONE_NEWNET)
        try:
            yield
        finally:
            os.setns(here.fileno(), os.CLONE_NEWNET)


@contextlib.contextmanager
def moved(port):
    """Have a port in the other namespace."""
    ip(f"netns add {OTHER}")
    try:
        with inside():
            cmd("sysctl -qw net.ipv6.conf.default.disable_ipv6=1")
        ip(f"link set {name_of(port)} netns {OTHER}")
        with inside():
            ip(f"link set {name_of(port)} promisc on up")
        yield
    finally:
        # The namespace may live on: a socket of YNL is closed when it is collected as garbage
        with inside():
            ip(f"link set {name_of(port)} netns 1")
        ip(f"netns del {OTHER}")
        ip(f"link set {name_of(port)} promisc on up")
        queues(port, 1)


def other_namespace(first, second):
    """The Rx queue in another network namespace is not named, neither here nor there."""
    with moved(second), pair((first,)) as (near,):
        with inside():
            far = Xsk(name_of(second), share=near, fill=(), attach=True, inorder=True, rings=RINGS)
        with contextlib.closing(far):
            for source, out in (near, far), (far, near):
                source.recycle(out)
                apply(source)
            reports_tx(first, "on")
            with inside():
                reports_tx(second, "on")


def tests(drivers):
    """Yield name, function and arguments of the tests."""
    for driver, (first, second) in drivers.items():
        yield f"{driver}: queue-get", pairing, first, second
    first, second = drivers["ixgbe"]
    yield "queue-get of a pair in two namespaces", other_namespace, first, second
