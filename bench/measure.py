#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the matrix of bench/matrix.py and write the results into the results folder.

Cells that need the same guest share a boot, up to CELLS_OF_BOOT; each run of a cell has its own
boot. Boots run side by side, each needs about one CPU. A guest that prints nothing for too long is
killed; the cell in progress, or one that failed, is retried once.
"""

import argparse
import collections
import fcntl
import hashlib
import json
import math
import os
import queue
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import groupby
from pathlib import Path

import fold
import matrix
import report

OUT = Path("/out/bench")
RAW = OUT / "raw"
SRC = Path("/src")
# Counters of lost frames, of a nicsim port and of xdpsock
LOST_NIC = ("rx_missed", "rx_no_descriptor", "rx_bad_length", "rx_disabled", "rx_filtered")
LOST_SOCKET = ("rx_dropped", "rx_invalid", "rx_queue_full", "tx_invalid")
# Tolerated share of lost frames, by cores: a few are lost before the first poll of each socket and
# after the last one; with two cores also whenever the receiving one is ahead by a ring
LOST_SHARE = {1: 0.001, 2: 0.05}
# Limit in seconds of a boot up to the first cell, and of a cell. They take some 15 and 5, cells with
# 16 queues 220, and more on a busy machine
LONGEST = 600
TRIES = 2
# Cells of a boot, at most: results are written after each boot
CELLS_OF_BOOT = 40


class Progress:
    """Prints each cell that ended, the elapsed time, and the estimated time left."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.lock = threading.Lock()

    @staticmethod
    def clock(seconds):
        """Return minutes:seconds."""
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"

    def say(self, cell, text):
        """Print a line for a cell that ended."""
        with self.lock:
            self.done += 1
            elapsed = time.monotonic() - self.start
            left = elapsed / self.done * (self.total - self.done)
            print(f"[{self.done}/{self.total}, {self.clock(elapsed)}, about {self.clock(left)} "
                  f"left] {report.name(cell)} run {cell['run']}: {text}", flush=True)

    def say_again(self, text):
        """Print a line for a cell that will be retried."""
        with self.lock:
            print(f"again: {text}", flush=True)


def boot_of(cell):
    """Return the key that is the same for cells that share a boot."""
    return str((cell["run"], cell["kernel"], cell["program"] == "testpmd", cell["frame"],
                cell["cores"], cell["queues"] > 1, looks_at_lines(cell), has_latency(cell)))


def looks_at_lines(cell):
    """Return whether a cell needs the cache model."""
    return cell["cores"] > 1 or cell["caches"]


def boot_command(name, cells, cells_file):
    """Return the command that boots a guest for these cells.

    CPUs beyond the first are for the cells that need them, and cost nothing while offline.
    """
    folder, cell = f"/out/boot/{name}", cells[0]
    cpus = max(max(matrix.cpus(cell), 1 if cell["nic"] == "veth" else cell["queues"])
               for cell in cells)
    options = ",lines=on" if looks_at_lines(cell) else ""
    options += ",latency=on" if has_latency(cell) else ""
    wires = [word for port in range(len(matrix.PORTS)) for word in (
        "--wire", f"gen:{port},size={cell['frame']},flows={matrix.FLOWS[cell['queues'] > 1]},"
        "start=off")]
    # The speed of the CPU is given, so that others need not calibrate when they come online
    # With one CPU, Linux would remove the lock prefixes
    boot = ("norandmaps spectre_v2=retpoline maxcpus=1 noreplace-smp tsc=reliable "
            "cpu_init_udelay=0 lpj=4000000")
    return ["nice", SRC / "lab/boot.sh", "--icount", "--cpus", str(cpus), "--name", name,
            "--timeout", str(LONGEST * (1 + len(cells))), "--append", boot,
            # Misbehaviour makes the cell invalid in which it occurs
            "--any-events", "--nic", ",".join(model for model, _ in matrix.PORTS), *wires,
            "--qemu-opt", "-chardev", "--qemu-opt",
            f"socket,id=bench,path={folder}/bench.sock,server=on,wait=off",
            "--qemu-opt", "-device", "--qemu-opt", "virtserialport,chardev=bench,name=bench",
            "--qemu-opt", "-plugin", "--qemu-opt", f"file={OUT}/count.so,dir={folder},out={RAW},"
            f"cores={cell['cores']},busy={address_of(cell['kernel'], '__napi_busy_loop')},"
            f"halt={address_of(cell['kernel'], 'default_idle')},"
            f"syscall={address_of(cell['kernel'], 'entry_SYSCALL_64')}{options}",
            cell["kernel"], "--", "python3", "/src/bench/guest/cells.py", cells_file]


