#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the samples over a veth pair and check their reports. Prints KTAP.

Argument: "patched", or "base" for their behaviour on a kernel without XDP_ATTACH.
"""

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import BIN, eventually, run_cases
from lib.py import cmd, ip
from netdev import no_ipv6
from xdpsock import finish, start, start_and_wait, stop

PACKETS = 20000


@contextlib.contextmanager
def pair(one="xa", other="xb"):
    """Have a veth pair of two queues that carries only the frames of a test."""
    queues = "numtxqueues 2 numrxqueues 2"
    no_ipv6()
    ip(f"link add {one} {queues} type veth peer name {other} {queues}")
    for interface in one, other:
        ip(f"link set {interface} up")
        cmd(f"cd /sys/class/net/{interface}; echo 2 >napi_defer_hard_irqs; "
            "echo 200000 >gro_flush_timeout")
    try:
        yield
    finally:
        ip(f"link del {one}")


def send(*args):
    """Send frames to xa, and wait for their completion."""
    return finish(start("xb", "-t", "-S", "--attach", *args))


def lost_on_wire():
    """Return the number of frames that veth dropped because the queue of xa was full."""
    return int(Path("/sys/class/net/xb/statistics/tx_dropped").read_text())


def programs():
    """Return the names of the XDP programs, and the number of XSKMAPs.

    Without the programs of lab/guest/pin_dispatcher.c.
    """
    progs = json.loads(cmd("bpftool -j prog show").stdout)
    maps = json.loads(cmd("bpftool -j map show").stdout)
    return ([p["name"] for p in progs
             if p["type"] in ("xdp", "ext") and p["name"] != "pin_dispatcher"],
            sum(m["type"] == "xskmap" for m in maps))


def check_how(result, how, mode):
    """Check the mode that a socket reports."""
    assert result["how"] == how and result["mode"] == mode, result
    assert result["copy_mode"] == "copy", result
    if how == "attach":
        assert result["attach_state"] == "active" and result["prog_id"], result


def rxdrop(how, mode, *extra):
    """All frames are received, or counted as dropped by cause."""
    attach = ["--attach"] if how == "attach" else []
    flag = "-S" if mode == "skb" else "-N"
    rx = start_and_wait("xa", "-r", flag, *attach, *extra)
    names, xskmaps = programs()
    tx = send("-C", str(PACKETS), "-s", "64")
    result = stop(rx)
    assert tx["tx_packets"] == PACKETS, tx
    dropped = result["rx_dropped"] + result["rx_queue_full"] + lost_on_wire()
    assert result["rx_packets"] + dropped == PACKETS, (result, lost_on_wire())
    if sys.argv[1] != "base":
        assert sum(result["drops"].values()) == result["rx_dropped"] + result["rx_queue_full"], result
    assert result["rx_packets"], result
    check_how(result, how, mode)
    if how == "attach":
        assert names == ["xsk_builtin"] and not xskmaps, (names, xskmaps)
    else:
        # The built-in program stays loaded after its first use
        assert set(names) - {"xsk_builtin"} and xskmaps == 1, (names, xskmaps)


def l2fwd(how, mode, *extra):
    """All received frames are sent back and completed."""
    attach = ["--attach"] if how == "attach" else []
    flag = "-S" if mode == "skb" else "-N"
    fwd = start_and_wait("xa", "-l", flag, *attach, *extra)
    send("-C", str(PACKETS), "-s", "64")
    result = stop(fwd)
    assert result["rx_packets"] and result["rx_packets"] == result["tx_packets"], result
    assert result["tx_outstanding"] == 0, result
    check_how(result, how, mode)


def fwd(how, *extra):
    """Frames received at one interface are sent by the other, both ways, and chunks return."""
    attach = ["--attach"] if how == "attach" else []
    with pair("ya", "yb"):
        process = start_and_wait("xa", "-i", "ya", "--fwd", "-N", *attach, *extra)
        for near, far in ("xb", "yb"), ("yb", "xb"):
            sink = start_and_wait(far, "-r", "-S", "--attach")
            sent = finish(start(near, "-t", "-S", "--attach", "-C", str(PACKETS)))
            assert sent["tx_packets"] == PACKETS, sent
            got = stop(sink)
            assert got["rx_packets"] > PACKETS / 100, got
        result = stop(process)
    assert result["rx_packets"] == result["tx_packets"] and not result["tx_outstanding"], result
    assert (result["sockets"], result["interface2"]) == (2, "ya"), result
    check_how(result, how, "native")


def queues(how):
    """Sockets on two queues, with one umem, receive the frames of their queues."""
    attach = ["--attach"] if how == "attach" else []
    process = start_and_wait("xa", "-r", "-N", "--queues=2", *attach)
    for queue in "0", "1":
        send("-C", "1000", "-b", "16", "-q", queue)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    total = said[said.index("In total:"):]
    for queue in "0", "1":
        rows = total[total.index(f"sock{queue}@xa:{queue} "):].splitlines()
        assert rows[2].split()[0] == "rx" and int(rows[2].split()[2]) > 10, total


def refused():
    """The message names the reason: a queue that is in use, or does not exist."""
    first = start_and_wait("xa", "-r", "--attach")
    for queue, words in (("0", "another socket is attached"), ("9", "no such Rx queue")):
        second = start("xa", "-r", "-d", "1", "--attach", "-q", queue)
        _, err = second.communicate(timeout=30)
        assert second.returncode and words in err, err
    stop(first)


def example():
    """The example prints each received frame."""
    process = subprocess.Popen([BIN / "xsk_attach_example", "xa", "0", "5"],
                               stdout=subprocess.PIPE, text=True)
    eventually("attached", lambda: "prog/xdp" in ip("link show xa").stdout)
    send("-C", "5", "-s", "77")  # with the 4 bytes of the FCS, which no socket sees
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0 and out.count("73 bytes") == 5, out


def inorder_example(frames):
    """The example of in-order completion gets all chunks back, and the frames arrive."""
    process = start_and_wait("xa", "-r", "-S", "--attach", "-q", "0")
    done = subprocess.run([BIN / "xsk_inorder_example", "xb", "0", str(frames)],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and f"{frames} frames" in done.stdout, done
    result = stop(process)
    dropped = result["rx_dropped"] + result["rx_queue_full"] + lost_on_wire()
    assert result["rx_packets"] + dropped == frames, (result, lost_on_wire())


def falls_back():
    """On a kernel without XDP_ATTACH it warns and uses a program and an XSKMAP."""
    process = start("xa", "-r", "-d", "2", "--attach")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "no XDP_ATTACH" in err, err
    assert json.loads(out.splitlines()[-1])["how"] == "xskmap", out


def preload_declines():
    """The preload library leaves sockets to libxdp there."""
    process = start("xa", "-r", "-d", "1", environment={
        "LD_PRELOAD": BIN / "libxsk-preload.so", "XSK_PRELOAD_LOG": "1"})
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "not attached: the kernel has no" in err, err


def nothing_to_probe():
    """xsk-probe reports that the kernel lacks the options."""
    done = cmd(f"{BIN}/xsk-probe xa", fail=False)
    assert done.ret == 1 and "attach-native    no    the kernel does not have it" in done.stdout, done
    assert cmd(f"{BIN}/xsk-probe --bind xa", fail=False).ret == 2


def does_not_fall_back():
    """With --force that is an error."""
    process = start("xa", "-r", "-d", "2", "--attach", "--force")
    _, err = process.communicate(timeout=60)
    assert process.returncode and "no XDP_ATTACH" in err, err


def example_fails(name):
    """An example fails with a message on a kernel without its option."""
    done = subprocess.run([BIN / f"xsk_{name}_example", "xa"], capture_output=True, text=True,
                          check=False, timeout=30)
    assert done.returncode and done.stderr, done


BASE = (
    ("base: --attach falls back and warns", falls_back),
    ("base: --attach --force fails", does_not_fall_back),
    ("base: the preload library declines", preload_declines),
    ("base: xsk-probe finds nothing", nothing_to_probe),
    *((f"base: the example of {name} fails with a message", example_fails, name)
      for name in ("attach", "inorder")),
)
PATCHED = (
    *((f"{run.__name__} {how} {mode}", run, how, mode) for how in ("attach", "xskmap")
      for mode in ("skb", "native") for run in (rxdrop, l2fwd)),
    ("rxdrop attach native, busy poll", rxdrop, "attach", "native", "-B"),
    ("l2fwd attach native, busy poll", l2fwd, "attach", "native", "-B"),
    ("rxdrop attach native, poll()", rxdrop, "attach", "native", "-p"),
    ("l2fwd attach skb, no need_wakeup", l2fwd, "attach", "skb", "-m"),
    *((f"fwd {how}", fwd, how) for how in ("attach", "xskmap")),
    *((f"two queues, one umem, {how}", queues, how) for how in ("attach", "xskmap")),
    ("fwd attach, poll()", fwd, "attach", "-p"),
    ("refusals name the reason", refused),
    ("the example prints frames", example),
    ("the example of in-order completion", inorder_example, 20000),
)


def main():
    """Run the tests of one kernel."""
    run_cases(BASE if sys.argv[1] == "base" else PATCHED, around=pair)


if __name__ == "__main__":
    main()
