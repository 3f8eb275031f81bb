#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Bugs of the base's ixgbe that the series fixes, all but one at its head.

Arguments: "base", where each has to show, or "patched", where none may; a regular expression
for the names of tests. Prints TAP.

eth0 (ixgbe) has a generator and a sink that verifies. The guest has four CPUs, of which two are
taken offline: there are four XDP rings then, on two vectors.
"""

import contextlib
import ctypes
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from harness import (BIN, SLOW, Nicsim, Tap, eventually, flow_control, links_up,
                     passes_self_test, shell, spread, stats, xdp_bench)
from pools import FAILSLAB, full_ring_is_reset, stale_pool
from xsk import CHUNK, LIBC, SLOTS, Xsk

PORT = "eth0"
SO_BUSY_POLL, SO_PREFER_BUSY_POLL, SO_BUSY_POLL_BUDGET = 46, 69, 70
SENDING = ("fill", "completion", "rx", "tx")
PROGRAMS = "/sys/fs/bpf/bugs"
BPF, BPF_OBJ_GET = 321, 7
CPUS = Path("/sys/devices/system/cpu")
THREADS_MAX = Path("/proc/sys/kernel/threads-max")
nicsim = Nicsim()


def shows(fault, what):
    """Check that a fault is there on the base, and nowhere else."""
    assert bool(fault) == (sys.argv[1] == "base"), f"{what}: {fault}"


# The port

def queues(count):
    """Bring the port up with so many queues, among which 16 flows spread."""
    shell(f"ip link set {PORT} down; ethtool -L {PORT} combined {count}; "
          f"ethtool -G {PORT} rx 512 tx 512; ip link set {PORT} promisc on up")
    flow_control(PORT)
    spread(PORT)


def two_cpus():
    """Take all CPUs but two offline: there are fewer vectors than XDP rings."""
    for cpu in 2, 3:
        (CPUS / f"cpu{cpu}/online").write_text("0")


@contextlib.contextmanager
def four_cpus():
    """Have all CPUs, to set the port up with more queues than it has vectors afterwards."""
    for cpu in 2, 3:
        (CPUS / f"cpu{cpu}/online").write_text("1")
    queues(4)
    two_cpus()
    try:
        yield
    finally:
        queues(2)


def interrupts_on(*cpus):
    """Have the interrupts of the port's queues on those CPUs, in their order."""
    lines = Path("/proc/interrupts").read_text().splitlines()
    for index, cpu in enumerate(cpus):
        number = next(line.split(":")[0].strip() for line in lines
                      if line.endswith(f" {PORT}-TxRx-{index}"))
        Path(f"/proc/irq/{number}/smp_affinity_list").write_text(str(cpu))


@contextlib.contextmanager
def traffic():
    """Have frames come meanwhile, as fast as they are taken."""
    nicsim("gen", 0, "start", f"count={1 << 30}")
    time.sleep(0.2)
    try:
        yield
    finally:
        nicsim("gen", 0, "stop")
        time.sleep(0.5)


def packets(queue):
    """Return how many frames a queue received."""
    return stats(PORT)[f"rx_queue_{queue}_packets"]


def meminfo(name):
    """Return a line of /proc/meminfo, in KB."""
    return int(re.search(rf"^{name}: +(\d+)", Path("/proc/meminfo").read_text(), re.M)[1])


# The tests

def leaks_a_page():
    """XDP_TX of a zero-copy queue loses the copy of a frame that the XDP ring has no room for."""
    frames = 20000
    with xdp_bench("tx", PORT, "-p", "swap-macs"):
        xsks = [Xsk(PORT, queue) for queue in range(2)]
        links_up(PORT)
        nicsim("fault", 0, "tx-stop", "on")
        nicsim.generate(0, 4096)
        before = meminfo("MemFree")
        nicsim.generate(0, frames)
        time.sleep(0.5)
        lost = before - meminfo("MemFree")
        nicsim("fault", 0, "tx-stop", "off")
        for xsk in xsks:
            xsk.close()
    shows(lost > 2 * frames, "KB lost")


def writes_during_reset():
    """XDP_TX of another queue's NAPI writes to an XDP ring that bind() resets.

    The device says that it is told of frames in a ring that is off.
    """
    with xdp_bench("tx", PORT, "-p", "swap-macs"):
        interrupts_on(1, 0)
        before = nicsim.events()
        for _ in range(3):
            with traffic():
                xsk = Xsk(PORT)
                time.sleep(0.2)
            xsk.close()
            time.sleep(0.2)
        after = nicsim.events()
    shows(after != before, f"misbehaviour {after}, before: {before}")


def crashes_in_reset():
    """The same with close() during traffic: the next reset frees what is not there."""
    with xdp_bench("tx", PORT, "-p", "swap-macs"):
        interrupts_on(1, 0)
        with traffic():
            for _ in range(20):
                xsk = Xsk(PORT)
                time.sleep(0.1)
                completed = xsk.completion.producer
                xsk.close()
    shows(completed, "completions of frames that were not sent")


