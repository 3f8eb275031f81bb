#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measure the duration of bind() with XDP_ATTACH and of close(), most of it with RTNL held.

On a dummy device and a veth, in a loop and with pauses. After a pause of more than a second the
kernel has dropped the built-in program's entry in the XDP dispatcher, so that bind() patches kernel
text, as each call would if the kernel did not keep the entry. Prints milliseconds of wall-clock
time, of which only the ratios are meaningful on an emulated machine.
Arguments: cycles of the loop, cycles with pauses.
"""

import statistics
import sys
import time

sys.path.insert(0, "/src/lab/guest")

from harness import shell  # pylint: disable=wrong-import-position
from xsk import ATTACH, COPY, Umem, Xsk  # pylint: disable=wrong-import-position

PAUSE = 1.5  # s; the entry is kept for one
SLOTS = 64


def cycle(interface):
    """Return the duration of bind() and of close() in ms."""
    xsk = Timed(interface, slots=SLOTS, umem=Umem(SLOTS), fill=(), flags=COPY)
    start = time.monotonic()
    xsk.close()
    return xsk.bind_time, (time.monotonic() - start) * 1000


class Timed(Xsk):
    """A socket that records the duration of its last system call, bind()."""

    bind_time = 0.0

    def _bind(self, *args):
        self._set(ATTACH, bytes(16))  # in any mode
        super()._bind(*args)

    def _call(self, function, *args):
        start = time.monotonic()
        result = super()._call(function, *args)
        self.bind_time = (time.monotonic() - start) * 1000
        return result


def main():
    """Measure and print."""
    loops, pauses = map(int, sys.argv[1:3])
    shell("ip link add dummy0 type dummy; ip link set dummy0 up; "
          "ip link add veth0 type veth peer name veth1; ip link set veth0 up; ip link set veth1 up")
    print(f"{'':24} bind: mean, longest  close: mean, longest")
    for interface in "dummy0", "veth0":
        for count, pause in ((loops, 0), (pauses, PAUSE)):
            times = []
            for _ in range(count):
                time.sleep(pause)
                times.append(cycle(interface))
            row = [f"{figure(column):8.3f}" for column in zip(*times)
                   for figure in (statistics.mean, max)]
            print(f"{interface:8} {count:5} {'pauses' if pause else 'loop':8} {'  '.join(row)}")


if __name__ == "__main__":
    main()
