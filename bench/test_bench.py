# SPDX-License-Identifier: GPL-2.0
"""Tests of the evaluation of the benchmark."""

import importlib.machinery
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
# pylint: disable=wrong-import-position
import ablation  # noqa: E402
import fold  # noqa: E402
import matrix  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402

SYSTEM_MAP = """ffffffff81000000 T _stext
ffffffff81001000 T entry_SYSCALL_64
ffffffff81002000 T __x86_indirect_thunk_array
ffffffff81002000 T __x86_indirect_thunk_rax
ffffffff81003000 D data
"""
KALLSYMS = "ffffffffa0000000 t nic_poll\t[nic]\n"
MAPS = """400000-401000 r--p 00000000 00:00 1    /nowhere/program
401000-402000 r-xp 00001000 00:00 1    /nowhere/program
7000000-7001000 r-xp 00000000 00:00 0
"""
BLOCKS = """{"packets": 10, "insns": 1000, "idle": 0, "samples": 3, "starved": 0, \
"mmio_reads": 0, "mmio_writes": 5, "locked": 20, "fences": 10, \
"rx_latency": 990, "rx_rounds": 9, "tx_latency": 0, "tx_rounds": 0}
0 ffffffff81001000 5 100 0 10 0
0 ffffffff81001010 5 100 10 20 10
0 ffffffff81002000 30 300 20 20 0
1 ffffffffa0000040 10 200 30 30 10
0 401004 10 250 40 40 0
0 9000000 1 50 50 60 10
"""


def load(name):
    """Return a script of this folder as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(Path(__file__).parent / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class Symbols(unittest.TestCase):
    """Addresses have names."""

    def test_kinds_of_lines(self):
        """The tables of kernel and programs are distinguished."""
        self.assertEqual(list(fold.parse_symbols(SYSTEM_MAP))[1],
                         (0xffffffff81001000, "entry_SYSCALL_64", None))
        self.assertEqual(list(fold.parse_symbols(KALLSYMS)),
                         [(0xffffffffa0000000, "nic_poll[nic]", None)])
        table = "0010 0020 T main\n0030 0008 T f@@V1\n         U x"
        self.assertEqual(list(fold.parse_symbols(table)), [(16, "main", 32), (48, "f", 8)])

    def test_size(self):
        """A symbol ends after its size, or at the next one."""
        symbols = fold.Symbols([(16, "main", 32), (64, "open", None)])
        self.assertEqual([symbols.find(address) for address in (15, 16, 47, 48, 64, 999)],
                         [None, "main", "main", None, "open", "open"])

    def test_stripped(self):
        """Without a symbol, the name of the file is used."""
        process = fold.Process(MAPS)
        self.assertEqual(process.find(0x401004), "no symbol [program]")
        self.assertEqual(process.find(0x400004), "another process")


class Counts(unittest.TestCase):
    """Blocks become figures."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name)
        for name, text in (("x.blocks", BLOCKS), ("x.kallsyms", KALLSYMS), ("x.maps", MAPS),
                           ("map", SYSTEM_MAP)):
            (path / name).write_text(text)
        self.counts = fold.Counts(path / "x", str(path / "map"), cores=2)

    def test_privilege(self):
        """Kernel and user instructions add up to all."""
        self.assertEqual(self.counts.insns(kernel=True), 70)
        self.assertEqual(self.counts.insns(kernel=False), 30)

    def test_lines(self):
        """Cache line transfers and misses are added up."""
        self.assertEqual(self.counts.lines(), {"line_transfers_per_pkt": 15,
                                               "l1_misses_per_pkt": 18, "l2_misses_per_pkt": 3})

    def test_entered(self):
        """Only the first block of a function counts as a call."""
        self.assertEqual(self.counts.entered("entry_SYSCALL_64".__eq__), 0.5)
        self.assertEqual(self.counts.entered(measure.is_thunk), 3)

    def test_totals(self):
        """Totals are per packet; a latency is per round, and absent without rounds."""
        self.assertEqual(self.counts.per_packet("mmio_reads", "mmio_writes", "fences"),
                         {"mmio_reads_per_pkt": 0, "mmio_writes_per_pkt": 0.5,
                          "fences_per_pkt": 1})
        self.assertEqual(self.counts.latencies(), {"rx_latency_insn": 110})

    def test_functions(self):
        """Each function has its sum, in descending order."""
        functions = self.counts.functions()
        self.assertEqual(functions[0][0], 30)
        self.assertIn((20, "kernel", "nic_poll[nic]"), functions)
        self.assertIn((20, "kernel", "entry_SYSCALL_64"), functions)
        self.assertIn("| 30.00       | 30.0  | kernel |", report.profile(functions, 10))

    def test_invalid(self):
        """A run in which the guest was idle, or lost frames, is invalid."""
        good, bad = [{"events": {"dma_fault": 0}}], [{"events": {"dma_fault": 1}}]
        self.assertEqual(measure.why_invalid(self.counts, (good, good), {}), "")
        # An event of an earlier cell in the same boot
        self.assertEqual(measure.why_invalid(self.counts, (bad, bad), {}), "")
        self.assertIn("lost", measure.why_invalid(self.counts, (good, good), {"rx_missed": 1}))
        self.assertIn("1 dma_fault at port 0",
                      measure.why_invalid(self.counts, (good, bad), {}))
        self.counts.total["starved"] = 1
        self.assertIn("no frame", measure.why_invalid(self.counts, (good, good), {}))
        self.counts.total["idle"] = 1
        self.assertIn("idle", measure.why_invalid(self.counts, (good, good), {}))


