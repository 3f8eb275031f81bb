#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make results/debug.md: what passed on the kernels with more checks (lab/tests/debug.sh).

Reads out/result/KERNEL.tap of kasan, lockdep and kcsan, as far as they have run. A guest whose
kernel had a splat counts as one, in the group that booted it.
"""

import re
import sys
from collections import Counter
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
KERNELS = ("kasan", "lockdep", "kcsan")
HEAD = """# Kernels with more checks

Made by `lab/test.sh kasan lockdep kcsan`; do not edit. A tree is `git rev-parse 'patched^{tree}'` in
`out/linux`, a splat is a report of the kernel that `lab/splat.py` knows.

| kernel | group | passed | failed | skipped | splats | tree |
|---|---|---:|---:|---:|---:|---|
"""
RESULT = re.compile(r"^(?P<bad>not )?ok \d+(?: -)? (?P<group>[^:]+): (?P<name>.*)$")
TREE = re.compile(r"^# tree ([0-9a-f]+)$", re.MULTILINE)
SPLAT = re.compile(r"\bended with status 99$")  # of lab/boot.sh
SKIP = re.compile(r"# SKIP\b")


def rows(kernel, text):
    """Yield a row for each group of a kernel's TAP, in the order in which they ran."""
    tree = TREE.search(text)
    groups = {}
    for match in filter(None, map(RESULT.match, text.splitlines())):
        count = groups.setdefault(match["group"], Counter())
        if SPLAT.search(match["name"]):
            count["splats"] += 1
        if SKIP.search(match["name"]):
            count["skipped"] += 1
        else:
            count["failed" if match["bad"] else "passed"] += 1
    for group, count in groups.items():
        yield (kernel, group, *(count[what] for what in ("passed", "failed", "skipped", "splats")),
               tree[1][:12] if tree else "unknown")


def table(texts):
    """Return the page for texts of TAP by kernel."""
    return HEAD + "".join(f"| {' | '.join(map(str, row))} |\n"
                          for kernel, text in texts.items() for row in rows(kernel, text))


def main():
    """Write the page."""
    paths = {kernel: REPO / "out" / "result" / f"{kernel}.tap" for kernel in KERNELS}
    texts = {kernel: path.read_text(errors="replace")
             for kernel, path in paths.items() if path.exists()}
    (REPO / "results" / "debug.md").write_text(table(texts))


if __name__ == "__main__":
    sys.exit(main())