def address_of(kernel, function):
    """Return the address of a kernel function, in hexadecimal."""
    lines = Path(f"/out/build-{kernel}/System.map").read_text().splitlines()
    return next(line.split()[0] for line in lines if line.endswith(f" {function}"))


def image_of(kernel):
    """Return the digest of a kernel image."""
    image = Path(f"/out/build-{kernel}/arch/x86/boot/bzImage")
    return hashlib.sha256(image.read_bytes()).hexdigest()[:16]


def lines_of(process, stop):
    """Yield the output lines of a session leader.

    Its session is killed if it is silent for too long, or if the event `stop` is set.
    """
    lines = queue.SimpleQueue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    silent = 0
    while silent < LONGEST and not stop.is_set():
        try:
            line = lines.get(timeout=1)
        except queue.Empty:
            silent += 1
            continue
        if line is None:
            return
        silent = 0
        yield line
    os.killpg(process.pid, signal.SIGKILL)
    yield "killed: " + ("the run ends" if stop.is_set() else f"silent for {silent} s") + "\n"


def run_boot(name, cells, stop):
    """Run cells in one guest; yield the words of each line of output, the status at the end.

    `name` is that of no other guest at the time; the event `stop` ends the guest.
    """
    cells_file = OUT / f"{name}.json"
    cells_file.write_text(json.dumps(cells))
    with (OUT / f"{name}.log").open("a") as log, subprocess.Popen(
            list(map(str, boot_command(name, cells, cells_file))), stdout=subprocess.PIPE,
            stderr=log, text=True, start_new_session=True) as process:
        log.write(f"# {time.strftime('%F %T')}: {len(cells)} cells\n")
        try:
            for line in lines_of(process, stop):
                log.write(line)
                log.flush()
                yield line.split()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        yield ["status", str(process.returncode)]


class Group:
    """Cells that share a boot."""

    def __init__(self, name, cells, progress, stop):
        self.name, self.stop = name, stop
        self.waiting = {cell["id"]: cell for cell in cells}
        self.image = image_of(cells[0]["kernel"])
        self.progress = progress
        self.troubles = []

    def runs(self):
        """Yield each cell with its figures."""
        tries = collections.Counter()
        while self.waiting:
            begun, why = None, ""
            for words in run_boot(self.name, list(self.waiting.values()), self.stop):
                if words[:1] == ["cell"]:
                    begun = words[1] if words[2] != "ends" else None
                    why = " ".join(words[3:])
                    if not begun:
                        yield self.ended(self.waiting.pop(words[1]))
                elif words[:1] in (["killed:"], ["status"]):
                    why = why or " ".join(words)
            if self.stop.is_set():
                return
            blamed = [begun] if begun in self.waiting else list(self.waiting)
            if why and not blamed:
                self.troubles.append(f"all cells ended, but the guest did not end well: {why}")
            tries.update(blamed)
            for name in blamed:
                self.failed(name, why, tries[name] >= TRIES)

    def ended(self, cell):
        """Return a cell that ended and its figures."""
        run = {**measured(cell), "image": self.image}
        self.progress.say(cell, f"{run['insn_per_pkt']:.1f} instructions per packet"
                          + (f" INVALID: {run['why']}" if run["why"] else ""))
        return cell, run

    def failed(self, name, why, final):
        """Report the failure of a cell, and drop it if it is final."""
        cell = self.waiting[name]
        text = f"{report.name(cell)} run {cell['run']}: {why}"
        self.troubles.append(f"{'failed' if final else 'tried again'}: {text}")
        if final:
            del self.waiting[name]
            self.progress.say(cell, f"FAILED: {why}; see out/bench/{self.name}.log")
        else:
            self.progress.say_again(text)


