#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Frames from an i40e port to an ixgbe port and back, both in one guest.

eth0 and eth2 have a generator and a sink that verifies each; a cable connects eth1 and eth3,
the latter in a network namespace. eth0 and eth1 are i40e's. Prints KTAP.
"""

import contextlib
import itertools

from harness import eventually, run_cases
from lib.py import cmd, ksft_eq
from netdev import links_up, one_queue, xdp_bench, xsk_features
from ports import ADDRESS, nicsim, peer_namespace, plug, plug_peer, serving, works, works_at_mtu
from xdpsock import start_and_wait, stop

I40E, IXGBE = 0, 2  # ports with a generator
PORTS = (I40E, IXGBE)
ROUNDS, FRAMES = 5, 4000  # a round fits into the rings


def reset_sinks():
    """Let the sinks count from zero."""
    for port in PORTS:
        nicsim("sink", port, "reset")


def arrived(sink, frames):
    """Wait until a sink has that number of frames, each whole and once."""
    eventually(f"{frames} frames at port {sink}",
               lambda: nicsim.wire(sink)["sink"]["frames"] >= frames)
    nicsim.verified(sink, frames)


def redirected(*ways):
    """Frames received at one port leave at the other, via a device map; all ways at a time."""
    reset_sinks()
    with contextlib.ExitStack() as stack:
        for source, sink in ways:
            stack.enter_context(xdp_bench("redirect-map", f"eth{source}", f"eth{sink}"))
        links_up(*(f"eth{port}" for port in PORTS))
        for number in range(1, ROUNDS + 1):
            for source, _ in ways:
                nicsim.generate(source, FRAMES)
            for _, sink in ways:
                arrived(sink, number * FRAMES)


def sockets(how, busy):
    """Zero-copy sockets of both drivers send all frames back, at the same time."""
    args = ["-l", "-N", "-z", "--ring-size=4096", "--frames=8192", *(["-B"] if busy else []),
            *(["--attach", "--force"] if how == "attach" else [])]
    running = [start_and_wait(f"eth{port}", *args) for port in PORTS]
    links_up(*(f"eth{port}" for port in PORTS))
    reset_sinks()
    for number in range(1, ROUNDS + 1):
        for port in PORTS:
            nicsim.generate(port, FRAMES)
        for port in PORTS:
            arrived(port, number * FRAMES)
    for result in [stop(process, lambda: True) for process in running]:
        assert result["copy_mode"] == "zero-copy", result
        assert result["rx_packets"] == result["tx_packets"] == ROUNDS * FRAMES, result


def features():
    """Each device reports which options of the fast path work on it."""
    every = {"attach", "tx-inorder", "recycle"}
    ports = every | {"tx-checksum"}
    for interface, expected in ("eth0", ports), ("eth2", ports), ("lo", {"tx-inorder"}):
        ksft_eq(xsk_features(interface), expected, interface)


def cable(mtu):
    """Ping and TCP between the two."""
    works()
    works_at_mtu(mtu, "eth1", "eth3")


def set_up():
    """Load both drivers; two ports get frames of the generator, two are the cable's ends."""
    cmd("modprobe i40e; modprobe ixgbe")
    for port in PORTS:
        one_queue(f"eth{port}")
    plug("eth1", ADDRESS)
    plug_peer("eth3")


def tests():
    """Yield name, function and arguments of the tests."""
    there, back = (I40E, IXGBE), (IXGBE, I40E)
    yield "xsk-features of netdev-genl", features
    for mtu in 1500, 9000:
        yield f"cable, MTU {mtu}", cable, mtu
    yield "XDP_REDIRECT from i40e to ixgbe", redirected, there
    yield "XDP_REDIRECT from ixgbe to i40e", redirected, back
    yield "XDP_REDIRECT both ways", redirected, there, back
    for how, busy in itertools.product(("xskmap", "attach"), (False, True)):
        yield f"l2fwd {how}, zero-copy{', busy poll' * busy}", sockets, how, busy


def main():
    """Run them all."""
    with peer_namespace(), serving():
        set_up()
        run_cases(tests(), around=nicsim.no_event)


if __name__ == "__main__":
    main()
