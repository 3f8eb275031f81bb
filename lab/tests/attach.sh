#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/attach.sh: the kselftest of XDP_ATTACH on the patched kernel.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

"$LAB/boot.sh" --name attach --timeout 1500 patched -- /out/user/xsk_attach
