# SPDX-License-Identifier: GPL-2.0
"""The generated parts of the cover letters in patches/cover: patch ranges and benchmark tables.

A line `# patches SECTION...` or `# bench WORKLOAD... : CONTESTANT...` begins such a part, which is
replaced up to the line `# end`. The sections are those that this one needs; the table compares the
contestants on i40e and ixgbe. Lines that begin with `# ` are not sent.
"""

import json
import re
import sys
import textwrap
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
import matrix  # noqa: E402  pylint: disable=wrong-import-position


class Failure(Exception):
    """The error and, after a semicolon, the remedy."""


def ranges(sections):
    """Return section -> the numbers of its first and last patch in the whole series."""
    found, last = {}, 0
    for name, mails in sections.items():
        found[name] = (last + 1, last := last + len(mails))
    return found


def patches(name, needs, sections):
    """Return the numbers of the section's patches and of those that it needs."""
    if unknown := set(needs) - set(sections):
        raise Failure(f"patches/cover/{name} needs the section {unknown.pop()}, which `series` "
                      "lacks; correct it")
    numbers = ranges(sections)
    text = "Patches {} to {} of the whole series".format(*numbers[name])
    listed = ", ".join("{} ({} to {})".format(need, *numbers[need]) for need in needs)
    if not needs:
        return f"{text}; needs no other patch.\n"
    return f"{text};\n{textwrap.fill(f'needs {listed}.', 72, break_on_hyphens=False)}\n"


def bench(name, workloads, contestants, repo):
    """Return the table of instructions per packet, with the change from first to last."""
    found = {(cell["nic"], cell["workload"], cell["contestant"]): cell["insn_per_pkt"]
             for cell in json.loads((repo / "results/bench.json").read_text())["cells"]
             if cell["valid"] and not matrix.unusual(cell)}
    lines = [f"{'insn/packet':15}" + "".join(f"{name:>16}" for name in contestants) + "   change"]
    for nic in ("i40e", "ixgbe"):
        for workload in workloads:
            cells = [found.get((nic, workload, contestant)) for contestant in contestants]
            if None in cells:
                raise Failure(f"results/bench.json lacks {contestants[cells.index(None)]} for "
                              f"{nic} {workload}; measure it or change `# bench` in "
                              f"patches/cover/{name}")
            lines.append(f"{nic:7}{workload:8}" + "".join(f"{cell:16.1f}" for cell in cells)
                         + f"{100 * (cells[-1] / cells[0] - 1):+7.0f} %")
    return "".join(f"  {line}\n" for line in lines)


def render(repo, name, sections):
    """Return the cover letter of a section with its generated parts up to date."""
    def fill(match):
        words, _, contestants = match[2].partition(":")
        text = (patches(name, words.split(), sections) if match[1] == "patches" else
                bench(name, words.split(), contestants.split(), repo))
        return f"{match[0].splitlines()[0]}\n{text}# end\n"

    path = repo / "patches/cover" / name
    text = path.read_text() if path.is_file() else ""
    if not re.match(r"\S.*\n\n\S", text) or not text.isascii():
        raise Failure(f"patches/cover/{name} must be a subject line, a blank line and text, in "
                      "ASCII; write it")
    return re.sub(r"^# (patches|bench)\b(.*)\n(?:.*\n)*?# end\n", fill, text, flags=re.MULTILINE)
