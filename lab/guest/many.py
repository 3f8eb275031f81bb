#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Many frames, as fast as they are taken, through an xdpsock on a processor of its own.

Prints TAP. Arguments: how many frames for each test. Port 0 is an X710's, port 1 an 82599's; each
has a generator and a sink that verifies content, order and number.
"""

import os
import signal
import sys
import time

from harness import (SLOW, Nicsim, Tap, eventually, finish, links_up, one_queue, shell,
                     start_and_wait)

CPU_NAPI, CPU_PROGRAM = 0, 1
# As many entries as chunks: the Rx ring cannot be full, and no frame be dropped for that
CHUNKS, DESCRIPTORS = 4096, 1024
PATIENCE = 300 * SLOW
nicsim = Nicsim()


def interrupts_to(interface, cpu):
    """Have one processor poll an interface; drivers ask for interrupts anew with a program."""
    shell(f"for irq in $(sed -n '/{interface}/s/:.*//p' /proc/interrupts); do "
          f"echo {cpu} > /proc/irq/$irq/smp_affinity_list; done")


def good(port):
    """Return how many frames the sink of a port has found good."""
    return nicsim.port(port)["wire"]["sink"]["verify"]["good"]


def forward(port, frames, options):
    """All of them come out, in order and once, and few of them took a system call."""
    interface = f"eth{port}"
    process = start_and_wait(interface, "-l", "-N", "-z", "--attach", "--force", *options,
                             f"--ring-size={CHUNKS}", f"--frames={CHUNKS}")
    os.sched_setaffinity(process.pid, {CPU_PROGRAM})
    interrupts_to(interface, CPU_NAPI)
    links_up(interface)
    nicsim("sink", port, "reset")
    began = time.monotonic()
    nicsim("gen", port, "start", f"count={frames}")
    eventually("all frames", lambda: good(port) >= frames, PATIENCE)
    print(f"# {frames} frames in {time.monotonic() - began:.0f} s", flush=True)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    nicsim.verified(port, frames)
    assert result["rx_packets"] == result["tx_packets"] == frames, result
    assert not result["tx_outstanding"] and not result["rx_queue_full"], result
    print(f"# {result['sendto']} times sendto(), {result['recvfrom']} times recvfrom()", flush=True)
    # Without a pairing, chunks come through the fill ring, which the kernel wants to be told of
    calls = {"--inorder": result["sendto"],
             "--recycle": result["sendto"] + result["recvfrom"]}
    # Without XDP_TX_INORDER there is about one for each frame; here, while a processor that is to
    # poll does not get to it
    assert not options or SLOW > 1 or calls[options[-1]] < frames / 20, result


def main():
    """Run the tests."""
    frames = int(sys.argv[1])
    shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1; modprobe i40e; modprobe ixgbe")
    for port in 0, 1:
        one_queue(f"eth{port}", DESCRIPTORS)
    tap = Tap(nicsim.no_event)
    for port, driver in enumerate(("i40e", "ixgbe")):
        for options in (), ("--inorder",), ("--inorder", "--recycle"):
            name = " ".join((f"{driver}: {frames} frames", *options))
            tap.test(name, forward, port, frames, options)
    tap.plan()


if __name__ == "__main__":
    main()
