#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What ss of companions/iproute2 and bpftool of the series show of AF_XDP sockets. Prints KTAP.

On the patched kernel: on a veth pair, and on two ports of an X710 and two of an 82599
(recycle_ports.py). Argument: "patched", or "base" for a kernel without the options, where ss has to
show the same as the one without the patches.
"""

import contextlib
import ctypes
import json
import os
import re
import socket
import struct
import sys

from harness import argument, eventually, run_cases
from lib.py import KsftSkipEx, cmd, ip, ksft_eq
from netdev import no_ipv6
from recycle_ports import DRIVERS, PORTS, forward, name_of, pair, set_up
from xdp_program import BPF, attach
from xsk import LIBC, NATIVE, NEED_WAKEUP, PASS, Xsk

SS = "/out/companions/usr/sbin/ss"
BPFTOOL = "/out/user/bpftool/bpftool"
BPF_PROG_LOAD, XDP = 5, 6
FRAMES = 1000
PLAIN = {"attach": False, "inorder": False, "rings": ("fill", "completion", "rx", "tx")}
PASSES = struct.pack("=BBhiBBhi", 0xb7, 0, 0, 2, 0x95, 0, 0, 0)  # r0 = XDP_PASS; exit


# The tools

def shown(xsk):
    """Return what ss shows of a socket: a group -> its fields, or the empty ones of a word."""
    number = os.fstat(xsk.socket.fileno()).st_ino
    lines = [line for line in cmd(f"{SS} --xdp -e -H -O").stdout.splitlines()
             if f" ino:{number} " in line]
    assert len(lines) == 1, lines
    return {word: {name: value for name, _, value in (field.partition(":")
                                                      for field in inside.split(",") if field)}
            for word, inside in re.findall(r"(\w+)(?:\(([^)]*)\))?(?= |$)", lines[0])}


def bpftool(words):
    """Return the output of bpftool, as text and from JSON."""
    return cmd(f"{BPFTOOL} {words}").stdout, json.loads(cmd(f"{BPFTOOL} -j {words}").stdout)


def net_show(interface):
    """Return the line of an interface in bpftool net, and its JSON."""
    text, data = bpftool(f"net show dev {interface}")
    lines = [line for line in text.splitlines() if line.startswith(interface)]
    return lines[0] if lines else "", data[0]["xdp"][0] if data[0]["xdp"] else {}


def load(name):
    """Load a program that passes all packets, and return its file."""
    insns, gpl = ctypes.create_string_buffer(PASSES, len(PASSES)), ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("=IIQQIIQII16s", XDP, len(PASSES) // 8, ctypes.addressof(insns),
                       ctypes.addressof(gpl), 0, 0, 0, 0, 0, name.encode())
    file = LIBC.syscall(BPF, BPF_PROG_LOAD, attr, len(attr))
    assert file >= 0, os.strerror(ctypes.get_errno())
    return file


def prog_id(file):
    """Return the id of a program."""
    with open(f"/proc/self/fdinfo/{file}", encoding="ascii") as info:
        return re.search(r"prog_id:\t(\d+)", info.read())[1]


@contextlib.contextmanager
def regular(interface, name):
    """Have a program of a user on an interface inside. Yield its id."""
    file = load(name)
    assert not attach(interface, file)
    try:
        yield prog_id(file)
    finally:
        assert not attach(interface, -1)
        os.close(file)


# The tests

@contextlib.contextmanager
def veth(**options):
    """Yield a socket on one end of a veth pair."""
    ip("link add xa type veth peer name xb")
    for interface in "xa", "xb":
        no_ipv6(interface)
        ip(f"link set {interface} up")
    options = {"rings": ("fill", "rx", "tx"), "inorder": True, "attach": NATIVE,
               "flags": NEED_WAKEUP} | options
    xsk = Xsk("xa", **options)
    try:
        yield xsk
    finally:
        xsk.close()
        ip("link del xa")


def states():
    """The states of an attached socket in copy mode, and why it is not zero-copy."""
    with veth() as xsk:
        mode = {"mode": "native", "prog_id": str(xsk.attached().prog_id), "zc_reason": "zc-driver"}
        found = shown(xsk)
        ksft_eq(found["attach"], {"state": "active"} | mode)
        assert "tx_inorder" in found and not {"recycle_tx", "recycle_rx", "drops"} & set(found), found
        with regular("xa", "user") as number:
            ksft_eq(shown(xsk)["attach"], mode | {
                "state": "shadowed", "prog_id": number, "reason": "regular"})
        ksft_eq(shown(xsk)["attach"], {"state": "active"} | mode)


def behind():
    """A socket behind a regular program."""
    with veth(attach=NATIVE | PASS) as xsk, regular("xa", "user") as number:
        ksft_eq(shown(xsk)["attach"], {"state": "passed", "mode": "native", "pass": "",
                                       "prog_id": number, "zc_reason": "zc-driver"})


def without():
    """A socket with none of the options has only the reason why it is not zero-copy."""
    with veth(**PLAIN) as xsk:
        found = shown(xsk)
        ksft_eq(found["attach"], {"state": "none", "zc_reason": "zc-driver"})
        assert not {"tx_inorder", "recycle_tx", "recycle_rx", "drops"} & set(found), found


def drops():
    """The reasons of refused descriptors, and no others."""
    with veth() as xsk:
        xsk.tx.put_frames([0, 0], size=0)
        xsk.tx.put_frames([1 << 40])

        def counted():
            xsk.kick()
            return shown(xsk).get("drops") == {"tx-empty": "2", "tx-addr": "1"}

        eventually("the drops", counted)


def recycling(ports):
    """A pair that recycles: peers, counters, both attached without a reason. The end of the pair."""
    with pair(ports) as opened:
        one, other = opened
        one.recycle(other)
        other.recycle(one)
        forward([(one, other), (other, one)], ports, FRAMES)
        for xsk, peer, there in (one, other, ports[1]), (other, one, ports[0]):
            found, counters = shown(xsk), xsk.recycled()
            ksft_eq(found["attach"], {"state": "active", "mode": "native", "if-noexist": "",
                                      "prog_id": str(xsk.attached().prog_id)})
            assert "tx_inorder" in found and "drops" not in found, found
            ksft_eq(found["recycle_tx"], {
                "state": "on", "peer": f"{name_of(there)}:q0",
                "peer_ino": str(os.fstat(peer.socket.fileno()).st_ino)} | {
                    name: str(getattr(counters, name))
                    for name in ("pending", "recycled", "spilled", "kicks")})
            ksft_eq(found["recycle_rx"], {name: str(getattr(counters, name))
                                          for name in ("received", "filled", "duplicates")})
            assert counters.recycled >= FRAMES / 2, counters
        other.close()
        eventually("the end of the pair", lambda: "peer" not in shown(one).get("recycle_tx", {}))


@contextlib.contextmanager
def moved(interface):
    """Have an interface in another network namespace inside, and be there when it begins."""
    cmd("ip netns add other")
    with open("/proc/self/ns/net", encoding="ascii") as home, \
         open("/run/netns/other", encoding="ascii") as there:
        ip(f"link set {interface} netns other")
        os.setns(there.fileno(), os.CLONE_NEWNET)
        ip(f"link set {interface} promisc on up")
        try:
            yield home
        finally:
            os.setns(there.fileno(), os.CLONE_NEWNET)
            ip(f"link set {interface} netns {os.getppid()}")
            os.setns(home.fileno(), os.CLONE_NEWNET)
            cmd("ip netns del other")
            ip(f"link set {interface} promisc on up")


def other_namespace(ports):
    """A peer in another network namespace is not shown."""
    with pair(ports[:1]) as (one,), moved(name_of(ports[1])) as home:
        peer = Xsk(name_of(ports[1]), share=one, attach=True, inorder=True, fill=(),
                   rings=("fill", "rx", "tx"))
        os.setns(home.fileno(), os.CLONE_NEWNET)
        one.recycle(peer)
        found = shown(one)["recycle_tx"]
        assert found["state"] in ("on", "switching"), found
        assert not {"peer", "peer_ino"} & set(found), found
        peer.close()


def built_in(interface, xsk):
    """Check that bpftool says built-in of the program of an attached socket."""
    number = xsk.attached().prog_id
    line, data = net_show(interface)
    assert re.fullmatch(rf"{interface}\(\d+\) driver id {number} built-in", line), line
    ksft_eq((data["id"], data["built_in"]), (number, True))
    text, data = bpftool(f"prog show id {number}")
    assert re.search(r"^\d+: xdp  name xsk_builtin ", text) and " built-in\n" in text, text
    ksft_eq(data["built_in"], True)


def built_in_on(port):
    """On a port in zero-copy mode."""
    with pair((port,)) as (xsk,):
        built_in(name_of(port), xsk)


def forged():
    """bpftool tells the built-in program from one of a user with the same name."""
    with veth() as xsk:
        built_in("xa", xsk)
        with regular("xa", "xsk_builtin") as number:
            line, data = net_show("xa")
            assert line.endswith(f" driver id {number}") and "built_in" not in data, (line, data)
            text, data = bpftool(f"prog show id {number}")
            assert " name xsk_builtin " in text and "built-in" not in text, text
            assert "built_in" not in data, data
        built_in("xa", xsk)


def as_regular():
    """A user attaches the built-in program by its id: a regular program, as far as net is concerned."""
    with veth() as xsk:
        number = xsk.attached().prog_id
        cmd(f"{BPFTOOL} net attach xdpdrv id {number} dev xb")
        line, data = net_show("xb")
        assert line.endswith(f" driver id {number}") and "built_in" not in data, (line, data)


def unchanged():
    """On a kernel without the options, ss shows the same as that of Debian.

    The widths of columns differ, as the versions do.
    """
    with veth(**PLAIN):
        for options in "-e", "-e -O", "-e -m -n", "":
            old, new = (cmd(f"{ss} --xdp {options} | tr -s ' '").stdout.replace(" \n", "\n")
                        for ss in ("/usr/bin/ss", SS))
            assert "xa:q0" in old, old
            ksft_eq(new, old)


def no_built_in():
    """On a kernel without the options, no program is built-in."""
    with veth(**PLAIN), regular("xa", "xsk_builtin") as number:
        for words in "net show", f"prog show id {number}", "prog show":
            text, data = bpftool(words)
            assert "built-in" not in text and "built_in" not in json.dumps(data), text


def needs_ss(run, *args):
    """Run a test of ss, if it was built."""
    if not os.path.exists(SS):
        raise KsftSkipEx("make companions was not run, or has no source of iproute2")
    run(*args)


def tests(kernel):
    """Yield the tests of a kernel: name, function, arguments."""
    if kernel == "base":
        yield "ss, base: as without the patches", unchanged
        yield "bpftool, base: no program is built-in", no_built_in
        return
    yield "ss, veth: active and shadowed", states
    yield "ss, veth: behind a regular program", behind
    yield "ss, veth: without the options", without
    yield "ss, veth: drops", drops
    yield "bpftool, veth: a user's program of the same name", forged
    yield "bpftool, veth: the built-in program as a regular one", as_regular
    for driver, ports in DRIVERS.items():
        yield f"ss, {driver}: an attached, recycling pair", recycling, ports
        yield f"bpftool, {driver}: built-in", built_in_on, ports[0]
    # Last: it moves a port
    yield "ss: a peer in another network namespace", other_namespace, DRIVERS["ixgbe"]


def main():
    """Run the tests of one kernel."""
    no_ipv6()
    if sys.argv[1] != "base":
        set_up(PORTS)
    run_cases(((name, needs_ss, *call) if name.startswith("ss") else (name, *call)
               for name, *call in tests(sys.argv[1])), argument(2))


if __name__ == "__main__":
    main()
