# SPDX-License-Identifier: GPL-2.0
"""Tests of lab/clients_table.py."""

import unittest

import clients_table

TAP = """ok 1 clients.base, i40e: testpmd rxonly, macswap
not ok 2 clients.base, veth: testpmd rxonly, macswap
ok 3 clients.base, ixgbe: testpmd rxonly, macswap # SKIP a reason
ok 4 clients.companions, veth: suricata --af-xdp
1..4
"""
PAGE = f"""before
{clients_table.BEGIN}{clients_table.END}after
"""
ROWS = ["| testpmd rxonly, macswap | i40e, veth fails |  |  |", "| suricata --af-xdp |  |  | veth |"]


def rows(page):
    """Return the rows of the table of a page, without its head."""
    return [line for line in page.splitlines() if line.startswith("|")][2:]


class Table(unittest.TestCase):
    """The table."""

    def test_results(self):
        """A row for each application; a skipped test has no result."""
        self.assertEqual(rows(clients_table.update(PAGE, TAP)), ROWS)

    def test_merge(self):
        """Results of tests that have not run stay, others are replaced."""
        page = clients_table.update(PAGE, TAP)
        self.assertEqual(clients_table.update(page, ""), page)
        again = "ok 1 clients.base, veth: testpmd rxonly, macswap\n"
        self.assertEqual(rows(clients_table.update(page, again))[0],
                         "| testpmd rxonly, macswap | i40e, veth |  |  |")

    def test_page(self):
        """The rest of the page is unchanged."""
        page = clients_table.update(PAGE, TAP)
        self.assertTrue(page.startswith("before\n") and page.endswith("after\n"))
