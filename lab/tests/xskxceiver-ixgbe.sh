#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/xskxceiver-ixgbe.sh: lab/tests/xskxceiver.sh on two ixgbe ports.

exec "${0%-ixgbe.sh}.sh" ixgbe
