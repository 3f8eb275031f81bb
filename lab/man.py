#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the man pages of the series against the sources that they describe, and their syntax.

Run at the top of the repository. Prints what is missing, and fails then.
"""

import re
import subprocess
import sys
from pathlib import Path

HEADER = Path("include/uapi/linux/if_xdp_fastpath.h")
TOOLS = Path("tools/net/xsk")


def text(page):
    """Return a page without the escapes of roff."""
    return re.sub(r"\\f.|\\&", "", page).replace("\\-", "-")


def header_names(header):
    """Return the names that the UAPI header defines: options, flags, states, reasons, attributes."""
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    return set(re.findall(r"^(?:#define\s+|\t)(XDP_\w+)", code, re.MULTILINE))


def header_fields(header):
    """Return the fields of its structures."""
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    return set(re.findall(r"^\t__[us]\d+ (\w+)", code, re.MULTILINE))


def table_options(source):
    """Return the options in the table of xdpsock."""
    return set(re.findall(r'(?:\.name = |(?:NUMBER|CHOICE)\([^,]+, )"([a-z0-9-]+)"', source))


def getopt_options(source):
    """Return the options in an array of struct option."""
    return set(re.findall(r'\{ "([a-z-]+)", \w+_argument', source))


def probe_features(source):
    """Return the features that xsk-probe prints."""
    return set(re.findall(r'^\t\{ "([a-z-]+)", \w+ \},', source, re.MULTILINE))


def page_options(page):
    """Return the options that a page describes."""
    return set(re.findall(r"^\.BR? .*--([a-z][a-z0-9-]*[a-z0-9])", text(page), re.MULTILINE))


def differences(what, wanted, found):
    """Yield a line for each name in only one of two sets."""
    assert wanted, what
    for name in sorted(wanted - found):
        yield f"{what}: {name} is not described"
    for name in sorted(found - wanted):
        yield f"{what}: {name} does not exist"


def words(page):
    """Return the words of a page."""
    return set(re.findall(r"\w+", text(page)))


def check_contents():
    """Yield what a page lacks, or has too much."""
    header, page = HEADER.read_text(), (TOOLS / "xsk_fastpath.7").read_text()
    names = {name for name in header_names(header) if not name.endswith("_H")}
    prefixes = r"XDP_(?:FASTPATH|ATTACH|TX_INORDER|RECYCLE|DROP|SHOW|DIAG)\w*"
    yield from differences("xsk_fastpath(7)", names, set(re.findall(prefixes, text(page))))
    yield from differences("xsk_fastpath(7), fields", header_fields(header),
                           header_fields(header) & words(page))
    source, page = (Path(f"samples/bpf/{name}").read_text() for name in ("xdpsock_opts.c", "xdpsock.1"))
    yield from differences("xdpsock(1)", table_options(source), page_options(page))
    source, page = ((TOOLS / name).read_text() for name in ("xsk_probe.c", "xsk-probe.8"))
    yield from differences("xsk-probe(8)", getopt_options(source), page_options(page))
    yield from differences("xsk-probe(8), features", probe_features(source),
                           set(re.findall(r"^\.TP\n\.B ([a-z-]+)$", page, re.MULTILINE)))


def check_syntax(pages):
    """Yield the warnings of groff."""
    for page in pages:
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True,
                              check=False)
        yield from done.stderr.splitlines()


def main():
    """Check all pages."""
    pages = sorted(path for folder in ("samples/bpf", TOOLS) for path in Path(folder).glob("*.[1-8]"))
    assert len(pages) >= 4, pages
    found = [*check_contents(), *check_syntax(pages)]
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
