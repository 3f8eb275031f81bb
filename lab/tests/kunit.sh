#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/kunit.sh: the KUnit suites of the series, at the boot of the patched kernel,
# or KERNEL.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

"$LAB/boot.sh" --name "kunit-$KERNEL" \
	--append "kunit.enable=1 kunit.filter_glob=x[sd][kp]_*" "$KERNEL" -- \
	dmesg --notime | sed -n '/KTAP version/,$p' | grep -E '^ *(KTAP|1\.\.|# |ok |not ok )'
