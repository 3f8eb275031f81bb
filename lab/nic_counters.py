#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Ask nicsim for its counters and print them as JSON.

Exit status 1 if it does not answer, or has seen misbehaviour: events that are not zero.
"""
import argparse
import json
import socket
import sys


def ask(path):
    """Return the answer to the command `counters` at the control socket."""
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(10)
        control.connect(path)
        control.sendall(b"counters\n")
        return json.loads(control.makefile().readline())


def complaints(counters):
    """Name each event of each port that is not zero."""
    return [f"port {number}: {name}: {count}"
            for number, port in enumerate(counters["ports"])
            for name, count in port["events"].items() if count]


def main():
    """Ask, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--any-events", action="store_true", help="accept misbehaviour")
    parser.add_argument("socket")
    args = parser.parse_args()
    try:
        counters = ask(args.socket)
    except (OSError, ValueError) as err:
        print(f"nicsim does not answer: {err}", file=sys.stderr)
        return 1
    json.dump(counters, sys.stdout, indent=1)
    found = complaints(counters)
    for line in found:
        print(f"nicsim saw misbehaviour at {line}", file=sys.stderr)
    return 1 if found and not args.any_events else 0


if __name__ == "__main__":
    sys.exit(main())