def run_of(insns, why=""):
    """Return a run as measured() does."""
    return {"insn_per_pkt": insns, "kernel_insn_per_pkt": insns - 10, "user_insn_per_pkt": 10,
            "thunks_per_pkt": 0, "syscalls_per_pkt": 0, "wakeups_per_pkt": 0, "polls_per_pkt": 0,
            "packets": 1000, "lost": {}, "why": why, "functions": [],
            "image": "1"}


class Runs(unittest.TestCase):
    """Runs become a cell."""

    def setUp(self):
        self.cell = matrix.cell("ixgbe", "attach", "l2fwd")

    def test_middle_and_spread(self):
        """The figures are those of the median run."""
        cell, _ = measure.merge(self.cell, [run_of(101), run_of(100), run_of(99)])
        self.assertEqual((cell["insn_per_pkt"], cell["spread_pct"], cell["valid"]), (100, 2, True))

    def test_sizes(self):
        """Sizes that differ from the defaults are in the name and the identity of a cell."""
        other = matrix.cell("ixgbe", "attach", "l2fwd", batch=256, frame="imix")
        self.assertEqual(report.workload(other), "l2fwd, imix, 256 per round")
        self.assertNotEqual(matrix.identity(other), matrix.identity(self.cell))
        self.assertEqual((self.cell["budget"], other["budget"]), (64, 256))

    def test_matrix(self):
        """No cell is listed twice, and the subsets are parts of the whole."""
        names = [matrix.identity(cell) for cell in matrix.cells()]
        self.assertEqual(len(set(names)), len(names))
        for subset in matrix.SUBSETS:
            self.assertLessEqual({matrix.identity(cell) for cell in matrix.cells(subset=subset)},
                                 set(names))

    def test_fit(self):
        """F and v are found from exact costs."""
        fixed, each = report.fit([(n, (1000 + 70 * n) / n) for n in (1, 8, 64)])
        self.assertAlmostEqual(fixed, 1000)
        self.assertAlmostEqual(each, 70)

    def test_rounds(self):
        """Only rounds on one core with a generator that can hand over N frames are paced."""
        paced = [matrix.cell("i40e", contestant, workload, **changes)["paced"]
                 for contestant, workload, changes in (
                     ("attach", "l2fwd", {}), ("attach", "txonly", {}), ("attach", "fwd", {}),
                     ("attach", "l2fwd", {"cores": 2}), ("dpdk-scalar", "l2fwd", {}))]
        self.assertEqual(paced, [True, False, False, False, False])

    def test_latency(self):
        """Latency is of xdpsock with busy polling and one packet per round."""
        found = [measure.has_latency(matrix.cell("i40e", contestant, workload, **changes))
                 for contestant, workload, changes in (
                     ("attach", "l2fwd", {"batch": 1}), ("attach", "txonly", {"batch": 1}),
                     ("attach", "l2fwd", {}), ("attach", "l2fwd", {"batch": 1, "wait": "poll"}),
                     ("dpdk-af_xdp", "l2fwd", {"batch": 1}))]
        self.assertEqual(found, [True, True, False, False, False])

    def test_trees(self):
        """A cell names the sources that it runs."""
        trees = {"base": "1", "patched": "2", "xdpsock": "3"}
        self.assertEqual(measure.trees_of(self.cell, trees),
                         {"kernel_tree": "2", "xdpsock_tree": "3"})
        self.assertEqual(measure.trees_of(matrix.cell("ixgbe", "dpdk-scalar", "l2fwd"), trees),
                         {"kernel_tree": "1"})

    def test_one_bad_run(self):
        """A cell with an invalid run, or with runs of different kernels, is invalid."""
        other = {**run_of(100), "image": "2"}
        self.assertFalse(measure.merge(self.cell, [run_of(100), other])[0]["valid"])
        cell, _ = measure.merge(self.cell, [run_of(100), run_of(100, "idle")])
        self.assertFalse(cell["valid"])
        self.assertIn("invalid: idle", report.table({"cells": [cell]}))


