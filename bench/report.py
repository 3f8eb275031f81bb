# SPDX-License-Identifier: GPL-2.0
"""Tables and files from what was measured."""

import json

import matrix

COLUMNS = (("insn/packet", "insn_per_pkt", ".1f"), ("kernel", "kernel_insn_per_pkt", ".1f"),
           ("user", "user_insn_per_pkt", ".1f"), ("thunks", "thunks_per_pkt", ".2f"),
           ("syscalls", "syscalls_per_pkt", ".4f"), ("wakeups", "wakeups_per_pkt", ".4f"),
           ("virtual Mpps", "virtual_mpps", ".2f"), ("spread %", "spread_pct", ".2f"))
# What must cost the same on both kernels; percent that do not count
UNCHANGED = {"patched-off": "base-xskmap", "patched-control": "base-control"}
NOISE = 0.2
# Functions that a profile does not name: together they are few
SHARE_SHOWN = 0.002


def rows_to_markdown(header, rows):
    """Return a Markdown table whose columns are aligned."""
    rows = [header, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"
             for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def workload(cell):
    """Return the workload, and what is not as in most cells."""
    text = cell["workload"]
    if cell["frame"] != matrix.COMMON["frame"]:
        text += f", {cell['frame']}" + (" bytes" if cell["frame"] != "imix" else "")
    if cell["frames"] != matrix.COMMON["frames"]:
        text += f", {cell['frames']} chunks"
    return text


def table(result):
    """Return the table of all cells. A cell that is not valid has no figures."""
    rows = []
    for cell in result["cells"]:
        figures = [format(cell[key], form) for _, key, form in COLUMNS]
        if not cell["valid"]:
            figures = [f"invalid: {cell['why']}", *[""] * (len(COLUMNS) - 1)]
        rows.append([cell["nic"], workload(cell), cell["contestant"], *figures])
    return rows_to_markdown(["NIC", "workload", "contestant", *[title for title, _, _ in COLUMNS]],
                            rows)


def dearer(result):
    """Name the cells of the patched kernel, all options off, that cost more than the base's."""
    cells = {(cell["nic"], workload(cell), cell["contestant"]): cell for cell in result["cells"]
             if cell["valid"]}
    text = ""
    for (nic, what, contestant), cell in cells.items():
        base = cells.get((nic, what, UNCHANGED.get(contestant)))
        if not base:
            continue
        percent = 100 * (cell["insn_per_pkt"] / base["insn_per_pkt"] - 1)
        if percent > max(NOISE, cell["spread_pct"], base["spread_pct"]):
            text += (f"* Dearer than on the base: {nic} {what} {contestant}, "
                     f"{base['insn_per_pkt']:.1f} -> {cell['insn_per_pkt']:.1f} "
                     f"({percent:+.2f} %)\n")
    return text


def profile(functions, packets):
    """Return the table of one cell's functions."""
    total = sum(insns for insns, _, _ in functions)
    rows, rest = [], total
    for insns, where, name in functions:
        if insns >= SHARE_SHOWN * total:
            rows.append([f"{insns:.2f}", f"{100 * insns / total:.1f}", where, f"`{name}`"])
            rest -= insns
    rows.append([f"{rest:.2f}", f"{100 * rest / total:.1f}", "", "all others"])
    rows.append([f"{total:.2f}", "100.0", "", f"**sum**, {packets} packets"])
    return rows_to_markdown(["insn/packet", "%", "", "function"], rows)


def write(folder, result, found):
    """Write bench.json, bench.md and the profiles into the folder."""
    (folder / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    base = f"Base {result['base']}, 64-byte frames, one core. `bench/README.md` explains.\n\n"
    (folder / "bench.md").write_text(f"# Instructions per packet\n\n{base}{table(result)}"
                                      + (f"\n{dearer(result)}" if dearer(result) else ""))
    for contestant in sorted({cell["contestant"] for cell, _ in found}):
        text = f"# Where the instructions go: {contestant}\n\n{base}"
        for cell, functions in found:
            if cell["contestant"] == contestant:
                text += f"## {cell['nic']} {workload(cell)}\n\n"
                text += profile(functions, cell["packets"]) + "\n"
        (folder / f"profile-{contestant}.md").write_text(text.rstrip() + "\n")
