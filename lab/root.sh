#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/root.sh: makes the lab root, a Debian system that all building and running
# happens in, in the per-user cache, unless it is there; prints its path.
#
# Packages are those of lab/packages, from the mirrors that apt of this machine
# uses. MIRROR=URL and MIRROR_SECURITY=URL name others.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"

SUITE=trixie
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

packages() {
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$LAB/packages"
}

# What decides the content of the root, so that a change of it makes a new one.
root_name() {
	local sum
	sum=$({ packages; cat "$LAB/root.sh"; echo "$SUITE"; } | sha256sum)
	echo "root-${sum:0:16}"
}

# mirror_of SUITE: the address that apt of this machine fetches it from.
mirror_of() {
	# shellcheck disable=SC2016 # fields of apt, not variables
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' \
		'Created-By: Packages' 'Component: main' 2>/dev/null |
		awk -v suite="$1" '$1 == suite { print $2; exit }'
}

find_mirrors() {
	local host
	host=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	MIRROR=${MIRROR:-$(mirror_of "$host")}
	MIRROR_SECURITY=${MIRROR_SECURITY:-$(mirror_of "$host-security")}
	[[ -n $MIRROR && -n $MIRROR_SECURITY ]] ||
		need "apt of this machine names no Debian mirror for $host and" \
			"$host-security: run again with MIRROR=URL MIRROR_SECURITY=URL"
}

check_host() {
	local missing=()
	command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
	command -v newuidmap >/dev/null || missing+=(uidmap)
	((${#missing[@]} == 0)) || install_host "${missing[@]}"
	gpg_has_suite || need "the archive keys of this machine do not know $SUITE:" \
		"run 'apt-get install debian-archive-keyring' as root for the current ones"
	((EUID == 0)) || unshare --map-root-user --map-auto --mount true 2>/dev/null ||
		need "no user namespaces for $(id -un) on this machine: run as root, or" \
			"allow them and give this user a range in /etc/subuid and /etc/subgid"
}

install_host() {
	local apt="apt-get install --no-install-recommends $*"
	if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
		need "not installed: $*. Run as root: $apt" \
			"(elsewhere: the package of your distribution that has $*)"
	fi
	step host-packages "installing $* on this machine" \
		bash -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive \
			apt-get install -qy --no-install-recommends "$@"' -- "$@"
}

# The package's key files are named after the suite since it knows the suite.
gpg_has_suite() {
	[[ -e ${KEYS%/*}/debian-archive-$SUITE-automatic.gpg ||
		-e ${KEYS%/*}/debian-archive-$SUITE-automatic.pgp ]]
}

# A proxy of this machine's apt is part of how it reaches its mirrors.
proxy_options() {
	local kind value
	for kind in http https; do
		value=$(apt-config dump --format '%v' "Acquire::$kind::Proxy" 2>/dev/null)
		[[ -z $value ]] || printf -- '--aptopt=Acquire::%s::Proxy "%s"\n' "$kind" "$value"
	done
}

# $1/... is the new root inside the hooks.
make_root() {
	local options pin preferences
	mapfile -t options < <(proxy_options)
	pin='Package: src:qemu src:seabios src:ipxe\nPin: release n=%s-backports\n'
	# shellcheck disable=SC2059 # the pin is a format
	preferences=$(printf "${pin}Pin-Priority: 900\n" "$SUITE")
	export preferences
	# shellcheck disable=SC2016 # $1 is the hook's
	ns_run mmdebstrap --mode=root --variant=minbase --format=directory \
		--keyring="$KEYS" --include="$(packages | paste -sd,)" \
		--aptopt='APT::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/info/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--setup-hook='mkdir -p "$1/etc/apt/preferences.d"
			echo "$preferences" >"$1/etc/apt/preferences.d/lab"' \
		--customize-hook='cd "$1" && mkdir src out cache ksrc usr/lib/modules && touch .xsk-lab &&
			rm -f etc/resolv.conf && touch etc/resolv.conf' \
		"${options[@]}" "$SUITE" "$1" \
		"deb $MIRROR $SUITE main" "deb $MIRROR $SUITE-updates main" \
		"deb $MIRROR_SECURITY $SUITE-security main" \
		"deb $MIRROR $SUITE-backports main"
}

package_digest() {
	sha256sum <"$1/var/lib/dpkg/status"
}

# The stamp is written last and holds the digest of the list of packages.
is_whole() {
	[[ -r $1.stamp && $(<"$1.stamp") == "$(package_digest "$1" 2>/dev/null)" ]]
}

remove_root() {
	[[ ! -e $1 ]] || ns_run rm -rf --one-file-system "$1"
}

root=$CACHE/$(root_name)
mkdir -p "$CACHE"
exec 9>"$CACHE/root.lock"
flock 9
if ! is_whole "$root"; then
	check_host
	find_mirrors
	rm -f "$root.stamp"
	remove_root "$root"
	remove_root "$root.new"
	step root "making the lab root ($SUITE)" make_root "$root.new"
	mv "$root.new" "$root"
	package_digest "$root" >"$root.stamp"
fi
echo "$root"
