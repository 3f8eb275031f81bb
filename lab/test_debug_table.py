# SPDX-License-Identifier: GPL-2.0
"""Tests of lab/debug_table.py."""

import unittest

import debug_table

ATTACH = """# tree 0123456789abcdef0123456789abcdef01234567
ok 1 attach: veth: xsk_attach.skb.delivers
not ok 2 attach: veth: xsk_attach.skb.yields
ok 3 attach: i40e: xsk_attach.zc.jumbo # SKIP no ports
#   xsk_attach.skb.delivers: a comment
    ok 1 nested
not ok 0 - attach: ended with status 99
1..3
"""


class Table(unittest.TestCase):
    """The rows."""

    def test_row(self):
        """Tests are counted by result, and the group's splat."""
        self.assertEqual(debug_table.row("kasan", "attach", ATTACH),
                         ("kasan", "attach", 1, 2, 1, 1, "0123456789ab"))

    def test_killed(self):
        """A group that was killed has not passed, whatever it printed before."""
        result = "ok 1 attach: veth: xsk_attach.skb.delivers\n"
        for text in ("", result, f"1..2\n{result}"):
            self.assertEqual(debug_table.row("kasan", "attach", text)[3], 1)

    def test_page(self):
        """A row for each group."""
        rows = [debug_table.row("kasan", "attach", ATTACH), ("kcsan", "fuzz", 9, 0, 0, 0, "unknown")]
        self.assertEqual(debug_table.table(rows).splitlines()[-2:],
                         ["| kasan | attach | 1 | 2 | 1 | 1 | 0123456789ab |",
                          "| kcsan | fuzz | 9 | 0 | 0 | 0 | unknown |"])

    def test_merge(self):
        """A group that has run here replaces its row, the others stay, in the order of the kernels."""
        rows = [("kasan", "attach", 1, 2, 1, 1, "0123456789ab"), ("lockdep", "fuzz", 8, 1, 0, 0, "old")]
        page = debug_table.table(rows)
        merged = debug_table.merge(page, [("lockdep", "fuzz", 9, 0, 0, 0, "new"),
                                          ("kasan", "stress", 6, 0, 0, 0, "new")])
        self.assertEqual(debug_table.table(merged).splitlines()[-3:],
                         ["| kasan | attach | 1 | 2 | 1 | 1 | 0123456789ab |",
                          "| kasan | stress | 6 | 0 | 0 | 0 | new |",
                          "| lockdep | fuzz | 9 | 0 | 0 | 0 | new |"])
