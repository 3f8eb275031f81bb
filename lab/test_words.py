# SPDX-License-Identifier: GPL-2.0
"""Tests of lab/words.py."""

import tempfile
import unittest
from pathlib import Path

import words


class Words(unittest.TestCase):
    """Prose is checked, code is not."""

    def found(self, text, suffix=".c"):
        """Return the line and the words of each hit in a file with this text."""
        with tempfile.NamedTemporaryFile("w", suffix=suffix) as file:
            file.write(text)
            file.flush()
            return [hit[:2] for hit in words.find(Path(file.name))]

    def test_lines(self):
        """Words on two lines of a comment are found, those of two paragraphs are not."""
        self.assertEqual(self.found("\n/* The Cards: one\n * card */"),
                         [(2, "The Cards"), (2, "one card")])
        self.assertEqual(self.found("in\n\na row"), [])

    def test_identifiers(self):
        """A part of an identifier, of a path or of a call is no word."""
        self.assertEqual(self.found("smp_processor_id(); processor(1); a/mends.py; x_mend"), [])

    def test_errno(self):
        """Only an errno answers wrongly."""
        self.assertEqual(self.found("bind() says EBUSY, it says everything"), [(1, "says EBUSY")])

    def test_patch(self):
        """Of a patch, the message and added lines count, but not what it quotes."""
        text = ("Subject: mend\nFixes: 0123 (\"as ever\")\n---\ndiff --git a/x b/x\n"
                "-as ever\n as ever\n+/* in a\n+ * row */\n")
        self.assertEqual(self.found(text, ".patch"), [(1, "mend"), (7, "in a row")])