class Guests(unittest.TestCase):
    """Cells that need the same guest share one."""

    def setUp(self):
        patch = unittest.mock.patch.object(measure, "address_of", lambda *_: "0")
        patch.start()
        self.addCleanup(patch.stop)

    def test_cpus(self):
        """A guest has as many CPUs as queues, and three for two cores."""
        def cpus(nic, *changes):
            cells = [matrix.cell(nic, "attach", "rxdrop", **change) for change in changes]
            command = list(map(str, measure.boot_command("test", cells, "cells")))
            return command[command.index("--cpus") + 1]

        self.assertEqual([cpus("i40e", {}), cpus("i40e", {"cores": 2})], ["1", "3"])
        self.assertEqual(cpus("i40e", {"queues": 4}, {"queues": 2}), "4")
        self.assertEqual(cpus("veth", {"queues": 64}), "1")

    def test_latency(self):
        """The clock of the latencies, which slows down the guest, is only for cells with them."""
        one, eight = ({**matrix.cell("i40e", "attach", "rxdrop", batch=batch), "run": 1}
                      for batch in (1, 8))
        self.assertNotEqual(measure.boot_of(one), measure.boot_of(eight))
        for cell, clock in (one, True), (eight, False):
            command = " ".join(map(str, measure.boot_command("test", [cell], "cells")))
            self.assertEqual(",latency=on" in command, clock)

    def test_boots(self):
        """Cells with the cache model, which is slow, have their own boot."""
        few, many, caches = ({**matrix.cell("i40e", "attach", "rxdrop", **changes), "run": 1}
                             for changes in ({"queues": 2}, {"queues": 4}, {"caches": True}))
        self.assertEqual(measure.boot_of(few), measure.boot_of(many))
        self.assertNotEqual(measure.boot_of(few), measure.boot_of(caches))
        cells = [dict(few, number=number) for number in range(measure.CELLS_OF_BOOT + 1)]
        self.assertEqual(sorted(map(len, measure.boots_of([*cells, caches], 1))),
                         [1, 1, measure.CELLS_OF_BOOT])
        self.assertEqual(sorted(map(len, measure.boots_of(cells[:5], 2))), [2, 3])


class SideBySide(unittest.TestCase):
    """Several guests at the same time."""

    def setUp(self):
        self.cells = [matrix.cell("i40e", "attach", "l2fwd", frame=frame)
                      for frame in range(64, 68)]

    def counts(self, boot):
        """Return the number of cells after each boot, for this implementation of run_boot()."""
        with (unittest.mock.patch.object(measure, "run_boot", boot),
              unittest.mock.patch.object(measure, "image_of", lambda _: "1"),
              unittest.mock.patch.object(measure, "measured", lambda _: run_of(100)),
              unittest.mock.patch.object(measure, "print", lambda *_, **__: None, create=True)):
            return [len(found) for found, _ in measure.run_all(self.cells, 1, 2)]

    def test_names(self):
        """Guests at the same time have different names; no cell is lost."""
        running, names, both = set(), [], threading.Barrier(2)

        def boot(name, cells, _):
            both.wait(10)
            self.assertNotIn(name, running)
            running.add(name)
            both.wait(10)
            names.append(name)
            running.remove(name)
            for cell in cells:
                yield ["cell", cell["id"], "ends"]

        self.assertEqual(self.counts(boot), [1, 2, 3, 4])
        self.assertEqual(sorted(names), ["bench-0"] * 2 + ["bench-1"] * 2)

    def test_stop(self):
        """An error ends the run: the other guest is stopped, and no further one is booted."""
        booted, both = [], threading.Barrier(2)

        def boot(name, _, stop):
            booted.append(name)
            both.wait(10)
            if name == "bench-0":
                raise OSError("disk full")
            self.assertTrue(stop.wait(10))
            yield ["killed:"]

        with self.assertRaisesRegex(OSError, "disk full"):
            self.counts(boot)
        self.assertEqual(len(booted), 2)


