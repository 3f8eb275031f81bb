#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Traffic through the ports of a NIC, the same in each timing of nicsim.

eth0 is a tap of the lab, where lab/guest/peer.py listens. eth1 gets generator frames and has a
verifying sink, as has eth2. Prints KTAP. Arguments: the driver; the kernel, "base" or one with the
series; the timings, with commas, or with + if they share the tests; a regular expression for the
names of tests. SWITCHES in the environment is the number of switches in the storm, 200 by default.

A test has fewer frames than the rings have descriptors: a CPU of the guest that kicks the port in a
loop keeps the others out of QEMU for up to 0.2 s (its big lock is not fair), and frames without a
descriptor are lost then, which is no fault of driver or model.
"""

import contextlib
import itertools
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from socket import MSG_DONTWAIT, SOL_SOCKET

import xdp_program
from harness import SLOW, argument, eventually, run_cases, settles
from lib.py import cmd, ip, ksft_eq
from netdev import (channels, links_up, no_ipv6, one_queue, ping, reachable, spread, stats,
                    transfer, xdp_bench)
from nicsim import nicsim
from xdpsock import finish, start, start_and_wait, stop
from xsk import CHUNK, CHUNKS, NEED_WAKEUP, SLOTS, ZEROCOPY, Xsk

ADDRESS, PEER_ADDRESS = "192.0.2.2/24", "192.0.2.1"
RING, FRAMES = 4096, 4000
SO_BUSY_POLL, SO_PREFER_BUSY_POLL, SO_BUSY_POLL_BUDGET = 46, 69, 70
UNALIGNED = "--unaligned", "--frame-size=3000"  # chunks that cross pages
MULTI_BUFFER = {"": ("--frame-size=2048",), ", unaligned chunks": ("--unaligned", "--frame-size=2100"),
                ", busy poll": ("--frame-size=2048", "-B")}
SWITCHES = int(os.environ.get("SWITCHES") or 200)
PORT, OTHER = 1, 2  # of the generator, and another one that may send its frames
# Action, port that sends the frames, their number, options of xdp-bench
XDP = (("drop", PORT, 0), ("pass", PORT, 0), ("tx", PORT, FRAMES, "-p", "swap-macs"),
       ("redirect", OTHER, FRAMES, "eth2"))
# The driver resets the port
RESET = {"ixgbe": "ethtool -r eth1",
         "i40e": "echo pfr >/sys/kernel/debug/i40e/0000:02:00.0/command"}


# The generator and the sinks

def returned(sink=PORT):
    """Return the number of frames at a sink since its last reset."""
    return nicsim.wire(sink)["sink"]["frames"]


def stop_forwarding(process):
    """End an xdpsock once it has sent all frames back."""
    return stop(process, lambda: returned() >= FRAMES)


@contextlib.contextmanager
def all_returned(sink=PORT, frames=FRAMES):
    """Check that all frames received inside are sent by the port of the sink, once."""
    for port in PORT, OTHER:
        nicsim("sink", port, "reset")
    yield
    eventually("all frames", lambda: returned(sink) >= frames)
    nicsim.verified(sink, frames)


def handed_up():
    """Return the driver's count of received frames, XDP's included."""
    return stats("eth1")["rx_packets"]


@contextlib.contextmanager
def counted():
    """Check that the interface counts the frames inside as the wire does, in both directions."""
    def difference():
        link = ip("-s link show eth1", json=True)[0]["stats64"]
        wire = nicsim.wire(PORT)
        return (link["rx"]["packets"] - wire["to_chip"],
                link["tx"]["packets"] - wire["from_chip"])

    before = difference()
    yield
    eventually("as many frames as at the wire", lambda: difference() == before)


# The tests

def xdp(action, sink, frames, *args):
    """A native program runs on every frame, and the frames that it sends arrive."""
    with xdp_bench(action, "eth1", *args), all_returned(sink, frames):
        before = handed_up()
        nicsim.generate(PORT, FRAMES)
        eventually("all frames", lambda: handed_up() - before >= FRAMES)
        ksft_eq(handed_up() - before, FRAMES)


def cpumap():
    """Every frame is redirected to a program of a CPUMAP, which redirects it to another port.

    On the CPU with an XDP ring: there is one queue, and only with a program.
    """
    before = nicsim.sent(OTHER)
    with (xdp_bench("drop", "eth2"),
          xdp_bench("redirect-cpu", "eth1", "--cpu", "0", "--qsize", str(2 * FRAMES),
                    "--remote-action", "redirect", "--redirect-device", "eth2")):
        nicsim.generate(PORT, FRAMES)
        eventually("all frames", lambda: nicsim.sent(OTHER) - before == FRAMES)


def xdpsock_args(how, copy, busy):
    """Return the options of an xdpsock."""
    return ["-N", {"copy": "-c", "zero-copy": "-z"}[copy], *(["-B"] if busy else []),
            *(["--attach", "--force"] if how == "attach" else []),
            f"--ring-size={RING}", f"--frames={2 * RING}"]


def check_how(result, how, copy):
    """Check the mode that a socket reports."""
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


def l2fwd(how, copy, busy, *options):
    """Every frame is sent back by a socket."""
    socket = start_and_wait("eth1", "-l", *options, *xdpsock_args(how, copy, busy))
    links_up("eth1")
    with all_returned():
        with counted():
            nicsim.generate(PORT, FRAMES)
        result = stop_forwarding(socket)
    assert result["rx_packets"] == result["tx_packets"] == FRAMES, result
    check_how(result, how, copy)


def multi_buffer(how, *options):
    """Frames of one and of two buffers are sent back by a socket."""
    socket = start_and_wait("eth1", "-l", "--frags", *options, *xdpsock_args(how, "zero-copy", False))
    links_up("eth1")
    with all_returned():
        nicsim.generate(PORT, FRAMES)
        result = stop_forwarding(socket)
    assert result["rx_packets"] == result["tx_packets"] > FRAMES, result
    check_how(result, how, "zero-copy")


def two_cores(how):
    """Two queues, each with a socket and a process on its own CPU."""
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
    """A socket sends, and all frames arrive."""
    before = nicsim.sent(PORT)
    result = finish(start("eth1", "-t", "-C", str(FRAMES), *xdpsock_args(how, copy, busy)))
    assert result["tx_packets"] == FRAMES, result
    ksft_eq(nicsim.sent(PORT) - before, FRAMES)


@contextlib.contextmanager
def deferred(polls=2, timeout=200000):
    """Defer the interrupts of eth1 while a process busy polls, and for `polls` x `timeout` ns."""
    settings = [Path("/sys/class/net/eth1") / name
                for name in ("napi_defer_hard_irqs", "gro_flush_timeout")]
    for file, value in zip(settings, (polls, timeout)):
        file.write_text(str(value))
    try:
        yield
    finally:
        for file in settings:
            file.write_text("0")


def l2fwd_deferred(how):
    """A socket that only busy polls sends every frame back."""
    with deferred():
        l2fwd(how, "zero-copy", True)


def frames_per_call():
    """A system call polls twice if a small budget is used up, with a budget of 64 once."""
    for budget, frames in (8, 16), (64, 64):
        xsk = Xsk("eth1", rings=("fill", "rx", "tx"), attach=True, inorder=True)
        with contextlib.closing(xsk), deferred(polls=1000, timeout=10 ** 10):
            for option, value in ((SO_PREFER_BUSY_POLL, 1), (SO_BUSY_POLL, 20),
                                  (SO_BUSY_POLL_BUDGET, budget)):
                xsk.socket.setsockopt(SOL_SOCKET, option, value)
            links_up("eth1")
            nicsim.generate(PORT, 1)
            eventually("a frame", lambda xsk=xsk: xsk.rx.used == 1)
            time.sleep(0.2)  # its interrupt was the last one
            nicsim.generate(PORT, 200)
            ksft_eq(xsk.rx.used, 1, "without a system call")
            xsk.socket.send(b"", MSG_DONTWAIT)
            ksft_eq(xsk.rx.used, 1 + frames, f"with a budget of {budget}")


def suspended(how):
    """Whenever a process stops to busy poll, the timer of NAPI and then interrupts receive."""
    rounds, part = 40, FRAMES // 40
    with deferred():
        socket = start_and_wait("eth1", "-r", *xdpsock_args(how, "zero-copy", True))
        links_up("eth1")
        begin = handed_up()
        for number in range(1, rounds + 1):
            socket.send_signal(signal.SIGSTOP if number % 2 else signal.SIGCONT)
            nicsim.generate(PORT, part)
            eventually("the frames of a round",
                       lambda number=number: handed_up() - begin >= number * part)
        socket.send_signal(signal.SIGCONT)
        result = stop(socket)
    assert result["rx_packets"] == rounds * part, result


def small_ring():
    """A Tx ring in order that is smaller than the device's works, and xdpsock warns."""
    for slots, warned in (RING // 2, True), (RING, False):
        process = start("eth1", "-t", "-C", str(FRAMES), "--inorder",
                        *xdpsock_args("attach", "zero-copy", False), f"--ring-size={slots}")
        out, said = process.communicate(timeout=60 * SLOW)
        assert not process.returncode and json.loads(out)["tx_packets"] == FRAMES, (out, said)
        assert (f"some of the device's {RING} descriptors" in said) == warned, said


def invalid_descriptor():
    """Frames before and after an invalid descriptor are sent, with one system call for all."""
    xsk = Xsk("eth1", rings=("fill", "completion", "rx", "tx"), attach=True)
    links_up("eth1")
    nicsim("sink", PORT, "reset")
    frames = [(SLOTS + i) * CHUNK for i in range(41)]
    frames[20] = CHUNKS * CHUNK
    with contextlib.closing(xsk):
        xsk.tx.put_frames(frames)
        xsk.socket.send(b"", MSG_DONTWAIT)
        eventually("40 frames", lambda: returned() == 40)


def poll_alone(how):
    """poll() alone has frames sent, with and without XDP_USE_NEED_WAKEUP.

    In the latter mode, the drivers poll all the time if the fill ring does not fill the device ring.
    """
    modes = [(ZEROCOPY, False), (ZEROCOPY | NEED_WAKEUP, False)]
    modes += [(flags, True) for flags, _ in modes if how == "attach"]
    for flags, inorder in modes:
        rings = ("fill", "rx", "tx") if inorder else ("fill", "completion", "rx", "tx")
        with contextlib.ExitStack() as stack:
            stack.callback(one_queue, "eth1", RING)
            one_queue("eth1", SLOTS // 2)
            if how == "xskmap":
                stack.enter_context(xdp_bench("drop", "eth1"))
            xsk = Xsk("eth1", rings=rings, attach=how == "attach", inorder=inorder, flags=flags)
            stack.callback(xsk.close)
            links_up("eth1")
            nicsim("sink", PORT, "reset")
            poll = select.poll()
            poll.register(xsk.socket, select.POLLOUT)
            for number in range(1, 9):
                xsk.tx.put_frames([(SLOTS + number) * CHUNK])
                poll.poll(0)
                eventually(f"frame {number}, flags {flags}, in order {inorder}",
                           lambda number=number: returned() == number)


def resets(how, copy, busy):
    """Resets while frames go through a socket; after the last one, none is lost."""
    socket = start_and_wait("eth1", "-l", *xdpsock_args(how, copy, busy))
    nicsim.start(PORT, 100 * FRAMES)
    for _ in range(5):
        time.sleep(0.2)
        cmd(RESET[sys.argv[1]])
        links_up("eth1")
    nicsim("gen", PORT, "stop")
    settles("frames", lambda: nicsim.sent(PORT))
    with all_returned():
        nicsim.generate(PORT, FRAMES)
        result = stop_forwarding(socket)
    check_how(result, how, copy)


def storm():
    """A regular program is attached and detached under load; then all frames go through the socket.

    It drops frames while it is attached, and the sink sees that none is damaged, duplicate or late.
    """
    xdp_program.pin()
    socket = start_and_wait("eth1", "-l", *xdpsock_args("attach", "zero-copy", False))
    links_up("eth1")
    nicsim("sink", PORT, "reset")
    nicsim.start(PORT, 10000 * FRAMES)
    cmd(f"for i in $(seq {SWITCHES}); do ip link set eth1 xdpdrv pinned {xdp_program.PINNED}/drop && "
        "ip link set eth1 xdpdrv off || exit; done", timeout=60)
    nicsim("gen", PORT, "stop")
    settles("frames", lambda: nicsim.sent(PORT))
    verify = nicsim.verify(PORT)
    assert verify["good"] and not verify["bad"] + verify["duplicate"] + verify["out_of_order"], verify
    links_up("eth1")
    with all_returned():
        nicsim.generate(PORT, FRAMES)
        result = stop_forwarding(socket)
    check_how(result, "attach", "zero-copy")


def set_up():
    """Load the driver and set the ports up."""
    no_ipv6()
    cmd("sysctl -qw vm.nr_hugepages=32")  # for two umems: one may not be released yet
    cmd(f"modprobe {sys.argv[1]}")
    ip(f"addr add {ADDRESS} dev eth0")
    ip("link set eth0 up")
    for interface in "eth1", "eth2":
        one_queue(interface, RING)
    reachable(PEER_ADDRESS)


def tests(hows, timing):
    """Yield name, function and arguments of the tests in a timing of nicsim."""
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
        yield "an invalid descriptor between valid ones", invalid_descriptor
        yield "frames per system call of a busy poll", frames_per_call
        yield ("l2fwd all zero-copy, unaligned chunks", l2fwd, "attach", "zero-copy", False, *UNALIGNED,
               "--inorder", "--recycle")
    for how in hows:
        yield f"l2fwd {how} zero-copy, unaligned chunks", l2fwd, how, "zero-copy", False, *UNALIGNED
        # 1514 bytes need two buffers on ixgbe, which drops them: libxdp's program has no frags
        if timing == "async" and (sys.argv[1] == "i40e" or how == "attach"):
            for name, options in MULTI_BUFFER.items():
                yield f"l2fwd {how} zero-copy, multi-buffer{name}", multi_buffer, how, *options
        yield f"txonly {how} zero-copy, by poll() alone", poll_alone, how
        yield f"rxdrop {how} zero-copy, two queues on two CPUs", two_cores, how
        yield f"l2fwd {how} zero-copy, busy poll, interrupts deferred", l2fwd_deferred, how
        yield f"rxdrop {how} zero-copy, busy poll that stops and continues", suspended, how
    yield "resets under traffic", resets, hows[-1], "zero-copy", False


def shared(hows, timings):
    """Yield each test once, in one of the timings in turn, with that timing.

    Those of multi-buffer packets exist in one timing only.
    """
    for number, timing in enumerate(timings):
        calls = list(tests(hows, timing))
        others = [call for call in calls if "multi-buffer" not in call[0]]
        for call in calls:
            if call not in others or others.index(call) % len(timings) == number:
                yield timing, call


def in_timing(timing, run, *args):
    """Run a test in a timing of nicsim."""
    for port in range(3):
        nicsim("timing", port, timing)
    run(*args)


def main():
    """Run the tests of one kernel."""
    set_up()
    hows = ("xskmap",) if sys.argv[2] == "base" else ("xskmap", "attach")
    groups = [group.split("+") for group in sys.argv[3].split(",")]
    cases = [(f"{timing}: {name}", in_timing, timing, *call) for group in groups
             for timing, (name, *call) in shared(hows, group)]
    if "attach" in hows:
        last = groups[-1][-1]
        cases.append((f"{last}: storm of switches to a regular program and back",
                      in_timing, last, storm))
    run_cases(cases, argument(4), around=nicsim.no_event)


if __name__ == "__main__":
    main()
