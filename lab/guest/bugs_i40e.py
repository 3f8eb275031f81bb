#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Bugs of the base's i40e that are fixed at the head of the series.

Arguments: "base", where each has to show, or "patched", where none may; a regular expression
for the names of tests. Prints TAP.

Both ports are of i40e, and have a generator and a sink that verifies; frames of eth1 have 6400
bytes. The base does not survive the last six of TESTS: each needs a guest of its own there.
"""

import contextlib
import errno
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from harness import SLOW, Tap, eventually, links_up, one_queue, shell, xdp_bench
from pools import FAILSLAB, full_ring_is_reset, sent, stale_pool
from ports import PCI, nicsim
from xsk import CHUNK, USE_SG, ZEROCOPY, Umem, Xsk

BASE = sys.argv[1] == "base"
SMALL, JUMBO = 0, 1  # ports
SMALL_CHUNK = 2048
FRAGS = "/out/user/frags.bpf.o"
ETH_P_ALL = 3
BOUND = Path("/sys/bus/pci/drivers/i40e")
DEBUGFS = Path("/sys/kernel/debug/i40e")
TRACING = Path("/sys/kernel/tracing")


class SmallChunks(Umem):
    """A umem of chunks of 2048 bytes with headroom; only every other one is used."""

    def __init__(self, headroom):
        super().__init__()
        self.headroom = headroom

    def registration(self):
        """Return what the option takes."""
        fields = struct.unpack("=QQIIII", super().registration())
        return struct.pack("=QQIIII", *fields[:2], SMALL_CHUNK, self.headroom, *fields[4:])


def shows(fault, what):
    """Check that a fault is there on the base, and nowhere else."""
    assert bool(fault) == BASE, f"{what}: {fault}"


@contextlib.contextmanager
def program(interface, name):
    """Have an XDP program with frags on an interface."""
    shell(f"ip link set {interface} xdpdrv object {FRAGS} program {name}")
    try:
        yield
    finally:
        shell(f"ip link set {interface} xdpdrv off")


def status(command):
    """Return whether a command succeeds."""
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False).returncode == 0


def hangs(command, seconds=20 * SLOW):
    """Return whether a command does not end. It may not be possible to kill it."""
    # pylint: disable-next=consider-using-with
    process = subprocess.Popen(["bash", "-c", command], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def mtu_without_sg():
    """An MTU that a socket without XDP_USE_SG has no room for is accepted."""
    for attach in (False, True)[:1 if sys.argv[1] == "base" else 2]:
        with contextlib.nullcontext() if attach else program("eth1", "drop"):
            xsk = Xsk("eth1", attach=attach, flags=ZEROCOPY)
            accepted = status("ip link set eth1 mtu 9000")
            shell("ip link set eth1 mtu 3000; ip link set eth1 mtu 1500")
            xsk.close()
        shows(accepted, f"MTU of 9000 accepted, attached: {attach}")


def free_kib():
    """Return how much memory is free."""
    return int(re.search(r"MemFree:\s+(\d+)", Path("/proc/meminfo").read_text())[1])


def tx_full():
    """XDP_TX into a full ring costs a page per frame."""
    frames = 20000
    with xdp_bench("tx", "eth0"):
        xsk = Xsk("eth0")
        links_up("eth0")
        nicsim.generate(SMALL, 100)
        nicsim("fault", SMALL, "tx-stop", "on")
        nicsim.generate(SMALL, 2000)
        before = free_kib()
        nicsim.generate(SMALL, frames)
        time.sleep(1)
        taken = before - free_kib()
        nicsim("fault", SMALL, "clear")
        xsk.close()
    shows(taken > frames * 2, f"KiB that {frames} frames cost: {taken}")


def idle_socket():
    """Return a socket that has no chunks, and is not to be woken up when it gets some."""
    return Xsk("eth0", fill=(), flags=ZEROCOPY)


def received():
    """Return how many frames eth0 has received."""
    return int(Path("/sys/class/net/eth0/statistics/rx_packets").read_text())


def is_polled(xsk):
    """Give an idle socket chunks; return whether the driver takes them, and receives."""
    frames = 100
    before = received()
    xsk.fill.put([chunk * CHUNK for chunk in range(2 * frames)])
    nicsim("gen", SMALL, "start", f"count={frames}")
    end = time.monotonic() + 4 * SLOW
    while received() - before < frames and time.monotonic() < end:
        time.sleep(0.1)
    return received() - before >= frames


def polled_after(change):
    """A queue with an empty fill ring is not polled any more after a change."""
    with xdp_bench("drop", "eth0"):
        xsk = idle_socket()
        links_up("eth0")
        shell(change)
        links_up("eth0")
        polled = is_polled(xsk)
        xsk.close()
    shows(not polled, f"not polled after {change}")


def changed_while_resetting(rounds, *commands):
    """The interface is changed during a reset of the core: RTNL is held for ever, or worse."""
    command = DEBUGFS / PCI[JUMBO] / "command"
    stuck = False
    for _ in range(rounds):
        command.write_text("corer")
        for change in commands * (rounds // 2):
            stuck = stuck or hangs(change)
        if stuck:
            break
        eventually("link", lambda: "LOWER_UP" in shell("ip link show eth1"))
    shows(stuck, "RTNL is held")


def flood():
    """Have the stack transmit to eth0 forever, without blocking."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind(("eth0", 0))
        raw.setblocking(False)
        while True:
            with contextlib.suppress(OSError):
                raw.send(bytes(60))


