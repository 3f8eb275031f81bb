#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/bisect.sh: the series up to the end of each section, with FULL=1 up to each commit, builds
# without a new warning, with its samples and selftests, and documents only functions that exist.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

part=section options=(--sections)
[[ -z ${FULL:-} ]] || part=prefix options=()
check "every $part builds, with its user space: no new warning (W=1, the last with sparse)" \
	"$LAB/bisect.sh" "${options[@]}"
plan
