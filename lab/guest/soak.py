#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Frames through a zero-copy socket and back for a long time: none is lost or damaged.

Arguments: the driver, the seconds, and options of xdpsock. Prints TAP.
"""

import sys
import time

from harness import (LONGEST, Nicsim, Tap, eventually, links_up, one_queue, shell, start_and_wait,
                     stop)

nicsim = Nicsim()


def wire():
    """Return the counters of the wire."""
    return nicsim.port(0)["wire"]


def soak(seconds, *args):
    """Forward for some time, then let the last frames come home.

    With busy polling: the socket takes no more than it can send back.
    """
    # Without statistics meanwhile, which nobody reads
    socket = start_and_wait("eth0", "-l", "-N", "-z", "-B", "-n", "86400", *args)
    links_up("eth0")
    end = time.monotonic() + seconds
    nicsim("gen", 0, "start")
    while time.monotonic() < end:
        time.sleep(min(10, seconds))
        verify = wire()["sink"]["verify"]
        print(f"# {verify}", flush=True)
        assert not any(count for name, count in verify.items() if name != "good"), verify
    nicsim("gen", 0, "stop")
    sent = wire()["source"]["sent"]
    eventually("all frames back", lambda: wire()["sink"]["frames"] >= sent)
    nicsim.verified(0, sent)
    result = stop(socket)
    assert result["copy_mode"] == "zero-copy", result
    assert result["rx_packets"] == result["tx_packets"] == sent, result


def main():
    """Run it."""
    driver, seconds, *args = sys.argv[1:]
    tap = Tap(nicsim.no_event, LONGEST + int(seconds))
    shell(f"modprobe {driver}")
    one_queue("eth0")
    tap.test(f"l2fwd for {seconds} s", soak, int(seconds), *args)
    tap.plan()


if __name__ == "__main__":
    main()
