# SPDX-License-Identifier: GPL-2.0
"""What the tests of existing applications share: interfaces, kernels, and the attach state."""

import contextlib
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import ports
from harness import PATIENCE, eventually
from lib.py import KsftSkipEx, cmd, ip
from netdev import links_up, received
from nicsim import nicsim

COMPANIONS = Path("/out/companions")
LIBRARIES = COMPANIONS / "usr/lib/x86_64-linux-gnu"
NO_COMPANION = "no companion libxdp: make companions"


# What an application runs on

class Setup:
    """A kernel, with the libraries of Debian or with the companions: where an application runs."""

    def __init__(self, name):
        self.name = name
        self.companions = name == "companions"
        self.environment = {}
        if self.companions:
            self.environment = {"LIBXDP_XSK_ATTACH": "1", "LD_LIBRARY_PATH": str(LIBRARIES),
                                "PATH": f"{COMPANIONS}/usr/sbin:{os.environ['PATH']}"}

    def require(self):
        """Skip the test if the companions are not built."""
        if self.companions and not (LIBRARIES / "libxdp.so.1").exists():
            raise KsftSkipEx(NO_COMPANION)

    def command(self, line):
        """Return a command line that runs in this setup."""
        words = (f"{name}={value}" for name, value in self.environment.items())
        return " ".join(("env", *words, line))

    def check_attached(self, interface, attached=None):
        """Check that an interface runs the built-in program, or a program of the application.

        By default, the former with the companions.
        """
        said = ip(f"-d link show {interface}").stdout
        assert "prog/xdp id" in said, said
        expected = self.companions if attached is None else attached
        assert ("name xsk_builtin" in said) == expected, said

    @staticmethod
    def check_mode(place, host=None):
        """Check that all AF_XDP sockets of a namespace are zero-copy, or in copy mode on veth."""
        said = cmd("ss --xdp -e", host=host).stdout
        modes = set(re.findall(r",zc:(\d)", said))
        assert modes == {"0" if place.driver == "veth" else "1"}, said


# Interfaces

class Veth:
    """Two veth pairs; the frames of a test come from packet sockets and tcpreplay."""

    driver, ports, cable, replayed = "veth", ("xa", "ya"), ("xa", "xb"), "xa"
    peers = {"xa": "xb", "ya": "yb"}
    burst = 100  # a queue holds 256
    bind, shortest = "copy", 0

    @contextlib.contextmanager
    def ready(self):
        """Have pairs of one queue inside, which only carry the frames of a test."""
        for name, peer in self.peers.items():
            ip(f"link add {name} numtxqueues 1 numrxqueues 1 type veth "
               f"peer name {peer} numtxqueues 1 numrxqueues 1")
            for interface in name, peer:
                ip(f"link set {interface} up")
            cmd(f"ethtool -K {peer} gro on")  # for frames that programs redirect to it
            cmd(f"cd /sys/class/net/{name}; echo 2 >napi_defer_hard_irqs; "
                "echo 200000 >gro_flush_timeout")
        try:
            yield
        finally:
            for name in self.peers:
                cmd(f"ip link del {name}")

    @staticmethod
    def plug(interface, address, host=None):
        """Set an interface up with an address."""
        ip(f"addr add {address}/24 dev {interface}", host=host)
        ip(f"link set {interface} up", host=host)

    def send(self, interface, frames):
        """Send UDP frames of several flows to an interface."""
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            sender.bind((self.peers[interface], 0))
            for number in range(frames):
                sender.send(udp_frame(number % 16))

    def replay(self, capture):
        """Send the packets of a capture to an interface."""
        cmd(f"tcpreplay -q --pps=2000 -i {self.peers[self.replayed]} {capture}", timeout=20)

    def sent(self, interface):
        """Return the number of frames that an interface has sent: its other end receives them."""
        return received(self.peers[interface])


class Port:
    """Ports of a NIC: with a generator, with a cable to the other NIC, with a capture.

    The frames of two ports are sent by a port of the other NIC.
    """

    burst = 500
    bind, shortest = "zero", 60

    def __init__(self, driver, first, other):
        self.driver = driver
        self.ports = f"eth{first}", f"eth{other}"
        self.cable = f"eth{first + 1}", f"eth{other + 1}"
        self.replayed = f"eth{first + 2}"

    @contextlib.contextmanager
    def ready(self):
        """Have ports without programs inside, and without misbehaviour."""
        with nicsim.no_event():
            yield
        for interface in *self.ports, *self.cable, self.replayed:
            if "prog/xdp" in ip(f"link show {interface}").stdout:
                cmd(f"xdp-loader unload {interface} --all", fail=False)
                ip(f"link set {interface} xdp off")

    plug = staticmethod(ports.plug)

    @staticmethod
    def send(interface, frames):
        """Have the generator send frames into a port."""
        links_up(interface)
        nicsim.generate(number_of(interface), frames)

    def replay(self, _):
        """Have the capture replayed into a port."""
        links_up(self.replayed)
        nicsim("gen", number_of(self.replayed), "start")

    @staticmethod
    def sent(interface):
        """Return the number of frames that a port has sent."""
        return nicsim.sent(number_of(interface))


def number_of(interface):
    """Return the number of a port in nicsim."""
    return int(interface.removeprefix("eth"))


def udp_frame(flow, payload=b""):
    """Return a UDP frame of at least 60 bytes."""
    size = max(18, len(payload))
    ports = (4096 + flow).to_bytes(2) + b"\x00\x09"
    udp = ports + (8 + size).to_bytes(2) + bytes(2)
    header = bytes((0x45, 0, 0, 28 + size, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1))
    total = sum(header[i] << 8 | header[i + 1] for i in range(0, 20, 2))
    total = (total & 0xffff) + (total >> 16)
    header = header[:10] + (~total & 0xffff).to_bytes(2) + header[12:]
    return (bytes.fromhex("020000000001 020000000002 0800") + header + udp
            + payload.ljust(size, b"\0"))


# Processes

def started(arguments, environment=None):
    """Start a program with its output in a file, `log`."""
    log = Path("/tmp", f"{Path(arguments[0]).name}.log")
    with log.open("w") as file:
        process = subprocess.Popen(["stdbuf", "-oL", *map(str, arguments)], stdout=file,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env=os.environ | (environment or {}))
    process.log = log
    return process


def interrupt(process):
    """End a program by SIGINT; kill it if it does not end."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(3 * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def running(arguments, environment=None):
    """Run a program inside, and end it by SIGINT."""
    process = started(arguments, environment)
    try:
        yield process
    finally:
        interrupt(process)


def says(process, text):
    """Wait until a program prints a text."""
    def check():
        said = process.log.read_text(errors="replace")
        assert process.poll() is None or text in said, f"ended: {said}"
        return text in said

    eventually(f"{process.args[2]} prints {text!r}", check, 5 * PATIENCE)
