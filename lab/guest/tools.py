#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tools of tools/net/xsk, on a veth pair and on a port of each driver. Prints KTAP.

eth0 is i40e's, eth1 ixgbe's, each with a generator. Argument: a regular expression for the names of
tests.
"""

import contextlib
import json
import os
import re
import subprocess
import textwrap
from pathlib import Path

from harness import BIN, argument, eventually, meanwhile, run_cases, settles, shell
from lib.py import cmd, ip
from netdev import links_up, one_queue, received
from nicsim import nicsim
from samples import lost_on_wire, pair, programs, send
from xdp_program import FRAGS, attached
from xdpsock import start, start_and_wait, stop
from xsk import COPY, GENERIC, NEED_WAKEUP, Xsk

FRAMES = 5000
TUTORIAL = Path("/out/linux/Documentation/networking/af_xdp_fastpath_tutorial.rst")
PRELOAD = {"LD_PRELOAD": str(BIN / "libxsk-preload.so"), "XSK_PRELOAD_LOG": "1"}


class Veth:
    """An end of a veth pair, whose other end sends."""

    name, mode, copy = "xa", "native, copy", ()
    around = staticmethod(pair)

    @staticmethod
    def send(frames):
        """Send frames; return how many of them did not reach the interface."""
        before = lost_on_wire()
        send("-C", str(frames))
        return lost_on_wire() - before

    @staticmethod
    def sent_back():
        """Return the number of frames that the interface has sent."""
        return int(Path("/sys/class/net/xb/statistics/rx_packets").read_text())


class Port:
    """A port of a NIC, with a generator."""

    mode, copy = "native, zero-copy", ("-z",)

    def __init__(self, number):
        self.number, self.name = number, f"eth{number}"
        one_queue(self.name)

    @contextlib.contextmanager
    def around(self):
        """Nothing is amiss with the port."""
        with nicsim.no_event():
            yield
        cmd(f"xdp-loader unload {self.name} --all", fail=False)

    def send(self, frames):
        """Send frames to the interface; return how many of them did not reach it."""
        links_up(self.name)
        nicsim.generate(self.number, frames)
        return 0

    def sent_back(self):
        """Return the number of frames that the interface has sent."""
        return nicsim.sent(self.number)


# The preload library

def unmodified(*args):
    """Start an xdpsock with the library; return it, and what the library said."""
    process = start(*args, environment=PRELOAD)
    said = []
    for line in process.stderr:
        if line.startswith("xsk-preload: "):
            said.append(line.removeprefix("xsk-preload: ").strip())
        elif ", program id " in line:
            return process, said
    raise AssertionError(f"xdpsock ended: {said}")


def check_received(port, process, frames=FRAMES):
    """All frames are received, or counted as dropped."""
    lost = port.send(frames)
    settles("frames", lambda: received(port.name), 0.3)
    result = stop(process, lambda: True)
    total = result["rx_packets"] + result["rx_dropped"] + result["rx_queue_full"] + lost
    assert result["rx_packets"] and total == frames, (result, lost)
    return result


def attaches(port, bench="-r"):
    """libxdp's sockets are attached, there is neither a program nor a map, and frames arrive."""
    process, said = unmodified(port.name, bench, *port.copy)
    assert said == [f"{port.name} queue 0: attached, {port.mode}, active"], said
    assert programs() == (["xsk_builtin"], 0), programs()
    result = check_received(port, process)
    assert bench == "-r" or result["tx_packets"] == result["rx_packets"], result


def generic():
    """Generic mode is honoured."""
    process, said = unmodified("xa", "-r", "-S")
    assert said == ["xa queue 0: attached, generic, copy, active"], said
    check_received(Veth, process)


def several():
    """Further sockets of a umem are attached."""
    process, said = unmodified("xa", "-r", "--queues=2")
    assert said == [f"xa queue {queue}: attached, native, copy, active" for queue in (0, 1)], said
    assert programs() == (["xsk_builtin"], 0), programs()
    stop(process, lambda: True)


