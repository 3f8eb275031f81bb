#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count the results in files of TAP or KTAP and print them, the failed ones by name, and the
time of a file if it has a line like `# took 12 s`.

The last line is `N passed, M failed, K skipped`; the exit status is 1 if a test failed, or if
none ran. In nested output a line that only summarizes the lines below it does not count.
"""

import re
import sys
from pathlib import Path

RESULT = re.compile(r"^(?P<indent>\s*)(?P<bad>not )?ok \d+\s*-?\s*(?P<name>[^#]*)(?P<note>#.*)?$")
SKIP = re.compile(r"#\s*(SKIP|XFAIL)\b", re.IGNORECASE)
TOOK = re.compile(r"^# took (\d+ s)$", re.MULTILINE)
PLAN = re.compile(r"^1\.\.(\d+)")


def results(text):
    """Yield (name, "passed" | "failed" | "skipped") for each test of one file."""
    failed_at = {}  # depth -> whether a line failed there, since the last one less deep
    for line in text.splitlines():
        match = RESULT.match(line)
        if not match:
            continue
        depth, bad = len(match["indent"].expandtabs(4)), bool(match["bad"])
        below = [failed_at.pop(other) for other in list(failed_at) if other > depth]
        failed_at[depth] = failed_at.get(depth, False) or bad
        if below and (not bad or any(below)):
            continue  # a summary
        verdict = "failed" if bad else "passed"
        if match["note"] and SKIP.match(match["note"]):
            verdict = "skipped"
        yield match["name"].strip(), verdict


def complaint(text, found):
    """Return the error of a file as a whole, or None."""
    plan = PLAN.search(text) or re.search(r"^1\.\.(\d+)", text, re.MULTILINE)
    if not found:
        return "no test ran"
    flat = not re.search(r"^\s+(not )?ok ", text, re.MULTILINE)
    if plan and flat and int(plan[1]) != len(found):
        return f"planned {plan[1]} tests, ran {len(found)}"
    return None


def main(paths):
    """Print a line for each file and the sum."""
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for path in map(Path, paths):
        text = path.read_text(errors="replace") if path.exists() else ""
        found = list(results(text))
        wrong = complaint(text, found)
        if wrong:
            found.append((wrong, "failed"))
        count = {verdict: sum(v == verdict for _, v in found) for verdict in total}
        took = TOOK.search(text)
        print(f"{path.stem + ':':14}" + ", ".join(f"{n} {verdict}" for verdict, n in count.items())
              + (f" in {took[1]}" if took else ""))
        for name, verdict in found:
            if verdict == "failed":
                print(f"    FAILED {path.stem}: {name}")
            total[verdict] += 1
    print(", ".join(f"{n} {verdict}" for verdict, n in total.items()))
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
