#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Find kernel splats in a console log.

Prints each splat that lab/splats-allowed does not allow; exit status 1 if
there is one, else 0.
"""
import argparse
import re
import sys
from pathlib import Path

# How a line of the kernel begins: time, and sometimes thread or CPU.
PREFIX = r"^(?:<\d+>)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? )?"
SPLAT = re.compile(PREFIX + r"(?:" + "|".join((
    r"WARNING: ",
    r"BUG: ",
    r"BUG \S+ .*: ",  # slab
    r"\[ BUG: ",  # lockdep
    r"INFO: trying to register non-static key",
    r"DMA-API: .*(?:disabled|disabling|out of memory)",
    r"kernel BUG at ",
    r"Oops",
    r"general protection fault",
    r"Kernel panic",
    r"Unable to handle kernel",
    r"UBSAN: ",
    r"INFO: task .* blocked for more than",
    r"INFO: rcu_\w+ (?:self-)?detected",
    r"rcu: INFO: rcu_\w+ .*(?:stall|detected)",
    r"rcu: .*kthread starved",
    r"watchdog: BUG: ",
    r"DEBUG_LOCKS_WARN_ON",
    r"refcount_t: ",
    r"kmemleak: \d+ new",
    r"list_(?:add|del) corruption",
    r"unregister_netdevice: waiting for",
    r".*stalled pool shutdown",
    r".*NETDEV WATCHDOG: ",
    r".*Detected Tx Unit Hang",
    r".*Malicious Driver Detection event",  # TX driver issue detected, i40e says at debug level
    r".*[TR]X driver issue detected",
)) + r")")
# A test that provokes one says so in the kernel's log, and says nothing when it is over.
EXPECTED = re.compile(PREFIX + r"lab: expected: (?P<pattern>.*)$")
END = re.compile(r"---\[ end (?:trace|Kernel panic)")
LONGEST = 60


def allowed_patterns(text):
    """Return the patterns of the allow list; each needs a reason above it."""
    patterns, reason = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            reason = reason or line.startswith("# reason:")
        elif line.strip():
            if not reason:
                raise SystemExit(f"splats-allowed:{number}: no `# reason:` line above the pattern")
            patterns.append(re.compile(line))
            reason = False
    return patterns


def find_splats(lines, allowed=()):
    """Return splats, each a list of lines; what follows within one is part of it."""
    splats, index, expected = [], 0, []
    while index < len(lines):
        line = lines[index]
        said = EXPECTED.match(line)
        if said:
            expected = [re.compile(said["pattern"])] if said["pattern"] else []
        if said or not SPLAT.match(line) or any(pattern.search(line)
                                                for pattern in (*allowed, *expected)):
            index += 1
            continue
        block = lines[index:index + LONGEST]
        ends = [at for at, text in enumerate(block) if END.search(text)]
        block = block[:ends[0] + 1] if ends else block
        splats.append(block)
        index += len(block)
    return splats


def main():
    """Scan one log."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path)
    args = parser.parse_args()
    allowed = allowed_patterns((Path(__file__).parent / "splats-allowed").read_text())
    splats = find_splats(args.log.read_text(errors="replace").splitlines(), allowed)
    for splat in splats:
        print("Kernel splat:", *splat, sep="\n  ")
    return 1 if splats else 0


if __name__ == "__main__":
    sys.exit(main())
