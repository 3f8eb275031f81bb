#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/bisect.sh: each prefix of the series builds without a new warning.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

check "every prefix builds with W=1, the last with sparse: no new warning" "$LAB/bisect.sh"
plan
