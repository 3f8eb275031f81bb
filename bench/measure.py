#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the matrix of bench/matrix.py and write what was measured into the results folder.

Cells with the same kernel and card share a boot; each of the runs of a cell is in a boot of
its own.
"""

import argparse
import hashlib
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from itertools import groupby
from pathlib import Path

import fold
import matrix
import report

OUT = Path("/out/bench")
RAW = OUT / "raw"
SRC = Path("/src")
# Of a port of nicsim and of xdpsock: what says that frames were lost
LOST_NIC = ("rx_missed", "rx_no_descriptor", "rx_bad_length", "rx_disabled", "rx_filtered")
LOST_SOCKET = ("rx_dropped", "rx_invalid", "rx_queue_full", "tx_invalid")
# A few frames are lost before the first poll of a socket and after the last one
LOST_SHARE = 0.001


class Progress:
    """Says which cell is running, how long it took so far, and how long it will take."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()

    @staticmethod
    def clock(seconds):
        """Return minutes:seconds."""
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"

    def say(self, cell, text):
        """Print a line about a cell that ended."""
        self.done += 1
        elapsed = time.monotonic() - self.start
        left = elapsed / self.done * (self.total - self.done)
        print(f"[{self.done}/{self.total}, {self.clock(elapsed)}, about {self.clock(left)} left] "
              f"{cell['nic']} {report.workload(cell)} {cell['contestant']} run {cell['run']}: "
              f"{text}", flush=True)


def boot_of(cell):
    """Return what has to be the same for cells that share a boot."""
    return (cell["run"], cell["kernel"], cell["program"] == "testpmd", cell["nic"],
            str(cell["frame"]), cell["cores"])


def boot_command(name, cells, cells_file):
    """Return the command that boots a guest for these cells."""
    folder, cell = f"/out/boot/{name}", cells[0]
    return ["nice", SRC / "lab/boot.sh", "--icount", "--cpus", str(cell["cores"]), "--name", name,
            "--timeout", str(180 + 60 * len(cells)), "--append", "norandmaps spectre_v2=retpoline",
            "--nic", cell["model"], "--wire", f"gen:0,size={cell['frame']},start=off",
            "--qemu-opt", "-chardev", "--qemu-opt",
            f"socket,id=bench,path={folder}/bench.sock,server=on,wait=off",
            "--qemu-opt", "-device", "--qemu-opt", "virtserialport,chardev=bench,name=bench",
            "--qemu-opt", "-plugin", "--qemu-opt", f"file={OUT}/count.so,dir={folder},out={RAW}",
            cell["kernel"], "--", "python3", "/src/bench/guest/cells.py", cells_file]


def image_of(kernel):
    """Return what identifies a kernel image."""
    image = Path(f"/out/build-{kernel}/arch/x86/boot/bzImage")
    return hashlib.sha256(image.read_bytes()).hexdigest()[:16]