def beside_program(port):
    """It receives what a program passes: that of libxdp for a socket without the library."""
    with start_and_wait(port.name, "-r", "-N", "--queue=1") as classic:
        process, said = unmodified(port.name, "-r")
        assert said == [f"{port.name} queue 0: attached, {port.mode}, passed"], said
        check_received(port, process)
        stop(classic, lambda: True)


def own_program(port):
    """An application that inhibits libxdp's program is left alone."""
    process, said = unmodified(port.name, "-r", "--attach")
    assert len(said) == 1 and "not attached: the application inhibits" in said[0], said
    result = check_received(port, process)
    assert result["how"] == "attach" and result["attach_state"] == "active", result


def falls_back():
    """libxdp uses its program where the socket cannot be attached: here, in another mode."""
    xsk = Xsk("xa", queue=1, attach=GENERIC, flags=COPY | NEED_WAKEUP)
    try:
        process, said = unmodified("xa", "-r")
        assert said == [f"xa queue 0: not attached: {CONFLICT}"], said
        found, maps = programs()
        assert set(found) - {"xsk_builtin"} and maps == 1, (found, maps)
        check_received(Veth, process)
    finally:
        xsk.close()


def no_native():
    """A device without native mode is attached when the application asks for generic mode."""
    ip("link add dd type dummy")
    ip("link set dd up")
    try:
        process, said = unmodified("dd", "-r")
        assert said == [f"dd queue 0: not attached: {NO_NATIVE}",
                        "dd queue 0: attached, generic, copy, active"], said
        stop(process, lambda: True)
    finally:
        ip("link del dd")


def hidden(port):
    """A zero-copy socket that a generic program would hide is not created."""
    ip(f"link set {port.name} xdpgeneric object {FRAGS} program pass")
    try:
        process = start(port.name, "-r", "-z", environment=PRELOAD)
        _, err = process.communicate(timeout=60)
        assert process.returncode and "queue 0: failed: generic mode has no zero-copy" in err, err
    finally:
        ip(f"link set {port.name} xdpgeneric off")


def silent():
    """Without XSK_PRELOAD_LOG the library says nothing."""
    process = start("xa", "-r", "-d", "1", environment={"LD_PRELOAD": PRELOAD["LD_PRELOAD"]})
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "xsk-preload" not in err, err


CONFLICT = "a socket attached in the other XDP mode holds the device: use that mode"
NO_NATIVE = "the driver does not declare that native mode is safe: use generic mode"


def preload_tests(ports):
    """Yield the tests of the preload library."""
    for name, port in ports.items():
        yield f"preload, {name}: rxdrop", port, attaches, port
        yield f"preload, {name}: l2fwd", port, attaches, port, "-l"
    veth = ports["veth"]
    yield "preload: own program", veth, own_program, veth
    yield "preload: generic mode", veth, generic
    yield "preload: shared umem", veth, several
    yield "preload: beside a program", veth, beside_program, veth
    yield "preload: hidden by a program", ports["i40e"], hidden, ports["i40e"]
    yield "preload: device in the other mode", veth, falls_back
    yield "preload: no native mode", veth, no_native
    yield "preload: silent", veth, silent


# xsk-probe

DRIVER = {"direct-delivery", "recycle", "tx-metadata", "zero-copy"}  # what veth does not have


def probe(*args):
    """Run xsk-probe; return its exit status, and the parsed output."""
    done = cmd(f"{BIN}/xsk-probe --json {' '.join(args)}", fail=False)
    return done.ret, json.loads(done.stdout) if done.stdout else done.stderr


def works(said):
    """Return the names of features that work."""
    return {name for name, feature in said["features"].items() if feature["works"]}


def lacks(said):
    """Return the names of features that do not work."""
    return {name for name, feature in said["features"].items() if feature["works"] is False}


