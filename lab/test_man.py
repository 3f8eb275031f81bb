# SPDX-License-Identifier: GPL-2.0
"""Tests of man.py."""

import unittest

import man

HEADER = """
/* XDP_OLD is not a name */
#define XDP_ATTACH\t\t257
#define XDP_ATTACH_F_OFF\t(1U << 3)
enum {
\tXDP_ATTACH_S_NONE,\t/* XDP_COMMENT */
};
struct xdp_attach {
\t__u32 flags;
\t__u64 count[XDP_DROP_REASONS];
};
"""


class Names(unittest.TestCase):
    """What the sources define and the pages describe."""

    def test_header(self):
        """Macros and enumerators, not what comments mention."""
        self.assertEqual(man.header_names(HEADER), {"XDP_ATTACH", "XDP_ATTACH_F_OFF", "XDP_ATTACH_S_NONE"})
        self.assertEqual(man.header_fields(HEADER), {"flags", "count"})

    def test_options(self):
        """Options of both kinds of tables, and of a page."""
        self.assertEqual(man.table_options('NUMBER(KEY_A, "ring-size", x, 2,\n{ .name = "help", '),
                         {"ring-size", "help"})
        self.assertEqual(man.getopt_options('{ "json", no_argument, NULL, \'j\' },'), {"json"})
        self.assertEqual(man.page_options(".TP\n.BR \\-l \", \" \\-\\-l2fwd\n.B \\-\\-tx\\-len=\\fIN\\fR\n"),
                         {"l2fwd", "tx-len"})

    def test_differences(self):
        """Missing names and names that do not exist."""
        self.assertEqual(list(man.differences("page", {"a", "b"}, {"b", "c"})),
                         ["page: a is not described", "page: c does not exist"])


if __name__ == "__main__":
    unittest.main()
