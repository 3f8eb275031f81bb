# SPDX-License-Identifier: GPL-2.0
"""Tests of XDP_RECYCLE: a port of a pair is reconfigured, reset or removed."""

import contextlib
import os
import time
from pathlib import Path

from harness import SLOW, eventually, meanwhile
from lib.py import cmd, ethtool, ip, ksft_eq
from netdev import links_up
from recycle_ports import (CHUNKS, DESCRIPTORS, DRIVERS, FRAMES, census, generate, load, name_of,
                           nicsim, pair, set_up, settle, still_works, stop_generators, traced,
                           tx_done)
from xsk import CHUNK, OFF, ON, SWITCHING, Xsk


def pci_device(port):
    """Return the folder of a port's device."""
    return Path(f"/sys/class/net/{name_of(port)}/device").resolve()


# Reconfiguration, step by step: frames are forwarded between the steps

def down(port):
    """Set it down and up."""
    for state in "down", "up":
        ip(f"link set {name_of(port)} {state}")
        yield


def reset(port):
    """Have the driver reset it."""
    if port in DRIVERS["i40e"]:
        Path(f"/sys/kernel/debug/i40e/{pci_device(port).name}/command").write_text(
            "pfr", encoding="ascii")
    else:
        ethtool(f"-r {name_of(port)}")
    yield


def resize(port):
    """Change ring sizes, which i40e refuses while a socket is bound."""
    for count in 2 * DESCRIPTORS, DESCRIPTORS:
        change = f"ethtool -G {name_of(port)} rx {count} tx {count}"
        ksft_eq(bool(cmd(change, fail=False).ret), port in DRIVERS["i40e"], change)
        yield


def rechannel(port):
    """Add a second queue and remove it; the first one has a socket and stays."""
    for count in 2, 1:
        ethtool(f"-L {name_of(port)} combined {count}")
        yield


def reconfigured(ports, change):
    """Each port is reconfigured under load: no chunk is lost, and the other ports work."""
    with pair(ports) as opened:
        paths = list(zip(opened, opened[1:] + opened[:1]))

        def run(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for source, out in paths:
                    source.forward(out)
                    out.kick()

        for source, out in paths:
            out.recycle(source)
        for port in ports:
            generate(100 * FRAMES, *ports)
            run(0.3)
            for _ in change(port):
                run(0.1)
            links_up(*map(name_of, ports))
        run(0.1)
        stop_generators(*ports)

        settle(paths)
        assert all(out.recycled().state == ON for _, out in paths)
        census(ports, opened)


# Removal

@contextlib.contextmanager
def unbound(port):
    """Unbind the driver from a port inside."""
    device = pci_device(port)
    driver = (device / "driver").resolve()
    (driver / "unbind").write_text(device.name, encoding="ascii")
    try:
        yield
    finally:
        (driver / "bind").write_text(device.name, encoding="ascii")
        set_up([port])


@contextlib.contextmanager
def removed(port):
    """Remove a port from the bus inside."""
    (pci_device(port) / "remove").write_text("1", encoding="ascii")
    try:
        yield
    finally:
        Path("/sys/bus/pci/rescan").write_text("1", encoding="ascii")
        set_up([port])


@contextlib.contextmanager
def unplugged(port):
    """Pull a port out, which no longer responds; insert another one."""
    nicsim("fault", port, "unplug")
    time.sleep(0.5 * SLOW)
    with removed(port):
        nicsim("fault", port, "clear")
        yield


@contextlib.contextmanager
def unloaded(port):
    """Unload a port's driver inside."""
    driver = (pci_device(port) / "driver").resolve().name
    cmd(f"rmmod {driver}")
    try:
        yield
    finally:
        set_up(DRIVERS[driver])


def port_removed(ports, number, remove):
    """One of two ports is removed under load; the other one's socket works."""
    with pair(ports) as opened, traced() as events:
        opened[0].recycle(opened[1])
        opened[1].recycle(opened[0])
        load(opened, ports, 100 * FRAMES, rounds=100)
        with remove(ports[number]):
            stop_generators(*ports)
            ksft_eq(opened[number].recycled().state, OFF)
            reasons = [fields["reason"] for name, fields in events() if name == "unpair"]
            ksft_eq(sorted(reasons), ["rx_unregistered", "tx_unregistered"])
            still_works(opened[not number], ports[not number])


def removed_starving(ports, remove):
    """A queue short of chunks is removed while its partner sends: each frame would trigger NAPI.

    Another socket of the queue was bound last, and so is notified first.
    """
    frames = DESCRIPTORS // 2

    def send(end):
        for chunk in range(CHUNKS, CHUNKS + frames):
            if end.wait(0.001):
                break
            out.tx.put_frames([chunk * CHUNK])
            out.kick()

    with (pair(ports, chunks=1) as (source, out),
          contextlib.closing(Xsk(name_of(ports[0]), rings=("rx",), share=source, fill=())),
          contextlib.ExitStack() as stack):
        out.recycle(source)
        # Use its only chunk: it is short of others
        generate(1, ports[0])
        eventually("a frame", lambda: source.rx.used)
        with meanwhile(send):
            eventually("kicks", lambda: out.recycled().kicks > 3)
            stack.enter_context(remove(ports[0]))
        tx_done(out)
        state = out.recycled()
        # Nothing may have been sent since
        assert state.state == OFF or (state.state, state.entry) == (SWITCHING, frames), state
        assert not state.spilled, state
        # Later ones are the application's
        ksft_eq(state.recycled + state.pending, state.entry, state)


def tests(drivers):
    """Yield name, function and arguments of the tests."""
    (i40e, i40e2), (ixgbe, ixgbe2) = drivers.values()
    pairs = [(i40e, ixgbe)]
    if os.environ.get("FULL"):
        pairs += [(i40e,), (ixgbe,), (i40e, i40e2), (ixgbe, ixgbe2)]
    for ports in pairs:
        where = " and ".join(map(name_of, ports))
        for change in down, reset, resize, rechannel:
            yield f"{where}: {change.__name__}", reconfigured, ports, change
    for remove in unbound, unloaded, removed, unplugged:
        for number in 0, 1:
            yield f"{remove.__name__} {number} of a pair", port_removed, (i40e, ixgbe), number, remove
    for ports in (i40e, ixgbe), (ixgbe, i40e):
        where = " to ".join(map(name_of, ports[::-1]))
        yield f"{where}: removed while short of chunks", removed_starving, ports, unbound