def two_writers():
    """A socket's NAPI and XDP_TX of another CPU write to one XDP ring.

    The socket does not get as many completions as it sent frames.
    """
    wrong = []
    with xdp_bench("tx", PORT, "-p", "swap-macs"):
        xsk = Xsk(PORT, rings=SENDING)
        links_up(PORT)
        interrupts_on(1, 0)
        for _ in range(10):
            with traffic():
                send(xsk, 4000)
            with contextlib.suppress(AssertionError):
                eventually("all completions", lambda: completions(xsk) >= xsk.tx.producer)
            if completions(xsk) != xsk.tx.producer:
                wrong.append((completions(xsk), xsk.tx.producer))
                break
        xsk.close()
    shows(wrong, "completions, frames sent")


def send(xsk, frames):
    """Have a socket send frames of its chunks behind the fill ring's, however late they complete.

    Gives up on what does not complete at all.
    """
    end = xsk.tx.producer + frames
    patience = 1000
    while xsk.tx.producer < end and patience:
        xsk.completion.read()
        room = xsk.tx.slots - xsk.tx.used
        count = min(room, 256, end - xsk.tx.producer)
        patience = 1000 if count else patience - 1
        first = xsk.tx.producer
        xsk.tx.put_frames([(SLOTS + (first + i) % SLOTS) * CHUNK for i in range(count)])
        xsk.kick()


def completions(xsk):
    """Return how many completions there were, all of which are taken."""
    xsk.completion.read()
    return xsk.completion.producer


def self_test():
    """The self-test's rings are those of a socket, and the kernel panics."""
    with xdp_bench("drop", PORT):
        xsk = Xsk(PORT)
        links_up(PORT)
        passes_self_test(PORT, "offline")
        links_up(PORT)
        xsk.close()
    shows(False, "unreachable on the base")


def stands_still():
    """A reset of queue 2 leaves the interrupt masked that it shares with queue 0."""
    with four_cpus(), xdp_bench("drop", PORT), traffic():
        still = False
        for _ in range(20):
            Xsk(PORT, 2).close()
            before = packets(0)
            try:
                eventually("frames", lambda before=before: packets(0) > before)
            except AssertionError:
                still = True
                break
    shows(still, "no frame on another queue")


def sends_no_more():
    """A reset of queue 2 stops the vector that sends for queue 0, whose socket is not told."""
    with four_cpus():
        xsk = Xsk(PORT, attach=True, inorder=True, rings=("fill", "rx", "tx"))
        links_up(PORT)
        end = threading.Event()

        def send_on():
            while not end.is_set():
                room = xsk.tx.slots - xsk.tx.used
                xsk.tx.put_frames([i * CHUNK for i in range(min(room, 32))])
                xsk.kick()  # only if the kernel asks for it

        thread = threading.Thread(target=send_on)
        thread.start()
        try:
            for _ in range(20):
                Xsk(PORT, 2, attach=True).close()
                before = xsk.tx.consumer
                eventually("frames to be sent", lambda before=before: xsk.tx.consumer != before)
        finally:
            end.set()
            thread.join()
            xsk.close()


def prefers_busy_polling():
    """Busy polling of a queue polls the vector of the Rx ring, and not the one of the XDP ring.

    Nothing sends then but the driver's watchdog, every two seconds one ring of the device at most.
    """
    frames, end = 8192, time.monotonic() + 8 * SLOW
    with xdp_bench("drop", PORT):
        xsk = Xsk(PORT, 1, rings=SENDING)
        for option, value in ((SO_PREFER_BUSY_POLL, 1), (SO_BUSY_POLL, 20),
                              (SO_BUSY_POLL_BUDGET, 64)):
            xsk.socket.setsockopt(socket.SOL_SOCKET, option, value)
        links_up(PORT)
        while xsk.completion.producer < frames and time.monotonic() < end:
            xsk.completion.read()
            room = min(xsk.tx.slots - xsk.tx.used, frames - xsk.tx.producer)
            xsk.tx.put_frames([(SLOTS + i) * CHUNK for i in range(room)])
            xsk.kick()
        done = completions(xsk)
        xsk.close()
    shows(done < frames, f"{done} of {frames} frames completed")


def remembers_pool():
    """With rings of few buffers, as each buffer is an allocation that can fail."""
    shell(f"ethtool -G {PORT} rx 64 tx 64")
    stale_pool(PORT)
    queues(2)


def set_program(bpf):
    """Attach a program, or -1 for none, in this process; return the errno."""
    index = socket.if_nametoindex(PORT)
    # IFLA_XDP: a file, and XDP_FLAGS_DRV_MODE; RTM_SETLINK with NLM_F_REQUEST | NLM_F_ACK
    xdp = struct.pack("=HHHHiHHI", 20, 43 | 1 << 15, 8, 1, bpf, 8, 3, 4)
    body = struct.pack("=BxHiII", 0, 0, index, 0, 0) + xdp
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), 19, 5, 1, 0) + body)
        return -struct.unpack_from("=i", netlink.recv(4096), 16)[0]