@contextlib.contextmanager
def flooding():
    """Have a process of its own do so inside."""
    child = fork(flood)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def sending_while_binding():
    """The stack writes to a Tx ring that bind() and close() reset, and may lose the queue.

    The model counts writes to the tail of a disabled queue.
    """
    with xdp_bench("drop", "eth0"):
        links_up("eth0")
        before = after = nicsim.events()
        with flooding():
            for _ in range(10):
                first = sent(nicsim, SMALL)
                eventually("frames", lambda seen=first: sent(nicsim, SMALL) > seen + 10)
                Xsk("eth0").close()
                after = nicsim.events()
                if after != before:
                    break
    shows(after != before, f"misbehaviour {after}, before: {before}")


def full_ring():
    """bind() resets the stack's full Tx ring."""
    full_ring_is_reset(nicsim, SMALL, "eth0")


def order_of_requests():
    """The built-in program is removed while the driver still has the pool.

    Drivers with additional queues for a program, like virtio_net, cannot disable the pool then.
    """
    setup_prog, setup_pool = 0, 4  # enum bpf_netdev_command
    events = TRACING / "events/kprobes/ndo_bpf/enable"
    (TRACING / "kprobe_events").write_text(
        "p:ndo_bpf i40e_xdp command=+0(%si):u32 pool=+8(%si):x64 prog=+16(%si):x64")
    events.write_text("1")

    def requests():
        found = re.findall(r"command=(\d+) pool=(\w+) prog=(\w+)", (TRACING / "trace").read_text())
        return [(int(command), int(prog if int(command) == setup_prog else pool, 16) != 0)
                for command, pool, prog in found]

    Xsk("eth0", attach=True, flags=ZEROCOPY).close()
    eventually("the last request", lambda: len(requests()) >= 4)
    seen = requests()
    events.write_text("0")
    (TRACING / "kprobe_events").write_text("")
    assert seen == [(setup_prog, True), (setup_pool, True),
                    (setup_pool, False), (setup_prog, False)], seen


def remove_while_binding():
    """The driver is unbound while sockets come and go: RTNL is held for ever."""
    stuck = False
    for _ in range(3):
        with contextlib.ExitStack() as stack:
            if not BASE:
                stack.callback(shell, f"echo {PCI[SMALL]} >{BOUND}/bind; sleep 1; "
                                      "sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1; "
                                      "ethtool -L eth0 combined 1; ip link set eth0 up")
            shell(f"ip link set eth0 xdpdrv object {FRAGS} program drop")
            children = [fork(bind_and_close) for _ in range(3)]
            time.sleep(SLOW)
            stuck = hangs(f"echo {PCI[SMALL]} >{BOUND}/unbind", 30 * SLOW)
            for child in children:
                os.kill(child, signal.SIGKILL)
            if stuck:
                break
            for child in children:
                os.waitpid(child, 0)
    shows(stuck, "RTNL is held")


def fork(run):
    """Start a process that runs a function, and return its number."""
    child = os.fork()
    if not child:
        run()
        os._exit(0)
    return child


def bind_and_close():
    """Bind sockets to eth0 until it is gone."""
    while True:
        try:
            Xsk("eth0").close()
        except OSError as err:
            if err.errno in (errno.ENODEV, errno.ENXIO):
                return


def pool_refused():
    """A pool is freed whose Rx ring did not start, and the driver goes on with it.

    By reading; if at all, the base fails with KASAN.
    """
    with xdp_bench("drop", "eth0"):
        links_up("eth0")
        nicsim("fault", SMALL, "rx-stuck", "on")
        try:
            Xsk("eth0").close()
            error = 0
        except OSError as err:
            error = err.errno
        assert error == errno.ETIMEDOUT, error
        # Completions have the queue polled
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
            raw.bind(("eth0", 0))
            for _ in range(100):
                raw.send(bytes(60))
                time.sleep(0.01)
        nicsim("fault", SMALL, "rx-stuck", "off")
        for _ in range(2):
            xsk = idle_socket()
            links_up("eth0")
            assert is_polled(xsk)
            xsk.close()


