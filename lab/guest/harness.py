# SPDX-License-Identifier: GPL-2.0
"""What tests in a guest share: TAP, commands, xdpsock, transfers, and nicsim's control."""

import contextlib
import gzip
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

BIN = Path("/out/user")
PEER_PORT = 5001


def slowness():
    """Return how much longer than usual things may take on this kernel."""
    with gzip.open("/proc/config.gz", "rt") as config:
        return 5 if re.search(r"^CONFIG_(KASAN|PROVE_LOCKING|KCSAN)=y", config.read(), re.M) else 1


SLOW = slowness()
PATIENCE = 20 * SLOW  # seconds
LONGEST = 400 * SLOW  # seconds for a test


def too_long(*_):
    """Fail the test that runs: a signal handler."""
    raise AssertionError("the test did not end in time")


class Tap:
    """Numbers the tests and turns a failed assertion into `not ok`.

    `around` makes the context manager that each test runs in, `longest` is in seconds.
    """

    def __init__(self, around=contextlib.nullcontext, longest=LONGEST):
        self.around, self.longest = around, longest
        self.number = 0

    def test(self, name, run, *args):
        """Run one test."""
        self.number += 1
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(self.longest)
        try:
            with self.around():
                run(*args)
            print(f"ok {self.number} - {name}", flush=True)
        except (AssertionError, OSError, ValueError, LookupError,
                subprocess.SubprocessError) as err:
            text = f"{type(err).__name__}: {err}".rstrip().replace("\n", "\n#   ")
            print(f"not ok {self.number} - {name}\n# {text}", flush=True)
        finally:
            signal.alarm(0)

    def plan(self):
        """Print how many tests there were; to be called at the end."""
        if not self.number:
            sys.exit("no test has a name that matches")
        print(f"1..{self.number}")


def shell(command, timeout=120):
    """Run a command line and return what it printed; it has to succeed."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False,
                          timeout=timeout * SLOW)
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@contextlib.contextmanager
def expected(pattern):
    """Tell lab/splat.py that lines of the kernel's log that match are provoked inside."""
    log = Path("/dev/kmsg")
    log.write_text(f"lab: expected: {pattern}")
    try:
        yield
    finally:
        log.write_text("lab: expected: ")


def unanswered():
    """Return how many echo requests this namespace sent that no answer came to."""
    with open("/proc/net/snmp", encoding="ascii") as file:
        lines = [line.split()[1:] for line in file if line.startswith("Icmp:")]
    with open("/proc/net/snmp6", encoding="ascii") as file:
        six = dict(line.split() for line in file)
    four = dict(zip(*lines))
    return (int(four["OutEchos"]) - int(four["InEchoReps"]) +
            int(six["Icmp6OutEchos"]) - int(six["Icmp6InEchoReplies"]))


def ping(address, count=20, options=""):
    """Ping, 100 times a second, without a loss; ping itself gives up on what is late."""
    before = unanswered()
    said = shell(f"ping -q -c {count} -i 0.01 -w {PATIENCE} {options} {address} || true")
    received = re.search(r" (\d+) received", said)
    assert received and int(received[1]) >= count, said
    eventually(f"no loss: {said}", lambda: unanswered() <= before, 5 * SLOW)


def eventually(what, check, seconds=PATIENCE):
    """Wait until `check` returns something true, and return that."""
    end, pause = time.monotonic() + seconds, 0.005
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, f"not after {seconds} s: {what}"
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def stands_still(what, read, seconds=0.5):
    """Wait until what `read` returns stays the same for a while."""
    def same():
        before = read()
        time.sleep(seconds * SLOW)
        return read() == before

    eventually(f"{what} to end", same)


# xdpsock

