#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/demo.sh: the demo: every frame of a real capture arrives, byte for byte.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

check "make demo" "$LAB/demo.sh"
plan
