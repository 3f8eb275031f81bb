#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/bisect.sh: each prefix of the series builds without a new warning, with its samples and
# selftests, and documents only functions that exist.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

check "every prefix builds, with its user space: no new warning (W=1, the last with sparse)" "$LAB/bisect.sh"
plan