def small_buffers():
    """Chunks that have less than 1 KB left for a frame are accepted, and the queue is lost.

    NAPI uses the pool after it has been freed.
    """
    with xdp_bench("drop", "eth0"):
        for headroom in 600, 1183:
            links_up("eth0")
            try:
                Xsk("eth0", umem=SmallChunks(headroom), flags=ZEROCOPY | USE_SG).close()
                error = 0
            except OSError as err:
                error = err.errno
            shows(error != errno.EINVAL, f"bind: {error}")
            if BASE:
                return
            before = nicsim.port(SMALL)["wire"]["to_chip"]
            nicsim("gen", SMALL, "start", "count=2000")
            eventually("frames", lambda seen=before:
                       nicsim.port(SMALL)["wire"]["to_chip"] >= seen + 2000)
        xsk = idle_socket()
        links_up("eth0")
        assert is_polled(xsk)
        xsk.close()


def pass_fragments():
    """A multi-buffer packet that the program passes to the stack panics.

    Here they are sent back, and have to be what has come.
    """
    frames = 20
    shell("ip link set eth1 mtu 6500")
    with (program("eth1", "pass"),
          socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as raw):
        xsk = Xsk("eth1", umem=SmallChunks(0), flags=ZEROCOPY | USE_SG)
        links_up("eth1")
        raw.bind(("eth1", ETH_P_ALL))
        raw.settimeout(20 * SLOW)
        nicsim("sink", JUMBO, "reset")
        for _ in range(frames):
            nicsim("gen", JUMBO, "start", "count=1")
            frame, address = raw.recvfrom(16384)
            while address[2] == socket.PACKET_OUTGOING:
                frame, address = raw.recvfrom(16384)
            assert len(frame) > 4000, len(frame)
            raw.send(frame)
        eventually("all frames", lambda:
                   nicsim.port(JUMBO)["wire"]["sink"]["verify"]["good"] >= frames)
        xsk.close()
    nicsim.verified(JUMBO, frames)
    shell("ip link set eth1 mtu 1500")


TESTS = (
    ("an MTU that zero-copy sockets have no room for", mtu_without_sg),
    ("XDP_TX into a full ring leaks pages", tx_full),
    ("no poll after down and up", polled_after, "ip link set eth0 down; ip link set eth0 up"),
    ("no poll after a change of the MTU", polled_after,
     "ip link set eth0 mtu 1400; ip link set eth0 mtu 1500"),
    ("MTU changed while the core is reset", changed_while_resetting, 10,
     "ip link set eth1 mtu 1400", "ip link set eth1 mtu 1500"),
    ("the stack sends to a queue that bind() resets", sending_while_binding),
    ("rings changed while the core is reset", changed_while_resetting, 4,
     "ethtool -G eth1 rx 256 tx 256", "ethtool -G eth1 rx 512 tx 512"),
    ("Rx buffers below 1 KB", small_buffers),
    ("XDP_PASS of a multi-buffer packet", pass_fragments),
    # Afterwards the interface is as the driver made it
    ("driver unbound while sockets are bound", remove_while_binding),
)
# Found by reading, did not show on the base without KASAN
PATCHED = (
    ("XDP program changed while the core is reset", changed_while_resetting, 4,
     f"ip link set eth1 xdpdrv object {FRAGS} program drop", "ip link set eth1 xdpdrv off"),
    ("a pool whose ring did not start", pool_refused),
    ("a full Tx ring of the stack is reset", full_ring),
    ("the program is removed before the pool", order_of_requests),
)
# Needs fault injection, and KASAN to see anything
FAULTS = (("a pool freed while the interface is down", stale_pool, "eth0"),)


def main():
    """Run them all."""
    tap = Tap()
    shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1; modprobe i40e")
    one_queue("eth0", 512)
    one_queue("eth1", 512)
    tests = TESTS if BASE else PATCHED + TESTS + (FAULTS if FAILSLAB.exists() else ())
    for name, run, *args in tests:
        if re.search(sys.argv[2] if len(sys.argv) > 2 else "", name):
            tap.test(f"{name}: {'it shows' if BASE else 'no more'}", run, *args)
    assert tap.number, "no test has such a name"
    tap.plan()
    sys.stdout.flush()
    # What hangs would keep it from ending
    os._exit(0)


if __name__ == "__main__":
    main()