def untouched(port):
    """Return what a bound socket or a reset would change."""
    link = json.loads(ip(f"-j -d link show {port.name}").stdout)[0]
    return link.get("xdp"), Path(f"/sys/class/net/{port.name}/carrier_changes").read_text()


def declared(port):
    """Without --bind, the queue is not touched, and the driver's features are listed."""
    links_up(port.name)
    before = untouched(port)
    status, said = probe(port.name)
    missing = DRIVER if port is Veth else {"no-reset"}
    assert (status, lacks(said), said["bound"]) == (1, missing, False), said
    assert said["features"]["attach-native"]["works"] and not said["sockets"], said
    assert probe(port.name, "-f attach-native -f unaligned -f capture")[0] == 0
    assert probe(port.name, f"-f attach-native -f {missing.copy().pop()}")[0] == 1
    assert untouched(port) == before


def bound(port):
    """With --bind, the same works, and the queue is the stack's again."""
    declares = works(probe(port.name)[1])
    status, said = probe(port.name, "--bind")
    assert (status, works(said), said["bound"]) == (1, declares, True), said
    assert "prog/xdp" not in ip(f"link show {port.name}").stdout
    links_up(port.name)


def finds_refusals(port):
    """With --bind, what the driver refuses is found, with the remedy."""
    ip(f"link set {port.name} mtu 9000")
    try:
        _, said = probe(port.name, "--bind")
    finally:
        ip(f"link set {port.name} mtu 1500")
    found = said["features"]["zero-copy"]
    assert not found["works"] and "MTU" in found["why"] and "chunks" in found["why"], said
    assert "XDP_USE_SG" in found["setting"] and said["features"]["multi-buffer"]["works"], said


def in_use(port):
    """A queue in use is reported, and not touched."""
    process = start_and_wait(port.name, "-r", "--attach", *port.copy)
    status, said = probe(port.name)
    assert (status, said["sockets"]) == (1, 1), said
    found = said["features"]["attach-native"]
    assert not found["works"] and found["why"] == "another socket is attached", said
    status, said = probe("--bind", port.name)
    assert status == 2 and "a socket is bound" in said, said
    check_received(port, process)


def beside_regular():
    """A regular program is reported."""
    with attached("xa", "pass"):
        _, said = probe("xa")
    found = said["features"]["attach-native"]
    assert said["native_program"] and found["works"], said
    assert found["setting"].startswith("set XDP_ATTACH_F_PASS"), said


def cannot_probe():
    """Wrong usage, no such queue, no permission."""
    for args in "", "nope", "xa nope", "xa -1", "-f nope xa", "xa 0 0", "--nope xa":
        status, said = probe(args)
        assert status == 2 and said, (args, status, said)
    status, said = probe("xa 7")
    assert status == 1 and "no such Rx queue" in said["features"]["attach-generic"]["why"], said
    done = cmd(f"setpriv --reuid 1000 --clear-groups {BIN}/xsk-probe xa", fail=False)
    assert done.ret == 2 and "no permission" in done.stderr, done
    table = cmd(f"{BIN}/xsk-probe xa", fail=False).stdout
    assert "zero-copy        no    the driver has no zero-copy: use copy mode" in table, table


def probe_tests(ports):
    """Yield the tests of xsk-probe."""
    for name, port in ports.items():
        yield f"probe, {name}: declared features", port, declared, port
        yield f"probe, {name}: bound", port, bound, port
        yield f"probe, {name}: a queue in use", port, in_use, port
        if port is not Veth:
            yield f"probe, {name}: refusals", port, finds_refusals, port
    yield "probe: beside a program", Veth, beside_regular
    yield "probe: cannot", Veth, cannot_probe


# The example that passes a socket

