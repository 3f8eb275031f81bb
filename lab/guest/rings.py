#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The private flag xdp-tx-rings: programs and AF_XDP sockets are attached without a reset.

Prints KTAP. Arguments: the driver; a regular expression for the names of tests.

A cable connects eth0 and eth1, which is in a network namespace. Of the two queues of eth0, the
first is for sockets and for datagrams to one port, the second for all the rest.
"""

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import xdp_program
from harness import argument, eventually, meanwhile, run_cases
from lib.py import cmd, ethtool, ip, ksft_eq, ksft_pr, ksft_true
from netdev import icmp, links_up, reachable, received, size_queues, unanswered
from nicsim import nicsim
from ports import (ADDRESS, PCI, PEER, PEER_ADDRESS, peer_namespace, peer_socket, plug, plug_peer,
                   serving, works)
from xdpsock import start_and_wait, stop
from xsk import CHUNK, NEED_WAKEUP, SLOTS, ZEROCOPY, Xsk

DRIVER = sys.argv[1]
PORT, PEER_PORT = "eth0", "eth1"
DEVICE = Path("/sys/class/net", PORT)
FLAG = "xdp-tx-rings"
FRAMES = 50
UDP_PORT, PAYLOAD = 4242, b"for the first queue"
RTMGRP_LINK, RTM_NEWLINK = 1, 16
UP = 0x1 | 0x40 | 0x10000  # IFF_UP | IFF_RUNNING | IFF_LOWER_UP
BPF_LINK_CREATE, BPF_LINK_UPDATE, BPF_XDP, DRV_MODE = 28, 29, 37, 4
# A function level reset is announced to i40e only
RESET = {"i40e": f"echo 1 >/sys/bus/pci/devices/{PCI[0]}/reset",
         "ixgbe": f"ethtool -r {PORT}"}[DRIVER]


# The flag, the link and the other queue

def keep(state):
    """Switch the flag."""
    ethtool(f"--set-priv-flags {PORT} {FLAG} {state}")
    said = ethtool(f"--show-priv-flags {PORT}").stdout
    ksft_true(re.search(rf"^{FLAG} *: {state}$", said, re.MULTILINE), said)


@contextlib.contextmanager
def kept():
    """Have the flag on inside; the port is up and idle first."""
    keep("on")
    try:
        quiet()
        yield
    finally:
        keep("off")


def neighbour(interface, address, host, peer_interface, peer):
    """Have no need for ARP, whose replies may go to any queue."""
    mac = ip(f"link show {peer_interface}", json=True, host=peer)[0]["address"]
    ip(f"neigh replace {address} lladdr {mac} nud permanent dev {interface}", host=host)


def quiet():
    """Wait until the port works, and steer to the queues.

    i40e forgets a part of that in a reset, and the stack its neighbours with the link.
    """
    links_up(PORT)
    neighbour(PORT, PEER_ADDRESS, None, PEER_PORT, PEER)
    neighbour(PEER_PORT, ADDRESS, PEER, PORT, None)
    ethtool(f"-X {PORT} weight 0 1")
    cmd(f"ethtool -N {PORT} delete 5", fail=False)
    ethtool(f"-N {PORT} flow-type udp4 dst-port {UDP_PORT} action 0 loc 5")
    for queue, cpus in enumerate("03"):
        (DEVICE / f"queues/tx-{queue}/xps_cpus").write_text(cpus)
    reachable(PEER_ADDRESS)


def carrier_changes():
    """Return the number of times that the link has changed."""
    return int((DEVICE / "carrier_changes").read_text())


def resets(count):
    """Check the number of resets inside, each of which takes the link down and up."""
    @contextlib.contextmanager
    def check():
        before = carrier_changes()
        yield
        links_up(PORT)
        ksft_eq(carrier_changes() - before, 2 * count)

    return check()


def link_flags(events):
    """Yield the flags of the port in each pending link event."""
    with contextlib.suppress(BlockingIOError):
        while data := events.recv(1 << 16, socket.MSG_DONTWAIT):
            while data:
                length, kind = struct.unpack_from("=IH", data)
                index, flags = struct.unpack_from("=iI", data, 20)
                if kind == RTM_NEWLINK and index == socket.if_nametoindex(PORT):
                    yield flags
                data = data[(length + 3) & ~3:]


@contextlib.contextmanager
def link_stays_up():
    """The link is up in each event inside, and does not change."""
    with resets(0), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as events:
        events.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        events.bind((0, RTMGRP_LINK))
        yield
        down = [hex(flags) for flags in link_flags(events) if flags & UP != UP]
        ksft_eq(down, [])


def echo_replies():
    """Return the number of echo replies that this namespace has received."""
    return int(icmp()["InEchoReps"])


@contextlib.contextmanager
def pinging():
    """No echo request over the second queue is lost inside."""
    before, first = unanswered(), echo_replies()
    with subprocess.Popen(["ping", "-q", "-i", "0.01", PEER_ADDRESS],
                          stdout=subprocess.PIPE) as process:
        try:
            eventually("ping to run", lambda: echo_replies() > first)
            yield
            last = echo_replies()
            eventually("ping to run", lambda: echo_replies() > last)
        finally:
            process.send_signal(signal.SIGINT)
        said = process.communicate()[0]
    eventually(f"no loss: {said}", lambda: unanswered() <= before)


@contextlib.contextmanager
def undisturbed():
    """Neither the link nor the second queue is disturbed by what happens inside."""
    with link_stays_up(), pinging():
        yield


# Frames for the first queue

def send(end, count=None, size=64):
    """Have the peer send datagrams in frames of some size, `count` or until an event."""
    sent = 0
    with peer_socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while sent != count and not (end and end.is_set()):
            sender.sendto(PAYLOAD.ljust(size - 42), (ADDRESS, UDP_PORT))
            sent += 1
            time.sleep(0 if count else 0.001)


def socket_works(xsk):
    """A socket receives and sends."""
    before = xsk.rx.producer, nicsim.sent(0), xsk.completion.producer
    send(None, FRAMES)
    eventually("frames received", lambda: xsk.rx.producer - before[0] >= FRAMES)
    xsk.tx.put_frames([(SLOTS + i) * CHUNK for i in range(FRAMES)])
    xsk.kick()
    eventually("frames sent", lambda: nicsim.sent(0) - before[1] >= FRAMES)
    eventually("completions", lambda: xsk.completion.producer - before[2] >= FRAMES)
    xsk.rx.read()


def stack_works():
    """The stack receives the frames of the first queue."""
    before = received(PORT)
    send(None, FRAMES)
    eventually("frames in the stack", lambda: received(PORT) - before >= FRAMES)


def attached_socket(**options):
    """Return an attached zero-copy socket on the first queue."""
    return Xsk(PORT, attach=True, rings=("fill", "completion", "rx", "tx"), **options)


# Programs by netlink and bpf_link

def program(name):
    """Attach a pinned program by netlink, or replace the one that is attached; none for None."""
    file = xdp_program.pinned(name) if name else -1
    try:
        ksft_eq(xdp_program.attach(PORT, file), 0, name)
    finally:
        if name:
            os.close(file)


def bpf(command, *fields):
    """Make a bpf() call with 32-bit fields; return its file, if any."""
    attr = struct.pack(f"={len(fields)}I", *fields)
    result = xdp_program.LIBC.syscall(xdp_program.BPF, command, attr, len(attr))
    assert result >= 0, f"bpf({command}) failed"
    return result


def no_program():
    """Wait until there is no program; that of a closed socket is removed asynchronously."""
    eventually("no program", lambda: "xdp" not in ip(f"link show {PORT}").stdout)


def by_netlink():
    """`ip link`: attach, replace, detach."""
    for name in ("pass", "linear", "pass", None):
        program(name)


def by_link():
    """A bpf_link: create, update, close."""
    files = [xdp_program.pinned(name) for name in ("pass", "linear")]
    link = bpf(BPF_LINK_CREATE, files[0], socket.if_nametoindex(PORT), BPF_XDP, DRV_MODE)
    bpf(BPF_LINK_UPDATE, link, files[1], 0, 0)
    for file in link, *files:
        os.close(file)


def by_xdpsock():
    """A zero-copy socket of libxdp, which brings its program along."""
    stop(start_and_wait(PORT, "-r", "-N", "-z", "--ring-size=512", "--frames=1024"), lambda: True)


def by_attach():
    """An attached zero-copy socket, while the queue receives."""
    xsk = attached_socket()
    socket_works(xsk)
    xsk.close()


def by_first_socket():
    """A program for a socket that is bound already, and gets the queue only then."""
    xsk = Xsk(PORT, flags=ZEROCOPY | NEED_WAKEUP)
    stack_works()
    ksft_eq(xsk.umem.memory.find(PAYLOAD), -1)
    program("pass")
    stack_works()
    ksft_true(xsk.umem.memory.find(PAYLOAD) >= 0, "the queue does not use the chunks")
    program(None)
    stack_works()
    xsk.close()


# The tests, in the order in which they run

def timed_bind():
    """Bind an attached socket; tell whether the link went down."""
    links_up(PORT)
    before = carrier_changes()
    start = time.monotonic()
    xsk = attached_socket()
    took = time.monotonic() - start
    links_up(PORT)
    until_up = time.monotonic() - start
    went_down = carrier_changes() != before
    xsk.close()
    no_program()
    ksft_pr(f"bind(): {1000 * took:.0f} ms, link up after {1000 * until_up:.0f} ms")
    return went_down


def bind_time():
    """The link goes down with bind() unless the flag is on. Print the duration of bind()."""
    ksft_eq(timed_bind(), True)
    with kept():
        ksft_eq(timed_bind(), False)


def without_reset(rounds, *acts):
    """Nothing is disturbed, however a program is attached and detached."""
    with kept(), undisturbed(), meanwhile(send):
        for act in acts * rounds:
            act()
            no_program()
        stack_works()


def switched():
    """Only a switch that adds or removes rings resets, once."""
    links_up(PORT)
    with resets(1):
        keep("on")
    with resets(0):
        keep("on")
        program("pass")
        keep("off")
        keep("on")
        program(None)
        program("pass")
        keep("off")
    with resets(1):
        program(None)
    with resets(1):
        program("pass")
    with resets(0):
        keep("on")
        program(None)
    with resets(1):
        keep("off")


def switched_with_socket():
    """The flag is switched below a bound socket."""
    with resets(1):
        xsk = attached_socket()
    quiet()
    for state in ("on", "off"):
        with resets(0):
            keep(state)
            socket_works(xsk)
    with resets(1):
        xsk.close()
        no_program()


def while_down():
    """The flag, programs and sockets change while the port is down."""
    ip(f"link set {PORT} down")
    keep("on")
    xsk = attached_socket()
    ip(f"link set {PORT} up")
    quiet()
    socket_works(xsk)
    ip(f"link set {PORT} down")
    xsk.close()
    no_program()
    ip(f"link set {PORT} up")
    quiet()
    with undisturbed():
        by_attach()
    ip(f"link set {PORT} down")
    program("pass")
    keep("off")
    program(None)
    ip(f"link set {PORT} up")
    works()


def reconfigured(*commands):
    """Other rings, channels and resets, without a program and with one; then again no reset."""
    with kept():
        for command in commands:
            cmd(command)
            links_up(PORT)
            reachable(PEER_ADDRESS)
        quiet()
        with undisturbed():
            by_attach()
            program("pass")
        for command in commands:
            cmd(command)
        quiet()
        with undisturbed():
            program(None)
            by_attach()
    works()


def long_frames():
    """A program without frags does not get multi-buffer packets (i40e)."""
    ip(f"link set {PORT} mtu 2000")
    ip(f"link set {PEER_PORT} mtu 9000", host=PEER)
    with kept():
        for names in (("linear",), ("pass", "linear")):
            with link_stays_up():
                for name in names:
                    program(name)
                before = received(PORT)
                for size in 5000, 2000:
                    send(None, FRAMES, size)
                eventually("frames of one buffer", lambda: received(PORT) - before >= FRAMES)
                ksft_eq(received(PORT) - before, FRAMES, names)
                program(None)
    ip(f"link set {PEER_PORT} mtu 1500", host=PEER)
    ip(f"link set {PORT} mtu 1500")
    works()


TESTS = (
    ("bind()", bind_time),
    ("programs by netlink and bpf_link", without_reset, 10, by_netlink, by_link),
    ("zero-copy sockets", without_reset, 3, by_attach, by_first_socket),
    ("a socket of libxdp", without_reset, 1, by_xdpsock),
    ("the flag is switched", switched),
    ("the flag is switched below a socket", switched_with_socket),
    ("the port is down", while_down),
    ("reconfigured", reconfigured, f"ethtool -G {PORT} tx 256 rx 256",
     f"ethtool -G {PORT} tx 512 rx 512", f"ethtool -X {PORT} default",
     f"ethtool -L {PORT} combined 1", f"ethtool -L {PORT} combined 2", RESET),
    *((("multi-buffer packets", long_frames),) if DRIVER == "i40e" else ()),
)


def main():
    """Run the tests."""
    cmd(f"modprobe {DRIVER}")
    with peer_namespace():
        plug_peer()
        plug(PORT, ADDRESS)
        size_queues(PORT, 2, 512)
        ethtool(f"-K {PORT} ntuple on")
        xdp_program.pin()
        with serving():
            run_cases(((f"without a reset: {name}", *call) for name, *call in TESTS), argument(2),
                      around=nicsim.no_event)


if __name__ == "__main__":
    main()
