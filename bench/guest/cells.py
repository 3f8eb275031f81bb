#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The guest's part of the benchmark: run cells one after the other.

Argument: a file with a list of cells as JSON (bench/matrix.py). For each cell the program runs
while the plugin counts (bench/count.c). The final output of the program and the counters of nicsim
go into CELL.json next to the counts, the address tables of the guest into CELL.kallsyms and
CELL.maps.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path[:0] = ["/src/lab/guest", "/src/bench"]
# pylint: disable=wrong-import-position
import matrix  # noqa: E402
import testpmd  # noqa: E402
from harness import eventually, shell  # noqa: E402
from lib.py.utils import CmdExitFailure  # noqa: E402
from netdev import flow_control, interrupts_to, links_up, spread  # noqa: E402
from nicsim import nicsim, port_named  # noqa: E402

OUT = Path("/out/bench/raw")
# Limits in seconds of guest time. With a spinning program, a second is 10^9 instructions; without
# one the guest is idle until frames arrive, and needs many seconds for a few instructions.
LONGEST, LONGEST_IDLE = 3, 1000
BUSY_POLL = ["-N", "-z", "-B"]
INTERRUPTS = ["-N", "-z"]
# CPUs with two cores: interrupts and NAPI, the program, bench/guest/pace.c and this script
CPU_NAPI, CPU_PROGRAM, CPU_PACE = range(3)
# First and last offset in BAR 0 of registers of Tx rings. Of those, drivers write only the tails,
# QTX_TAIL and TDT, once the rings are set up
TX_RINGS = {"i40e": (0x108000, 0x1097ff), "ixgbe": (0x6000, 0x7fff)}
plugin = open(port_named("bench"), "r+b", buffering=0)


def device_of(port):
    """Return the folder of a port's PCI device."""
    return Path(f"/sys/bus/pci/devices/0000:{port + 1:02}:00.0")


def let_drive(driver, ports):
    """Set driver_override of these ports; an empty name is for the matching driver."""
    for port in ports:
        (device_of(port) / "driver_override").write_text(driver + "\n")


def online(number):
    """Set the number of online CPUs."""
    for cpu in range(1, os.sysconf("SC_NPROCESSORS_CONF")):
        file = Path(f"/sys/devices/system/cpu/cpu{cpu}/online")
        if int(file.read_text()) != (cpu < number):
            file.write_text(str(int(cpu < number)))


def attach(interface, section):
    """Attach a program of bench/control.bpf.c."""
    shell(f"ip link set dev {interface} xdpdrv obj /out/bench/control.bpf.o sec {section}")


def detach(interface):
    """Detach it."""
    shell(f"ip link set dev {interface} xdpdrv off")


def tcpdump(interface):
    """Have a tcpdump see the packets of AF_XDP sockets; return its process."""
    shell(f"ethtool -K {interface} xsk-capture on")
    process = subprocess.Popen(["tcpdump", "-i", interface, "-w", "/dev/null", "-Z", "root"],
                               stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    assert "listening" in line, f"tcpdump ended: {line}"
    return process


class Kernel:
    """The interfaces with their Linux drivers."""

    def __init__(self, cell):
        self.cell = cell
        # A driver has at most one queue per CPU
        online(max(matrix.cpus(cell), cell["queues"]))
        let_drive("none", range(len(matrix.PORTS)))
        let_drive("", cell["ports"])
        shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.core.bpf_jit_enable=1 "
              f"kernel.kptr_restrict=0; modprobe -a {' '.join(cell['drivers'])}")
        self.interfaces = [next((device_of(port) / "net").iterdir()).name
                           for port in cell["ports"]]
        for name in self.interfaces:
            shell(f"ethtool -L {name} combined {cell['queues']}; "
                  f"ethtool -G {name} rx {cell['descriptors']} tx {cell['descriptors']}; "
                  f"ip link set {name} promisc on up")
            if cell["buffers"] > 1:
                shell(f"ip link set {name} mtu {cell['frame'] - 18}")
            if cell["cores"] == 1 and cell["wait"] == "busy":
                shell(f"echo 2 > /sys/class/net/{name}/napi_defer_hard_irqs; "
                      f"echo {200000 * cell['queues']} > /sys/class/net/{name}/gro_flush_timeout")
            if cell["queues"] > 1:
                spread(name)
                flow_control(name)

    def place_interrupts(self):
        """Have one CPU poll all queues; drivers request new interrupts for a program."""
        if self.cell["cores"] == 1 and self.cell["queues"] == 1:
            return
        for name in self.interfaces:
            interrupts_to(name, CPU_NAPI)

    def end(self):
        """Restore the interfaces."""
        shell(f"rmmod {' '.join(self.cell['drivers'])}")


