#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Traffic through the ports of a card, the same for each way in which nicsim keeps time.

eth0 is a tap of the lab, where lab/guest/peer.py listens. eth1 gets generator frames and is
checked by a sink, which sits at eth2, too. Prints TAP. Arguments: the driver; the kernel,
"base" or one with the series; the timings, with commas; a regular expression for the names of
tests. SWITCHES in the environment says how often the storm switches, 200 times without.

A test has fewer frames than the rings have descriptors: a processor of the guest that kicks
the port in a loop keeps the others out of QEMU for up to 0.2 s (its big lock is not fair), and
what no descriptor waits for is lost then. That much is no fault of driver or model.
"""

import contextlib
import itertools
import json
import os
import re
import sys
import time

from harness import (SLOW, Nicsim, Tap, channels, eventually, finish, links_up, one_queue, ping,
                     shell, spread, stands_still, start, start_and_wait, stop, transfer, xdp_bench)

ADDRESS, PEER_ADDRESS = "192.0.2.2/24", "192.0.2.1"
RING, FRAMES = 4096, 4000
SWITCHES, PROGRAMS = int(os.environ.get("SWITCHES") or 200), "/sys/fs/bpf/frags"
PORT, OTHER = 1, 2  # of the generator, and where else its frames may come out
# Action, port where frames come out, how many, options of xdp-bench
XDP = (("drop", PORT, 0), ("pass", PORT, 0), ("tx", PORT, FRAMES, "-p", "swap-macs"),
       ("redirect", OTHER, FRAMES, "eth2"))
# The driver resets the port
RESET = {"ixgbe": "ethtool -r eth1",
         "i40e": "echo pfr >/sys/kernel/debug/i40e/0000:02:00.0/command"}
nicsim = Nicsim()


# The generator and the sinks

def came_out(sink=PORT):
    """Return how many frames came out of the port since its sink began to count."""
    return nicsim.port(sink)["wire"]["sink"]["frames"]


def stop_forwarding(process):
    """End an xdpsock once all frames came out."""
    return stop(process, lambda: came_out() >= FRAMES)


@contextlib.contextmanager
def comes_out(sink=PORT, frames=FRAMES):
    """Check that all frames that are sent inside come out of the port of the sink, once."""
    for port in PORT, OTHER:
        nicsim("sink", port, "reset")
    yield
    eventually("all frames", lambda: came_out(sink) >= frames)
    nicsim.verified(sink, frames)


def handed_up():
    """Return how many frames the driver says it has taken out of its rings, XDP's included."""
    said = shell("ethtool -S eth1")
    return int(said.split(" rx_packets: ")[1].split()[0])


@contextlib.contextmanager
def counted():
    """Check that the interface counts the frames inside as the wire does, in both directions."""
    def difference():
        stats = json.loads(shell("ip -s -j link show eth1"))[0]["stats64"]
        wire = nicsim.port(PORT)["wire"]
        return (stats["rx"]["packets"] - wire["to_chip"],
                stats["tx"]["packets"] - wire["from_chip"])
    before = difference()
    yield
    eventually("as many frames as at the wire", lambda: difference() == before)


# The tests

def xdp(action, sink, frames, *args):
    """A native program takes every frame; what it sends comes out."""
    with xdp_bench(action, "eth1", *args), comes_out(sink, frames):
        before = handed_up()
        nicsim.generate(PORT, FRAMES)
        eventually("all frames", lambda: handed_up() - before >= FRAMES)
        assert handed_up() - before == FRAMES, handed_up() - before


def cpumap():
    """Every frame goes to a program of a CPUMAP, which sends it with another address.

    On the processor that has an XDP ring: there is one queue, and only with a program.
    """
    def sent():
        return nicsim.port(OTHER)["wire"]["from_chip"]
    before = sent()
    with (xdp_bench("drop", "eth2"),
          xdp_bench("redirect-cpu", "eth1", "--cpu", "0", "--qsize", str(2 * FRAMES),
                    "--remote-action", "redirect", "--redirect-device", "eth2")):
        nicsim.generate(PORT, FRAMES)
        eventually("all frames", lambda: sent() - before == FRAMES)