def run_boot(cells, progress, tries=2):
    """Run cells in one guest; yield each with its figures. Those that failed get another guest."""
    name = "bench"
    cells_file = OUT / "cells.json"
    cells_file.write_text(json.dumps(cells))
    log = OUT / "boot.log"
    waiting = {cell["id"]: cell for cell in cells}
    image = image_of(cells[0]["kernel"])
    with log.open("a") as errors, subprocess.Popen(
            list(map(str, boot_command(name, cells, cells_file))),
            stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        for line in process.stdout:
            errors.write(line)
            words = line.split()
            if words[:1] == ["cell"] and words[2:] == ["ends"]:
                cell = waiting.pop(words[1])
                run = {**measured(cell), "image": image}
                progress.say(cell, f"{run['insn_per_pkt']:.1f} instructions per packet"
                             + (f" INVALID: {run['why']}" if run["why"] else ""))
                yield cell, run
    if waiting and tries > 1:
        print(f"again, see {log}: {', '.join(waiting)}", flush=True)
        yield from run_boot(list(waiting.values()), progress, tries - 1)
        return
    for cell in waiting.values():
        progress.say(cell, f"FAILED, see {log}")


def lost(before, after, program):
    """Return where frames were lost, and how many."""
    found = {}
    for port_before, port_after in zip(before, after):
        for key in LOST_NIC:
            found[key] = port_after["chip"].get(key, 0) - port_before["chip"].get(key, 0)
    for key in LOST_SOCKET:
        found[key] = found.get(key, 0) + (program or {}).get(key, 0)
    return {key: count for key, count in found.items() if count}


def why_invalid(counts, after, losses):
    """Return why a run must not be believed, or an empty string."""
    total = counts.total
    if total["idle"]:
        return f"the guest was idle {total['idle']} times"
    if total["starved"]:
        return f"no frame waited in {total['starved']} of {total['samples']} samples"
    if sum(losses.values()) > LOST_SHARE * total["packets"]:
        return f"frames were lost: {losses}"
    if any(count for port in after for count in port["events"].values()):
        return "the model saw misbehaviour"
    return ""


def is_thunk(name):
    """Tell whether a function is a retpoline."""
    return name.startswith("__x86_indirect_thunk_")


def is_poll(name):
    """Tell whether a function is the NAPI poll of a driver."""
    return name.split("[")[0] in ("ixgbe_poll", "i40e_napi_poll", "veth_poll")


def measured(cell):
    """Return the figures of one run."""
    stem = RAW / cell["id"]
    counts = fold.Counts(stem, f"/out/build-{cell['kernel']}/System.map")
    said = json.loads(Path(f"{stem}.json").read_text())
    losses = lost(said["before"], said["after"], said["program"])
    return {
        "insn_per_pkt": counts.total["insns"] / counts.packets,
        "kernel_insn_per_pkt": counts.insns(kernel=True),
        "user_insn_per_pkt": counts.insns(kernel=False),
        "thunks_per_pkt": counts.entered(is_thunk),
        "syscalls_per_pkt": counts.entered("entry_SYSCALL_64".__eq__),
        "wakeups_per_pkt": counts.entered("try_to_wake_up".__eq__),
        "polls_per_pkt": counts.entered(is_poll),
        "packets": counts.packets, "lost": losses,
        "why": why_invalid(counts, said["after"], losses),
        "functions": counts.functions(),
    }


def merge(cell, runs):
    """Return the cell for results/bench.json from its runs: the one in the middle."""
    runs = sorted(runs, key=lambda run: run["insn_per_pkt"])
    values = [run["insn_per_pkt"] for run in runs]
    middle = runs[(len(runs) - 1) // 2]
    spread = 100 * (values[-1] - values[0]) / statistics.median(values)
    reasons = {run["why"] for run in runs if run["why"]}
    if len({run["image"] for run in runs}) > 1:
        reasons.add("the kernel was built anew between the runs")
    why = "; ".join(sorted(reasons))
    result = {key: cell[key] for key in ("nic", "workload", "contestant", "kernel", "cores",
                                         "frame", "batch", "descriptors", "frames")}
    for key, value in middle.items():
        if key.endswith("_pkt"):
            result[key] = round(value, 4)
    result |= {"virtual_mpps": round(1000 / middle["insn_per_pkt"], 4),
               "packets": middle["packets"], "lost": middle["lost"], "runs":
               [round(value, 3) for value in values], "spread_pct": round(spread, 3),
               "image": middle["image"],
               "valid": not why}
    if why:
        result["why"] = why
    return result, middle["functions"]


def run_all(cells, repeat):
    """Run each cell so many times; return what is to be reported, and profiles."""
    runs = {}
    todo = [{**cell, "run": run, "id": f"{number}-{run}"}
            for run in range(1, repeat + 1) for number, cell in enumerate(cells)]
    progress = Progress(len(todo))
    for _, group in groupby(sorted(todo, key=boot_of), boot_of):
        for cell, run in run_boot(list(group), progress):
            runs.setdefault(cell["id"].split("-")[0], []).append(run)
    return [merge(cell, runs[str(number)]) for number, cell in enumerate(cells)
            if str(number) in runs]


def base_version():
    """Return the version of the base kernel."""
    lines = (SRC / "BASE").read_text().splitlines()
    return next(line.split()[0] for line in lines if line and not line.startswith("#"))


def draw(results):
    """Draw the picture, if matplotlib is there."""
    if not importlib.util.find_spec("matplotlib"):
        print("no picture: python3-matplotlib is not in the lab", file=sys.stderr)
        return
    subprocess.run([sys.executable, SRC / "bench/picture.py", results / "bench.json", results],
                   check=True)


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the cells that tell the story, once")
    parser.add_argument("--nic", action="append", choices=matrix.NICS, help="only this card")
    parser.add_argument("--only", action="append", default=[], metavar="WORD",
                        help="only this contestant or workload")
    parser.add_argument("--usual", action="store_true",
                        help="only frames of 64 bytes and a umem of the usual size")
    parser.add_argument("--repeat", type=int, help="runs of each cell (3; quick: 1)")
    parser.add_argument("--results", type=Path, metavar="FOLDER",
                        help="as the lab sees it (/src/results; quick: /out/bench/quick)")
    args = parser.parse_args()
    results = args.results or (OUT / "quick" if args.quick else SRC / "results")
    cells = [cell for cell in matrix.cells(args.nic or ["ixgbe"], args.quick)
             if (not args.only or {cell["contestant"], cell["workload"]} & set(args.only))
             and (not args.usual or matrix.is_usual(cell))]
    RAW.mkdir(parents=True, exist_ok=True)
    for file in RAW.iterdir():
        file.unlink()
    found = run_all(cells, args.repeat or (1 if args.quick else 3))
    results.mkdir(parents=True, exist_ok=True)
    result = {"base": base_version(), "cells": [cell for cell, _ in found]}
    report.write(results, result, found)
    print(report.table(result) + report.dearer(result))
    draw(results)
    return 0 if len(found) == len(cells) and all(cell["valid"] for cell, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