def pinned_program():
    """Return a file of a program that drops."""
    shell(f"bpftool prog loadall {BIN}/frags.bpf.o {PROGRAMS} type xdp")
    path = ctypes.create_string_buffer(f"{PROGRAMS}/drop".encode())
    attr = struct.pack("=QII", ctypes.addressof(path), 0, 0)
    program = LIBC.syscall(BPF, BPF_OBJ_GET, attr, len(attr))
    assert program >= 0, os.strerror(ctypes.get_errno())
    return program


def unplugged():
    """close() of a socket waits for ever, with RTNL, for NAPI of a device that is gone."""
    assert not set_program(pinned_program())
    xsk = Xsk(PORT)
    links_up(PORT)
    nicsim("fault", 0, "unplug")
    eventually("removal", lambda: "Adapter removed" in shell("dmesg"))
    # The driver's watchdog stops what is left
    time.sleep(3)
    xsk.close()
    time.sleep(1)
    # What waits for RTNL cannot be killed, nor waited for
    # pylint: disable-next=consider-using-with
    taker = subprocess.Popen(["ip", "link", "add", "dummy9", "type", "dummy"])
    held = False
    try:
        eventually("RTNL", lambda: taker.poll() is not None)
    except AssertionError:
        held = True
    shows(held, "RTNL is held")


def removed_with_pool():
    """A pool that is released after the device was unregistered keeps its DMA mappings.

    The MTU change takes RTNL first, then the removal, then the release of the pool.
    """
    driver = Path("/sys/bus/pci/drivers/ixgbe")
    address = Path(f"/sys/class/net/{PORT}/device").resolve().name
    program = pinned_program()
    warned = False
    for _ in range(5):
        assert not set_program(program)
        xsk = Xsk(PORT)
        links_up(PORT)
        with subprocess.Popen(["ip", "link", "set", PORT, "mtu", "1400"]):
            time.sleep(0.02)
            removal = threading.Thread(target=(driver / "unbind").write_text, args=(address,))
            removal.start()
            time.sleep(0.02)
            xsk.close()
            removal.join()
        warned = "Failed to disable zero-copy" in shell("dmesg")
        if warned:
            break
        (driver / "bind").write_text(address)
        eventually("the port", lambda: f"{PORT}:" in shell("ip -o link"))
        queues(2)
    shows(warned, "the driver refused to disable the pool")


def full_ring():
    """bind() resets the stack's full Tx ring."""
    queues(1)
    full_ring_is_reset(nicsim, 0, PORT)
    queues(2)


def loses_the_port():
    """A program whose additional vector cannot be had leaves the port stopped.

    Interrupts have threads here, and the kernel may not make one more. The old state comes back.
    """
    queues(1)
    program = pinned_program()
    limit = THREADS_MAX.read_text()
    links_up(PORT)
    threads = Path("/proc/loadavg").read_text().split()[3].split("/")[1]
    THREADS_MAX.write_text(threads)
    error = set_program(program)
    THREADS_MAX.write_text(limit)
    assert error, "the program was attached"
    before = packets(0)
    with traffic():
        time.sleep(3)
    stopped = packets(0) == before
    shows(stopped, f"no frame after errno {error}")
    if not stopped:
        assert not set_program(program) and not set_program(-1)


TESTS = (
    ("XDP_TX with a full ring leaks a page", leaks_a_page),
    ("XDP_TX writes to a ring during its reset", writes_during_reset),
    ("two CPUs write to an XDP ring", two_writers),
    ("a reset leaves the interrupt of another queue masked", stands_still),
    ("busy polling does not reach the XDP ring", prefers_busy_polling),
    # The base does not survive these, each of which has a boot of its own
    ("a reset frees what XDP_TX has not sent", crashes_in_reset),
    ("close() after unplugging holds RTNL", unplugged),
    ("a full Tx ring of the stack is reset", full_ring),
    ("the port is removed before a pool is released", removed_with_pool),
    # After the removal of the port: each self-test of the base leaks a page and its DMA mapping, which
    # DMA debugging reports when a driver is unbound
    ("the self-test uses the buffers of a socket", self_test),
    # With threadirqs on the kernel's command line
    ("a program that fails stops the port", loses_the_port),
)
# What an application of the series sees
PATCHED = (("a reset stops the Tx of another queue", sends_no_more),)
# Needs fault injection, and KASAN to see anything
FAULTS = (("a pool freed while the interface is down", remembers_pool),)


def main():
    """Run the tests that were asked for."""
    tap = Tap()
    shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1; "
          "modprobe ixgbe")
    two_cpus()
    queues(2)
    tests = TESTS
    if sys.argv[1] != "base":
        tests += PATCHED + (FAULTS if FAILSLAB.exists() else ())
    for name, run in tests:
        if re.search(sys.argv[2] if len(sys.argv) > 2 else "", name):
            tap.test(f"ixgbe: {name}: {'it shows' if sys.argv[1] == 'base' else 'no more'}", run)
    assert tap.number, "no test has such a name"
    tap.plan()


if __name__ == "__main__":
    main()
