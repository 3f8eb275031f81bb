#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Draw bench.json as bars, a panel per NIC and workload: picture.py bench.json FOLDER.

Writes bench.svg and bench.png. Needs matplotlib.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
# pylint: disable=wrong-import-position
import matplotlib.pyplot as plt  # noqa: E402

import matrix  # noqa: E402

KERNEL, USER = "#3465a4", "#f57900"
ORDER = list(matrix.CONTESTANTS)


def panels(cells):
    """Return {(NIC, workload): valid cells in the order of CONTESTANTS}."""
    found = {}
    for cell in cells:
        if cell["valid"] and not matrix.unusual(cell) and cell["contestant"] in ORDER:
            found.setdefault((cell["nic"], cell["workload"]), []).append(cell)
    for group in found.values():
        group.sort(key=lambda cell: ORDER.index(cell["contestant"]))
    return found


def draw(axes, title, cells):
    """Draw one panel: instructions per packet, kernel and user stacked."""
    names = [cell["contestant"] for cell in cells]
    kernel = [cell["kernel_insn_per_pkt"] for cell in cells]
    user = [cell["user_insn_per_pkt"] for cell in cells]
    axes.bar(names, kernel, color=KERNEL, label="kernel", width=0.65)
    axes.bar(names, user, bottom=kernel, color=USER, label="user space", width=0.65)
    for place, cell in enumerate(cells):
        axes.text(place, cell["insn_per_pkt"], f"{cell['insn_per_pkt']:.0f}", ha="center",
                  va="bottom")
    axes.set_title(title)
    axes.tick_params(axis="x", labelrotation=35)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(y=0.12)


def main():
    """Draw the picture."""
    result = json.loads(Path(sys.argv[1]).read_text())
    found = panels(result["cells"])
    if not found:
        print("no picture: no valid cell of the usual sizes", file=sys.stderr)
        return 0
    nics = list(dict.fromkeys(nic for nic, _ in found))
    columns = max(sum(nic == one for nic, _ in found) for one in nics)
    figure, grid = plt.subplots(len(nics), columns, squeeze=False,
                                figsize=(4.2 * columns, 4.2 * len(nics)))
    for axes in grid.flat:
        axes.set_visible(False)
    for row, one in enumerate(nics):
        mine = [key for key in found if key[0] == one]
        for axes, key in zip(grid[row], mine):
            axes.set_visible(True)
            draw(axes, " ".join(key), found[key])
        grid[row][0].set_ylabel("instructions per packet")
    grid[0][0].legend(frameon=False)
    figure.suptitle(f"64-byte frames, one core, batch 64; base {result['base']}")
    figure.tight_layout()
    for kind in "svg", "png":
        figure.savefig(Path(sys.argv[2]) / f"bench.{kind}", dpi=110, metadata={"Date": None}
                       if kind == "svg" else None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
