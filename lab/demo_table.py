#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Show what lab/guest/demo.sh printed as a table; exit status 1 if a frame is lost or differs."""

import json
import sys

HEADINGS = ("socket by", "sent", "received", "lost", "bytes equal", "runs on the device", "XSKMAPs")
HOW = {"attach": "XDP_ATTACH", "xskmap": "program + XSKMAP"}


def row(result):
    """Return the cells of one replay."""
    rx = result["socket"]
    programs = ", ".join(dict.fromkeys(result["programs"])) or "nothing"
    return (HOW[result["how"]], rx["frames"], rx["received"], rx["frames"] - rx["received"],
            "all" if rx["equal"] == rx["frames"] else rx["equal"], programs, result["xskmaps"])


def right(result):
    """Tell whether all frames arrived as they were sent, in the way that was asked for."""
    rx = result["socket"]
    attached = rx["state"] == "active" and result["programs"] == ["xsk_builtin"]
    how = attached and not result["xskmaps"] if result["how"] == "attach" else result["xskmaps"] == 1
    return rx["received"] == rx["equal"] == rx["frames"] and how


def main():
    """Read one JSON object a line from standard input."""
    results = [json.loads(line) for line in sys.stdin]
    rows = [HEADINGS] + [tuple(map(str, row(result))) for result in results]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    return 0 if len(results) == len(HOW) and all(map(right, results)) else 1


if __name__ == "__main__":
    sys.exit(main())
