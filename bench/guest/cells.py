#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The guest's part of the benchmark: run cells, one after the other.

Argument: a file with a list of cells as JSON (bench/matrix.py). For each cell the program runs
while the plugin counts (bench/count.c); what the program and nicsim say at the end goes into
CELL.json beside the counts, and the addresses that only the guest knows into CELL.kallsyms
and CELL.maps.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, "/src/lab/guest")
# pylint: disable=wrong-import-position
from harness import Nicsim, eventually, shell  # noqa: E402

OUT = Path("/out/bench/raw")
INTERFACE = "eth0"
PCI = "0000:01:00.0"
DRIVERS = Path("/sys/bus/pci/drivers")
# Of the guest's seconds. Where a program spins, one is 10^9 instructions; a guest without one
# is idle until frames come, and needs many seconds for a few instructions.
LONGEST = {"control": 1000}
LONGEST_SPINNING = 3
FROM_WIRE = {"rxdrop", "l2fwd", "xdp_drop", "xdp_tx"}
nicsim = Nicsim()


def port_named(name):
    """Open the virtio-serial port of that name."""
    names = Path("/sys/class/virtio-ports").glob("*/name")
    port = next(file.parent.name for file in names if file.read_text() == f"{name}\n")
    return open(f"/dev/{port}", "r+b", buffering=0)


plugin = port_named("bench")


def link_is_up():
    """Tell whether the interface has a carrier."""
    return "LOWER_UP" in shell(f"ip link show {INTERFACE}")


class Kernel:
    """The interface with its Linux driver."""

    def __init__(self, cell):
        self.cell = cell
        sys_class = f"/sys/class/net/{INTERFACE}"
        shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.core.bpf_jit_enable=1 "
              f"kernel.kptr_restrict=0; modprobe {cell['driver']}; "
              f"ethtool -L {INTERFACE} combined 1; "
              f"ethtool -G {INTERFACE} rx {cell['descriptors']} tx {cell['descriptors']}; "
              f"echo 2 > {sys_class}/napi_defer_hard_irqs; "
              f"echo 200000 > {sys_class}/gro_flush_timeout; "
              f"ip link set {INTERFACE} promisc on up")

    def end(self):
        """Leave the interface as it was found."""
        shell(f"rmmod {self.cell['driver']}")