def xdpsock_args(how, copy, busy):
    """Return the options of an xdpsock."""
    return ["-N", {"copy": "-c", "zero-copy": "-z"}[copy], *(["-B"] if busy else []),
            *(["--attach", "--force"] if how == "attach" else []),
            f"--ring-size={RING}", f"--frames={2 * RING}"]


def check_how(result, how, copy):
    """Check how a socket says it got its frames."""
    assert (result["how"], result["copy_mode"], result["mode"]) == (how, copy, "native"), result


def rxdrop(how, copy, busy):
    """A socket receives every frame."""
    socket = start_and_wait("eth1", "-r", *xdpsock_args(how, copy, busy))
    links_up("eth1")
    with counted():
        nicsim.generate(PORT, FRAMES)
    result = stop(socket)
    assert result["rx_packets"] == FRAMES, result
    check_how(result, how, copy)


def l2fwd(how, copy, busy):
    """Every frame goes through a socket and back out."""
    socket = start_and_wait("eth1", "-l", *xdpsock_args(how, copy, busy))
    links_up("eth1")
    with comes_out():
        with counted():
            nicsim.generate(PORT, FRAMES)
        result = stop_forwarding(socket)
    assert result["rx_packets"] == result["tx_packets"] == FRAMES, result
    check_how(result, how, copy)


def two_cores(how):
    """Two queues, each with a socket and a process on a processor of its own."""
    channels("eth1", 2)
    spread("eth1")
    sockets = []
    for queue in 0, 1:
        sockets.append(start_and_wait("eth1", "-r", "-q", str(queue),
                                      *xdpsock_args(how, "zero-copy", False)))
        os.sched_setaffinity(sockets[-1].pid, {queue})
    links_up("eth1")
    with counted():
        nicsim.generate(PORT, FRAMES)
    time.sleep(2 * SLOW)
    received = [stop(socket, lambda: True)["rx_packets"] for socket in sockets]
    channels("eth1", 1)
    assert sum(received) == FRAMES and all(received), received


def txonly(how, copy, busy):
    """A socket sends, and all of it comes out."""
    before = nicsim.port(PORT)["wire"]["from_chip"]
    result = finish(start("eth1", "-t", "-C", str(FRAMES), *xdpsock_args(how, copy, busy)))
    assert result["tx_packets"] == FRAMES, result
    sent = nicsim.port(PORT)["wire"]["from_chip"] - before
    assert sent == FRAMES, sent


