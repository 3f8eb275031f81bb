#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Millions of frames at full rate through an xdpsock on its own CPU.

Prints KTAP. Argument: the number of frames of each test. Port 0 is an X710's, port 1 an 82599's; each
has a generator and a sink that verifies content, order and number.
"""

import os
import signal
import sys
import time

from harness import SLOW, eventually, run_cases
from lib.py import cmd, ksft_pr
from netdev import interrupts_to, links_up, no_ipv6, one_queue
from nicsim import nicsim
from xdpsock import finish, start_and_wait

CPU_NAPI, CPU_PROGRAM = 0, 1
# As many entries as chunks: the Rx ring cannot overflow
CHUNKS, DESCRIPTORS = 4096, 1024
PATIENCE = 300 * SLOW


def forward(port, frames, options):
    """All of them are sent, in order and once, with few system calls."""
    interface = f"eth{port}"
    process = start_and_wait(interface, "-l", "-N", "-z", "--attach", "--force", *options,
                             f"--ring-size={CHUNKS}", f"--frames={CHUNKS}")
    os.sched_setaffinity(process.pid, {CPU_PROGRAM})
    interrupts_to(interface, CPU_NAPI)
    links_up(interface)
    nicsim("sink", port, "reset")
    began = time.monotonic()
    nicsim.start(port, frames)
    eventually("all frames", lambda: nicsim.good(port) >= frames, PATIENCE)
    ksft_pr(f"{frames} frames in {time.monotonic() - began:.0f} s")
    process.send_signal(signal.SIGINT)
    result = finish(process)
    nicsim.verified(port, frames)
    assert result["rx_packets"] == result["tx_packets"] == frames, result
    assert not result["tx_outstanding"] and not result["rx_queue_full"], result
    ksft_pr(f"{result['sendto']} times sendto(), {result['recvfrom']} times recvfrom()")
    # Without a pairing, chunks are filled by the application, which needs wakeups
    calls = {"--inorder": result["sendto"],
             "--recycle": result["sendto"] + result["recvfrom"]}
    # Without XDP_TX_INORDER there is about one per frame; here, only while NAPI's CPU is busy
    assert not options or SLOW > 1 or calls[options[-1]] < frames / 20, result


def main():
    """Run the tests."""
    frames = int(sys.argv[1])
    no_ipv6()
    cmd("modprobe i40e; modprobe ixgbe")
    for port in 0, 1:
        one_queue(f"eth{port}", DESCRIPTORS)
    run_cases(((" ".join((f"{driver}: {frames} frames", *options)), forward, port, frames, options)
               for port, driver in enumerate(("i40e", "ixgbe"))
               for options in ((), ("--inorder",), ("--inorder", "--recycle"))),
              around=nicsim.no_event)


if __name__ == "__main__":
    main()