@contextlib.contextmanager
def daemon(port, frames):
    """Have the example inside; yields its process, and the ID of the unprivileged one."""
    with subprocess.Popen([BIN / "xsk_pass_fd_example", port.name, "0", str(frames)],
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            eventually("attached", lambda: "prog/xdp" in ip(f"link show {port.name}").stdout)
            yield process, cmd(f"pgrep -P {process.pid}").stdout.strip()
        finally:
            cmd("pkill -x xsk_pass_fd_exa", fail=False)


def unprivileged(process):
    """Tell whether a process has no privilege, and cannot get one."""
    status = Path(f"/proc/{process}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return (fields["Uid"].split() == fields["Gid"].split() == 4 * ["65534"]
            and not fields["Groups"].strip() and fields["NoNewPrivs"] == "1"
            and all(not int(fields[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")))


def passes_socket(port):
    """A process without any capability sends the frames of the queue back."""
    before = port.sent_back()
    with daemon(port, 1000) as (process, child):
        eventually("an unprivileged process", lambda: unprivileged(child))
        port.send(FRAMES)
        said, _ = process.communicate(timeout=60)
    frames = re.fullmatch(r"(\d+) frames sent back by user 65534\n", said)
    assert process.returncode == 0 and frames, (process.returncode, said)
    assert int(frames[1]) >= 1000 and port.sent_back() - before >= int(frames[1]), said
    eventually("detached", lambda: "prog/xdp" not in ip(f"link show {port.name}").stdout)


def passes_nothing():
    """If the daemon fails, both processes end."""
    done = cmd(f"{BIN}/xsk_pass_fd_example xa 7", fail=False)
    assert done.ret == 1 and done.stderr.startswith("bind ") and done.stderr.count("\n") == 1, done


def example_tests(ports):
    """Yield the tests of the example."""
    for name, port in ports.items():
        yield f"example, {name}: passes its socket", port, passes_socket, port
    yield "example: cannot attach", Veth, passes_nothing


# The tutorial

def blocks(language):
    """Return the code blocks of a language in the tutorial."""
    found = re.findall(rf"^\.\. code-block:: {language}\n\n((?:    .*\n|\n)+)", TUTORIAL.read_text(), re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def tutorial(ports):
    """Each step of the tutorial runs, and the forwarders forward."""
    for port in ports:  # step 1 sets it to 1
        cmd(f"ethtool -L {port.name} combined 2")
    os.chdir("/tmp")
    os.environ["PATH"] += f":{BIN}"
    os.environ["CPATH"] = f"/out/linux/tools/net/xsk:{BIN}/include"
    Path("forwarder.c").write_text("\n".join(blocks("c")))
    commands = blocks("sh")
    assert len(commands) == 5, commands
    for step, command in enumerate(commands, 1):
        def traffic(end):
            while not end.wait(0.2):
                for number in 0, 1:
                    nicsim.start(number, 50)

        before = [port.sent_back() for port in ports]
        with meanwhile(traffic):
            said = shell(f"set -e; {command}")
        if step == 2:
            assert any(map(int, re.findall(r"rx\D+(\d+)", said))), said
        if step >= 3:
            assert all(port.sent_back() > count for port, count in zip(ports, before)), said
        if step >= 4:
            lines = re.findall(r"eth\d: (\d+) frames, (\d+) chunks recycled", said)
            assert len(lines) == 2, said
            for frames, recycled in lines:
                assert int(frames) and bool(int(recycled)) == (step == 5), said


def main():
    """Run the tests on each interface."""
    cmd("modprobe i40e; modprobe ixgbe")
    ports = {"veth": Veth, "i40e": Port(0), "ixgbe": Port(1)}

    def within(port, run, *args):
        with port.around():
            run(*args)

    run_cases([(name, within, port, *call) for tests in (preload_tests, probe_tests, example_tests)
               for name, port, *call in tests(ports)] +
              [("tutorial", within, ports["i40e"], tutorial, (ports["i40e"], ports["ixgbe"]))], argument(1))


if __name__ == "__main__":
    main()
