#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/static.sh: checks without a kernel: the series applies, style, unit tests.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

check "make check" "$LAB/check.sh"
plan
