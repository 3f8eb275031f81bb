# SPDX-License-Identifier: GPL-2.0
"""A Rust program on the crate xdpilone, lab/clients-rust, sends frames back."""

from pathlib import Path

import xdp_program
from clients_common import running, says
from harness import PATIENCE, eventually
from lib.py import KsftSkipEx, ip, ksft_eq

PROGRAM = Path("/out/clients-rust/release/clients-rust")
BURSTS = 4


def returns(setup, place, how):
    """Each frame is received and sent back."""
    interface, frames = place.ports[0], BURSTS * place.burst
    with running((PROGRAM, interface, frames, how), setup.environment) as process:
        says(process, "ready")
        setup.check_attached(interface, how == "attach")
        setup.check_mode(place)
        before = place.sent(interface)
        for number in range(1, BURSTS + 1):
            place.send(interface, place.burst)
            eventually("frames sent back", lambda number=number:
                       place.sent(interface) - before >= number * place.burst)
        says(process, f"{frames} frames")
        ksft_eq(process.wait(PATIENCE), 0, process.log.read_text())
    ksft_eq(place.sent(interface) - before, frames)


def by_map(setup, place):
    """With a program and an XSKMAP."""
    if not Path(xdp_program.PINNED).exists():
        xdp_program.pin()
    interface = place.ports[0]
    ip(f"link set {interface} xdpdrv pinned {xdp_program.PINNED}/to_socket")
    try:
        returns(setup, place, f"{xdp_program.MAPS}/socket")
    finally:
        ip(f"link set {interface} xdpdrv off")


def attached(setup, place):
    """With XDP_ATTACH, without a program and a map."""
    if setup.name == "base":
        raise KsftSkipEx("no XDP_ATTACH")
    returns(setup, place, "attach")


SETUPS = ("base", "patched")
TESTS = (
    ("Rust, xdpilone with a program and an XSKMAP", by_map),
    ("Rust, xdpilone with XDP_ATTACH", attached),
)
