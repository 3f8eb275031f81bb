#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Frames through a zero-copy socket and back for a long time: none is lost or damaged.

Arguments: the driver, the seconds, and options of xdpsock. Prints KTAP.
"""

import sys
import time

from harness import LONGEST, eventually, run_cases
from lib.py import cmd, ksft_pr
from netdev import links_up, one_queue
from nicsim import nicsim
from xdpsock import start_and_wait, stop



def soak(seconds, *args):
    """Forward for some time, then wait for the last frames.

    With busy polling: the socket receives no more frames than it can send back.
    """
    socket = start_and_wait("eth0", "-l", "-N", "-z", "-B", *args)
    links_up("eth0")
    end = time.monotonic() + seconds
    nicsim("gen", 0, "start")
    while time.monotonic() < end:
        time.sleep(min(10, seconds))
        verify = nicsim.verify(0)
        ksft_pr(verify)
        assert not any(count for name, count in verify.items() if name != "good"), verify
    nicsim("gen", 0, "stop")
    sent = nicsim.wire(0)["source"]["sent"]
    eventually("all frames back", lambda: nicsim.wire(0)["sink"]["frames"] >= sent)
    nicsim.verified(0, sent)
    result = stop(socket)
    assert result["copy_mode"] == "zero-copy", result
    assert result["rx_packets"] == result["tx_packets"] == sent, result


def main():
    """Run it."""
    driver, seconds, *args = sys.argv[1:]
    cmd(f"modprobe {driver}")
    one_queue("eth0")
    run_cases(((f"l2fwd for {seconds} s", soak, int(seconds), *args),), around=nicsim.no_event,
              longest=LONGEST + int(seconds))


if __name__ == "__main__":
    main()