class Boots(unittest.TestCase):
    """After a guest fails or hangs, the remaining cells are retried."""

    def setUp(self):
        self.boots = []
        self.cells = [{**matrix.cell("ixgbe", "attach", "l2fwd"), "run": 1, "id": str(number)}
                      for number in range(2)]
        for name, value in (("run_boot", lambda *_: iter(self.boots.pop(0))),
                            ("image_of", lambda _: "1"), ("measured", lambda _: run_of(100)),
                            ("print", lambda *_, **__: None)):
            patch = unittest.mock.patch.object(measure, name, value, create=True)
            patch.start()
            self.addCleanup(patch.stop)

    def run_group(self, *boots):
        """Return the cells that ended and the troubles for this output of the guests."""
        self.boots = [[line.split() for line in boot] for boot in boots]
        group = measure.Group("test", self.cells, measure.Progress(2), threading.Event())
        return [cell["id"] for cell, _ in group.runs()], group.troubles

    def test_hang(self):
        """A cell in which the guest hangs is retried once, those after it are run."""
        begin, end = ["cell 0 begins"], ["cell 0 begins", "cell 0 ends"]
        rest = ["cell 1 begins", "cell 1 ends"]
        ended, troubles = self.run_group([*begin, "killed: silent"], [*end, *rest])
        self.assertEqual(ended, ["0", "1"])
        self.assertEqual(len(troubles), 1)
        self.assertIn("tried again: ixgbe l2fwd attach run 1: killed: silent", troubles[0])
        ended, troubles = self.run_group([*begin, "killed: silent"], [*begin, "killed: silent"],
                                         rest)
        self.assertEqual(ended, ["1"])
        self.assertIn("failed", troubles[1])

    def test_failed(self):
        """The trouble names the reason of the cell, not the status of the guest."""
        failed = ["cell 0 begins", "cell 0 failed: no link", "status 1"]
        ended, troubles = self.run_group(failed, failed, ["cell 1 begins", "cell 1 ends"])
        self.assertEqual(ended, ["1"])
        self.assertTrue(all(trouble.endswith("no link") for trouble in troubles))

    def test_no_boot(self):
        """If no guest boots, no cell is tried a third time."""
        ended, troubles = self.run_group(["status 1"], ["status 1"])
        self.assertEqual((ended, len(troubles)), ([], 4))

    def test_bad_end(self):
        """A guest whose cells all ended, but that failed, is reported."""
        _, troubles = self.run_group(["cell 0 ends", "cell 1 ends", "status 99"])
        self.assertIn("status 99", troubles[0])


class Results(unittest.TestCase):
    """The files in the results folder."""

    def test_merge(self):
        """With --merge single cells are replaced, in the table and in the profiles."""
        with tempfile.TemporaryDirectory() as folder:
            first = [self.cell("rxdrop", 100), self.cell("l2fwd", 200)]
            report.write(Path(folder), "x", first, [], False)
            result = report.write(Path(folder), "x", [self.cell("l2fwd", 50)], ["late"], True)
            text = Path(folder, "profile-attach.md").read_text()
        self.assertEqual([cell["insn_per_pkt"] for cell in result["cells"]], [100, 50])
        self.assertEqual([line for line in text.splitlines() if line[:3] == "## "],
                         ["## ixgbe rxdrop", "## ixgbe l2fwd"])
        self.assertEqual(text.count("\n\n## ixgbe"), text.count("\n\n| insn/packet"))
        self.assertEqual((text.count("200.00"), text.count("50.00 ")), (0, 2))
        self.assertIn("* late", report.text(result))

    def test_old_troubles(self):
        """With --merge, troubles of other cells stay, those of these cells go."""
        old = [f"tried again: ixgbe {workload} attach run 1: silent"
               for workload in ("rxdrop", "l2fwd")]
        with tempfile.TemporaryDirectory() as folder:
            report.write(Path(folder), "x", [self.cell("rxdrop", 100)], old, False)
            for _ in range(2):
                result = report.write(Path(folder), "x", [self.cell("l2fwd", 50)], ["late"], True)
        self.assertEqual(result["troubles"], [old[0], "late"])

    @staticmethod
    def cell(workload, insns):
        """Return a cell with a profile of one function."""
        cell, _ = measure.merge(matrix.cell("ixgbe", "attach", workload), [run_of(insns)])
        return cell, [(insns, "kernel", "f")]


