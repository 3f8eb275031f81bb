#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Find words that the field does not use: lab/words.py [FILE or FOLDER...].

Prints FILE:LINE, the words, and what to write instead; exit status 1 if there are any. Of a patch,
only the message and the added lines count.
"""

import os
import re
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PLACES = ("README.md", "CONTRIBUTING.md", "docs", "bench", "nicsim", "lab", "Documentation", "net",
          "include", "drivers", "samples", "tools", "patches")
SKIPPED = ("words.py", "Cargo.lock", "__pycache__", ".pcap", ".png")
# A regular expression in lower case, in which a space also matches the end of a line in a comment;
# E... is an errno
WORDS = {
    r"mend(s|ed|ing)?": "fix",
    r"upheavals?": "reconfiguration",
    r"(in|of) a row|lie in rows?": "contiguous",
    r"the other way (a?round|about)": "conversely",
    r"as ever|as it is now": "as usual, unchanged, or nothing",
    r"way out": "remedy",
    r"(the|an?|each|every|this|that|both|other|one|two|no|emulated|network) cards?": "NIC",
    r"processors?": "CPU",
    r"(says?|said|answers?|answered|gives?) -?E...": "returns -E..., fails with E...",
    r"believ(e|es|ed|ing)": "trust, validate, ignore",
    r"judg(es|ed|ing)": "validate",
    r"giv(e|es|en|ing) away|gave away": "post twice; duplicate buffer",
    r"built-in( program)? rules": "while no regular program is attached",
    r"(frame|packet)s? of several buffers": "multi-buffer packet",
    r"plain descriptors?": "single-buffer descriptor without options",
    r"slots? of the (device|ring)": "descriptor (of a device), entry (of a socket ring)",
    r"note[sd]? (an?|the|its|each) address(es)?": "record",
    r"wak(e|es|ing) up the (queue|driver)": "trigger NAPI, kick",
    r"(is|are|was|were) gone": "is removed, freed, detached, unregistered",
    r"chunks that wait": "pending chunks, the backlog",
    r"(once )?for each poll|of each poll": "per poll",
    r"by interrupts": "interrupt-driven",
    r"dear(er|est)?": "expensive",
    r"how it went": "the result, the attach state",
    r"who may touch": "threading rules",
    r"what surprises|what (this )?can ?not tell": "caveats, limitations",
    r"generator is patient|patient generators?": "a generator that applies back-pressure",
    r"(break|breaks|broke) off": "abort",
    r"(looks?|looking|ask|asks) whether": "check whether",
    r"not for here": "is handled by ...",
    r"stand(s|ing)? still|stood still": "stop, be stopped",
    r"can not": "cannot",
    r"in vain": "without an effect, say which",
}
BETWEEN = r"(?=\s)[ \t]*(?:\n\+?[ \t]*(?:\*|//[/!]?|#)?[ \t]*)?"


def pattern_of(words):
    """Return what matches the words in prose, also across lines, but in no identifier."""
    words = words.replace("E...", r"(?-i:E[A-Z0-9]{3,})").replace(" ", BETWEEN)
    return re.compile(rf"(?<![\w./-])(?:{words})(?![\w(=]|[.-]\w)", re.IGNORECASE)


PATTERNS = [(pattern_of(words), instead) for words, instead in WORDS.items()]


def text_of(path):
    """Return the text of a file with an empty line in place of each that does not count."""
    text = path.read_text()
    if path.suffix != ".patch":
        return text
    message, diff, changes = text.partition("\ndiff --git ")
    quoted = ("Fixes:", "Link:")  # subjects of others
    added = [line if line.startswith("+") else "\0" for line in (diff + changes).split("\n")[1:]]
    return "\n".join(["\0" if line.startswith(quoted) else line for line in message.split("\n")]
                     + added)


def find(path):
    """Yield line, words and what to write instead, in the order of lines."""
    text = text_of(path)
    hits = [(match.start(), match[0], instead) for pattern, instead in PATTERNS
            for match in pattern.finditer(text)]
    for start, words, instead in sorted(hits):
        yield text.count("\n", 0, start) + 1, re.sub(r"\s*\n\W*|\s+", " ", words), instead


def files(place):
    """Yield the files of a place that hold our prose."""
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if (path.is_file() and not path.is_symlink()
                and not any(part.endswith(SKIPPED) for part in path.parts)):
            yield path


def main():
    """Check the places that are named, or all."""
    found = 0
    for place in sys.argv[1:] or [REPO / name for name in PLACES]:
        for path in files(Path(place)):
            for line, words, instead in find(path):
                found += 1
                print(f"{os.path.relpath(path)}:{line}: '{words}': write: {instead}")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
