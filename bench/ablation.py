# SPDX-License-Identifier: GPL-2.0
"""Print the figures of a bench.json, a line per contestant and workload.

Of each cell: packets per round, and instructions per packet.
"""

import json
import sys
from pathlib import Path


def lines(cells):
    """Yield a line per NIC, workload and contestant, with the figures by ascending batch."""
    found = {}
    for cell in sorted(cells, key=lambda cell: cell["batch"]):
        name = f"{cell['nic']} {cell['workload']} {cell['contestant']}"
        figure = f"{cell['insn_per_pkt']:.1f}" if cell["valid"] else "invalid"
        found.setdefault(name, []).append(f"{cell['batch']}: {figure}")
    for name, figures in found.items():
        yield f"  {name:28} {'  '.join(figures)}"


if __name__ == "__main__":
    print("\n".join(lines(json.loads(Path(sys.argv[1]).read_text())["cells"])), flush=True)
