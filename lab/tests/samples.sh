#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/samples.sh: xdpsock and the example, on the patched kernel and on the
# base, where they have to fall back or fail with a message.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

run() {
	local kernel
	for kernel in patched base; do
		"$LAB/boot.sh" --name "samples-$kernel" --timeout 900 "$kernel" -- \
			/src/lab/guest/samples.py "$kernel"
	done
}

join_taps run
