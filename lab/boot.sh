#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/boot.sh [OPTION...] KERNEL [--] CMD [ARG...]: boots KERNEL (base, patched, or
# the path of a bzImage) in QEMU without hardware help, runs CMD there as root, and
# ends with its output and its exit status.
#
#   --cpus N       processors, 2        --memory M      memory, 2G
#   --timeout S    seconds, 1500; at the end the guest is killed: exit status 124
#   --name NAME    of the console log out/log/boot-NAME.log; else that of KERNEL
#   --append ARGS  more kernel command line      --qemu-opt ARG  one more for QEMU
#   --tty          CMD talks to the terminal
#   --icount       a nanosecond in the guest is an instruction that it executed
#
# Network cards, models that nicsim serves (see nicsim/README.md and lab/nics.sh):
#
#   --nic MODELS   82599,82599 are two ports: eth0 and eth1, at PCI 01:00.0 and 02:00.0
#   --wire SPEC    what is at the other end of a port; as often as there are wires
#   --timing NAME  when the models do what they may do late; lockstep
#   --trace N=FILE the register accesses of port N, as text
#   --beside CMD   runs CMD in the lab beside the guest, where the taps of nicsim are
#   --any-events   what nicsim calls misbehaviour does not fail the run
#
# A kernel splat on the console (see lab/splat.py) makes it fail with status 99, a
# model that ended or saw misbehaviour with 98; on kasan and base-kasan, memory or sockets
# that CMD left behind with 96 (see lab/guest/leaks.py).
# In the guest / is the lab root, read-only; /src, /out and /cache are those of the
# lab; /tmp is empty. There, nicctl talks to nicsim.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"
# Taps are made in a network of the guest's own.
[[ -n ${LAB_NET:-} ]] || LAB_NET=own exec unshare --net "$0" "$@"
# shellcheck source=lab/nics.sh
source "$LAB/nics.sh"

cpus=2 memory=2G timeout=1500 name='' tty='' append=() qemu_opts=() kernel=''
clock=(-accel 'tcg,thread=multi')

parse() {
	while (($#)); do
		case $1 in
		--cpus) cpus=$2 ;;
		--memory) memory=$2 ;;
		--timeout) timeout=$2 ;;
		--name) name=$2 ;;
		--append) append+=("$2") ;;
		--qemu-opt) qemu_opts+=("$2") ;;
		--tty) tty=1 && shift && continue ;;
		--icount)
			clock=(-accel 'tcg,thread=single' -icount 'shift=0,sleep=off')
			shift && continue
			;;
		--nic) IFS=, read -ra nic_models <<<"$2" ;;
		--wire | --trace) nic_args+=("$1" "$2") ;;
		--timing) nic_timing=$2 ;;
		--beside) nic_beside=$2 ;;
		--any-events) nic_any_events=1 && shift && continue ;;
		--) shift && break ;;
		-*) need "unknown option $1; see --help" ;;
		*)
			[[ -z $kernel ]] || break
			kernel=$1 && shift && continue
			;;
		esac
		shift 2
	done
	command=("$@")
	[[ -n $kernel ]] || need "no kernel; see --help"
	((${#command[@]})) || need "no command; see --help"
}

# The guest finds in $dir what to run and where its modules are.
prepare() {
	local build
	image=$kernel
	[[ $kernel != *kasan ]] || append+=(kmemleak=on)
	[[ $kernel == */* ]] || image=$OUT/build-$kernel/arch/x86/boot/bzImage
	[[ -r $image ]] || need "no kernel $image: lab/build.sh makes the kernels base and patched"
	build=${image%/arch/x86/boot/bzImage}
	name=${name:-$(basename "$kernel")}
	dir=$OUT/boot/$name
	console=$OUT/log/boot-$name.log
	mkdir -p "$dir" "$OUT/log"
	rm -rf "$dir/status" "$dir/modules"
	printf '%q ' "${command[@]}" >"$dir/command"
	[[ ! -d $build/root ]] || ln -s "$build/root/lib/modules" "$dir/modules"
}

# shellcheck disable=SC2054 # the commas are QEMU's
run_qemu() {
	local line=(console=ttyS0 root=lab rootfstype=9p init=/src/lab/guest-init.sh
		rootflags=trans=virtio,version=9p2000.L,msize=262144,cache=loose
		rw loglevel=7 panic=-1 oops=panic "labdir=$dir" "${append[@]}")
	local ports=(
		-chardev "file,id=out,path=/dev/fd/$out,append=on"
		-device virtserialport,chardev=out,name=stdout
		-chardev "file,id=err,path=/dev/fd/$err,append=on"
		-device virtserialport,chardev=err,name=stderr)
	local limit=(timeout --foreground -k 5 "$timeout")
	if [[ -n $tty ]]; then
		line+=("labterm=${TERM:-vt100}")
		ports=(-chardev stdio,id=tty,signal=off -device virtconsole,chardev=tty)
		limit=()
	fi
	"${limit[@]}" qemu-system-x86_64 -machine "q35$nic_machine" "${clock[@]}" \
		-cpu max,la57=off -smp "$cpus" -m "$memory" -no-reboot -nodefaults \
		-display none -serial "file:$console" -kernel "$image" -append "${line[*]}" \
		-fsdev local,id=root,path=/,security_model=none,multidevs=remap \
		-device virtio-9p-pci,fsdev=root,mount_tag=lab \
		-device virtio-rng-pci -device virtio-serial-pci "${ports[@]}" \
		"${nic_qemu[@]}" "${qemu_opts[@]}"
}

# The status of the run, once QEMU has ended with $1.
judge() {
	local nics=0
	nics_end || nics=98
	if ! python3 "$LAB/splat.py" "$console" >&2; then
		say "The kernel's console log is out/log/boot-$name.log"
		return 99
	elif ((nics != 0)); then
		return "$nics"
	elif (($1 == 124 || $1 == 137)); then
		say "${0##*/}: $name: killed after $timeout seconds (--timeout)"
		return 124
	elif [[ ! -s $dir/status ]]; then
		tail -n 20 "$console" >&2
		say "${0##*/}: the guest stopped before the command ended; its console log" \
			"is out/log/boot-$name.log"
		return 1
	fi
	return "$(<"$dir/status")"
}

parse "$@"
prepare
nics_start
# Through pipes, so that any kind of output will do.
exec {out}> >(exec cat) && out_pid=$!
exec {err}> >(exec cat >&2) && err_pid=$!
status=0
run_qemu || status=$?
exec {out}>&- {err}>&-
wait "$out_pid" "$err_pid"
judge "$status"
