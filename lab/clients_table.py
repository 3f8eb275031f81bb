#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the table of existing applications into README.md, from the results of lab/tests/clients.sh.

A cell lists the drivers on which the test passed; one on which it failed is followed by "fails".
Results of tests that have not run, or were skipped, are unchanged.
"""

import re
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
KERNELS = {"base": "base", "patched": "patched", "companions": "patched, companions"}
DRIVERS = ("i40e", "ixgbe", "veth")
BEGIN = "<!-- Made by lab/test.sh clients; do not edit. -->\n"
END = "<!-- end -->\n"
RESULT = re.compile(r"^(?P<bad>not )?ok \d+ (?:- )?clients\.(?P<kernel>\w+), (?P<driver>\w+): "
                    r"(?P<name>.+?)(?P<skip> # SKIP.*)?$", re.MULTILINE)


def results(tap):
    """Return (application, kernel, driver) -> whether it passed, of the tests of a TAP that ran."""
    return {(match["name"], match["kernel"], match["driver"]): not match["bad"]
            for match in RESULT.finditer(tap) if not match["skip"]}


def parse(table):
    """Return the results of a table."""
    found = {}
    for line in table.splitlines()[3:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for kernel, cell in zip(KERNELS, cells):
            for words in map(str.split, filter(None, cell.split(","))):
                found[name, kernel, words[0]] = words[1:] != ["fails"]
    return found


def cell_of(found, name, kernel):
    """Return a cell."""
    return ", ".join(driver if found[name, kernel, driver] else f"{driver} fails"
                     for driver in DRIVERS if (name, kernel, driver) in found)


def table_of(found):
    """Return the table of such results."""
    rows = [("application", *KERNELS.values()), ["---"] * (1 + len(KERNELS))]
    rows += [(name, *(cell_of(found, name, kernel) for kernel in KERNELS))
             for name in dict.fromkeys(name for name, *_ in found)]
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def update(page, tap):
    """Return the page with the results of a TAP in its table."""
    start = page.index(BEGIN) + len(BEGIN)
    end = page.index(END, start)
    return page[:start] + table_of(parse(page[start:end]) | results(tap)) + page[end:]


def main():
    """Update the page."""
    page = REPO / "README.md"
    tap = (REPO / "out" / "result" / "clients.tap").read_text(errors="replace")
    page.write_text(update(page.read_text(), tap))


if __name__ == "__main__":
    main()
