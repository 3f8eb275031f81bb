#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/shell.sh: a shell in the patched kernel, with emulated NICs of two ports each.
#
#   NIC=NAME          the driver of the NIC: ixgbe, i40e, or both, which is the default
#   WIRE="SPEC ..."   the wires, see nicsim/README.md; default: a cable between the ports of a NIC

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
choose_nics

read -ra specs <<<"${WIRE:-}"
if ((${#specs[@]} == 0)); then
	specs=(cable:0-1)
	((${#drivers[@]} == 1)) || specs+=(cable:2-3)
fi
wires=()
for spec in "${specs[@]}"; do
	wires+=(--wire "$spec")
done
"$LAB/build.sh" patched
"$LAB/user.sh"
"$LAB/nicsim.sh"
"$LAB/boot.sh" --tty --nic "$models" "${wires[@]}" --timing async --any-events patched -- \
	/src/lab/guest/shell.sh "${specs[*]}" "${drivers[@]}"