def small_ring():
    """A ring in order that is smaller than the device's sends all the same, and xdpsock says so."""
    for slots, warned in (RING // 2, True), (RING, False):
        process = start("eth1", "-t", "-C", str(FRAMES), "--inorder",
                        *xdpsock_args("attach", "zero-copy", False), f"--ring-size={slots}")
        out, said = process.communicate(timeout=60 * SLOW)
        assert not process.returncode and json.loads(out)["tx_packets"] == FRAMES, (out, said)
        assert (f"some of the device's {RING} descriptors" in said) == warned, said


def unaligned(how):
    """Every frame goes through a socket whose chunks cross pages, and back out."""
    shell("sysctl -qw vm.nr_hugepages=16")
    socket = start_and_wait("eth1", "-l", "--unaligned", "--frame-size=3000",
                            *xdpsock_args(how, "zero-copy", False))
    links_up("eth1")
    with comes_out():
        nicsim.generate(PORT, FRAMES)
        result = stop_forwarding(socket)
    assert result["rx_packets"] == result["tx_packets"] == FRAMES, result
    check_how(result, how, "zero-copy")


def quiet():
    """Wait until no frame comes out any more."""
    stands_still("frames", lambda: nicsim.port(PORT)["wire"]["from_chip"])


def resets(how, copy, busy):
    """Resets while frames go through a socket; after the last one, none is lost."""
    socket = start_and_wait("eth1", "-l", *xdpsock_args(how, copy, busy))
    nicsim("gen", PORT, "start", f"count={100 * FRAMES}")
    for _ in range(5):
        time.sleep(0.2)
        shell(RESET[sys.argv[1]])
        links_up("eth1")
    nicsim("gen", PORT, "stop")
    quiet()
    with comes_out():
        nicsim.generate(PORT, FRAMES)
        result = stop_forwarding(socket)
    check_how(result, how, copy)


def storm():
    """A regular program comes and goes under load; after that, all frames go through the socket.

    It drops what comes while it is there, and the sink sees that no frame came out damaged, twice or
    late.
    """
    shell("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf; "
          f"bpftool prog loadall /out/user/frags.bpf.o {PROGRAMS} type xdp")
    socket = start_and_wait("eth1", "-l", *xdpsock_args("attach", "zero-copy", False))
    links_up("eth1")
    nicsim("sink", PORT, "reset")
    nicsim("gen", PORT, "start", f"count={10000 * FRAMES}")
    shell(f"for i in $(seq {SWITCHES}); do ip link set eth1 xdpdrv pinned {PROGRAMS}/drop && "
          "ip link set eth1 xdpdrv off || exit; done", timeout=60 + SWITCHES)
    nicsim("gen", PORT, "stop")
    quiet()
    verify = nicsim.port(PORT)["wire"]["sink"]["verify"]
    assert verify["good"] and not verify["bad"] + verify["duplicate"] + verify["out_of_order"], verify
    links_up("eth1")
    with comes_out():
        nicsim.generate(PORT, FRAMES)
        result = stop_forwarding(socket)
    check_how(result, "attach", "zero-copy")


def set_up():
    """Load the driver and bring the ports up."""
    shell(f"sysctl -qw net.ipv6.conf.default.disable_ipv6=1; modprobe {sys.argv[1]}; "
          f"ip addr add {ADDRESS} dev eth0; ip link set eth0 up")
    for interface in "eth1", "eth2":
        one_queue(interface, RING)
    eventually("peer", lambda: "1 received" in
               shell(f"ping -q -c 1 -W 1 {PEER_ADDRESS} || true"))


def tests(hows):
    """Yield name, function and arguments of the tests."""
    yield "ping", ping, PEER_ADDRESS, 50
    yield "TCP with checksums", transfer, PEER_ADDRESS, 8 << 20
    for action, *args in XDP:
        yield f"XDP {action}", xdp, action, *args
    yield "XDP redirect-cpu", cpumap
    for run in rxdrop, l2fwd, txonly:
        for how, copy, busy in itertools.product(hows, ("copy", "zero-copy"), (False, True)):
            yield f"{run.__name__} {how} {copy}{', busy poll' * busy}", run, how, copy, busy
    if "attach" in hows:
        yield "txonly in order, a small ring", small_ring
    for how in hows:
        yield f"l2fwd {how} zero-copy, unaligned chunks", unaligned, how
        yield f"rxdrop {how} zero-copy, two queues on two processors", two_cores, how
    yield "resets under traffic", resets, hows[-1], "zero-copy", False


def main():
    """Run the tests of one kernel."""
    tap = Tap(nicsim.no_event)
    set_up()
    hows = ("xskmap",) if sys.argv[2] == "base" else ("xskmap", "attach")
    wanted = sys.argv[4] if len(sys.argv) > 4 else ""
    for timing in sys.argv[3].split(","):
        for port in range(3):
            nicsim("timing", port, timing)
        for name, run, *args in tests(hows):
            if re.search(wanted, f"{timing}: {name}"):
                tap.test(f"{timing}: {name}", run, *args)
    if "attach" in hows and re.search(wanted, "storm of switches"):
        tap.test(f"{timing}: storm of switches to a regular program and back", storm)
    tap.plan()


if __name__ == "__main__":
    main()
