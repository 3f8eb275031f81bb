# SPDX-License-Identifier: GPL-2.0
"""What tests in a guest share beyond the kernel's library: a runner, waits, processes."""

import contextlib
import gzip
import multiprocessing
import re
import signal
import sys
import threading
import time
from pathlib import Path

from lib.py import cmd, ksft, ksft_run

BIN = Path("/out/user")


def slowness():
    """Return the factor by which this kernel is slower than the usual one."""
    with contextlib.suppress(FileNotFoundError), gzip.open("/proc/config.gz", "rt") as config:
        if re.search(r"^CONFIG_(KASAN|PROVE_LOCKING|KCSAN)=y", config.read(), re.MULTILINE):
            return 5
    return 1


SLOW = slowness()
PATIENCE = 20 * SLOW  # seconds
LONGEST = 400 * SLOW  # seconds for a test


# The runner: cases of ksft_run() with names, arguments and time limits

def too_long(*_):
    """Fail the running test: a signal handler."""
    raise AssertionError("the test exceeded its time limit")


def case(run, *args, name, around=contextlib.nullcontext, longest=LONGEST):
    """Return a test case of ksft_run().

    `around` returns the context manager in which the test runs, `longest` is in seconds.
    """
    def test():
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(longest)
        try:
            with around():
                run(*args)
        finally:
            signal.alarm(0)

    test.__name__ = name
    return test


def run_cases(tests, pattern="", **options):
    """Run those tests, each a name, a function and arguments, whose names match a pattern.

    Options are those of case(). The results are the TAP: a failed test is not an error of the guest.
    """
    sys.stdout.reconfigure(line_buffering=True)  # a guest may crash
    cases = [case(*call, name=name, **options) for name, *call in tests
             if re.search(pattern, name)]
    if not cases:
        sys.exit("no test has a name that matches")
    ksft_run(cases)


def has_failed():
    """Tell whether a check of the running test has failed: those of the library do not end it."""
    return ksft.KSFT_RESULT is False


def argument(number, default=""):
    """Return an argument of the command line."""
    return sys.argv[number] if len(sys.argv) > number else default


# Commands and waits

def patient(process):
    """Return cmd.process() with longer time limits: those of the library are for real machines."""
    def wait(self, terminate=True, fail=None, timeout=5):
        process(self, terminate, fail, 24 * SLOW * timeout)

    return wait


cmd.process = patient(cmd.process)


def shell(command, **options):
    """Run a command line, which has to succeed, and return its output."""
    return cmd(command, **options).stdout


@contextlib.contextmanager
def expected(pattern):
    """Announce matching lines of the kernel's log to lab/splat.py: they are provoked inside."""
    log = Path("/dev/kmsg")
    log.write_text(f"lab: expected: {pattern}")
    try:
        yield
    finally:
        log.write_text("lab: expected: ")


def eventually(what, check, seconds=PATIENCE):
    """Wait until `check` returns something true, and return that. A timeout ends the test."""
    end, pause = time.monotonic() + seconds, 0.005
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, f"not after {seconds} s: {what}"
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def settles(what, read, seconds=0.5):
    """Wait until the return value of `read` stays the same for some time."""
    def same():
        before = read()
        time.sleep(seconds * SLOW)
        return read() == before

    eventually(f"{what} to settle", same)


@contextlib.contextmanager
def meanwhile(run):
    """Have a thread run a function inside. Its argument is an event that tells it to return."""
    end = threading.Event()
    thread = threading.Thread(target=run, args=(end,))
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@contextlib.contextmanager
def child(run):
    """Have a process run a function inside."""
    process = multiprocessing.Process(target=run)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()
