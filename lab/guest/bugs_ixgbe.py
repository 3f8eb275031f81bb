#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Bugs of the base's ixgbe that the series fixes, all but one at its head.

Arguments: "base", where each has to show, or "patched", where none may; a regular expression
for the names of tests. Prints KTAP.

eth0 (ixgbe) has a generator and a sink that verifies. The guest has four CPUs, of which two are
taken offline: there are four XDP rings then, on two vectors.
"""

import contextlib
import socket
import subprocess
import threading
import time
from pathlib import Path

import xdp_program
from bugs import BASE, FAILSLAB, free_kib, full_ring_is_reset, run_bugs, shows, stale_pool
from harness import SLOW, eventually, meanwhile
from lib.py import cmd, ethtool, ip
from netdev import (flow_control, links_up, no_ipv6, passes_self_test, size_queues, spread, stats,
                    xdp_bench)
from nicsim import nicsim
from xsk import CHUNK, SLOTS, Xsk

PORT = "eth0"
SO_BUSY_POLL, SO_PREFER_BUSY_POLL, SO_BUSY_POLL_BUDGET = 46, 69, 70
SENDING = ("fill", "completion", "rx", "tx")
CPUS = Path("/sys/devices/system/cpu")
THREADS_MAX = Path("/proc/sys/kernel/threads-max")


# The port

def queues(count):
    """Set the port up with `count` queues, over which 16 flows are spread."""
    ip(f"link set {PORT} down")
    size_queues(PORT, count, 512)
    ip(f"link set {PORT} promisc on up")
    flow_control(PORT)
    spread(PORT)


def two_cpus():
    """Take all CPUs but two offline: there are fewer vectors than XDP rings."""
    for cpu in 2, 3:
        (CPUS / f"cpu{cpu}/online").write_text("0")


@contextlib.contextmanager
def four_cpus():
    """Have all CPUs online, to set the port up with more queues than it has vectors afterwards."""
    for cpu in 2, 3:
        (CPUS / f"cpu{cpu}/online").write_text("1")
    queues(4)
    two_cpus()
    try:
        yield
    finally:
        queues(2)


def interrupts_on(*cpus):
    """Route the interrupts of the port's queues to those CPUs, in their order."""
    lines = Path("/proc/interrupts").read_text().splitlines()
    for index, cpu in enumerate(cpus):
        number = next(line.split(":")[0].strip() for line in lines
                      if line.endswith(f" {PORT}-TxRx-{index}"))
        Path(f"/proc/irq/{number}/smp_affinity_list").write_text(str(cpu))


@contextlib.contextmanager
def traffic():
    """Have frames received inside, as fast as possible."""
    nicsim.start(0, 1 << 30)
    time.sleep(0.2)
    try:
        yield
    finally:
        nicsim("gen", 0, "stop")
        time.sleep(0.5)


def packets(queue):
    """Return the number of frames that a queue received."""
    return stats(PORT)[f"rx_queue_{queue}_packets"]


# The tests

def leaks_a_page():
    """XDP_TX of a zero-copy queue leaks the copy of a frame if the XDP ring is full."""
    frames = 20000
    with xdp_bench("tx", PORT, "-p", "swap-macs"):
        xsks = [Xsk(PORT, queue) for queue in range(2)]
        links_up(PORT)
        nicsim("fault", 0, "tx-stop", "on")
        nicsim.generate(0, 4096)
        before = free_kib()
        nicsim.generate(0, frames)
        time.sleep(0.5)
        lost = before - free_kib()
        nicsim("fault", 0, "tx-stop", "off")
        for xsk in xsks:
            xsk.close()
    shows(lost > 2 * frames, "KB lost")


def writes_during_reset():
    """XDP_TX of another queue's NAPI writes to an XDP ring that bind() resets.

    The device reports writes to the tail of a disabled ring.
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
    """The same with close() during traffic: the next reset frees frames that were not sent."""
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

    The number of completions differs from that of the frames that the socket sent.
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
    """Have a socket send frames of chunks that are not in the fill ring, however late they complete.

    Gives up on frames that do not complete at all.
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
    """Return the number of completions, all of which are consumed."""
    xsk.completion.read()
    return xsk.completion.producer


def self_test():
    """The self-test uses the rings of a socket, and the kernel panics."""
    with xdp_bench("drop", PORT):
        xsk = Xsk(PORT)
        links_up(PORT)
        passes_self_test(PORT, "offline")
        links_up(PORT)
        xsk.close()
    shows(False, "unreachable on the base")


