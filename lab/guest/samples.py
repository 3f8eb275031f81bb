#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the samples over a veth pair and check what they report. Prints TAP.

Argument: "patched", or "base" for what they do on a kernel without XDP_ATTACH.
"""

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import BIN, Tap, eventually, finish, shell, start, start_and_wait, stop

PACKETS = 20000


@contextlib.contextmanager
def pair(one="xa", other="xb"):
    """Make a veth pair of two queues that carries nothing by itself, for one test."""
    queues = "numtxqueues 2 numrxqueues 2"
    subprocess.run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1; "
                   f"ip link add {one} {queues} type veth peer name {other} {queues}; "
                   f"for i in {one} {other}; do ip link set $i up; "
                   "echo 2 > /sys/class/net/$i/napi_defer_hard_irqs; "
                   "echo 200000 > /sys/class/net/$i/gro_flush_timeout; done",
                   shell=True, check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "del", one], check=True)


def send(*args):
    """Send frames to xa, and wait until all that xdpsock can see are done."""
    return finish(start("xb", "-t", "-S", "--attach", *args))


def lost_on_wire():
    """Return how many frames veth dropped because the queue of xa was full."""
    return int(Path("/sys/class/net/xb/statistics/tx_dropped").read_text())


def programs():
    """Return the names of the XDP programs but those of lab/guest/still.c, and how many XSKMAPs."""
    progs = json.loads(subprocess.check_output(["bpftool", "-j", "prog", "show"]))
    maps = json.loads(subprocess.check_output(["bpftool", "-j", "map", "show"]))
    return ([p["name"] for p in progs if p["type"] in ("xdp", "ext") and p["name"] != "still"],
            sum(m["type"] == "xskmap" for m in maps))


def check_how(result, how, mode):
    """Check how a socket says it got its frames."""
    assert result["how"] == how and result["mode"] == mode, result
    assert result["copy_mode"] == "copy", result
    if how == "attach":
        assert result["attach_state"] == "active" and result["prog_id"], result


def rxdrop(how, mode, *extra):
    """All that is sent is received, or counted as dropped by cause."""
    attach = ["--attach"] if how == "attach" else []
    flag = "-S" if mode == "skb" else "-N"
    rx = start_and_wait("xa", "-r", flag, *attach, *extra)
    names, xskmaps = programs()
    tx = send("-C", str(PACKETS), "-s", "64")
    result = stop(rx)
    assert tx["tx_packets"] == PACKETS, tx
    dropped = result["rx_dropped"] + result["rx_queue_full"] + lost_on_wire()
    assert result["rx_packets"] + dropped == PACKETS, (result, lost_on_wire())
    assert result["rx_packets"], result
    check_how(result, how, mode)
    if how == "attach":
        assert names == ["xsk_builtin"] and not xskmaps, (names, xskmaps)
    else:
        # The built-in program stays loaded after its first use
        assert set(names) - {"xsk_builtin"} and xskmaps == 1, (names, xskmaps)


def l2fwd(how, mode, *extra):
    """All that is received goes back, and its transmission is completed."""
    attach = ["--attach"] if how == "attach" else []
    flag = "-S" if mode == "skb" else "-N"
    fwd = start_and_wait("xa", "-l", flag, *attach, *extra)
    send("-C", str(PACKETS), "-s", "64")
    result = stop(fwd)
    assert result["rx_packets"] and result["rx_packets"] == result["tx_packets"], result
    assert result["tx_outstanding"] == 0, result
    check_how(result, how, mode)


def fwd(how, *extra):
    """What one interface receives goes out of the other, both ways, and chunks come back."""
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
    """A socket on each of two queues, with one umem, receives what comes there."""
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
    """A queue that is taken, or not there, is named as the reason."""
    first = start_and_wait("xa", "-r", "--attach")
    for queue, words in (("0", "another socket is attached"), ("9", "no such Rx queue")):
        second = start("xa", "-r", "-d", "1", "--attach", "-q", queue)
        _, err = second.communicate(timeout=30)
        assert second.returncode and words in err, err
    stop(first)


def example():
    """The example prints each frame that it is sent."""
    process = subprocess.Popen([BIN / "xsk_attach_example", "xa", "0", "5"],
                               stdout=subprocess.PIPE, text=True)
    eventually("attached", lambda: "prog/xdp" in shell("ip link show xa"))
    send("-C", "5", "-s", "77")  # with the 4 bytes of the FCS, which no socket sees
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0 and out.count("73 bytes") == 5, out


def inorder_example(frames):
    """The example of in-order completion has all frames back, and they arrive."""
    process = start_and_wait("xa", "-r", "-S", "--attach", "-q", "0")
    done = subprocess.run([BIN / "xsk_inorder_example", "xb", "0", str(frames)],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and f"{frames} frames" in done.stdout, done
    result = stop(process)
    dropped = result["rx_dropped"] + result["rx_queue_full"] + lost_on_wire()
    assert result["rx_packets"] + dropped == frames, (result, lost_on_wire())


def falls_back():
    """On a kernel without XDP_ATTACH it says so and takes program and XSKMAP."""
    process = start("xa", "-r", "-d", "2", "--attach")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "no XDP_ATTACH" in err, err
    assert json.loads(out.splitlines()[-1])["how"] == "xskmap", out


def does_not_fall_back():
    """With --force that is an error."""
    process = start("xa", "-r", "-d", "2", "--attach", "--force")
    _, err = process.communicate(timeout=60)
    assert process.returncode and "no XDP_ATTACH" in err, err


def example_fails(name):
    """An example names the option that this kernel does not have."""
    done = subprocess.run([BIN / f"xsk_{name}_example", "xa"], capture_output=True, text=True,
                          check=False, timeout=30)
    assert done.returncode and done.stderr, done


def main():
    """Run the tests of one kernel."""
    tap = Tap(pair)
    if sys.argv[1] == "base":
        tap.test("base: --attach falls back and says so", falls_back)
        tap.test("base: --attach --force fails", does_not_fall_back)
        for name in "attach", "inorder":
            tap.test(f"base: the example of {name} fails with a message", example_fails, name)
    else:
        for how in "attach", "xskmap":
            for mode in "skb", "native":
                tap.test(f"rxdrop {how} {mode}", rxdrop, how, mode)
                tap.test(f"l2fwd {how} {mode}", l2fwd, how, mode)
        tap.test("rxdrop attach native, busy poll", rxdrop, "attach", "native", "-B")
        tap.test("l2fwd attach native, busy poll", l2fwd, "attach", "native", "-B")
        tap.test("rxdrop attach native, poll()", rxdrop, "attach", "native", "-p")
        tap.test("l2fwd attach skb, no need_wakeup", l2fwd, "attach", "skb", "-m")
        for how in "attach", "xskmap":
            tap.test(f"fwd {how}", fwd, how)
            tap.test(f"two queues, one umem, {how}", queues, how)
        tap.test("fwd attach, poll()", fwd, "attach", "-p")
        tap.test("refusals name the reason", refused)
        tap.test("the example prints frames", example)
        tap.test("the example of in-order completion", inorder_example, 20000)
    tap.plan()


if __name__ == "__main__":
    main()
