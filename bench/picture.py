#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Draw bench.json as curves, a panel per NIC and workload: picture.py bench.json FOLDER.

Instructions per packet over packets per round, both on logarithmic axes. Writes bench.png. Needs
matplotlib.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
# pylint: disable=wrong-import-position
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import NullFormatter, NullLocator, ScalarFormatter  # noqa: E402

import matrix  # noqa: E402

# Contestant: label, colour, line. Of a workload without "all", "attach-inorder" takes its place.
LINES = {
    "base-xskmap": ("unpatched kernel, XSKMAP", "#555753", "-"),
    "attach": ("XDP_ATTACH", "#3465a4", "-"),
    "all": ("all options (txonly: XDP_TX_INORDER)", "#cc0000", "-"),
    "dpdk-scalar": ("DPDK, scalar driver", "#f57900", "--"),
    "dpdk-vector": ("DPDK, vector driver", "#75507b", "--"),
}
WORKLOADS = {"rxdrop": "rxdrop (receive)", "l2fwd": "l2fwd (send back)",
             "txonly": "txonly (transmit)"}
ROUNDS = (*matrix.ROUNDS, matrix.COMMON["batch"])


def line_of(cell):
    """Return the line that a cell is a point of."""
    if cell["contestant"] == "attach-inorder" and cell["workload"] == "txonly":
        return "all"
    return cell["contestant"]


def curves(cells):
    """Return {(NIC, workload): {line: [(packets per round, instructions per packet)]}}."""
    found = {}
    for cell in cells:
        if (matrix.on_curve(cell) and matrix.size(cell, "batch") in ROUNDS and cell["nic"] in matrix.CHIPS
                and cell["workload"] in WORKLOADS and line_of(cell) in LINES):
            panel = found.setdefault((cell["nic"], cell["workload"]), {})
            panel.setdefault(line_of(cell), []).append((cell["batch"], cell["insn_per_pkt"]))
    for panel in found.values():
        for points in panel.values():
            points.sort()
    return found


def draw(axes, title, panel):
    """Draw one panel."""
    for name, (label, color, style) in LINES.items():
        if name in panel:
            axes.plot(*zip(*panel[name]), style, color=color, label=label, marker="o",
                      markersize=3.5)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([1, 2, 4, 8, 16, 32, 64, 256])
    axes.set_yticks([50, 100, 200, 500, 1000, 2000, 4000])
    for axis in axes.xaxis, axes.yaxis:
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def main():
    """Draw the picture."""
    result = json.loads(Path(sys.argv[1]).read_text())
    found = curves(result["cells"])
    if not any(len(points) > 1 for panel in found.values() for points in panel.values()):
        print("no picture: too few valid cells", file=sys.stderr)
        return 0
    nics = [nic for nic in matrix.CHIPS if any(nic == one for one, _ in found)]
    figure, grid = plt.subplots(len(nics), len(WORKLOADS), squeeze=False, sharex=True, sharey=True,
                                figsize=(4.4 * len(WORKLOADS), 3.6 * len(nics)))
    for row, nic in zip(grid, nics):
        for axes, workload in zip(row, WORKLOADS):
            draw(axes, f"{nic}: {WORKLOADS[workload]}", found.get((nic, workload), {}))
        row[0].set_ylabel("instructions per packet")
    for axes in grid[-1]:
        axes.set_xlabel("packets per round")
    lines = {label: line for axes in grid.flat for line, label in
             zip(*axes.get_legend_handles_labels())}
    figure.legend(lines.values(), lines.keys(), loc="lower center", ncols=5, frameon=False)
    figure.suptitle(f"64-byte packets, one core, kernel and user space; base {result['base']}")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(Path(sys.argv[2]) / "bench.png", dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main())
