#!/bin/bash
/src/lab/boot.sh --name dbg --timeout 120 --nic x710,x710,82599,82599 --wire cable:0-1 --wire cable:2-3 patched -- bash -c '
(sleep 70; ethtool -S vd0; ip -s link show vd0; ip -s link show vd1; cat /sys/kernel/tracing/trace | tail -5; bpftool net) & 
/src/lab/guest/drops.py "veth"; wait'