def lost(before, after, program):
    """Return the counters of lost frames that changed, and by how many."""
    found = {}
    for port_before, port_after in zip(before, after):
        for key in LOST_NIC:
            found[key] = port_after["chip"].get(key, 0) - port_before["chip"].get(key, 0)
    for key in LOST_SOCKET:
        found[key] = found.get(key, 0) + (program or {}).get(key, 0)
    return {key: count for key, count in found.items() if count}


def why_invalid(counts, ports, losses, cores=1, queues=1, wait="busy"):
    """Return the reason why a run is invalid, or an empty string."""
    total = counts.total
    if total["idle"] and cores == 1 and wait == "busy":
        return f"the guest was idle {total['idle']} times"
    if total["starved"]:
        return f"no frame waited in {total['starved']} of {total['samples']} samples"
    if total.get("inexact"):
        return f"frames of {total['inexact']} rounds were not received at once"
    if sum(losses.values()) > LOST_SHARE[cores] * total["packets"] * queues:
        return f"frames were lost: {losses}"
    before, after = (collections.Counter({(number, name): count
                                          for number, port in enumerate(side)
                                          for name, count in port["events"].items()})
                     for side in ports)
    return ", ".join(f"the model saw {count} {name} at port {number}"
                     for (number, name), count in (after - before).items())


def is_thunk(name):
    """Return whether a function is a retpoline."""
    return name.startswith("__x86_indirect_thunk_")


def is_poll(name):
    """Return whether a function is the NAPI poll of a driver."""
    return name.split("[")[0] in ("ixgbe_poll", "i40e_napi_poll", "veth_poll")


def is_timer(name):
    """Return whether a function programs the timer of the CPU."""
    return name in ("lapic_next_event", "lapic_next_deadline")


def has_latency(cell):
    """Return whether a cell has latencies: xdpsock with busy polling, one packet per round."""
    return (cell["program"] == "xdpsock" and cell["batch"] == 1 and cell["wait"] == "busy"
            and len(cell["ports"]) == cell["cores"] == cell["queues"] == 1)


def driver_part(program, functions):
    """Return DPDK's instructions per packet in its drivers, as a figure of the cell."""
    if program not in ("testpmd", "af_xdp"):
        return {}
    return {"driver_insn_per_pkt": sum(insns for insns, where, name in functions
                                       if where == "user" and "[librte_net_" in name)}


def measured(cell):
    """Return the figures of one run."""
    stem = RAW / cell["id"]
    counts = fold.Counts(stem, f"/out/build-{cell['kernel']}/System.map", cell["cores"])
    said = json.loads(Path(f"{stem}.json").read_text())
    losses = lost(said["before"], said["after"], said["program"])
    lines = counts.lines() if looks_at_lines(cell) else {}
    functions = counts.functions()
    return {
        "insn_per_pkt": counts.insns(kernel=True) + counts.insns(kernel=False),
        "kernel_insn_per_pkt": counts.insns(kernel=True),
        "user_insn_per_pkt": counts.insns(kernel=False),
        "thunks_per_pkt": counts.entered(is_thunk),
        "syscalls_per_pkt": counts.entered("entry_SYSCALL_64".__eq__),
        "wakeups_per_pkt": counts.entered("try_to_wake_up".__eq__),
        "polls_per_pkt": counts.entered(is_poll), **lines,
        **counts.per_packet("mmio_reads", "mmio_writes", "locked", "fences"),
        "timers_per_pkt": counts.entered(is_timer),
        **(counts.latencies() if has_latency(cell) else {}),
        **driver_part(cell["program"], functions),
        "packets": counts.packets, "lost": losses,
        "why": why_invalid(counts, (said["before"], said["after"]), losses, cell["cores"],
                           cell["queues"], cell["wait"]),
        "functions": functions,
    }


