#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Bugs of the base, its i40e and ixgbe that are fixed at the head of the series.

Arguments: "base", where each has to show, or "patched", where none may; a regular expression
for the names of tests. Prints KTAP.

eth0 (ixgbe) and eth1 (i40e) have a generator and a sink that verifies each; a cable connects
eth2 and eth3, of i40e, the latter in a network namespace. eth4 (i40e) gets large frames.
"""

import contextlib
import ctypes
import fcntl
import mmap
import multiprocessing
import os
import signal
import socket
import struct
import threading
import time
from pathlib import Path

import xdp_program
from bugs import run_bugs, shows
from harness import SLOW, child, eventually
from lib.py import cmd, ethtool, ip
from netdev import links_up, one_queue, reachable, size_queues, xdp_bench
from ports import ADDRESS, PEER, PEER_ADDRESS, nicsim, peer_namespace, peer_socket, plug, plug_peer
from xdpsock import start_and_wait, stop
from xsk import AF_XDP, CHUNK, LIBC, SLOTS, SOL_XDP, UMEM_REG, USE_SG, ZEROCOPY, Xsk

IXGBE, I40E, JUMBO = 0, 1, 4  # ports with a generator
VETH_ADDRESS, VETH_PEER_ADDRESS = "198.51.100.1", "198.51.100.2"
SO_BUSY_POLL, SO_PREFER_BUSY_POLL, SO_BUSY_POLL_BUDGET = 46, 69, 70
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
TRACING = Path("/sys/kernel/tracing")
NAPI_TIMER = 10  # seconds: longer than it takes to find the timer


def received_twice():
    """Patch 1: after a socket's Rx ring was full, ixgbe receives the last frame again.

    A stopped program does not consume its Rx ring.
    """
    program = start_and_wait("eth0", "-l", "-N", "-z", "--ring-size=1024", "--frames=8192")
    links_up("eth0")
    nicsim("sink", IXGBE, "reset")
    taken = nicsim.wire(IXGBE)["to_chip"]
    for _ in range(10):
        program.send_signal(signal.SIGSTOP)
        nicsim.start(IXGBE, 3000)
        time.sleep(0.2)
        program.send_signal(signal.SIGCONT)
        taken += 3000
        eventually("all frames", lambda: nicsim.wire(IXGBE)["to_chip"] >= taken)
    stop(program)
    verify = nicsim.verify(IXGBE)
    shows(verify["bad"] + verify["out_of_order"] + verify["duplicate"], verify)
    assert verify["good"], verify


def completes_what_was_not_sent():
    """Patch 2: frames of XDP_TX are counted in 16 bits, also those before the socket was bound.

    When the count wraps to zero with such frames in the ring, the socket gets completions for
    them, although it has never sent anything.
    """
    burst = 32
    with xdp_bench("tx", "eth1", "-p", "swap-macs"):
        links_up("eth1")
        sent = nicsim.sent(I40E)
        end = sent + 0x10000 - burst
        while sent < end:
            count = min(end - sent, 256)
            sent += count
            nicsim.start(I40E, count)
            eventually("all frames back", lambda to=sent: nicsim.sent(I40E) >= to)
        xsk = Xsk("eth1")
        links_up("eth1")
        for _ in range(40):
            nicsim.generate(I40E, burst)
            time.sleep(0.05)
        completed = xsk.completion.producer
        xsk.close()
    shows(completed, "completions of frames that were not sent")


def completes_fragments():
    """Patch 5: the fragments of a redirected packet are completed to the socket.

    eth4 gets frames of 8000 bytes, three buffers each.
    """
    frames = 10
    for interface, program in ("eth1", "drop"), ("eth4", "to_eth1"):
        one_queue(interface, 512)
        ip(f"link set {interface} mtu 9000")
        ip(f"link set {interface} xdpdrv object {xdp_program.FRAGS} program {program}")
        ip(f"link set {interface} promisc on up")
    xsk = Xsk("eth1", flags=ZEROCOPY | USE_SG)
    links_up("eth1", "eth4")
    sent = nicsim.sent(I40E)
    nicsim.start(JUMBO, frames)
    eventually("frames", lambda: nicsim.sent(I40E) - sent == frames)
    # The device writes completions back a little later
    time.sleep(0.5)
    completed = xsk.completion.producer
    xsk.close()
    for interface in "eth1", "eth4":
        ip(f"link set {interface} xdpdrv off")
        ip(f"link set {interface} mtu 1500")
    shows(completed, "completions of frames that were not sent")


def stalls_after_fragments():
    """Patch 48: ixgbe waits for a report of each descriptor of a redirected packet.

    What eth4 redirects has two buffers, of which the device reports the last. It goes to the
    ring of the CPU that eth4 is polled on: each of them has a socket.
    """
    frames = 10
    size_queues("eth0", 2, 512)
    one_queue("eth4", 512)
    for interface, program, mtu in ("eth0", "drop", 3000), ("eth4", "to_eth0", 8000):
        ip(f"link set {interface} mtu {mtu}")
        ip(f"link set {interface} xdpdrv object {xdp_program.FRAGS} program {program}")
        ip(f"link set {interface} promisc on up")
    sockets = [Xsk("eth0", queue, rings=("fill", "completion", "rx", "tx")) for queue in range(2)]
    links_up("eth0", "eth4")
    sent = nicsim.sent(IXGBE)
    nicsim.start(JUMBO, frames)
    eventually("packets", lambda: nicsim.sent(IXGBE) - sent == frames)
    for xsk in sockets:
        xsk.tx.put_frames([(SLOTS + i) * CHUNK for i in range(frames)])
        xsk.kick()
    eventually("frames of the sockets", lambda: nicsim.sent(IXGBE) - sent == 3 * frames)
    # The device writes completions back a little later
    for _ in range(2):
        time.sleep(0.5)
        for xsk in sockets:
            xsk.kick()
    completed = [xsk.completion.producer for xsk in sockets]
    for xsk in sockets:
        xsk.close()
    for interface in "eth0", "eth4":
        ip(f"link set {interface} xdpdrv off")
        ip(f"link set {interface} mtu 1500")
    one_queue("eth0", 512)
    shows(completed != 2 * [frames], f"completions of {frames} frames each: {completed}")


def asks_for_wakeups():
    """Patch 3: at the end of the Rx ring i40e requests a wakeup, with all buffers it needs.

    The next poll clears the request: there is none without a frame.
    """
    cmd("echo 0 >/sys/class/net/eth1/napi_defer_hard_irqs")
    with xdp_bench("drop", "eth1"):
        xsk = Xsk("eth1")
        links_up("eth1")
        asked = 0
        for _ in range(64):
            # Enough for a refill, not enough for another poll
            nicsim.generate(I40E, 32)
            time.sleep(0.02)
            asked += xsk.fill.needs_wakeup
        left = xsk.fill.used
        xsk.close()
    assert left > 0, "the fill ring was empty"
    shows(asked, "asked for a wakeup")


def loses_after_filter():
    """Patch 4: the frame after the status of a filter becomes a fragment of a freed one.

    The driver adds filters for the host's connections (ATR).
    """
    frames, rounds = 64, 10
    ethtool("-N eth2 rx-flow-hash udp4 sdfn")
    lost, failed = 0, nicsim.port(2)["chip"]["fdir_failed"]
    with (xdp_bench("pass", "eth2"), peer_socket(socket.AF_INET, socket.SOCK_STREAM) as listener,
          socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver):
        listener.bind((PEER_ADDRESS, 4242))
        listener.listen()
        receiver.bind((ADDRESS, 9))
        receiver.setblocking(False)
        queues = [Xsk("eth2", queue) for queue in range(2)]
        links_up("eth2")
        reachable(PEER_ADDRESS)
        for _ in range(rounds):
            end_twice(listener)
            for _ in range(frames):
                with peer_socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    sender.sendto(b"", (ADDRESS, 9))
            lost += frames - arrivals(receiver, frames)
        for xsk in queues:
            xsk.close()
    failed = nicsim.port(2)["chip"]["fdir_failed"] - failed
    assert failed >= rounds, f"{failed} filters were missing"
    shows(lost, "datagrams lost")


def end_twice(listener):
    """End a connection by FIN, which removes its filter, then by RST, when there is none."""
    with socket.create_connection((PEER_ADDRESS, 4242), timeout=5) as client:
        connection, _ = listener.accept()
        client.shutdown(socket.SHUT_WR)
        assert not connection.recv(1)
        time.sleep(0.1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.1)
    connection.close()


def arrivals(receiver, frames):
    """Return the number of datagrams that a socket receives within two seconds, `frames` at most."""
    count, end = 0, time.monotonic() + 2 * SLOW
    while count < frames and time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):
            receiver.recv(1)
            count += 1
            continue
        time.sleep(0.005)
    return count


def registers_slowly(begun, ended):
    """Register a umem that takes seconds to pin, and bind() the socket meanwhile."""
    size = 768 << 20
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    option = struct.pack("=QQIIII", base, size, CHUNK, 0, 0, 0)
    with socket.socket(AF_XDP, socket.SOCK_RAW) as xsk:
        address = struct.pack("=HHIII", AF_XDP, 0, socket.if_nametoindex("lo"), 0, 0)

        def bind():
            time.sleep(0.1)
            begun.set()
            LIBC.bind(xsk.fileno(), address, len(address))

        thread = threading.Thread(target=bind)
        thread.start()
        # socket.setsockopt() would not release the interpreter lock
        assert not LIBC.setsockopt(xsk.fileno(), SOL_XDP, UMEM_REG, option, len(option))
        ended.set()
        thread.join()


def pins_with_rtnl():
    """bind() holds RTNL while another thread pins the umem."""
    begun, ended = multiprocessing.Event(), multiprocessing.Event()
    child = multiprocessing.Process(target=registers_slowly, args=(begun, ended))
    child.start()
    begun.wait()
    time.sleep(0.4)
    assert not ended.is_set(), "it was fast"
    changes = 0
    while not ended.is_set():
        ip("link set lo txqueuelen 1000")
        changes += not ended.is_set()
    child.join()
    assert not child.exitcode, child.exitcode
    shows(not changes, "RTNL was held until the umem was registered")


def busy_polls():
    """Busy poll the NAPI instance that the last datagram came from, without end."""
    os.sched_setaffinity(0, {0})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind((VETH_ADDRESS, 9))
        receiver.connect((VETH_PEER_ADDRESS, 9))
        for option, value in (SO_BUSY_POLL, 20), (SO_PREFER_BUSY_POLL, 1):
            receiver.setsockopt(socket.SOL_SOCKET, option, value)
        while True:
            LIBC.recv(receiver.fileno(), None, 0, socket.MSG_DONTWAIT)


@contextlib.contextmanager
def busy_polled_veth(name):
    """Have a veth device with a program, and so with NAPI, which CPU 0 busy polls."""
    ip(f"link add {name} numrxqueues 1 numtxqueues 1 type veth "
       f"peer {name} netns {PEER.name} numrxqueues 1 numtxqueues 1")
    ip(f"link set {name} xdpdrv object {xdp_program.FRAGS} program pass")
    for address, host in (VETH_ADDRESS, None), (VETH_PEER_ADDRESS, PEER):
        ip(f"addr add {address}/24 dev {name}", host=host)
        ip(f"link set {name} up", host=host)
    for setting, value in ("napi_defer_hard_irqs", 1), ("gro_flush_timeout", NAPI_TIMER * 10 ** 9):
        Path("/sys/class/net", name, setting).write_text(str(value))
    try:
        with child(busy_polls):
            yield
    finally:
        ip(f"link del {name}")


@contextlib.contextmanager
def slow_timers():
    """Delay each start of a timer by the time that a stack trace takes."""
    probe = TRACING / "events/kprobes/slow"
    (TRACING / "kprobe_events").write_text("p:slow hrtimer_start_range_ns")
    (probe / "trigger").write_text("stacktrace")
    (probe / "enable").write_text("1")
    try:
        yield
    finally:
        (probe / "enable").write_text("0")
        (probe / "trigger").write_text("!stacktrace")
        (TRACING / "kprobe_events").write_text("")


def timer_pending():
    """Return whether a timer of any NAPI instance of the guest is pending."""
    return "napi_watchdog" in Path("/proc/timer_list").read_text()


def starts_timer_late():
    """Patch 49: a poll that ends while napi_disable() runs starts the NAPI timer after it.

    /proc/timer_list has it when the device is down. Wait until it has expired before the device is
    freed: the base crashes otherwise. The list cannot be asked for that: about one of 3000 reads
    skips a pending timer, as an earlier one expires meanwhile.
    """
    name, late, cpus = "veth_napi", False, os.sched_getaffinity(0)
    with (busy_polled_veth(name), slow_timers(),
          peer_socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
          socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control):
        def set_flags(flags):
            fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), flags))

        os.sched_setaffinity(0, {1})
        sender.bind((VETH_PEER_ADDRESS, 9))
        for _ in range(1000):
            for _ in range(3):  # the first one is received without busy polling
                sender.sendto(b"", (VETH_ADDRESS, 9))
                time.sleep(0.001)
            set_flags(0)
            late = timer_pending()
            if late:
                time.sleep(NAPI_TIMER + 1)
                break
            set_flags(IFF_UP)
        os.sched_setaffinity(0, cpus)
    shows(late, "the timer was started")


def loses_timer():
    """Patch 50: a timer that expires in the last poll of a call is lost if that uses up its budget.

    Interrupts are off then, so nothing polls the queue any more. With a budget below 64, the series
    polls twice per call, too.
    """
    stuck = [budget for budget in (32, 64) if frames_wait(budget)]
    shows(stuck, f"frames wait with a budget of {stuck}")


def frames_wait(budget, frames=3000):
    """Return whether frames wait in the ring of eth1 after a busy poll with this budget."""
    nic = Path("/sys/class/net/eth1")
    with contextlib.ExitStack() as stack:
        stack.enter_context(xdp_bench("drop", "eth1"))
        xsk = Xsk("eth1", rings=("fill", "completion", "rx", "tx"))
        stack.callback(xsk.close)
        for option, value in ((SO_PREFER_BUSY_POLL, 1), (SO_BUSY_POLL, 20),
                              (SO_BUSY_POLL_BUDGET, budget)):
            xsk.socket.setsockopt(socket.SOL_SOCKET, option, value)
        links_up("eth1")
        end = nicsim.wire(I40E)["to_chip"] + 1 + frames
        for name, value in ("napi_defer_hard_irqs", 1000), ("gro_flush_timeout", 10 ** 10):
            (nic / name).write_text(str(value))
            stack.callback((nic / name).write_text, "0")
        stack.callback(nicsim, "gen", I40E, "stop")
        nicsim.generate(I40E, 1)
        time.sleep(0.2)  # interrupts are off from now on
        nicsim.start(I40E, frames)
        time.sleep(0.2)
        assert nicsim.wire(I40E)["to_chip"] < end, "the queue is polled"
        (nic / "gro_flush_timeout").write_text("10000")
        xsk.socket.send(b"", socket.MSG_DONTWAIT)
        try:
            eventually("all frames", lambda: nicsim.wire(I40E)["to_chip"] == end)
        except AssertionError:
            return True
    return False


TESTS = (
    ("RTNL waits for a umem to be pinned", pins_with_rtnl),
    ("a NAPI timer starts after napi_disable()", starts_timer_late),
    ("a NAPI timer is lost during busy polling", loses_timer),
    ("ixgbe receives a frame twice after a full ring", received_twice),
    ("i40e completes frames that a socket did not send", completes_what_was_not_sent),
    ("i40e completes fragments that a socket did not send", completes_fragments),
    ("ixgbe stalls after a multi-buffer packet", stalls_after_fragments),
    ("i40e asks for a wakeup at the end of the Rx ring", asks_for_wakeups),
    ("i40e takes the status of a filter for a frame", loses_after_filter),
)


def main():
    """Run them all."""
    with peer_namespace():
        cmd("modprobe ixgbe; modprobe i40e")
        ethtool("-L eth2 combined 2")
        for interface in "eth0", "eth1":
            one_queue(interface, 512)
        plug("eth2", ADDRESS)
        plug_peer("eth3")
        run_bugs(TESTS)


if __name__ == "__main__":
    main()
