# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
# Shared by the scripts of the lab: messages, long steps, paths.
# To be sourced; sets REPO and LAB, and CACHE and OUT as seen inside or outside the lab root.

set -euo pipefail

LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
REPO=${LAB%/*}
if [[ $REPO == /src && -e /.xsk-lab ]]; then
	OUT=/out CACHE=/cache
else
	OUT=$REPO/out CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/xsk-fastpath
fi

# The drivers of the series, and the nicsim models of their NICs.
DRIVERS=(ixgbe i40e)
declare -A NICS=([ixgbe]=82599 [i40e]=x710)

# choose_nics: sets drivers to those that NIC names, and models to two ports per driver.
choose_nics() {
	local driver
	case ${NIC:-both} in
	both) drivers=("${DRIVERS[@]}") ;;
	ixgbe | i40e) drivers=("$NIC") ;;
	*) need "NIC=$NIC: must be ixgbe, i40e or both" ;;
	esac
	models=''
	for driver in "${drivers[@]}"; do
		models+=${models:+,}${NICS[$driver]},${NICS[$driver]}
	done
}

# One line per argument.
say() {
	printf '%s\n' "$@" >&2
}

# Exit status 1: failure. 2: a prerequisite is missing, or wrong usage.
die() {
	say "${0##*/}: $*"
	exit 1
}

need() {
	say "${0##*/}: $*"
	exit 2
}

# --help prints the comment at the head of the script.
help_if_asked() {
	[[ ${1:-} == -h || ${1:-} == --help ]] || return 0
	awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); print }' "$0"
	exit 0
}

# Continues inside the lab root, where scripts see /src, /out and /cache.
in_lab() {
	[[ -e /.xsk-lab ]] && return 0
	exec "$LAB/enter.sh" "/src/lab/${0##*/}" "$@"
}

# ns_run CMD...: runs CMD as process 1 of new namespaces. When this script ends, by whatever
# cause, the kernel kills all processes and removes all mounts in them.
ns_run() {
	local user=()
	((EUID == 0)) || user=(--map-root-user --map-auto)
	setpriv --pdeathsig KILL unshare "${user[@]}" --mount --uts --ipc --pid \
		--fork --kill-child=KILL "$@"
}

# step NAME TEXT CMD...: runs a long command with its output in out/log/NAME.log, and shows TEXT
# and the elapsed seconds. Returns the status of CMD.
step() {
	local name=$1 text=$2 log=$OUT/log/$1.log start=$SECONDS pid status=0
	shift 2
	mkdir -p "$OUT/log"
	# A new process group does not receive Ctrl-C; the trap kills it.
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	set +m
	pid=$!
	trap 'kill -- "-$pid"; exit 130' INT TERM HUP
	step_watch "$pid" "$text" "$start"
	wait "$pid" || status=$?
	trap - INT TERM HUP
	if ((status == 0)); then
		step_line "$start" "$text: done" $'\n'
		return 0
	fi
	step_line "$start" "$text: failed with status $status" $'\n'
	tail -n 20 "$log" >&2
	say "Step $name failed; its full output is in out/log/$name.log"
	return "$status"
}

# Progress lines are overwritten, except with STEPS_BESIDE, where other steps print as well.
on_terminal() {
	[[ -t 2 && -z ${STEPS_BESIDE:-} ]]
}

# Shows the time every second on a terminal, every 30 s elsewhere.
step_watch() {
	local pid=$1 text=$2 start=$3 end=$'\n' every=30 next=$3
	! on_terminal || end='' every=1
	while kill -0 "$pid" 2>/dev/null; do
		if ((SECONDS >= next)); then
			step_line "$start" "$text ..." "$end"
			next=$((SECONDS + every))
		fi
		sleep 0.2
	done
}

step_line() {
	local clear=''
	! on_terminal || clear=$'\r\e[K'
	printf '%s[%4ds] %s%s' "$clear" "$((SECONDS - $1))" "$2" "$3" >&2
}

# make_kernel TREE BUILD ARG...: runs make with both folders at fixed paths, so that clones share
# the compiler cache.
make_kernel() {
	local args=(-j "$(nproc)" -C /tmp/kernel/source O=/tmp/kernel/build
		LOCALVERSION= KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_USER=lab
		KBUILD_BUILD_HOST=lab CC=/src/lab/cc)
	mkdir -p /tmp/kernel/source /tmp/kernel/build "$2"
	# shellcheck disable=SC2016 # $1 and $2 are those of the inner shell
	unshare --mount bash -euc '
		mount --bind "$1" /tmp/kernel/source
		mount --bind "$2" /tmp/kernel/build
		shift 2
		exec make "$@"' -- "$1" "$2" "${args[@]}" "${@:3}"
}

# configure_lab TREE BUILD FRAGMENT...: disables every option that is in none of the fragments.
configure_lab() {
	local fragments=("${@:3}")
	cat "${fragments[@]/#/$LAB/kconfig/}" >"$2/lab.config"
	make_kernel "$1" "$2" KCONFIG_ALLCONFIG=/tmp/kernel/build/lab.config allnoconfig
}

# check_config BUILD WANTED: fails with the options of file WANTED that are not in the
# configuration; options with missing dependencies are dropped silently.
check_config() {
	local line lost=()
	while read -r line; do
		grep -qxF -- "$line" "$1/.config" || lost+=("$line")
	done < <(grep '^CONFIG_' "$2")
	while read -r _ line _; do
		! grep -q "^$line=" "$1/.config" || lost+=("$line=n")
	done < <(grep '^# CONFIG_.* is not set' "$2")
	((${#lost[@]} == 0)) || die "the kernel configuration lacks these options" \
		"(missing dependencies? see lab/kconfig):" "${lost[@]}"
}
