# SPDX-License-Identifier: GPL-2.0
"""The generated parts of the cover letters in patches/cover: patch ranges and benchmark tables.

A line `# patches SECTION...` or `# bench WORKLOAD... : CONTESTANT...` begins such a part, which is
replaced up to the line `# end`. The sections are those that this one needs; the table compares the
contestants on i40e and ixgbe. Lines that begin with `# ` are not sent.
"""

import json
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
import matrix  # noqa: E402  pylint: disable=wrong-import-position


class CoverError(Exception):
    """The error and, after a semicolon, the remedy."""


def patches(name, needs, ranges):
    """Return the numbers of the section's patches and of those that it needs."""
    if unknown := set(needs) - set(ranges):
        raise CoverError(f"needs the section {unknown.pop()}, which `series` lacks; correct it")
    text = "Patches {} to {} of the whole series".format(*ranges[name])
    listed = ", ".join("{} ({} to {})".format(need, *ranges[need]) for need in needs)
    return text + (f";\nneeds {listed}.\n" if needs else "; needs no other patch.\n")


def bench(repo, workloads, contestants):
    """Return the table of instructions per packet, with the change from first to last."""
    found = {(cell["nic"], cell["workload"], cell["contestant"]): cell["insn_per_pkt"]
             for cell in json.loads((repo / "results/bench.json").read_text())["cells"]
             if cell["valid"] and not matrix.unusual(cell)}
    lines = [f"{'insn/packet':15}" + "".join(f"{name:>16}" for name in contestants) + "   change"]
    for nic in ("i40e", "ixgbe"):
        for workload in workloads:
            cells = [found.get((nic, workload, name)) for name in contestants]
            if None in cells:
                raise CoverError(f"results/bench.json lacks {contestants[cells.index(None)]} for "
                                 f"{nic} {workload}; measure it or change the line `# bench`")
            lines.append(f"{nic:7}{workload:8}" + "".join(f"{cell:16.1f}" for cell in cells)
                         + f"{100 * (cells[-1] / cells[0] - 1):+7.0f} %")
    return "".join(f"  {line}\n" for line in lines)


def render(repo, name, sections):
    """Return the cover letter of a section with its generated parts up to date."""
    path, ranges, last = repo / "patches/cover" / name, {}, 0
    for section, mails in sections.items():
        ranges[section] = (last + 1, last := last + len(mails))

    def fill(match):
        kind, words = match[1], match[2].split()
        if kind == "patches":
            text = patches(name, words, ranges)
        else:
            colon = words.index(":") if ":" in words else len(words)
            text = bench(repo, words[:colon], words[colon + 1:])
        return f"{match[0].splitlines()[0]}\n{text}# end\n"

    text = path.read_text() if path.is_file() else ""
    if not re.match(r"\S.*\n\n\S", text) or not text.isascii():
        raise CoverError("must be a subject line, a blank line and text, in ASCII; write it")
    return re.sub(r"^# (patches|bench)\b(.*)\n(?:.*\n)*?# end\n", fill, text, flags=re.MULTILINE)
