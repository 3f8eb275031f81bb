#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Bugs of the base, its i40e and ixgbe that are fixed at the head of the series.

Arguments: "base", where each has to show, or "patched", where none may; a regular expression
for the names of tests. Prints TAP.

eth0 (ixgbe) and eth1 (i40e) have a generator and a sink that verifies each; a cable connects
eth2 and eth3, of i40e, which lives in a network namespace. eth4 (i40e) gets large frames.
"""

import contextlib
import ctypes
import mmap
import multiprocessing
import re
import signal
import socket
import struct
import sys
import threading
import time

from harness import (SLOW, Tap, eventually, links_up, one_queue, shell, start_and_wait, stop,
                     xdp_bench)
from ports import (ADDRESS, PEER_ADDRESS, nicsim, peer_namespace, peer_socket, plug, plug_peer,
                   settle)
from xsk import AF_XDP, CHUNK, LIBC, SOL_XDP, UMEM_REG, USE_SG, ZEROCOPY, Xsk

IXGBE, I40E, JUMBO = 0, 1, 4  # ports with a generator


def shows(fault, what):
    """Check that a fault is there on the base, and nowhere else."""
    assert bool(fault) == (sys.argv[1] == "base"), f"{what}: {fault}"


def received_twice():
    """Patch 1: after a socket's Rx ring was full, ixgbe receives the last frame again.

    A stopped program does not empty its ring.
    """
    program = start_and_wait("eth0", "-l", "-N", "-z", "--ring-size=1024", "--frames=8192")
    links_up("eth0")
    nicsim("sink", IXGBE, "reset")
    taken = nicsim.port(IXGBE)["wire"]["to_chip"]
    for _ in range(10):
        program.send_signal(signal.SIGSTOP)
        nicsim("gen", IXGBE, "start", "count=3000")
        time.sleep(0.2)
        program.send_signal(signal.SIGCONT)
        taken += 3000
        eventually("all frames", lambda: nicsim.port(IXGBE)["wire"]["to_chip"] >= taken)
    stop(program)
    verify = nicsim.port(IXGBE)["wire"]["sink"]["verify"]
    shows(verify["bad"] + verify["out_of_order"] + verify["duplicate"], verify)
    assert verify["good"], verify


def completes_what_was_not_sent():
    """Patch 2: frames of XDP_TX are counted in 16 bits, from before the socket was there on.

    When the count is zero again, with such frames in the ring, the socket gets completions for
    them, though it has never sent anything.
    """
    burst = 32
    with xdp_bench("tx", "eth1", "-p", "swap-macs"):
        links_up("eth1")
        sent = nicsim.port(I40E)["wire"]["from_chip"]
        end = sent + 0x10000 - burst
        while sent < end:
            count = min(end - sent, 256)
            sent += count
            nicsim("gen", I40E, "start", f"count={count}")
            eventually("all frames back", lambda to=sent:
                       nicsim.port(I40E)["wire"]["from_chip"] >= to)
        xsk = Xsk("eth1")
        links_up("eth1")
        for _ in range(40):
            nicsim.generate(I40E, burst)
            time.sleep(0.05)
        completed = xsk.completion.producer
        xsk.close()
    shows(completed, "completions of frames that were not sent")


def completes_fragments():
    """Patch 5: the fragments of a frame that was redirected are completed to the socket.

    eth4 gets frames of 9000 bytes, three buffers each.
    """
    frames = 10
    for interface, program in ("eth1", "drop"), ("eth4", "to_eth1"):
        one_queue(interface, 512)
        shell(f"ip link set {interface} mtu 9000; ip link set {interface} xdpdrv object "
              f"/out/user/frags.bpf.o program {program}; ip link set {interface} promisc on up")
    xsk = Xsk("eth1", flags=ZEROCOPY | USE_SG)
    links_up("eth1", "eth4")
    sent = nicsim.port(I40E)["wire"]["from_chip"]
    nicsim("gen", JUMBO, "start", f"count={frames}")
    eventually("frames", lambda: nicsim.port(I40E)["wire"]["from_chip"] - sent == frames)
    # The device tells of what it has sent a little later
    time.sleep(0.5)
    completed = xsk.completion.producer
    xsk.close()
    for interface in "eth1", "eth4":
        shell(f"ip link set {interface} xdpdrv off; ip link set {interface} mtu 1500")
    shows(completed, "completions of frames that were not sent")


def asks_for_wakeups():
    """Patch 3: at the end of the Rx ring i40e wants a system call, with all buffers it needs.

    The next poll takes that back: there is none without a frame.
    """
    shell("echo 0 >/sys/class/net/eth1/napi_defer_hard_irqs")
    with xdp_bench("drop", "eth1"):
        xsk = Xsk("eth1")
        links_up("eth1")
        asked = 0
        for _ in range(64):
            # As many as make the driver fill the ring, not as many as make it poll again
            nicsim.generate(I40E, 32)
            time.sleep(0.02)
            asked += xsk.fill.needs_wakeup
        left = xsk.fill.producer - xsk.fill.consumer
        xsk.close()
    assert left > 0, "the fill ring was empty"
    shows(asked, "asked for a wakeup")


def loses_after_filter():
    """Patch 4: the frame after the status of a filter becomes a part of what was freed there.

    The driver makes filters for its own connections (ATR).
    """
    frames, rounds = 64, 10
    shell("ethtool -N eth2 rx-flow-hash udp4 sdfn")
    lost, failed = 0, nicsim.port(2)["chip"]["fdir_failed"]
    with (xdp_bench("pass", "eth2"), peer_socket(socket.AF_INET, socket.SOCK_STREAM) as listener,
          socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver):
        listener.bind((PEER_ADDRESS, 4242))
        listener.listen()
        receiver.bind((ADDRESS, 9))
        receiver.setblocking(False)
        queues = [Xsk("eth2", queue) for queue in range(2)]
        links_up("eth2")
        settle()
        for _ in range(rounds):
            end_twice(listener)
            for _ in range(frames):
                with peer_socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    sender.sendto(b"", (ADDRESS, 9))
            lost += frames - received(receiver, frames)
        for xsk in queues:
            xsk.close()
    failed = nicsim.port(2)["chip"]["fdir_failed"] - failed
    assert failed >= rounds, f"{failed} filters were not there"
    shows(lost, "datagrams lost")


def end_twice(listener):
    """End a connection by FIN, which removes its filter, then by RST, which finds none."""
    with socket.create_connection((PEER_ADDRESS, 4242), timeout=5) as client:
        connection, _ = listener.accept()
        client.shutdown(socket.SHUT_WR)
        assert not connection.recv(1)
        time.sleep(0.1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.1)
    connection.close()


def received(receiver, frames):
    """Return how many of so many datagrams arrive at a socket, within two seconds."""
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
    """bind() holds RTNL while it waits for another thread to pin the umem."""
    begun, ended = multiprocessing.Event(), multiprocessing.Event()
    child = multiprocessing.Process(target=registers_slowly, args=(begun, ended))
    child.start()
    begun.wait()
    time.sleep(0.4)
    assert not ended.is_set(), "it was fast"
    changes = 0
    while not ended.is_set():
        shell("ip link set lo txqueuelen 1000")
        changes += not ended.is_set()
    child.join()
    assert not child.exitcode, child.exitcode
    shows(not changes, "RTNL was held until the umem was registered")


TESTS = (
    ("RTNL waits for a umem to be pinned", pins_with_rtnl),
    ("ixgbe receives a frame twice after a full ring", received_twice),
    ("i40e completes frames that a socket did not send", completes_what_was_not_sent),
    ("i40e completes fragments that a socket did not send", completes_fragments),
    ("i40e asks for a wakeup at the end of the Rx ring", asks_for_wakeups),
    ("i40e takes the status of a filter for a frame", loses_after_filter),
)


def main():
    """Run them all."""
    tap = Tap()
    with peer_namespace():
        shell("modprobe ixgbe; modprobe i40e; ethtool -L eth2 combined 2")
        for interface in "eth0", "eth1":
            one_queue(interface, 512)
        plug("eth2", shell, ADDRESS)
        plug_peer("eth3")
        for name, run in TESTS:
            if not re.search(sys.argv[2] if len(sys.argv) > 2 else "", name):
                continue
            tap.test(f"{name}: {'it shows' if sys.argv[1] == 'base' else 'no more'}", run)
    tap.plan()


if __name__ == "__main__":
    main()
