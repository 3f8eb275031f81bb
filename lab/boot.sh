#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/boot.sh [OPTION...] KERNEL [--] CMD [ARG...]: boots KERNEL (base, patched, or
# the path of a bzImage) in QEMU without hardware acceleration, runs CMD there as root,
# and ends with its output and its exit status.
#
#   --cpus N       CPUs, 2              --memory M      memory, 2G
#   --timeout S    seconds, 1500; then the guest is killed: exit status 124
#   --name NAME    of the console log out/log/boot-NAME.log; default: that of KERNEL
#   --append ARGS  add to the kernel command line   --qemu-opt ARG  add to QEMU's
#   --tty          connect CMD to the terminal
#   --icount       guest time advances by a nanosecond per executed instruction
#
# NICs, models served by nicsim (see nicsim/README.md and lab/nics.sh):
#
#   --nic MODELS   82599,82599 are two ports: eth0 and eth1, at PCI 01:00.0 and 02:00.0
#   --wire SPEC    the other end of a port; once per wire
#   --timing NAME  the timing of the models; lockstep
#   --trace N=FILE log the register accesses of port N, as text
#   --beside CMD   run CMD in the lab next to the guest, where the taps of nicsim are
#   --any-events   do not fail the run on misbehaviour that nicsim reports
#
# A kernel splat on the console (see lab/splat.py) makes it fail with status 99, a model
# that exited or reported misbehaviour with 98; on kasan and base-kasan, memory or sockets
# that CMD leaked with 96 (see lab/guest/leaks.py).
# In the guest, / is the lab root, read-only; /src, /out and /cache are those of the lab;
# /tmp is empty. nicctl in the guest sends commands to nicsim.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"
# Taps are created in a network namespace per guest.
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

# Puts the command and a link to the modules into $dir for the guest.
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

# The status of the run after QEMU exited with $1.
judge() {
	local nics=0 splats
	nics_end || nics=98
	if ! splats=$(python3 "$LAB/splat.py" "$console"); then
		say "$splats" "The kernel's console log is out/log/boot-$name.log"
		# For label() of lab/tests/lib.sh
		[[ -n $tty ]] || printf '# splat: %s\n' "$(sed -n 's/^  //p;T;q' <<<"$splats")"
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
# Through pipes, as QEMU cannot write to every kind of standard output.
exec {out}> >(exec cat) && out_pid=$!
exec {err}> >(exec cat >&2) && err_pid=$!
status=0
run_qemu || status=$?
exec {out}>&- {err}>&-
wait "$out_pid" "$err_pid"
judge "$status"
