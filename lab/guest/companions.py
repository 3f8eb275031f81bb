#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The patched libxdp, which LD_LIBRARY_PATH names, and its own tests. Prints KTAP.

On a veth pair, and on a port of each driver with a generator, as lab/guest/compose.py: the same
xdpsock, which links to libxdp, with its program and, on the patched kernel, attached.
"""

import contextlib
import os
from pathlib import Path

from compose import Port, Veth, classic, receiver, unload
from harness import eventually, run_cases, shell
from lib.py import cmd
from netdev import links_up
from xdpsock import start_and_wait, stop
from xsk import SHADOWED, has_fast_path

LIBRARY = "/out/companions/usr/lib/x86_64-linux-gnu/libxdp.so"
TESTS = "/out/companions/src/libxdp/lib/libxdp/tests"
FAST_PATH = has_fast_path()


@contextlib.contextmanager
def environment(**values):
    """Have environment variables inside."""
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]


def has_program(port):
    """Tell whether libxdp's program runs on the interface."""
    return "xsk_def_prog" in shell(f"xdp-loader status {port.name}")


def own(name):
    """Run a test of libxdp on an interface with several queues."""
    shell("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf")
    shell("ip link add xsk_veth0 numrxqueues 3 type veth peer name xsk_veth1")
    try:
        shell("ip link set xsk_veth0 up; ip link set xsk_veth1 up")
        shell(f"{TESTS}/{name} xsk_veth0")
    finally:
        cmd("ip link del xsk_veth0")


def receives(port, program):
    """An xdpsock receives on queue 0, with or without a program of libxdp."""
    with port.ready():
        process = start_and_wait(port.name, "-r", "-N", *port.xdpsock)
        try:
            links_up(port.name)
            used = Path(f"/proc/{process.pid}/maps").read_text()
            assert LIBRARY in used, used
            assert has_program(port) == program
            port.send(port.frames)
            result = stop(process)
            # A port may drop the first ones, until the queue is polled and refilled
            assert port.frames / 8 <= result["rx_packets"] <= port.frames, result
            eventually("no program any more", lambda: not has_program(port))
        finally:
            process.kill()
            process.wait()
            unload(port)


def on_request(port):
    """The environment variable attaches the socket, where the kernel can."""
    with environment(LIBXDP_XSK_ATTACH="1"):
        receives(port, program=not FAST_PATH)


def by_default(port):
    """Without it, the socket has a program."""
    receives(port, program=True)


def served(port):
    """The program of a socket on queue 1 serves an attached socket on queue 0."""
    with port.ready(), receiver(port, 0) as here:
        with classic(port) as process:
            here.check(SHADOWED)
            here.check(SHADOWED)
            stop(process, lambda: True)
        unload(port)


def main():
    """Run the tests on each interface."""
    cmd("modprobe i40e; modprobe ixgbe")
    ports = {"veth": Veth()}
    if Path("/sys/class/net/eth1").exists():
        ports |= {"i40e": Port(0), "ixgbe": Port(1)}
    tests = [(f"libxdp: {name}", own, name) for name in ("test_xsk_attach", "test_xsk_refcnt")]
    for driver, port in ports.items():
        tests += [(f"{driver}: a socket, program by default", by_default, port),
                  (f"{driver}: a socket, LIBXDP_XSK_ATTACH", on_request, port)]
        if FAST_PATH:
            tests.append((f"{driver}: a program serves an attached socket", served, port))
    run_cases(tests)


if __name__ == "__main__":
    main()
