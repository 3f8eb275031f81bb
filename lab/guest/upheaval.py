#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What an administrator, or a killer, does to a port with an attached socket under load.

Whatever it is, frames go through a socket afterwards, all of them: the same one if it could live
on, else a new one. Prints TAP. Arguments: the driver; a regular expression for the names of tests.
"""

import contextlib
import os
import re
import sys
import time

from harness import (SLOW, Nicsim, Tap, eventually, links_up, one_queue, shell, start_and_wait,
                     stop)

PORT, FRAMES, RING = "eth0", 1000, 1024
LOAD = 1000000  # frames
DEVICE = "0000:01:00.0"
nicsim = Nicsim()


@contextlib.contextmanager
def forwarder():
    """Have a socket that sends back what it receives."""
    with start_and_wait(PORT, "-l", "-N", "-z", "--attach", "--force", f"--ring-size={RING}",
                        f"--frames={2 * RING}") as process:
        try:
            links_up(PORT)
            yield process
        finally:
            process.kill()


def goes_on(process):
    """Every frame goes through the socket."""
    links_up(PORT)
    nicsim("sink", 0, "reset")
    nicsim.generate(0, FRAMES)
    result = stop(process)
    nicsim.verified(0, FRAMES)
    assert result["copy_mode"] == "zero-copy" and result["how"] == "attach", result


@contextlib.contextmanager
def load():
    """Frames come meanwhile."""
    nicsim("gen", 0, "start", f"count={LOAD}")
    time.sleep(0.2)
    yield
    nicsim("gen", 0, "stop")
    time.sleep(SLOW)


def lives_on(*commands):
    """The same socket goes on after each command, three times over."""
    with forwarder() as process:
        with load():
            for command in commands * 3:
                shell(command)
                links_up(PORT)
        goes_on(process)


def link_flaps():
    """So it does when the cable was out."""
    with forwarder() as process:
        with load():
            for state in ("down", "up") * 3:
                nicsim("link", 0, state)
                time.sleep(0.5)
        goes_on(process)


def killed():
    """The owner is killed; another socket takes the queue."""
    for _ in range(3):
        with forwarder() as process, load():
            process.kill()
    with forwarder() as process:
        goes_on(process)


def leaves(gone, back):
    """The device goes away and comes again; another socket takes the queue."""
    with forwarder(), load():
        shell(gone)
        assert not os.path.exists(f"/sys/class/net/{PORT}")
    shell(back)
    eventually("the device", lambda: os.path.exists(f"/sys/class/net/{PORT}"))
    one_queue(PORT, RING)
    with forwarder() as process:
        goes_on(process)


def tests(driver):
    """Yield name, function and arguments of the tests."""
    yield "the cable is out", link_flaps
    yield "down and up", lives_on, f"ip link set {PORT} down; ip link set {PORT} up"
    # i40e refuses
    yield ("other ring sizes", lives_on,
           *(f"ethtool -G {PORT} rx {size} tx {size} || [ $? -lt 128 ]" for size in (512, RING)))
    yield ("other channels", lives_on,
           *(f"ethtool -L {PORT} combined {count}" for count in (2, 1)))
    yield "the owner is killed", killed
    path = f"/sys/bus/pci/drivers/{driver}"
    yield "unbound", leaves, f"echo {DEVICE} >{path}/unbind", f"echo {DEVICE} >{path}/bind"
    yield "no driver", leaves, f"rmmod {driver}", f"modprobe {driver}"
    yield ("removed", leaves, f"echo 1 >/sys/bus/pci/devices/{DEVICE}/remove",
           "echo 1 >/sys/bus/pci/rescan")


def main():
    """Run the tests."""
    tap = Tap(nicsim.no_event)
    driver, *wanted = sys.argv[1:]
    shell(f"sysctl -qw net.ipv6.conf.default.disable_ipv6=1; modprobe {driver}")
    one_queue(PORT, RING)
    for name, run, *args in tests(driver):
        if re.search("".join(wanted), name):
            tap.test(f"under load: {name}", run, *args)
    tap.plan()


if __name__ == "__main__":
    main()