class Kinds(unittest.TestCase):
    """bench/insn_kind.h finds locked instructions and fences."""

    MAIN = """#include <stdio.h>
#include "insn_kind.h"
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		__u8 code[MAX_INSN_SIZE];
		size_t size = 0;

		while (sscanf(argv[i] + 2 * size, "%2hhx", &code[size]) == 1)
			size++;
		printf("%d", insn_kind(code, size));
	}
}
"""
    OTHER, LOCKED, FENCE = "012"
    # mfence; lock addl $0,-4(%rsp); lock orq $0,(%rsp)
    # lock addl $1,-4(%rsp); lock addl $0,(%r12); lock incl (%rdi); lock addl $0,(%rax);
    # lock bts %eax,%fs:(%rdi); xchg %rax,(%rdi); xchg %al,%gs:8
    # lfence; sfence; addl $0,(%rsp); xchg %rax,%rbx; xchg %ax,%ax; clflush (%rax); test %al,(%rdi)
    CODE = {FENCE: "0faef0 f0834424fc00 f048830c2400",
            LOCKED: "f0834424fc01 f04183042400 f0ff07 f0830000 f0640fab07 488707 6586042508000000",
            OTHER: "0faee8 0faef8 83042400 4887c3 6690 0fae38 8407"}

    def test_kinds(self):
        """The kind of machine code with and without prefixes."""
        if not shutil.which("cc"):
            self.skipTest("no compiler")
        with tempfile.TemporaryDirectory() as folder:
            program = str(Path(folder, "kinds"))
            subprocess.run(["cc", f"-I{Path(__file__).parent}", "-xc", "-", "-o", program],
                           input=self.MAIN, text=True, check=True)
            for kind, code in self.CODE.items():
                found = subprocess.run([program, *code.split()], capture_output=True, text=True,
                                       check=True).stdout
                self.assertEqual(found, kind * len(code.split()), code)


class Rounds(unittest.TestCase):
    """The report has tables of counts and latency per round."""

    NEW = {"mmio_reads_per_pkt": 0, "mmio_writes_per_pkt": 0.25, "locked_per_pkt": 1,
           "fences_per_pkt": 0.125, "timers_per_pkt": 0}

    @staticmethod
    def cell(workload, figures, contestant="attach", **changes):
        """Return a cell of i40e with these figures."""
        return measure.merge(matrix.cell("i40e", contestant, workload, **changes),
                             [run_of(100) | figures])[0]

    @staticmethod
    def rows(table):
        """Return the rows of a table without spaces."""
        return [line.replace(" ", "") for line in table.splitlines()[2:]]

    def test_counts(self):
        """Counts are per round; those that an older file lacks are blank."""
        cells = [self.cell("l2fwd", self.NEW, batch=8), self.cell("rxdrop", {}),
                 self.cell("txonly", self.NEW), self.cell("l2fwd", self.NEW, batch=16),
                 self.cell("l2fwd", self.NEW, batch=8, wait="poll"),
                 self.cell("l2fwd", self.NEW, "dpdk-scalar")]
        self.assertEqual(self.rows(report.per_round({"cells": cells})),
                         ["|i40e|l2fwd|attach|8|0.00|0.00|0.00|2.00|8.00|1.00|0.00|0.00|",
                          "|i40e|l2fwd|dpdk-scalar|64|0.00|0.00|0.00|16.00|64.00|8.00|0.00|0.00|",
                          "|i40e|rxdrop|attach|64|0.00|0.00||||||0.00|",
                          "|i40e|txonly|attach|64|0.00|0.00|0.00|16.00|64.00|8.00|0.00|0.00|"])
        self.assertEqual(report.per_round({"cells": cells[3:5]}), "")

    def test_fit(self):
        """Beside F and v is the largest deviation of a figure from them."""
        cells = [self.cell("l2fwd", {"insn_per_pkt": 1000 / n + 70}, batch=n) for n in (1, 8, 64)]
        self.assertEqual(self.rows(report.rounds({"cells": cells}))[0].split("|")[-4:-1],
                         ["1000", "70.0", "0.0"])

    def test_latencies(self):
        """A row per contestant has the latencies of all workloads."""
        both = {"rx_latency_insn": 800.4, "tx_latency_insn": 300}
        cells = [self.cell("l2fwd", both, "all", batch=1), self.cell("l2fwd", both, batch=1),
                 self.cell("txonly", {"tx_latency_insn": 290}, batch=1),
                 self.cell("l2fwd", both, batch=1, unaligned=True),
                 self.cell("rxdrop", {}, batch=1)]
        self.assertEqual(self.rows(report.latencies({"cells": cells})),
                         ["|attach||800|290|300|", "|all||800||300|"])
        self.assertEqual(report.of_rounds({"cells": cells[-1:]}).count("##"), 1)
        self.assertEqual(report.latencies({"cells": cells[-1:]}), "")


