#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make results/debug.md: the results on the kernels with more checks (lab/tests/debug.sh).

Reads the TAP in out/result/KERNEL of kasan, lockdep and kcsan, as far as they have run: a file for
each group of tests. A guest whose kernel had a splat counts as one, in the group that booted it.
The rows of groups that have not run here are unchanged.
"""

import re
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
RESULT = re.compile(r"^(?P<bad>not )?ok \d+(?: -)? (?P<name>.*)$")
TREE = re.compile(r"^# tree ([0-9a-f]+)$", re.MULTILINE)
PLAN = re.compile(r"^1\.\.(\d+)$", re.MULTILINE)
SPLAT = re.compile(r"\bended with status 99$")  # of lab/boot.sh
SKIP = re.compile(r"# SKIP\b")


def row(kernel, group, text):
    """Return the row for a group's TAP."""
    count = Counter()
    for match in filter(None, map(RESULT.match, text.splitlines())):
        count["splats"] += bool(SPLAT.search(match["name"]))
        skipped = SKIP.search(match["name"])
        count["skipped" if skipped else "failed" if match["bad"] else "passed"] += 1
    plan = PLAN.search(text)
    ran = sum(count[what] for what in ("passed", "failed", "skipped"))
    count["failed"] += not plan or int(plan[1]) > ran  # it was killed
    tree = TREE.search(text)
    return (kernel, group, *(count[what] for what in ("passed", "failed", "skipped", "splats")),
            tree[1][:12] if tree else "unknown")


def table(rows):
    """Return the page for such rows."""
    return HEAD + "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in rows)


def merge(page, rows):
    """Return the rows of a page, with new ones in place of those of the same kernel and group."""
    old = (line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| "))
    found = {tuple(cells[:2]): tuple(cells) for cells in old if cells[0] in KERNELS}
    found.update((cells[:2], cells) for cells in rows)
    return [found[key] for key in sorted(found, key=lambda key: (KERNELS.index(key[0]), key[1]))]


def main():
    """Write the page."""
    results = REPO / "out" / "result"
    page = REPO / "results" / "debug.md"
    texts = ((kernel, path.stem, path.read_text(errors="replace"))
             for kernel in KERNELS for path in (results / kernel).glob("*.tap"))
    rows = [row(*text) for text in texts]
    page.write_text(table(merge(page.read_text(), rows)))


if __name__ == "__main__":
    main()
