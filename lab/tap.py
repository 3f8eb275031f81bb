#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count the results in files of TAP or KTAP and print them, the failed ones by name, the skipped ones
by reason, and the time of a file if it has a line like `# took 12 s`.

The last line is `N passed, M failed, K skipped`; the exit status is 1 if a test failed, or if
none ran. In nested output a line that only summarizes the lines below it does not count. A plan
that is not met is a failure, and so is a skip whose reason lab/skips-expected does not have.
"""

import re
import sys
from collections import Counter, namedtuple
from pathlib import Path

RESULT = re.compile(r"^(?P<indent>\s*)(?P<bad>not )?ok \d+\s*-?\s*(?P<name>[^#]*)(?P<note>#.*)?$")
SKIP = re.compile(r"#\s*(?:SKIP|XFAIL)\b:?\s*(?P<reason>.*)", re.IGNORECASE)
TOOK = re.compile(r"^# took (\d+ s)$", re.MULTILINE)
PLAN = re.compile(r"^(?P<indent>\s*)1\.\.(?P<count>\d+)")
EXPECTED = Path(__file__).parent / "skips-expected"

# A test: "passed", "failed" or "skipped", and why it was skipped
Test = namedtuple("Test", "name verdict reason", defaults=("",))


def depth_of(match):
    """Return the depth of a line in nested output."""
    return len(match["indent"].expandtabs(4))


def results(text):
    """Yield each test of one file."""
    failed_at = {}  # depth -> whether a line failed there, since the last one less deep
    for match in filter(None, map(RESULT.match, text.splitlines())):
        depth, bad = depth_of(match), bool(match["bad"])
        below = [failed_at.pop(other) for other in list(failed_at) if other > depth]
        failed_at[depth] = failed_at.get(depth, False) or bad
        if below and (not bad or any(below)):
            continue  # a summary
        name, skip = match["name"].strip(), SKIP.match(match["note"] or "")
        if bad:
            yield Test(name, "failed")
        elif skip:
            yield Test(name, "skipped", skip["reason"].strip())
        else:
            yield Test(name, "passed")


def unmet_plans(text):
    """Yield the number of planned and of found results of each plan that is not met."""
    planned, found = {}, Counter()  # by depth, since the last line that is less deep

    def ended(depth):
        for other in [other for other in {*planned, *found} if other > depth]:
            count, plan = found.pop(other, 0), planned.pop(other, None)
            if plan not in (None, count):
                yield plan, count

    for line in text.splitlines():
        match = PLAN.match(line) or RESULT.match(line)
        if not match:
            continue
        depth = depth_of(match)
        yield from ended(depth)
        if "count" in match.groupdict():
            planned[depth] = int(match["count"])
        else:
            found[depth] += 1
    yield from ended(-1)


def expected_skips(text):
    """Return a function that tells whether a group may skip a test for a reason.

    A line of text is two regular expressions, for the group and the reason.
    """
    pairs = [line.split(maxsplit=1) for line in text.splitlines()
             if line.strip() and not line.startswith("#")]
    return lambda group, reason: any(re.fullmatch(groups, group) and re.fullmatch(reasons, reason)
                                     for groups, reasons in pairs)


def tests_of(text, group, may_skip):
    """Return the tests of a file, and failed ones for what is wrong with it."""
    found = list(results(text))
    wrong = [f"skipped, for a reason that is not in lab/skips-expected: {test.name}: {test.reason}"
             for test in found if test.verdict == "skipped" and not may_skip(group, test.reason)]
    wrong += [f"planned {plan} tests, ran {count}" for plan, count in unmet_plans(text)]
    wrong += [] if found else ["no test ran"]
    return found + [Test(line, "failed") for line in wrong]


def skip_lines(group, tests):
    """Return a line for each reason why tests were skipped."""
    names = {}
    for test in tests:
        if test.verdict == "skipped":
            names.setdefault(test.reason, []).append(test.name)
    return [f"    skipped {group}: {reason}: {found[0]}"
            + (f" and {len(found) - 1} more" if found[1:] else "") for reason, found in names.items()]


def main(paths):
    """Print a line for each file and the sum."""
    may_skip = expected_skips(EXPECTED.read_text())
    total, skips = dict.fromkeys(("passed", "failed", "skipped"), 0), []
    for path in map(Path, paths):
        text = path.read_text(errors="replace") if path.exists() else ""
        tests = tests_of(text, path.stem, may_skip)
        count = {verdict: sum(test.verdict == verdict for test in tests) for verdict in total}
        took = TOOK.search(text)
        print(f"{path.stem + ':':14}" + ", ".join(f"{n} {verdict}" for verdict, n in count.items())
              + (f" in {took[1]}" if took else ""))
        for test in tests:
            if test.verdict == "failed":
                print(f"    FAILED {path.stem}: {test.name}")
        for verdict in total:
            total[verdict] += count[verdict]
        skips += skip_lines(path.stem, tests)
    print(*skips, ", ".join(f"{n} {verdict}" for verdict, n in total.items()), sep="\n")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
