# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2054,SC2154,SC2034
# The NICs of a guest: nicsim next to QEMU. To be sourced by lab/boot.sh, which sets
# the nic_ variables from its options, and dir, name and memory.
#
# Port N is behind its own PCIe root port, at PCI (N+1):00.0. Its socket and nicsim's
# control socket are in dir; a virtio-serial port named nicsim connects the guest to the
# control socket (lab/guest/nicctl). The log of nicsim is out/log/nicsim-NAME.log, its
# final counters are out/result/nicsim-NAME.json.

nic_models=() nic_args=() nic_timing=lockstep nic_beside='' nic_any_events=''
nic_machine='' nic_qemu=() nic_pid='' nic_beside_pid=''

# In lockstep, QEMU waits for the reply to each register write: the guest is stopped
# until the model has processed it.
nics_qemu() {
	local port posted=false device
	[[ $nic_timing != lockstep ]] || posted=true
	nic_machine=,memory-backend=mem
	nic_qemu=(-object "memory-backend-memfd,id=mem,size=$memory,share=on"
		-chardev "socket,id=nicsim,path=$dir/control.sock"
		-device virtserialport,chardev=nicsim,name=nicsim)
	for port in "${!nic_models[@]}"; do
		device='"driver": "vfio-user-pci", "bus": "root'$port'", "x-no-posted-writes": '$posted
		device+=', "socket": {"type": "unix", "path": "'$dir/nic$port.sock'"}'
		nic_qemu+=(-device "pcie-root-port,id=root$port,chassis=$((port + 1))" -device "{$device}")
	done
}

nics_start() {
	local port sockets=("$dir/control.sock")
	((${#nic_models[@]})) || return 0
	[[ -x $OUT/nicsim/release/nicsim ]] || need "no nicsim: lab/nicsim.sh builds it"
	for port in "${!nic_models[@]}"; do
		sockets+=("$dir/nic$port.sock")
		nic_args+=(--port "${nic_models[port]}:$dir/nic$port.sock")
	done
	rm -f "${sockets[@]}"
	mkdir -p "$OUT/result"
	setpriv --pdeathsig KILL "$OUT/nicsim/release/nicsim" --timing "$nic_timing" \
		--control "$dir/control.sock" "${nic_args[@]}" >"$OUT/log/nicsim-$name.log" 2>&1 &
	nic_pid=$!
	nics_wait "${sockets[@]}"
	nics_qemu
	[[ -n $nic_beside ]] || return 0
	setpriv --pdeathsig KILL bash -c "$nic_beside" >&2 </dev/null &
	nic_beside_pid=$!
}

# Waits at most 10 s for all sockets.
nics_wait() {
	local tries socket
	for ((tries = 0; tries < 100; tries++)); do
		for socket; do
			[[ -S $socket ]] || break
		done
		[[ ! -S $socket ]] || return 0
		kill -0 "$nic_pid" 2>/dev/null || break
		sleep 0.1
	done
	cat "$OUT/log/nicsim-$name.log" >&2
	die "nicsim did not start"
}

# Stops nicsim. Fails if it exited before, or counted an event that is not allowed.
nics_end() {
	local status=0
	[[ -n $nic_pid ]] || return 0
	python3 "$LAB/nic_counters.py" ${nic_any_events:+--any-events} "$dir/control.sock" \
		>"$OUT/result/nicsim-$name.json" || status=1
	((status == 0)) || say "The log of nicsim is out/log/nicsim-$name.log" \
		"$(tail -n 20 "$OUT/log/nicsim-$name.log")"
	kill "$nic_pid" ${nic_beside_pid:+"$nic_beside_pid"} 2>/dev/null || true
	return "$status"
}