class Drivers(unittest.TestCase):
    """DPDK's drivers are compared with the kernel."""

    FUNCTIONS = [(116.5, "user", "no symbol [dpdk-testpmd]"),
                 (41.5, "user", "no symbol [librte_net_i40e.so.25.0]"),
                 (3, "user", "rte_pktmbuf_free_bulk [librte_mbuf.so.25.0]"),
                 (1, "kernel", "main[librte_net_x]"), (1, "user", "f [librte_net_ixgbe.so.25.0]")]

    def test_part(self):
        """The driver is in libraries of DPDK; other programs have no such figure."""
        self.assertEqual(measure.driver_part("testpmd", self.FUNCTIONS),
                         {"driver_insn_per_pkt": 42.5})
        self.assertEqual(measure.driver_part("xdpsock", self.FUNCTIONS), {})

    def cell(self, contestant, **changes):
        """Return a cell of i40e txonly."""
        cell = matrix.cell("i40e", contestant, "txonly", **changes)
        return measure.merge(cell, [run_of(100) | measure.driver_part(cell["program"],
                                                                      self.FUNCTIONS)])[0]

    def test_table(self):
        """A row needs both sides, and one of the usual rounds."""
        cells = [self.cell("dpdk-scalar"), self.cell("attach"), self.cell("attach", batch=32),
                 self.cell("attach", unaligned=True), self.cell("dpdk-scalar", batch=8),
                 self.cell("attach", batch=8)]
        rows = report.drivers({"cells": cells}).splitlines()
        self.assertEqual([row.replace(" ", "") for row in rows[::2]],
                         ["|NIC|workload|N|attach|dpdk-scalar|", "|i40e|txonly|64|90.0|42.5|"])
        self.assertEqual(report.drivers({"cells": cells[1:3]}), "")

    def test_old_file(self):
        """A cell that was measured without the figure is left out."""
        old = self.cell("dpdk-scalar")
        del old["driver_insn_per_pkt"]
        self.assertEqual(report.drivers({"cells": [old, self.cell("attach")]}), "")