def start(interface, *args):
    """Start an xdpsock on queue 0 of the interface.

    Without statistics each second: nobody reads them, and after minutes it would wait for that.
    """
    return subprocess.Popen([BIN / "xdpsock", "-i", interface, "-q", "0", "--json",
                             "--interval=86400", *args],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start_and_wait(*args):
    """Start an xdpsock and wait until it says that its socket is bound."""
    process = start(*args)
    said = ""
    for line in process.stderr:
        said += line
        if ", program id " in line:
            return process
    raise AssertionError(f"xdpsock ended: {said}")


def finish(process):
    """Wait for an xdpsock and return its final line, parsed."""
    out, err = process.communicate(timeout=60 * SLOW)
    assert process.returncode == 0, f"status {process.returncode}: {err}"
    return json.loads(out.splitlines()[-1])


def stop(process, done=None):
    """End an xdpsock once `done`, or after the time to receive what is under way."""
    if done:
        eventually("all frames through xdpsock", done)
    else:
        time.sleep(2 * SLOW)
    process.send_signal(signal.SIGINT)
    return finish(process)


# Interfaces and XDP programs

def flow_control(interface, run=shell):
    """Turn it on, which i40e does not by itself: what comes while no descriptor is free waits."""
    if not re.search(r"RX:\s+on", run(f"ethtool -a {interface}")):
        run(f"ethtool -A {interface} rx on tx on")


def spread(interface):
    """Give it an RSS key: with one in 16 of those it makes up, 16 flows come to one queue."""
    key = re.search(r"RSS hash key:\s+(\S+)", shell(f"ethtool -x {interface}"))[1]
    digits = random.Random(1).randbytes(len(key.split(":"))).hex(":")
    shell(f"ethtool -X {interface} hkey {digits}")


def one_queue(interface, ring=4096):
    """Bring an interface up that takes any frame and has one queue, as a socket is on one.

    With flow control, and the pauses in interrupts that busy polling wants.
    """
    device = f"/sys/class/net/{interface}"
    shell(f"sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=1; "
          f"ethtool -L {interface} combined 1; ethtool -G {interface} rx {ring} tx {ring}; "
          f"echo 2 >{device}/napi_defer_hard_irqs; echo 200000 >{device}/gro_flush_timeout; "
          f"ip link set {interface} promisc on up")
    flow_control(interface)


def stats(interface="eth0"):
    """Return the counters of `ethtool -S`."""
    pairs = re.findall(r"^\s+(\S+): (\d+)$", shell(f"ethtool -S {interface}"), re.MULTILINE)
    return {name: int(value) for name, value in pairs}


def channels(interface, count):
    """Set how many queues there are; the pool of a closed socket leaves its queue a while later."""
    command = ["ethtool", "-L", interface, "combined", str(count)]
    eventually(" ".join(command), lambda: subprocess.run(
        command, check=False, stderr=subprocess.DEVNULL).returncode == 0)


def links_up(*interfaces):
    """Wait until interfaces have a link: an XDP program makes the drivers reset them."""
    eventually("links", lambda: all("LOWER_UP" in shell(f"ip link show {name}")
                                    for name in interfaces))


def passes_self_test(interface, how):
    """Run the driver's self-test; it waits 1 ms for an interrupt, which a busy machine can miss."""
    for _ in range(3):
        said = shell(f"ethtool -t {interface} {how} || true")
        if "result is PASS" in said:
            return
    raise AssertionError(said)


@contextlib.contextmanager
def xdp_bench(action, interface, *args):
    """Run xdp-bench while inside, on one interface, or between it and that in `args`."""
    with subprocess.Popen(["xdp-bench", action, interface, *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            # It waits once it has attached all its programs and filled its maps
            eventually("xdp-bench to run", lambda: process.poll() is not None or
                       "poll" in Path(f"/proc/{process.pid}/wchan").read_text())
            links_up(interface, *(arg for arg in args if arg.startswith("eth")))
            yield
        finally:
            process.send_signal(signal.SIGINT)
            try:
                _, said = process.communicate(timeout=30 * SLOW)
            except subprocess.TimeoutExpired:
                process.kill()  # or the end of the block waits for it
                raise
        assert process.returncode == 0, said


# nicsim

class Nicsim:
    """The control socket of nicsim, through a virtio-serial port."""

    def __init__(self):
        names = Path("/sys/class/virtio-ports").glob("*/name")
        port = next(name.parent.name for name in names if name.read_text() == "nicsim\n")
        self.file = open(f"/dev/{port}", "r+b", buffering=0)
        self.rest = b""

    def __call__(self, *words):
        """Send a command and return its answer, which has to be a success."""
        self.file.write((" ".join(map(str, words)) + "\n").encode())
        while b"\n" not in self.rest:
            said = self.file.read(65536)
            assert said, "nicsim has ended"
            self.rest += said
        line, self.rest = self.rest.split(b"\n", 1)
        answer = json.loads(line)
        assert answer["ok"], f"nicsim: {words}: {answer}"
        return answer

    def port(self, number):
        """Return the counters of a port."""
        return self("counters")["ports"][number]

    def generate(self, port, frames):
        """Send frames of the generator into a port and wait until it has taken them."""
        before = self.port(port)["wire"]["to_chip"]
        self("gen", port, "start", f"count={frames}")
        eventually("all frames at the port",
                   lambda: self.port(port)["wire"]["to_chip"] - before >= frames)

    def verified(self, port, frames):
        """Check that a verifying sink got so many frames of a generator, each whole and once."""
        counters = self.port(port)
        verify = counters["wire"]["sink"]["verify"]
        wrong = sum(verify[name] for name in ("bad", "lost", "out_of_order", "duplicate"))
        assert verify["good"] == frames and not wrong, f"not {frames} good: {counters}"

    def events(self):
        """Return what was misbehaviour, by port and name."""
        return {(number, name): count for number, port in enumerate(self("counters")["ports"])
                for name, count in port["events"].items() if count}

    @contextlib.contextmanager
    def no_event(self):
        """Check that nothing inside is misbehaviour."""
        before = self.events()
        yield
        after = self.events()
        assert after == before, f"misbehaviour: {after}, before: {before}"


# TCP transfers with lab/guest/peer.py

def exactly(connection, size):
    """Return `size` bytes of a connection."""
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        assert part, f"the connection ended after {len(data)} of {size} bytes"
        data += part
    return bytes(data)


def transfer(address, size):
    """Send `size` bytes to the peer, get as many from it, and compare their checksums."""
    data = os.urandom(1 << 20) * (size >> 20)
    with socket.create_connection((address, PEER_PORT), timeout=60 * SLOW) as connection:
        connection.sendall(f"put {len(data):12}".encode())
        connection.sendall(data)
        digest = exactly(connection, 32)
        assert digest == hashlib.sha256(data).digest(), "sent bytes arrived damaged"
        connection.sendall(f"get {len(data):12}".encode())
        data = exactly(connection, len(data))
        digest = exactly(connection, 32)
        assert digest == hashlib.sha256(data).digest(), "bytes received are damaged"
