# SPDX-License-Identifier: GPL-2.0
"""Write tables and files of the results."""

import json

import matrix

COLUMNS = (("insn/packet", "insn_per_pkt", ".1f"), ("kernel", "kernel_insn_per_pkt", ".1f"),
           ("user", "user_insn_per_pkt", ".1f"), ("thunks", "thunks_per_pkt", ".2f"),
           ("syscalls", "syscalls_per_pkt", ".4f"), ("wakeups", "wakeups_per_pkt", ".4f"),
           ("lines", "line_transfers_per_pkt", ".2f"), ("L1 misses", "l1_misses_per_pkt", ".2f"),
           ("L2 misses", "l2_misses_per_pkt", ".2f"),
           ("virtual Mpps", "virtual_mpps", ".2f"), ("spread %", "spread_pct", ".2f"))
# Contestants of the patched kernel that must not cost more than these of the base; the difference in
# percent that is ignored
NOT_COSTLIER = {**dict.fromkeys(("patched-off", "attach", "attach-inorder", "attach-pass", "all"),
                                "base-xskmap"),
                **dict.fromkeys(("dpdk-af_xdp-patched", "dpdk-af_xdp-attach"), "dpdk-af_xdp"),
                "patched-control": "base-control"}
NOISE = 0.2
# A profile omits functions below this share
SHARE_SHOWN = 0.002