class Xdpsock(Kernel):
    """xdpsock on queue 0, or on several queues."""

    def __init__(self, cell):
        super().__init__(cell)
        if cell["regular"]:
            for name in self.interfaces:
                attach(name, cell["regular"])
        self.taps = [tcpdump(name) for name in self.interfaces if cell["capture"]]
        self.start()

    def start(self):
        """Start it and wait until it is bound and the link is up."""
        cell = self.cell
        options = [f"--interface={name}" for name in self.interfaces]
        batch = max(64, cell["batch"]) if cell["paced"] else cell["batch"]
        if cell["buffers"] > 1:  # xdpsock counts buffers. It is to empty its Rx ring in each round
            batch *= 2 * cell["buffers"]
        if cell["unaligned"]:
            Path("/proc/sys/vm/nr_hugepages").write_text("160")
        frames = cell["frames"] * cell["queues"] * len(self.interfaces)
        if cell["queues"] > 1:
            options.append(f"--queues={cell['queues']}")
        self.process = subprocess.Popen(
            [*self.command(), "/out/bench/user/xdpsock", "--json", "-n", "86400",
             f"--{cell['workload']}", f"--batch-size={batch}",
             f"--ring-size={cell['ring'] or cell['descriptors']}", f"--frames={frames}",
             *options, *self.modes(), *cell["options"]],
            env=os.environ | cell["environment"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = ""
        while ", program id " not in said:
            line = self.process.stderr.readline()
            assert line, f"xdpsock ended: {said}"
            said += line
        self.place_interrupts()
        online(matrix.cpus(cell))
        # While the guest is idle, virtual time passes at once
        self.process.send_signal(signal.SIGSTOP)
        links_up(*self.interfaces)
        self.process.send_signal(signal.SIGCONT)

    def command(self):
        """Return the command prefix."""
        return ["taskset", "-c", str(CPU_PROGRAM)] if self.cell["cores"] > 1 else []

    def modes(self):
        """Return the options for the mode of the socket."""
        chunks = ["--unaligned"] if self.cell["unaligned"] else []
        if self.cell["buffers"] > 1:
            chunks.append("--frags")
        if self.cell["wait"] == "poll":
            return [*INTERRUPTS, *chunks, "--poll"]
        if self.cell["cores"] > 1:
            return [*INTERRUPTS, *chunks]
        return [*BUSY_POLL, *chunks, f"--busy-poll-budget={self.cell['budget']}"]

    def pid(self):
        """Return the PID of the measured process."""
        return self.process.pid

    def stop(self):
        """Stop it and return its final output."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, err
        return json.loads(out.splitlines()[-1])

    def end(self):
        said = self.stop()
        if self.cell["regular"]:
            for name in self.interfaces:
                detach(name)
        for tap in self.taps:
            tap.kill()
            tap.wait()
        super().end()
        return said


class Veth(Xdpsock):
    """xdpsock in copy mode on one end of a veth pair; an xdpsock on the other end sends.

    Both share the one CPU, with time slices of some milliseconds: the receiver sleeps in poll()
    until frames arrive, and its rings have room for those of a time slice.
    """

    def __init__(self, cell):  # pylint: disable=super-init-not-called
        self.cell = cell
        queues = f"numrxqueues {cell['queues']} numtxqueues {cell['queues']}"
        shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.core.bpf_jit_enable=1 "
              f"kernel.kptr_restrict=0; ip link add va {queues} type veth peer name vb {queues}; "
              "ip link set va up; ip link set vb up")
        self.interfaces = ["va"]
        self.start()
        self.sender = subprocess.Popen(
            [*self.command(), "/out/bench/user/xdpsock", "-i", "vb", "--txonly", "-S",
             f"--batch-size={cell['batch']}", f"--queues={cell['queues']}",
             f"--frames={max(4096, 256 * cell['queues'])}", "-n", "86400", *cell["options"]],
            stdout=subprocess.DEVNULL)

    def command(self):
        return ["chrt", "--batch", "0"]

    def modes(self):
        return ["-c", "-p", "-S" if self.cell["mode"] == "skb" else "-N"]

    def end(self):
        self.sender.send_signal(signal.SIGINT)
        self.sender.wait(60)
        said = self.stop()
        shell("ip link del va")
        return said


class Control(Kernel):
    """A BPF program without a process."""

    def __init__(self, cell):
        super().__init__(cell)
        name = self.interfaces[0]
        attach(name, cell["workload"])
        if cell["workload"] == "xdp_redirect":
            index = int(Path(f"/sys/class/net/{name}/ifindex").read_text()).to_bytes(4, "little")
            shell("bpftool map update name control_ports key 0 0 0 0 value "
                  + " ".join(map(str, index)))
        links_up(name)

    def pid(self):
        """Return the PID of this script, as there is no measured process."""
        return os.getpid()

    def end(self):
        """Detach the program."""
        detach(self.interfaces[0])
        super().end()


class Testpmd(testpmd.Testpmd):
    """DPDK's testpmd: both of its threads on the one CPU, the first one sleeps."""

    FORWARD = {"rxdrop": "rxonly", "txonly": "txonly", "l2fwd": "macswap", "fwd": "io"}

    def __init__(self, cell):
        devices = self.take(cell)
        forward = cell.get("forward") or self.FORWARD[cell["workload"]]
        super().__init__(
            ["--lcores", "0@0,1@0", *devices, *cell["options"]],
            [f"--forward-mode={forward}", f"--burst={cell['batch']}",
             f"--rxd={cell['descriptors']}", f"--txd={cell['descriptors']}", "--txpkts=60"],
            cell["environment"])
        eventually("link", lambda: all(" up " in self(f"show port summary {port}")
                                       for port in range(max(1, len(cell["ports"])))))
        self("start")

    def take(self, cell):
        """Unbind the ports from Linux; return the options that name them to DPDK."""
        self.addresses = [device_of(port).name for port in cell["ports"]]
        return testpmd.take(self.addresses)

    def give_back(self):
        """Unbind the ports from DPDK."""
        testpmd.give_back(self.addresses)

    def pid(self):
        """Return the PID of the measured process."""
        return self.process.pid

    def end(self):
        """Stop it and return its own packet counts."""
        said = self("stop")
        super().end()
        self.give_back()
        return {"said": said}


class AfXdp(Testpmd):
    """testpmd on an AF_XDP socket, via DPDK's driver net_af_xdp."""

    def take(self, cell):
        Path("/proc/sys/vm/nr_hugepages").write_text("160")
        self.kernel = Kernel(cell)
        return ["--no-pci", "--vdev", f"net_af_xdp0,iface={self.kernel.interfaces[0]},"
                f"start_queue=0,queue_count=1,busy_budget={cell['budget']}"]

    def give_back(self):
        self.kernel.end()


PROGRAMS = {"xdpsock": Xdpsock, "veth": Veth, "control": Control, "testpmd": Testpmd,
            "af_xdp": AfXdp}


def doorbell(cell):
    """Return the physical addresses of the registers of Tx rings, for the plugin."""
    if not cell["ports"]:
        return "0-0"
    port = cell["ports"][0]
    start = int((device_of(port) / "resource").read_text().split()[0], 16)
    return "-".join(f"{start + offset:x}" for offset in TX_RINGS[matrix.PORTS[port][1]])


def measure(cell):
    """Request a measurement from the plugin; the guest does nothing else meanwhile."""
    counter, ports = "to_chip", cell["ports"]
    if cell["nic"] == "veth":
        counter = "@" + shell("grep ' __xsk_rcv$' /proc/kallsyms").split()[0]
    if cell["workload"] == "txonly":
        counter, ports = "from_chip", ()
    frames = "halt" if cell["wait"] == "poll" else "busy"
    frames = f"{frames}={cell['batch']}" if cell["paced"] else "full"
    plugin.write(f"{cell['id']} {counter} {cell['warmup']} {cell['packets']} {frames} "
                 f"{doorbell(cell)} {' '.join(map(str, ports))}\n".encode())
    longest = LONGEST_IDLE if cell["program"] == "control" or cell["wait"] == "poll" else LONGEST
    ready, _, _ = select.select([plugin], [], [], longest)
    assert ready, f"no {cell['packets']} packets in {longest} s"
    answer = plugin.read(64)
    assert answer == b"done\n", answer


def save_addresses(cell, pid):
    """Save the addresses of modules, BPF programs and libraries, those of the process first.

    QEMU identifies a block of a library by the address at which it met it first, possibly in
    another process.
    """
    (OUT / f"{cell['id']}.kallsyms").write_text(shell("grep -F '[' /proc/kallsyms"))
    maps = ""
    for file in Path(f"/proc/{pid}/maps"), *Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):  # it has exited
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
    """Run all cells up to the first failure, which is reported."""
    cells = json.loads(Path(sys.argv[1]).read_text())
    os.sched_setaffinity(0, {CPU_NAPI})
    if cells[0]["cores"] > 1:
        online(matrix.cpus(cells[0]))
        os.sched_setaffinity(0, {CPU_PACE})
        subprocess.Popen(["/out/bench/pace"])  # pylint: disable=consider-using-with
    for cell in cells:
        # The built-in program stays in the XDP dispatcher for a second, at two instructions per
        # packet of every other program
        time.sleep(2)
        print(f"cell {cell['id']} begins", flush=True)
        try:
            run(cell)
        except (AssertionError, OSError, ValueError, LookupError, CmdExitFailure,
                subprocess.SubprocessError) as err:
            print(f"cell {cell['id']} failed: {type(err).__name__}: {err}", flush=True)
            return 1
        print(f"cell {cell['id']} ends", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
