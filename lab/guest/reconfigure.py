#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Reconfiguration of a port with an attached socket under load, removal, and a killed owner.

All frames go through a socket afterwards: the same one if it can survive, else a new one. Prints
KTAP. Arguments: the driver; a regular expression for the names of tests.
"""

import contextlib
import os
import sys
import time

from harness import SLOW, argument, eventually, run_cases
from lib.py import cmd
from netdev import links_up, no_ipv6, one_queue
from nicsim import nicsim
from xdpsock import start_and_wait, stop

PORT, FRAMES, RING = "eth0", 1000, 1024
LOAD = 1000000  # frames
DEVICE = "0000:01:00.0"


@contextlib.contextmanager
def forwarder():
    """Have a socket that sends all frames back."""
    with start_and_wait(PORT, "-l", "-N", "-z", "--attach", "--force", f"--ring-size={RING}",
                        f"--frames={2 * RING}") as process:
        try:
            links_up(PORT)
            yield process
        finally:
            process.kill()


def forwards(process):
    """The socket forwards every frame."""
    links_up(PORT)
    nicsim("sink", 0, "reset")
    nicsim.generate(0, FRAMES)
    result = stop(process)
    nicsim.verified(0, FRAMES)
    assert result["copy_mode"] == "zero-copy" and result["how"] == "attach", result


@contextlib.contextmanager
def load():
    """Have frames received inside."""
    nicsim.start(0, LOAD)
    time.sleep(0.2)
    yield
    nicsim("gen", 0, "stop")
    time.sleep(SLOW)


def survives(*commands):
    """The same socket works after each command, three times over."""
    with forwarder() as process:
        with load():
            for command in commands * 3:
                cmd(command)
                links_up(PORT)
        forwards(process)


def link_flaps():
    """The same socket works after the link was down."""
    with forwarder() as process:
        with load():
            for state in ("down", "up") * 3:
                nicsim("link", 0, state)
                time.sleep(0.5)
        forwards(process)


def killed():
    """The owner is killed; another socket gets the queue."""
    for _ in range(3):
        with forwarder() as process, load():
            process.kill()
    with forwarder() as process:
        forwards(process)


def removed(remove, restore):
    """The device is removed and restored; another socket gets the queue."""
    with forwarder(), load():
        cmd(remove)
        assert not os.path.exists(f"/sys/class/net/{PORT}")
    cmd(restore)
    eventually("the device", lambda: os.path.exists(f"/sys/class/net/{PORT}"))
    one_queue(PORT, RING)
    with forwarder() as process:
        forwards(process)


def tests(driver):
    """Yield name, function and arguments of the tests."""
    yield "link flaps", link_flaps
    yield "down and up", survives, f"ip link set {PORT} down; ip link set {PORT} up"
    # i40e refuses
    yield ("other ring sizes", survives,
           *(f"ethtool -G {PORT} rx {size} tx {size} || [ $? -lt 128 ]" for size in (512, RING)))
    yield ("other channels", survives,
           *(f"ethtool -L {PORT} combined {count}" for count in (2, 1)))
    yield "the owner is killed", killed
    path = f"/sys/bus/pci/drivers/{driver}"
    yield "driver unbound", removed, f"echo {DEVICE} >{path}/unbind", f"echo {DEVICE} >{path}/bind"
    yield "driver unloaded", removed, f"rmmod {driver}", f"modprobe {driver}"
    yield ("device removed", removed, f"echo 1 >/sys/bus/pci/devices/{DEVICE}/remove",
           "echo 1 >/sys/bus/pci/rescan")


def main():
    """Run the tests."""
    driver = sys.argv[1]
    no_ipv6()
    cmd(f"modprobe {driver}")
    one_queue(PORT, RING)
    run_cases(((f"under load: {name}", *call) for name, *call in tests(driver)), argument(2),
              around=nicsim.no_event)


if __name__ == "__main__":
    main()