def rows_to_markdown(header, rows):
    """Return a Markdown table with aligned columns."""
    rows = [header, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"
             for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


# Names of the sizes that differ from the defaults
SIZES = {"cores": "{} cores", "queues": "{} queues", "batch": "{} per round", "frames": "{} chunks",
         "mode": "{} copy", "ring": "ring of {}", "wait": "{}()"}


def workload(cell):
    """Return the workload and the sizes that differ from the defaults."""
    words = [cell["workload"]]
    for key, value in matrix.unusual(cell).items():
        if key == "unaligned":
            words.append("unaligned")
            continue
        form = SIZES.get(key) or ("{}" if value == "imix" else "{} bytes")
        words.append(form.format(value))
    return ", ".join(words)


def table(result):
    """Return the table of all cells. An invalid cell has no figures."""
    rows = []
    # Without repetitions there is no spread
    columns = [column for column in COLUMNS if column[1] != "spread_pct"
               or any(len(cell.get("runs", ())) > 1 for cell in result["cells"])]
    for cell in result["cells"]:
        figures = [format(cell[key], form) if key in cell else "" for _, key, form in columns]
        if not cell["valid"]:
            figures = [f"invalid: {cell['why']}", *[""] * (len(columns) - 1)]
        rows.append([cell["nic"], workload(cell), cell["contestant"], *figures])
    return rows_to_markdown(["NIC", "workload", "contestant", *[title for title, _, _ in columns]],
                            rows)


def fit(points):
    """Return F and v of the cost F + v * n of a round with n packets, by least squares.

    Points are pairs of n and instructions per packet.
    """
    costs = [(n, n * figure) for n, figure in points]
    mean_n = sum(n for n, _ in costs) / len(costs)
    mean_cost = sum(cost for _, cost in costs) / len(costs)
    slope = (sum((n - mean_n) * (cost - mean_cost) for n, cost in costs)
             / sum((n - mean_n) ** 2 for n, _ in costs))
    return mean_cost - slope * mean_n, slope


def rounds(result):
    """Return the table of instructions per packet by packets per round, with F and v."""
    found = {}
    for cell in result["cells"]:
        if matrix.on_curve(cell):
            key = cell["nic"], cell["workload"], cell["contestant"]
            found.setdefault(key, {})[cell["batch"]] = cell["insn_per_pkt"]
    sizes = sorted({*matrix.ROUNDS, matrix.COMMON["batch"]})
    rows = []
    for key, figures in found.items():
        if len(figures) > 2:
            points = [point for point in figures.items() if point[0] in sizes and point[0] <= 64]
            fixed, each = fit(points)
            off = max(abs((fixed / n + each) / figure - 1) for n, figure in points)
            rows.append([*key, *(f"{figures[n]:.1f}" if n in figures else "" for n in sizes),
                         f"{fixed:.0f}", f"{each:.1f}", f"{100 * off:.1f}"])
    header = ["NIC", "workload", "contestant", *map(str, sizes), "F", "v", "largest error %"]
    return rows_to_markdown(header, rows) if rows else ""


# Figures per round, and the packets per round in their table
PER_ROUND = (("system calls", "syscalls_per_pkt"), ("polls", "polls_per_pkt"),
             ("MMIO reads", "mmio_reads_per_pkt"), ("MMIO writes", "mmio_writes_per_pkt"),
             ("locked", "locked_per_pkt"), ("fences", "fences_per_pkt"),
             ("timers", "timers_per_pkt"), ("indirect calls", "thunks_per_pkt"))
ROUNDS_SHOWN = (1, 8, 64)
# Latencies: direction, workload
LATENCIES = (("rx", "rxdrop"), ("rx", "l2fwd"), ("tx", "txonly"), ("tx", "l2fwd"))


def per_round(result):
    """Return the table of counts per round of one queue, or per burst of a sender or of DPDK.

    Figures that an older file lacks are blank.
    """
    rows = []
    for cell in result["cells"]:
        n = matrix.size(cell, "batch")
        if matrix.on_curve(cell) and cell["workload"] in matrix.CURVE and n in ROUNDS_SHOWN:
            rows.append([cell["nic"], cell["workload"], cell["contestant"], n,
                         *(f"{n * cell[key]:.2f}" if key in cell else "" for _, key in PER_ROUND)])
    rows = [[*row[:3], str(row[3]), *row[4:]] for row in sorted(rows, key=lambda row: row[:4])]
    header = ["NIC", "workload", "contestant", "N", *(title for title, _ in PER_ROUND)]
    return rows_to_markdown(header, rows) if rows else ""


def latencies(result):
    """Return the table of latencies with one packet per round, a row per contestant."""
    found = {}
    for cell in result["cells"]:
        if not matrix.on_curve(cell):
            continue
        for direction, what in LATENCIES:
            figure = cell.get(f"{direction}_latency_insn")
            if figure is not None and what == cell["workload"]:
                row = found.setdefault(cell["contestant"], {})
                row[cell["nic"], direction, what] = figure
    columns = [(nic, *which) for nic in matrix.CHIPS for which in LATENCIES
               if any(nic == key[0] for row in found.values() for key in row)]
    rows = [[contestant, *(f"{found[contestant][key]:.0f}" if key in found[contestant] else ""
                           for key in columns)]
            for contestant in matrix.CONTESTANTS if contestant in found]
    header = ["contestant", *(f"{nic} {direction.capitalize()}, {what}"
                              for nic, direction, what in columns)]
    return rows_to_markdown(header, rows) if rows else ""


def of_rounds(result):
    """Return the sections on counts per round and on latency."""
    counts, latency = per_round(result), latencies(result)
    return (("## Counts per round\n\nWith busy polling, N packets per round; `bench/README.md` defines the "
             "columns.\n\n"
             f"{counts}\n" if counts else "")
            + ("## Latency at one packet per round, instructions\n\nRx: from the hand-over of the "
               "frame to the program. Tx: from the system call to the doorbell.\n\n"
               f"{latency}\n" if latency else ""))


# Packets per round of the comparison of drivers; DPDK's vector path for i40e has bursts of 32
DRIVER_ROUNDS = (32, 64)


def driver_figure(cell):
    """Return the figure of a cell in the comparison of drivers, or None."""
    if not matrix.on_curve(cell) or matrix.size(cell, "batch") not in DRIVER_ROUNDS:
        return None
    if cell["program"] == "testpmd":
        return cell.get("driver_insn_per_pkt")
    return cell["kernel_insn_per_pkt"] if cell["program"] == "xdpsock" else None


def drivers(result):
    """Return the table of DPDK's drivers and of the kernel, a row per NIC, workload and round."""
    found = {}
    for cell in result["cells"]:
        figure = driver_figure(cell)
        if figure is not None:
            row = found.setdefault((cell["nic"], cell["workload"], matrix.size(cell, "batch")), {})
            row[cell["contestant"]] = figure
    # Those that have both sides
    found = {key: row for key, row in found.items()
             if len({contestant.startswith("dpdk-") for contestant in row}) == 2}
    columns = [contestant for contestant in matrix.CONTESTANTS
               if any(contestant in row for row in found.values())]
    rows = [[nic, what, str(n), *(f"{row[key]:.1f}" if key in row else "" for key in columns)]
            for (nic, what, n), row in found.items()]
    return rows_to_markdown(["NIC", "workload", "N", *columns], rows) if rows else ""


def costlier(result):
    """List the cells of the patched kernel that cost more than on the base."""
    cells = {(cell["nic"], workload(cell), cell["contestant"]): cell for cell in result["cells"]
             if cell["valid"]}
    text = ""
    for (nic, what, contestant), cell in cells.items():
        base = cells.get((nic, what, NOT_COSTLIER.get(contestant)))
        if not base:
            continue
        percent = 100 * (cell["insn_per_pkt"] / base["insn_per_pkt"] - 1)
        if percent > max(NOISE, cell["spread_pct"], base["spread_pct"]):
            text += (f"* More expensive than on the base: {nic} {what} {contestant}, "
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


def text(result):
    """Return the table and the notes below it."""
    notes = costlier(result) + "".join(f"* {trouble}\n" for trouble in result["troubles"])
    return table(result) + (f"\n{notes}" if notes else "")


def old_cells(folder):
    """Return the cells of the file in the folder, by their identity."""
    file = folder / "bench.json"
    old = json.loads(file.read_text())["cells"] if file.exists() else []
    return {matrix.identity(cell): cell for cell in old}


def lowest(cell, old):
    """Return the lowest figure that a cell ever had, given its old version, or None."""
    figures = [old["lowest"]] if old.get("lowest") else []
    figures += [version["insn_per_pkt"] for version in (old, cell) if version.get("valid")]
    return min(figures, default=None)


def merged(folder, cells, keep):
    """Return these cells, with `keep` also the others of the file in the folder."""
    old = old_cells(folder)
    for cell in cells:
        cell["lowest"] = lowest(cell, old.get(matrix.identity(cell), {}))
    found = (old if keep else {}) | {matrix.identity(cell): cell for cell in cells}
    order = {matrix.identity(cell): number for number, cell in enumerate(matrix.cells())}
    return sorted(found.values(), key=lambda cell: order.get(matrix.identity(cell), len(order)))


def name(cell):
    """Return the name of a cell."""
    return f"{cell['nic']} {workload(cell)} {cell['contestant']}"


def old_troubles(folder, cells):
    """Return the troubles of the file in the folder, without those of these cells."""
    file = folder / "bench.json"
    old = json.loads(file.read_text())["troubles"] if file.exists() else []
    return [trouble for trouble in old
            if not any(f": {name(cell)} run " in trouble for cell in cells)]


def sections(file):
    """Return the parts of a file of profiles by their headings."""
    parts = file.read_text().split("\n## ")[1:] if file.exists() else []
    return {part.split("\n")[0]: part.split("\n", 1)[1].strip("\n") for part in parts}


def write_profiles(folder, head, found, keep):
    """Write a file per contestant with its usual cells."""
    for contestant in sorted({cell["contestant"] for cell, _ in found}):
        file = folder / f"profile-{contestant}.md"
        parts = sections(file) if keep else {}
        for cell, functions in found:
            if cell["contestant"] == contestant and not matrix.unusual(cell):
                parts[f"{cell['nic']} {cell['workload']}"] = \
                    profile(functions, cell["packets"]).rstrip()
        file.write_text(f"# Where the instructions go: {contestant}\n\n{head}"
                        + "\n\n".join(f"## {name}\n\n{part}" for name, part in parts.items())
                        + "\n")


def write(folder, base, found, troubles, keep):
    """Write bench.json, bench.md and the profiles into the folder; return the content of the first.

    With `keep` other cells in the files are kept.
    """
    cells = [cell for cell, _ in found]
    result = {"base": base, "cells": merged(folder, cells, keep),
              # A run writes after each boot
              "troubles": [*dict.fromkeys([*(old_troubles(folder, cells) if keep else ()),
                                           *troubles])]}
    (folder / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    head = (f"Base {base}; 64-byte frames, 64 packets per round, one core, one queue unless said. "
            "`bench/README.md` explains.\n\n")
    curve = rounds(result)
    if curve:
        curve = ("## By packets per round\n\nA round of N packets costs about F + v * N "
                 "instructions; F and v are fitted up to 64. The last column has the largest "
                 f"deviation of a figure up to 64 from that.\n\n{curve}\n")
    curve += of_rounds(result)
    driver = drivers(result)
    if driver:
        driver = ("## Driver against driver\n\nInstructions per packet with N packets per round: of "
                  "DPDK, those in the library of its driver; of AF_XDP, all of the kernel: system "
                  f"call, busy polling, driver and socket.\n\n{driver}\n")
    all_cells = "## All cells\n\n" if curve or driver else ""
    (folder / "bench.md").write_text(
        f"# Instructions per packet\n\n{head}{curve}{driver}{all_cells}{text(result)}")
    write_profiles(folder, head, found, keep)
    return result
