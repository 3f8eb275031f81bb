# SPDX-License-Identifier: GPL-2.0
"""The control of nicsim: its wires, generators, sinks and faults."""

import contextlib
import json
from pathlib import Path

from harness import eventually


def port_named(name):
    """Return the device of a virtio-serial port, or None."""
    files = Path("/sys/class/virtio-ports").glob("*/name")
    return next((Path("/dev", file.parent.name) for file in files
                 if file.read_text() == f"{name}\n"), None)


class Nicsim:
    """The control socket of nicsim, through a virtio-serial port."""

    def __init__(self):
        self.file = open(port_named("nicsim"), "r+b", buffering=0)
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

    def wire(self, number):
        """Return the counters of a port's wire."""
        return self.port(number)["wire"]

    def sent(self, number):
        """Return the number of frames that a port has sent."""
        return self.wire(number)["from_chip"]

    def verify(self, number):
        """Return the results of a port's verifying sink."""
        return self.wire(number)["sink"]["verify"]

    def good(self, number):
        """Return the number of frames that a port's verifying sink has found good."""
        return self.verify(number)["good"]

    def start(self, port, frames):
        """Have the generator of a port send frames, and do not wait."""
        self("gen", port, "start", f"count={frames}")

    def generate(self, port, frames):
        """Send frames of the generator into a port and wait until it has received them."""
        before = self.wire(port)["to_chip"]
        self.start(port, frames)
        eventually("all frames at the port", lambda: self.wire(port)["to_chip"] - before >= frames)

    def verified(self, port, frames):
        """Check that a verifying sink got that number of frames of a generator, each whole and once."""
        counters = self.port(port)
        verify = counters["wire"]["sink"]["verify"]
        wrong = sum(verify[name] for name in ("bad", "lost", "out_of_order", "duplicate"))
        assert verify["good"] == frames and not wrong, f"not {frames} good: {counters}"

    def events(self):
        """Return the counts of misbehaviour, by port and name."""
        return {(number, name): count for number, port in enumerate(self("counters")["ports"])
                for name, count in port["events"].items() if count}

    @contextlib.contextmanager
    def no_event(self):
        """Check that there is no misbehaviour inside."""
        before = self.events()
        yield
        after = self.events()
        assert after == before, f"misbehaviour: {after}, before: {before}"


nicsim = Nicsim() if port_named("nicsim") else None  # not with a real NIC
