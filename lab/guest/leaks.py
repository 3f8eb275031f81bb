#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check that a guest's command left nothing behind, with kmemleak=on.

No AF_XDP socket, no page that is pinned for a umem, no unreferenced memory. Prints the leftovers; exit
status 96 then.
"""

import re
import sys
import time
from pathlib import Path

KMEMLEAK = Path("/sys/kernel/debug/kmemleak")
STATUS = 96
PATIENCE = 60  # seconds: sockets are released by workers, and after RCU grace periods
PAUSE = 6  # kmemleak reports nothing that is younger than 5 s


def sockets():
    """Return the number of AF_XDP sockets of this network namespace."""
    found = re.search(r"^XDP +\d+ +(\d+) ", Path("/proc/net/protocols").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def pinned_pages():
    """Return the number of pages that are pinned for DMA, by umems."""
    vmstat = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(vmstat["nr_foll_pin_acquired"]) - int(vmstat["nr_foll_pin_released"])


def unreferenced():
    """Return the report of kmemleak after two scans: one may race with running code."""
    for _ in range(2):
        time.sleep(PAUSE)
        KMEMLEAK.write_text("scan")
    return KMEMLEAK.read_text()


def main():
    """Wait until nothing is left, or print it."""
    end = time.monotonic() + PATIENCE
    while (sockets() or pinned_pages()) and time.monotonic() < end:
        time.sleep(0.5)
    left = [f"{count} {what}" for what, count in (("AF_XDP sockets", sockets()),
                                                  ("pinned pages", pinned_pages())) if count]
    left += list(filter(None, [unreferenced()]))
    if left:
        print("Left behind:", *left, sep="\n", file=sys.stderr)
    return STATUS if left else 0


if __name__ == "__main__":
    sys.exit(main())
