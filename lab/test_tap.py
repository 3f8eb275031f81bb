# SPDX-License-Identifier: GPL-2.0
"""Tests of lab/tap.py."""

import contextlib
import io
import tempfile
import unittest

import tap

FLAT = """TAP version 13
1..4
#  RUN           xsk_attach.skb.delivers ...
ok 1 xsk_attach.skb.delivers
not ok 2 xsk_attach.skb.yields
ok 3 xsk_attach.skb.jumbo # SKIP no libxdp
ok 4 nic.MTU 9000 # XFAIL netdevsim
"""

NESTED = """KTAP version 1
1..2
    KTAP version 1
    1..2
        KTAP version 1
        ok 1 one
        not ok 2 two
    not ok 1 params
    ok 2 plain
# suite: pass:1 fail:1
not ok 1 suite
    ok 1 other
ok 2 second
"""


class Files(unittest.TestCase):
    """The output for files."""

    def test_missing(self):
        """A group without a file did not run, which is a failure."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(tap.main(["/nowhere/group.tap"]), 1)
        self.assertIn("FAILED group: no test ran", said.getvalue())

    def test_took(self):
        """The time of a group follows its results."""
        with tempfile.NamedTemporaryFile("w", suffix=".tap") as file:
            file.write("ok 1 one\n1..1\n# took 12 s\n")
            file.flush()
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(tap.main([file.name]), 0)
        self.assertIn("1 passed, 0 failed, 0 skipped in 12 s\n", said.getvalue())


class Results(unittest.TestCase):
    """The lines that count as tests."""

    def test_flat(self):
        """Each line is a test."""
        self.assertEqual([verdict for _, verdict in tap.results(FLAT)],
                         ["passed", "failed", "skipped", "skipped"])
        self.assertIsNone(tap.complaint(FLAT, list(tap.results(FLAT))))

    def test_nested(self):
        """Lines that summarize others do not count."""
        self.assertEqual(list(tap.results(NESTED)),
                         [("one", "passed"), ("two", "failed"), ("plain", "passed"),
                          ("other", "passed")])

    def test_summary_that_fails_by_itself(self):
        """A failed summary counts if no line below it failed."""
        text = "    ok 1 fine\nnot ok 1 suite\n"
        self.assertEqual(list(tap.results(text)), [("fine", "passed"), ("suite", "failed")])

    def test_incomplete(self):
        """A run that aborted, or did nothing, is a failure."""
        short = "1..3\nok 1 one\n"
        self.assertIn("planned 3", tap.complaint(short, list(tap.results(short))))
        self.assertEqual(tap.complaint("", []), "no test ran")