class Ablation(unittest.TestCase):
    """bench/ablation plans prefixes of the series, and shows what each adds."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repo = Path(folder.name)
        self.tree = self.repo / "tree"
        (self.tree / ablation.OPTIONS).parent.mkdir(parents=True)
        (self.repo / "series").write_text("# section one\n0001-fix.patch\n"
                                          "# section two\n0002-attach.patch\n0003-all.patch\n")
        self.git("init", "-q", "-b", "patched")
        self.commit("base")
        self.git("tag", "base")
        self.commit("fix")
        self.git("branch", "section/one")
        self.commit("attach", "XDP_ATTACH")
        self.commit("all", "XDP_ATTACH", "XDP_TX_INORDER", "XDP_RECYCLE")
        self.git("branch", "section/two")

    def git(self, *args):
        """Run git in the tree."""
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *args], check=True,
                       cwd=self.tree)

    def commit(self, subject, *options):
        """Commit a header with these options; the first one does not exist."""
        if options:
            text = "".join(f"#define {option}\t257\n" for option in options)
            (self.tree / ablation.OPTIONS).write_text(text)
            self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def plan(self, *words):
        """Return contestants and name of each prefix."""
        return [(contestants, name) for _, contestants, name in
                ablation.plan(str(self.tree), self.repo, list(words))]

    def test_sections(self):
        """Without arguments: the base and the end of each section, with the options of each."""
        contestants = [name for name, _ in ablation.CONTESTANTS]
        self.assertEqual(self.plan(), [(contestants[:1], "base"), (contestants[:1], "one"),
                                       (contestants, "two")])
        self.assertEqual(self.plan("--sections"), self.plan())

    def test_patches(self):
        """A patch stands for the prefixes before and with it; none is measured twice."""
        self.assertEqual(self.plan("2"), [(["patched-off"], "0001-fix"),
                                          (["patched-off", "attach"], "0002-attach")])
        names = [name for _, name in self.plan("patches/0001-fix.patch", "2", "base")]
        self.assertEqual(names, ["base", "0001-fix", "0002-attach"])
        with self.assertRaises(SystemExit):
            self.plan("4")
        self.assertRegex(self.plan("section/one")[0][1], "^[0-9a-f]+ fix$")

    def test_each_patch(self):
        """Each patch after the fixes has a row, unless it changes only what cannot matter."""
        self.assertEqual([name for _, name in self.plan("--patches")],
                         ["base", "one", "0002-attach", "0003-all"])
        (self.tree / "tools").mkdir()
        (self.tree / "tools/test.c").touch()
        self.git("add", ".")
        self.git("commit", "-q", "-m", "tests")
        with (self.repo / "series").open("a") as series:
            series.write("0004-tests.patch\n")
        self.assertEqual([name for _, name in self.plan("--patches")],
                         ["base", "one", "0002-attach", "0003-all"])

    def test_drift(self):
        """A tree that is not that of the series has no numbers of patches."""
        self.commit("more")
        with self.assertRaises(SystemExit):
            self.plan("2")

    @staticmethod
    def cells(**contestants):
        """Return cells of i40e l2fwd: contestant=(figure at 8, figure at 64)."""
        return [measure.merge(matrix.cell("i40e", contestant.replace("_", "-"), "l2fwd",
                                          batch=batch), [run_of(insns)])[0]
                for contestant, figures in contestants.items()
                for batch, insns in zip((8, 64), figures)]

    def test_table(self):
        """The least expensive contestant at the largest round counts; changes skip a failure."""
        text = ablation.text([("base", self.cells(patched_off=(800, 400))), ("broken", []),
                              ("two", self.cells(patched_off=(700, 300), attach=(300, 100),
                                                 all=(310, 90)))])
        rows = [line.replace(" ", "") for line in text.splitlines() if line[:2] == "| "]
        self.assertEqual(rows[:4], ["|upto|contestant|8|64|changeat8|changeat64|",
                                    "|base|patched-off|800.0|400.0|||", "|broken|nofigures|||||",
                                    "|two|all|310.0|90.0|-490.0|-310.0|"])
        self.assertEqual(rows[7], "|two|patched-off|700.0|300.0|-100.0|-100.0|")

    def test_invalid(self):
        """An invalid cell has no figure."""
        cell = measure.merge(matrix.cell("i40e", "attach", "l2fwd"), [run_of(100, "idle")])[0]
        self.assertEqual(ablation.figures([cell]), {})
        self.assertEqual(list(ablation.lines([cell])), ["  i40e l2fwd attach            64: invalid"])


class Costlier(unittest.TestCase):
    """The report lists what costs more on the patched kernel."""

    def test_costlier(self):
        """Only cells that cost more are listed."""
        cells = [measure.merge(matrix.cell("ixgbe", contestant, workload), [run_of(insns)])[0]
                 for contestant, workload, insns in (
                     ("base-xskmap", "rxdrop", 100), ("patched-off", "rxdrop", 101),
                     ("base-xskmap", "l2fwd", 100), ("patched-off", "l2fwd", 100.1),
                     ("attach", "l2fwd", 90), ("attach-inorder", "l2fwd", 110),
                     ("base-control", "xdp_tx", 100), ("patched-control", "xdp_tx", 90))]
        text = report.costlier({"cells": cells})
        self.assertEqual(text.count("\n"), 2)
        self.assertIn("l2fwd attach-inorder, 100.0 -> 110.0 (+10.00 %)", text)
        self.assertIn("rxdrop patched-off, 100.0 -> 101.0 (+1.00 %)", text)


class Compare(unittest.TestCase):
    """bench/compare reports changes."""

    def setUp(self):
        self.compare = load("compare")

    def verdicts(self, old, new, **options):
        """Compare two lists of cells."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, cells in ("old", old), ("new", new):
                paths.append(Path(folder, name))
                paths[-1].write_text(json.dumps({"base": "x", "cells": cells}))
            return list(self.compare.compare(*map(self.compare.load, paths), **options))

    def cell(self, insns, why=""):
        """Return a cell in the form of the file."""
        return measure.merge(matrix.cell("ixgbe", "attach", "l2fwd"), [run_of(insns, why)])[0]

    def test_moves(self):
        """A higher cost is a regression, a lower one is not, an equal one is not reported."""
        self.assertEqual(self.verdicts([self.cell(100)], [self.cell(100.1)]), [])
        (worse, text), = self.verdicts([self.cell(100)], [self.cell(101)])
        self.assertTrue(worse and "+1.00 %" in text)
        (worse, _), = self.verdicts([self.cell(100)], [self.cell(50)])
        self.assertFalse(worse)

    def test_gone(self):
        """An invalid cell is a regression, and so is one that is missing in either file."""
        for old, new, words in (([self.cell(100)], [self.cell(100, "idle")], "no longer valid"),
                                ([self.cell(100)], [], "l2fwd attach: only in the old file"),
                                ([], [self.cell(100)], "l2fwd attach: only in the new file")):
            (worse, text), = self.verdicts(old, new)
            self.assertTrue(worse and words in text, text)
        (worse, text), = self.verdicts([self.cell(100)], [], some=True)
        self.assertFalse(worse)
        self.assertIn("1 cells only in the old file", text)

    def test_lowest(self):
        """A cell keeps the lowest figure of its history, even if it is not merged."""
        with tempfile.TemporaryDirectory() as folder:
            for insns, why in (100, ""), (90, "idle"), (110, ""):
                found = [(self.cell(insns, why), [(insns, "kernel", "f")])]
                result = report.write(Path(folder), "x", found, [], False)
                self.assertEqual(result["cells"][0]["lowest"], 100)

    def test_ledger(self):
        """A cell may cost more than ever only with a line in the ledger, and up to its percentage."""
        cell = self.cell(110) | {"lowest": 100}
        for ledger, count in (("# why", 1), ("ixgbe .* attach: +11 %: a reason", 0),
                              ("ixgbe .* attach: +9 %: a reason", 1),
                              ("i40e .*: +11 %: another NIC", 1)):
            found = list(self.compare.unexplained([cell], self.compare.allowances(ledger)))
            self.assertEqual(len(found), count, found)
        with self.assertRaises(SystemExit):
            self.compare.allowances("ixgbe .*: +11 %: ")

    def test_recorded(self):
        """results/bench.json has each cell of the matrix, none more expensive than bench/ledger allows."""
        folder = Path(__file__).parent
        cells = json.loads((folder.parent / "results/bench.json").read_text())["cells"]
        ledger = self.compare.allowances((folder / "ledger").read_text())
        self.assertEqual(list(self.compare.unexplained(cells, ledger)), [])
        self.assertEqual({report.name(cell) for cell in matrix.cells()},
                         {report.name(cell) for cell in cells})


class Hardware(unittest.TestCase):
    """bench/hw parses the output of perf and /proc/stat."""

    def setUp(self):
        self.hw = load("hw")

    def test_perf(self):
        """Events that the CPU does not support are left out."""
        text = "# started\n\n100,,instructions:k,1,100.00,,\n<not supported>,,cycles,0,100.00,,\n"
        self.assertEqual(self.hw.perf_counts(text), {"instructions:k": 100})

    def test_busy(self):
        """Idle and iowait time are not busy."""
        before, after = "cpu1 0 0 0 0 0 0 0 0", "cpu1 60 0 20 10 10 0 0 0"
        self.assertEqual(self.hw.busy_share(before, after), 0.8)

    def test_middle(self):
        """The median run counts."""
        cell = self.hw.middle([{"wall_mpps": rate} for rate in (3, 1, 2)])
        self.assertEqual((cell["wall_mpps"], cell["spread_pct"]), (2, 100))
