#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/writers.sh SECONDS: the tests of the kselftest xsk_safety in which threads without
# privileges write to a tap device that has an attached socket, over and over. Prints TAP.
set -euo pipefail

rounds=0 end=$((SECONDS + $1)) verdict='ok'
while ((SECONDS < end)); do
	if ! said=$(/out/user/xsk_safety -rtap.{plain,multi_queue,napi}.writers 2>&1); then
		printf '%s\n' "$said" | sed 's/^/# /'
		verdict='not ok'
		break
	fi
	((++rounds))
done
echo "$verdict 1 - writers without privileges, for $1 s ($rounds rounds)"
echo "1..1"
