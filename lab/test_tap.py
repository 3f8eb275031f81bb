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
not ok 2 xsk_attach.skb.yields # SKIP too late
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
        """Each line is a test; one that fails cannot be skipped."""
        self.assertEqual([test.verdict for test in tap.results(FLAT)],
                         ["passed", "failed", "skipped", "skipped"])
        self.assertEqual([test.reason for test in tap.results(FLAT)],
                         ["", "", "no libxdp", "netdevsim"])

    def test_nested(self):
        """Lines that summarize others do not count."""
        self.assertEqual([test[:2] for test in tap.results(NESTED)],
                         [("one", "passed"), ("two", "failed"), ("plain", "passed"),
                          ("other", "passed")])

    def test_summary_that_fails_by_itself(self):
        """A failed summary counts if no line below it failed."""
        text = "    ok 1 fine\nnot ok 1 suite\n"
        self.assertEqual([test[:2] for test in tap.results(text)],
                         [("fine", "passed"), ("suite", "failed")])


class Wrong(unittest.TestCase):
    """What is wrong with a file as a whole."""

    def test_plans(self):
        """A run that aborted is a failure, also in nested output."""
        for text, unmet in ((FLAT, []), (NESTED, []), ("1..3\nok 1 one\n", [(3, 1)]),
                            ("ok 1 one\nok 2 two\n1..1\n", [(1, 2)]),
                            (NESTED.replace("    1..2", "    1..3"), [(3, 2)]),
                            ("1..1\n    1..2\n    ok 1 one\n", [(2, 1), (1, 0)])):
            self.assertCountEqual(tap.unmet_plans(text), unmet)
        self.assertIn(("planned 3 tests, ran 1", "failed"), self.found("1..3\nok 1 one\n"))

    def test_nothing(self):
        """A run without a result is a failure."""
        self.assertEqual(self.found(""), [("no test ran", "failed")])

    def test_skips(self):
        """A skip for a reason that is not expected is a failure."""
        text = "ok 1 one # SKIP no ports\n1..1\n"
        self.assertEqual(self.found(text), [("one", "skipped")])
        for text in (text.replace("ports", "ports at all"), text.replace("SKIP", "SKIP there are")):
            self.assertEqual([verdict for _, verdict in self.found(text)], ["skipped", "failed"])
        self.assertEqual(tap.skip_lines("nic", [*tap.results(FLAT)] * 2),
                         ["    skipped nic: no libxdp: xsk_attach.skb.jumbo and 1 more",
                          "    skipped nic: netdevsim: nic.MTU 9000 and 1 more"])

    @staticmethod
    def found(text):
        """Return names and verdicts, where the group may skip tests without ports."""
        may_skip = tap.expected_skips("# ports\n\nnic|other no ports\n")
        return [test[:2] for test in tap.tests_of(text, "nic", may_skip)]
