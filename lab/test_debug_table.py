#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of lab/debug_table.py."""

import unittest

import debug_table

KASAN = """# tree 0123456789abcdef0123456789abcdef01234567
ok 1 attach: veth: xsk_attach.skb.delivers
not ok 2 attach: veth: xsk_attach.skb.yields
ok 3 attach: i40e: xsk_attach.zc.jumbo # SKIP no ports
#   xsk_attach.skb.delivers: a comment
    ok 1 nested
ok 4 - ixgbe reconfiguration: under load: unbound
not ok 5 - ixgbe reconfiguration: ended with status 99
1..5
"""


class Table(unittest.TestCase):
    """What is in a row."""

    def test_rows(self):
        """One for each group, counted by result."""
        self.assertEqual(list(debug_table.rows("kasan", KASAN)), [
            ("kasan", "attach", 1, 1, 1, 0, "0123456789ab"),
            ("kasan", "ixgbe reconfiguration", 1, 1, 0, 1, "0123456789ab")])

    def test_no_tree(self):
        """Results of before do not say of which tree they are."""
        (row,) = debug_table.rows("kcsan", "ok 1 many: l2fwd\n")
        self.assertEqual(row[-1], "unknown")

    def test_page(self):
        """Kernels that did not run have no row."""
        lines = debug_table.table({"kasan": KASAN}).splitlines()
        self.assertEqual(lines[-2], "| kasan | attach | 1 | 1 | 1 | 0 | 0123456789ab |")
        self.assertEqual(sum("lockdep" in line for line in lines[4:]), 0)


if __name__ == "__main__":
    unittest.main()
