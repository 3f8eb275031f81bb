#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Frames through a zero-copy socket and back for a long time: none is lost or damaged.

Arguments: the seconds, and options of xdpsock. Prints TAP.
"""

import sys
import time

from harness import Nicsim, Tap, eventually, shell, start_and_wait, stop

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
    eventually("link", lambda: "LOWER_UP" in shell("ip link show eth0"))
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
    tap = Tap(nicsim.no_event)
    shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1; modprobe ixgbe; "
          "ethtool -L eth0 combined 1; ethtool -G eth0 rx 4096 tx 4096; ip link set eth0 promisc on up; "
          "echo 2 >/sys/class/net/eth0/napi_defer_hard_irqs; "
          "echo 200000 >/sys/class/net/eth0/gro_flush_timeout")
    tap.test(f"l2fwd for {sys.argv[1]} s", soak, int(sys.argv[1]), *sys.argv[2:])
    tap.plan()


if __name__ == "__main__":
    main()
