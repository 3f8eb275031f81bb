# SPDX-License-Identifier: GPL-2.0
"""xdp-tools on an interface with an attached socket that receives what programs pass."""

import contextlib
from types import SimpleNamespace

import compose
from harness import BIN, eventually
from lib.py import cmd, ksft_eq, ksft_in
from netdev import interrupts_to, xdp_bench
from xsk import ACTIVE, COPY, PASSED, ZEROCOPY

PROGRAMS = BIN / "frags.bpf.o"
PACKETS = 1000


@contextlib.contextmanager
def receiver(place):
    """Have an attached socket inside, as that of compose.py."""
    name = place.ports[0]
    port = SimpleNamespace(name=name, frames=place.burst,
                           copy=COPY if place.driver == "veth" else ZEROCOPY,
                           send=lambda frames: place.send(name, frames))
    with compose.receiver(port) as held:
        ksft_eq(held.share, place.burst)
        yield held


def bench(_, place):
    """It receives what xdp-bench passes, and nothing of what that drops."""
    with receiver(place) as here:
        for action, share in ("pass", "all"), ("drop", 0):
            with xdp_bench(action, place.ports[0]):
                here.check(PASSED, share)
            here.check(ACTIVE)


def trafficgen(setup, place):
    """The interface sends the packets of xdp-trafficgen, and the socket receives all the same."""
    name = place.ports[0]
    with receiver(place) as here:
        interrupts_to(name, 0)
        before = place.sent(name)
        # Its exit status is 1 after the last packet
        cmd(setup.command(f"taskset -c 0 xdp-trafficgen udp -n {PACKETS} {name} "
                          "-m 02:00:00:00:00:01"), fail=False, timeout=30)
        eventually("all packets on the wire", lambda: place.sent(name) - before >= PACKETS)
        here.check(ACTIVE)


def several(setup, place):
    """xdp-loader loads programs one by one; xdpdump captures the packets of one of them."""
    name = place.ports[0]

    def load(program):
        cmd(setup.command(f"xdp-loader load -m native -n {program} {name} {PROGRAMS}"), timeout=20)

    with receiver(place) as here:
        load("pass")
        here.check(PASSED)
        load("linear")
        here.check(PASSED)
        load("drop")
        here.check(PASSED, 0)
        said = cmd(setup.command(f"xdp-loader status {name}")).stdout
        for program in "xdp_dispatcher", "pass", "linear", "drop":
            ksft_in(program, said)
        cmd(setup.command(f"xdp-loader unload {name} --all"), timeout=20)
        here.check(ACTIVE)


SETUPS = ("patched", "companions")
TESTS = (
    ("xdp-bench beside an attached socket", bench),
    ("xdp-trafficgen beside an attached socket", trafficgen),
    ("xdp-loader with three programs beside an attached socket", several),
)
