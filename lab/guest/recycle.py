#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""XDP_RECYCLE on two ports of an X710 and two of an 82599 (recycle_ports.py).

Each test accounts for all chunks of the sockets. Prints KTAP. Argument: a regular expression for
the names of tests.
"""

import recycle_end
import recycle_options
import recycle_path
import recycle_queue
import recycle_reset
from harness import argument, run_cases
from recycle_ports import DRIVERS, PORTS, nicsim, set_up


def in_timing(name, run, *args):
    """Run a test in the timing of nicsim that its name begins with, or in lockstep."""
    for port in PORTS:
        nicsim("timing", port, "async" if name.startswith("async:") else "lockstep")
    run(*args)


def main():
    """Run the tests."""
    set_up(PORTS)
    run_cases(((name, in_timing, name, *call)
               for part in (recycle_path, recycle_options, recycle_queue, recycle_end,
                            recycle_reset)
               for name, *call in part.tests(DRIVERS)), argument(1), around=nicsim.no_event)


if __name__ == "__main__":
    main()