def leaves_masked():
    """A reset of queue 2 leaves the interrupt masked that it shares with queue 0."""
    with four_cpus(), xdp_bench("drop", PORT), traffic():
        stuck = False
        for _ in range(20):
            Xsk(PORT, 2).close()
            before = packets(0)
            try:
                eventually("frames", lambda before=before: packets(0) > before)
            except AssertionError:
                stuck = True
                break
    shows(stuck, "no frame on another queue")


def sends_no_more():
    """A reset of queue 2 stops the vector that sends for queue 0, whose socket does not notice."""
    with four_cpus():
        xsk = Xsk(PORT, attach=True, inorder=True, rings=("fill", "rx", "tx"))
        links_up(PORT)

        def send_on(end):
            while not end.is_set():
                room = xsk.tx.slots - xsk.tx.used
                xsk.tx.put_frames([i * CHUNK for i in range(min(room, 32))])
                xsk.kick()  # only if the kernel requests it

        with contextlib.closing(xsk), meanwhile(send_on):
            for _ in range(20):
                Xsk(PORT, 2, attach=True).close()
                before = xsk.tx.consumer
                eventually("frames to be sent", lambda before=before: xsk.tx.consumer != before)


def prefers_busy_polling():
    """Busy polling of a queue polls the vector of the Rx ring, and not the one of the XDP ring.

    Only the driver's watchdog sends then, every two seconds one ring of the device at most.
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
    ethtool(f"-G {PORT} rx 64 tx 64")
    stale_pool(PORT)
    queues(2)


def unplugged():
    """close() of a socket waits forever, with RTNL held, for NAPI of an unplugged device."""
    assert not xdp_program.attach(PORT, xdp_program.pinned())
    xsk = Xsk(PORT)
    links_up(PORT)
    nicsim("fault", 0, "unplug")
    eventually("removal", lambda: "Adapter removed" in cmd("dmesg").stdout)
    # The driver's watchdog stops the rest
    time.sleep(3)
    xsk.close()
    time.sleep(1)
    # A process that waits for RTNL can be neither killed nor waited for
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

    The MTU change holds RTNL first, then the removal, then the release of the pool.
    """
    driver = Path("/sys/bus/pci/drivers/ixgbe")
    address = Path(f"/sys/class/net/{PORT}/device").resolve().name
    drop = xdp_program.pinned()
    warned = False
    for _ in range(5):
        assert not xdp_program.attach(PORT, drop)
        xsk = Xsk(PORT)
        links_up(PORT)
        with subprocess.Popen(["ip", "link", "set", PORT, "mtu", "1400"]):
            time.sleep(0.02)
            removal = threading.Thread(target=(driver / "unbind").write_text, args=(address,))
            removal.start()
            time.sleep(0.02)
            xsk.close()
            removal.join()
        warned = "Failed to disable zero-copy" in cmd("dmesg").stdout
        if warned:
            break
        (driver / "bind").write_text(address)
        eventually("the port", lambda: f"{PORT}:" in ip("-o link").stdout)
        queues(2)
    shows(warned, "the driver refused to disable the pool")


def full_ring():
    """bind() resets the stack's full Tx ring."""
    queues(1)
    full_ring_is_reset(nicsim, 0, PORT)
    queues(2)


def loses_the_port():
    """A program whose additional vector is refused leaves the port stopped.

    Interrupts are threaded here, and the kernel may create no further thread. The fix restores the
    previous state.
    """
    queues(1)
    drop = xdp_program.pinned()
    limit = THREADS_MAX.read_text()
    links_up(PORT)
    threads = Path("/proc/loadavg").read_text().split()[3].split("/")[1]
    THREADS_MAX.write_text(threads)
    error = xdp_program.attach(PORT, drop)
    THREADS_MAX.write_text(limit)
    assert error, "the program was attached"
    before = packets(0)
    with traffic():
        time.sleep(3)
    stopped = packets(0) == before
    shows(stopped, f"no frame after errno {error}")
    if not stopped:
        assert not xdp_program.attach(PORT, drop) and not xdp_program.attach(PORT, -1)


TESTS = (
    ("XDP_TX with a full ring leaks a page", leaks_a_page),
    ("XDP_TX writes to a ring during its reset", writes_during_reset),
    ("two CPUs write to an XDP ring", two_writers),
    ("a reset leaves the interrupt of another queue masked", leaves_masked),
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
    """Run the selected tests."""
    no_ipv6()
    no_ipv6("all")
    cmd("modprobe ixgbe")
    two_cpus()
    queues(2)
    xdp_program.pin()
    run_bugs(TESTS if BASE else TESTS + PATCHED + (FAULTS if FAILSLAB.exists() else ()), "ixgbe: ")


if __name__ == "__main__":
    main()
