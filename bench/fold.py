# SPDX-License-Identifier: GPL-2.0
"""Map the block addresses that bench/count.c wrote to functions.

Kernel addresses are looked up in the kernel's System.map and, for modules and BPF programs, in the
guest's /proc/kallsyms; user addresses in the symbol tables of the files in /proc/PID/maps of the
measured process.
"""

import bisect
import functools
import json
import subprocess
from collections import defaultdict
from pathlib import Path

KERNEL = 1 << 63


class Symbols:
    """Sorted addresses, each with a name and a size; without a size, it extends to the next one."""

    def __init__(self, symbols):
        # Of several names of an address, the first in alphabetical order; leading underscores last
        found = {}
        for address, name, size in sorted(
                symbols, key=lambda symbol: (symbol[0], symbol[1].startswith("_"), symbol[1])):
            found.setdefault(address, (name, size))
        self.addresses = list(found)
        self.names = [name for name, _ in found.values()]
        self.sizes = [size for _, size in found.values()]

    def find(self, address):
        """Return the symbol at the address, or None."""
        place = bisect.bisect_right(self.addresses, address) - 1
        if place < 0:
            return None
        size = self.sizes[place]
        if size is not None and address >= self.addresses[place] + size:
            return None
        return self.names[place]


def parse_symbols(text):
    """Parse System.map, kallsyms or nm -S: address, size (nm only), type, name, [module]."""
    for line in text.splitlines():
        words = line.split()
        size = int(words.pop(1), 16) if len(words) > 1 and len(words[1]) > 1 else None
        if len(words) >= 3 and words[1] in "tTwWiV":
            yield int(words[0], 16), words[2].split("@")[0] + "".join(words[3:4]), size


@functools.cache
def kernel_symbols(system_map, kallsyms):
    """Return the symbols of the kernel, modules and BPF programs."""
    return Symbols([*parse_symbols(Path(system_map).read_text()),
                    *parse_symbols(kallsyms)])


@functools.cache
def elf_symbols(path):
    """Return the symbols of an ELF file; of a stripped one, the exported ones."""
    symbols = []
    for option in [], ["-D"]:
        done = subprocess.run(["nm", "-S", *option, "--defined-only", path],
                              capture_output=True, text=True, check=False)
        symbols += parse_symbols(done.stdout)
    return Symbols(symbols)


@functools.cache
def elf_segments(path):
    """Return (offset in the file, address, size) of each segment loaded from an ELF file."""
    done = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=False)
    words = (line.split() for line in done.stdout.splitlines())
    return [(int(w[1], 16), int(w[2], 16), int(w[4], 16)) for w in words if w[:1] == ["LOAD"]]


class Process:
    """The executable mappings of a process, then those of other processes."""

    def __init__(self, maps):
        self.mappings = []
        for line in maps.splitlines():
            words = line.split()
            if len(words) < 6 or "x" not in words[1]:
                continue
            start, end = (int(word, 16) for word in words[0].split("-"))
            self.mappings.append((start, end, int(words[2], 16), words[5]))

    def find(self, address):
        """Return the function and its file, or the file alone if there is no symbol."""
        for start, end, offset, path in self.mappings:
            if start <= address < end:
                symbol = self.symbol(path, address - start + offset)
                return f"{symbol or 'no symbol'} [{Path(path).name}]"
        return "another process"

    @staticmethod
    def symbol(path, offset):
        """Return the symbol at an offset in a file."""
        for begin, address, size in elf_segments(path):
            if begin <= offset < begin + size:
                return elf_symbols(path).find(offset - begin + address)
        return None


class Counts:
    """The counts of one measurement."""

    def __init__(self, stem, system_map, cores=1):
        """Read STEM.blocks of the first cores, and the guest's address tables."""
        lines = Path(f"{stem}.blocks").read_text().splitlines()
        self.total = json.loads(lines[0])
        blocks = [(int(cpu), int(address, 16), *map(int, counts))
                  for cpu, address, *counts in map(str.split, lines[1:]) if int(cpu) < cores]
        self.blocks = [block[:4] for block in blocks]
        self.met = [sum(block[number] for block in blocks) for number in (4, 5, 6)]
        self.kernel = kernel_symbols(system_map, Path(f"{stem}.kallsyms").read_text())
        self.process = Process(Path(f"{stem}.maps").read_text())

    @property
    def packets(self):
        """Number of packets counted."""
        return self.total["packets"]

    def lines(self):
        """Return cache line transfers and misses per packet."""
        names = ("line_transfers_per_pkt", "l1_misses_per_pkt", "l2_misses_per_pkt")
        return {name: met / self.packets for name, met in zip(names, self.met)}

    def per_packet(self, *names):
        """Return these totals per packet."""
        return {f"{name}_per_pkt": self.total[name] / self.packets for name in names}

    def latencies(self):
        """Return the mean latencies in instructions, of those directions that have rounds."""
        return {f"{name}_latency_insn":
                self.total[f"{name}_latency"] / self.total[f"{name}_rounds"]
                for name in ("rx", "tx") if self.total[f"{name}_rounds"]}

    def insns(self, kernel):
        """Return instructions per packet in the kernel or in user space."""
        return sum(insns for _, address, _, insns in self.blocks
                   if (address >= KERNEL) == kernel) / self.packets

    def entered(self, matches):
        """Return calls per packet of the kernel functions whose name matches."""
        starts = {address for address, name in zip(self.kernel.addresses, self.kernel.names)
                  if matches(name)}
        return sum(entered for _, address, entered, _ in self.blocks
                   if address in starts) / self.packets

    def functions(self):
        """Return (instructions per packet, "kernel" or "user", function), in descending order."""
        sums = defaultdict(int)
        for _, address, _, insns in self.blocks:
            if address >= KERNEL:
                sums["kernel", self.kernel.find(address) or "?"] += insns
            else:
                sums["user", self.process.find(address)] += insns
        return sorted(((insns / self.packets, *where) for where, insns in sums.items()),
                      reverse=True)