class Xdpsock(Kernel):
    """xdpsock on queue 0."""

    def __init__(self, cell):
        super().__init__(cell)
        self.process = subprocess.Popen(
            ["/out/bench/user/xdpsock", "-i", INTERFACE, "-q", "0", "--json", "-n", "86400",
             "-N", "-z", "-B", f"--{cell['workload']}", f"--batch-size={cell['batch']}",
             f"--ring-size={cell['descriptors']}", f"--frames={cell['frames']}",
             f"--busy-poll-budget={cell['budget']}", *cell["options"]],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = ""
        while ", program id " not in said:
            line = self.process.stderr.readline()
            assert line, f"xdpsock ended: {said}"
            said += line
        # Virtual time passes at once while nobody computes
        self.process.send_signal(signal.SIGSTOP)
        eventually("link", link_is_up)
        self.process.send_signal(signal.SIGCONT)

    def pid(self):
        """Return the process that is measured."""
        return self.process.pid

    def end(self):
        """End it and return what it says."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, err
        super().end()
        return json.loads(out.splitlines()[-1])


class Control(Kernel):
    """A BPF program that needs no process."""

    def __init__(self, cell):
        super().__init__(cell)
        shell(f"ip link set dev {INTERFACE} xdpdrv obj /out/bench/control.bpf.o "
              f"sec {cell['workload']}")
        eventually("link", link_is_up)

    def pid(self):
        """Return a process in place of one that is measured: there is none."""
        return os.getpid()

    def end(self):
        """Take the program away."""
        shell(f"ip link set dev {INTERFACE} xdpdrv off")
        super().end()


class Testpmd:
    """DPDK's testpmd: both of its threads on the one processor, the first one sleeps."""

    PROMPT = "testpmd> "
    FORWARD = {"rxdrop": "rxonly", "txonly": "txonly", "l2fwd": "macswap"}

    def __init__(self, cell):
        shell("modprobe uio_pci_generic; echo 160 >/proc/sys/vm/nr_hugepages")
        devices = self.take(cell)
        forward = cell.get("forward") or self.FORWARD[cell["workload"]]
        self.process = subprocess.Popen(
            ["stdbuf", "-o0", "dpdk-testpmd", "--lcores", "0@0,1@0", "--in-memory", "-m", "192",
             *devices, *cell["options"], "--", "-i", "--total-num-mbufs=40000",
             f"--forward-mode={forward}", f"--burst={cell['batch']}",
             f"--rxd={cell['descriptors']}", f"--txd={cell['descriptors']}", "--txpkts=60"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.until_prompt()
        eventually("link", lambda: " up " in self("show port summary 0"))
        self("start")

    def take(self, _cell):
        """Take the card from Linux; return what tells DPDK of it."""
        device = Path("/sys/bus/pci/devices", PCI)
        if (device / "driver").exists():
            (device / "driver/unbind").write_text(PCI)
        (device / "driver_override").write_text("uio_pci_generic")
        (DRIVERS / "uio_pci_generic/bind").write_text(PCI)
        return ["-a", PCI]

    def give_back(self):
        """Leave the card without a driver."""
        (DRIVERS / "uio_pci_generic/unbind").write_text(PCI)
        Path(f"/sys/bus/pci/devices/{PCI}/driver_override").write_text("\n")

    def until_prompt(self):
        """Return what it says until it waits for a command."""
        said = ""
        while not said.endswith(self.PROMPT):
            character = self.process.stdout.read(1)
            assert character, f"testpmd ended: {said}"
            said += character
        return said

    def __call__(self, command):
        """Give a command and return what it says."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.until_prompt()

    def pid(self):
        """Return the process that is measured."""
        return self.process.pid

    def end(self):
        """End it and return its own counts of packets."""
        said = self("stop")
        self.process.communicate("quit\n", timeout=120)
        self.give_back()
        return {"said": said}


class AfXdp(Testpmd):
    """testpmd on an AF_XDP socket, by DPDK's driver net_af_xdp."""

    def take(self, cell):
        self.kernel = Kernel(cell)
        return ["--no-pci", "--vdev", f"net_af_xdp0,iface={INTERFACE},start_queue=0,"
                f"queue_count=1,busy_budget={cell['budget']}"]

    def give_back(self):
        self.kernel.end()


PROGRAMS = {"xdpsock": Xdpsock, "control": Control, "testpmd": Testpmd, "af_xdp": AfXdp}


def measure(cell):
    """Have the plugin count; nothing else happens in the guest meanwhile."""
    what = "to_chip {warmup} {packets} 0" if cell["workload"] in FROM_WIRE else \
        "from_chip {warmup} {packets}"
    plugin.write(f"{cell['id']} {what.format(**cell)}\n".encode())
    longest = LONGEST.get(cell["program"], LONGEST_SPINNING)
    ready, _, _ = select.select([plugin], [], [], longest)
    assert ready, f"no {cell['packets']} packets in {longest} s"
    answer = plugin.read(64)
    assert answer == b"done\n", answer


def save_addresses(cell, pid):
    """Save where modules, BPF programs and libraries are, those of the process first.

    QEMU knows a block of a library by the address at which it met it first, perhaps in
    another process.
    """
    (OUT / f"{cell['id']}.kallsyms").write_text(shell("grep -F '[' /proc/kallsyms"))
    maps = ""
    for file in Path(f"/proc/{pid}/maps"), *Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):  # it has ended
            maps += file.read_text()
    (OUT / f"{cell['id']}.maps").write_text(maps)


def run(cell):
    """Run one cell."""
    before = nicsim("counters")["ports"]
    program = PROGRAMS[cell["program"]](cell)
    measure(cell)
    save_addresses(cell, program.pid())
    said = program.end()
    (OUT / f"{cell['id']}.json").write_text(json.dumps(
        {"program": said, "before": before, "after": nicsim("counters")["ports"]}))


def main():
    """Run them all; a cell that fails is named and left out."""
    for cell in json.loads(Path(sys.argv[1]).read_text()):
        print(f"cell {cell['id']} begins", flush=True)
        try:
            run(cell)
        except (AssertionError, OSError, ValueError, LookupError,
                subprocess.SubprocessError) as err:
            print(f"cell {cell['id']} failed: {type(err).__name__}: {err}", flush=True)
            return 1
        print(f"cell {cell['id']} ends", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