def merge(cell, runs):
    """Return the cell for results/bench.json from its runs, with the figures of the median run."""
    runs = sorted(runs, key=lambda run: run["insn_per_pkt"])
    values = [run["insn_per_pkt"] for run in runs]
    middle = runs[(len(runs) - 1) // 2]
    spread = 100 * (values[-1] - values[0]) / statistics.median(values)
    reasons = {run["why"] for run in runs if run["why"]}
    if len({run["image"] for run in runs}) > 1:
        reasons.add("the kernel was rebuilt between the runs")
    why = "; ".join(sorted(reasons))
    result = {key: cell[key] for key in ("nic", "workload", "contestant", "kernel", "program",
                                         *matrix.SIZES, "descriptors")}
    for key, value in middle.items():
        if key.endswith(("_pkt", "_insn")):
            result[key] = round(value, 4)
    result |= {"virtual_mpps": round(1000 / middle["insn_per_pkt"], 4),
               "packets": middle["packets"], "lost": middle["lost"], "runs":
               [round(value, 3) for value in values], "spread_pct": round(spread, 3),
               "image": middle["image"],
               "valid": not why}
    if why:
        result["why"] = why
    return result, middle["functions"]


def boots_of(cells, jobs):
    """Return the cells of each boot, so that `jobs` boots can run side by side; slow ones first."""
    size = min(CELLS_OF_BOOT, math.ceil(len(cells) / jobs))
    groups = (list(group) for _, group in groupby(sorted(cells, key=boot_of), boot_of))
    boots = [same[first:first + size] for same in groups for first in range(0, len(same), size)]
    return sorted(boots, key=lambda boot: -boot[0]["queues"])


def run_all(cells, repeat, jobs):
    """Run each cell; yield after each boot all cells so far with their profiles, and the troubles.

    `repeat` is the number of runs of each cell, `jobs` that of boots side by side.
    """
    runs, troubles = collections.defaultdict(list), []
    todo = [{**cell, "run": run, "id": f"{number}-{run}"} for number, cell in enumerate(cells)
            for run in range(1, repeat + 1)]
    progress, stop = Progress(len(todo)), threading.Event()
    names = queue.SimpleQueue()
    for number in range(jobs):
        names.put(f"bench-{number}")

    def run_group(cells_of_boot):
        if stop.is_set():
            return [], []
        name = names.get()
        try:
            group = Group(name, cells_of_boot, progress, stop)
            return list(group.runs()), group.troubles
        except BaseException:
            stop.set()
            raise
        finally:
            names.put(name)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            boots = boots_of(todo, jobs)
            for boot in as_completed([pool.submit(run_group, cells) for cells in boots]):
                ended, new_troubles = boot.result()
                for cell, run in ended:
                    runs[cell["id"].split("-")[0]].append(run)
                troubles += new_troubles
                yield [merge(cell, runs[str(number)]) for number, cell in enumerate(cells)
                       if str(number) in runs], troubles
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def base_version():
    """Return the version of the base kernel."""
    lines = (SRC / "BASE").read_text().splitlines()
    return next(line.split()[0] for line in lines if line and not line.startswith("#"))


def default_jobs():
    """Return the number of boots side by side: each takes a CPU and 3 GB."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(4, len(os.sched_getaffinity(0)), memory // (3 << 30)))


def parse():
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.splitlines()[0],
                                     epilog="--no-build uses existing builds.")
    parser.add_argument("--quick", action="store_true",
                        help="a few characteristic cells, into out/bench/quick")
    parser.add_argument("--small", action="store_true",
                        help="the cells that CI measures, into out/bench/small")
    parser.add_argument("--nic", action="append", choices=matrix.NICS, help="only this NIC")
    parser.add_argument("--only", action="append", default=[], metavar="WORD",
                        help="only this contestant or workload; of both, if both are named")
    parser.add_argument("--match", metavar="REGEX",
                        help="only cells whose name (see --list) matches")
    parser.add_argument("--usual", action="store_true",
                        help="only cells of the default sizes (64-byte frames, batch 64 and so on)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each cell (1)")
    parser.add_argument("--jobs", type=int, default=default_jobs(),
                        help="boots side by side (one per CPU and 3 GB, at most 4)")
    parser.add_argument("--merge", action="store_true",
                        help="replace these cells in the results, keep the others")
    parser.add_argument("--list", action="store_true", help="list the cells, run none")
    parser.add_argument("--results", type=Path, metavar="FOLDER",
                        help="write into this folder instead of results/. The lab has the "
                             "repository at /src and its out/ at /out")
    parser.add_argument("--patched", metavar="NAME", default="patched",
                        help="kernel build out/build-NAME to measure as the patched one")
    parser.add_argument("--tree", action="append", default=[], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.merge and args.patched != "patched":
        parser.error("--merge with --patched would mix kernels: use --results")
    filtered = args.nic or args.only or args.match or args.usual
    if filtered and not (args.merge or args.results or args.list or args.quick or args.small):
        parser.error("these cells alone would replace all of results/: add --merge, or --results")
    if args.jobs < 1 or args.repeat < 1:
        parser.error("--jobs and --repeat are at least 1")
    return args


def trees_of(cell, trees):
    """Return the git trees of the sources that a cell was measured with."""
    xdpsock = cell["program"] in ("xdpsock", "veth")
    return {"kernel_tree": trees.get(cell["kernel"], "unknown"),
            **({"xdpsock_tree": trees.get("xdpsock", "unknown")} if xdpsock else {})}


def chosen(args):
    """Return the cells to run."""
    subset = "quick" if args.quick else "small" if args.small else "all"
    found = [cell for cell in matrix.cells(args.nic or tuple(matrix.NICS), subset)
             if not args.usual or not matrix.unusual(cell)]
    for cell in found:
        if cell["kernel"] == "patched":
            cell["kernel"] = args.patched
    for key in "contestant", "workload":
        names = {cell[key] for cell in found} & set(args.only)
        if names:
            found = [cell for cell in found if cell[key] in names]
    return [cell for cell in found if re.search(args.match or "", report.name(cell))]


def main():
    """Run the benchmark."""
    args = parse()
    cells = chosen(args)
    if args.list:
        print("\n".join(map(report.name, cells)))
        return 0
    results = args.results or (SRC / "results" if not args.quick and not args.small else
                               OUT / ("quick" if args.quick else "small"))
    RAW.mkdir(parents=True, exist_ok=True)
    lock = (OUT / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("bench: another run uses out/bench; wait for it, or use another clone")
    for file in [*RAW.iterdir(), *OUT.glob("bench-*.log")]:
        file.unlink()
    start = time.monotonic()
    found, result = [], {}
    results.mkdir(parents=True, exist_ok=True)
    # After each boot, not only at the end: the whole matrix takes long
    for found, troubles in run_all(cells, args.repeat, args.jobs):
        for cell, _ in found:
            cell |= trees_of(cell, dict(tree.split("=") for tree in args.tree))
        result = report.write(results, base_version(), found, troubles, args.merge)
    print(report.text(result))
    print(f"{len(found)} of {len(cells)} cells in {Progress.clock(time.monotonic() - start)} "
          "minutes", flush=True)
    subprocess.run([sys.executable, SRC / "bench/picture.py", results / "bench.json", results],
                   check=True)
    return 0 if len(found) == len(cells) and all(cell["valid"] for cell, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
