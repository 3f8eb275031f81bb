#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Show what lab/guest/demo.sh printed as a table; exit status 1 if a frame is lost or differs.

Arguments: the capture that went in, and those of what came out of the ports.
"""

import json
import struct
import sys
from itertools import zip_longest
from pathlib import Path

HEADINGS = ("socket by", "way", "sent", "received", "lost", "bytes equal", "programs of the device",
            "XSKMAPs")
HOW = {"attach": ("XDP_ATTACH", "veth, copy"), "xskmap": ("program + XSKMAP", "veth, copy"),
       **{driver: ("XDP_ATTACH", f"{driver}, zero-copy, back out")
          for driver in ("ixgbe", "i40e")}}
SHORTEST = 60  # what a port fills a frame up to, without CRC


def frames(path):
    """Return the frames of a capture."""
    data = Path(path).read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    found, at = [], 24
    while at + 16 <= len(data):
        size = struct.unpack_from(order + "I", data, at + 8)[0]
        found.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return found


def forwarded(sent, received):
    """Say what became of frames that came back out, as replay_rx says it of those it got."""
    equal = sum(new is not None and new == (old[6:12] + old[:6] + old[12:]).ljust(SHORTEST, b"\0")
                for old, new in zip_longest(sent, received, fillvalue=None) if old is not None)
    return {"frames": len(sent), "received": len(received), "equal": equal}


def row(result):
    """Return the cells of one replay."""
    rx = result["socket"]
    programs = ", ".join(dict.fromkeys(result["programs"])) or "nothing"
    return (*HOW[result["how"]], rx["frames"], rx["received"], rx["frames"] - rx["received"],
            "all" if rx["equal"] == rx["frames"] else rx["equal"], programs, result["xskmaps"])


def as_asked(result):
    """Tell whether a socket got its frames in the way that was asked for."""
    rx = result["socket"]
    if result["how"] == "xskmap":
        return result["xskmaps"] == 1
    if result["how"] != "attach" and rx["copy_mode"] != "zero-copy":
        return False
    state = rx.get("attach_state", rx.get("state"))
    return state == "active" and result["programs"] == ["xsk_builtin"] and not result["xskmaps"]


def right(result):
    """Tell whether all frames arrived as they were sent, in the way that was asked for."""
    rx = result["socket"]
    return rx["received"] == rx["equal"] == rx["frames"] and as_asked(result)


def main():
    """Read one JSON object a line from standard input."""
    results = [json.loads(line) for line in sys.stdin]
    sent, *back = map(frames, sys.argv[1:])
    for result, received in zip(results[2:], back):
        result["socket"] |= forwarded(sent, received)
    rows = [HEADINGS] + [tuple(map(str, row(result))) for result in results]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    return 0 if len(results) == 2 + len(back) and all(map(right, results)) else 1


if __name__ == "__main__":
    sys.exit(main())
