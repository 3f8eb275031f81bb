# SPDX-License-Identifier: GPL-2.0
# Front door: `make help` lists what there is. Each target is a script in lab/.

.PHONY: help demo test test-full check bench bench-quick shell deb companions tree refresh series bisect clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile
	@echo "NIC=ixgbe or NIC=i40e before demo and shell limits them to the NIC of that driver;"
	@echo "WIRE='cable:0-1' sets the wires of shell (nicsim/README.md)."
	@echo "KSRC=/path/to/linux-6.12.y before any of them uses that tree as the base;"
	@echo "MIRROR=URL and MIRROR_SECURITY=URL name the Debian mirrors."

demo: ## from nothing to frames in an attached socket, in a booted kernel
	@lab/demo.sh

test: ## all tests; the last line counts them
	@lab/test.sh

test-full: ## all tests at full length, some hours
	@FULL=1 lab/test.sh

check: ## checks without a kernel build, in about a minute
	@lab/check.sh

bench: ## instructions per packet of all contestants, into results/ (bench/README.md)
	@bench/run

bench-quick: ## a few characteristic cells
	@bench/run --quick

shell: ## a shell in the patched kernel with two ports of each NIC (exit leaves)
	@lab/shell.sh

deb: ## Debian packages of the patched kernel and its tools, in out/deb (CONFIG=lab: a small one, in out/deb-lab)
	@lab/deb.sh

companions: ## libxdp and iproute2 that know the fast path, in out/companions (IPROUTE2SRC=PATH)
	@lab/companions.sh

tree: ## the kernel as a git tree in out/linux: the base, then one commit per mail
	@lab/tree.sh

refresh: ## write the commits of out/linux back as mails, with the files that result
	@lab/enter.sh python3 /src/lab/series.py refresh

series: ## each section as mails ready to be sent, in out/series
	@rm -rf out/series
	@lab/enter.sh python3 /src/lab/series.py series --out /out/series

bisect: ## every prefix of the series builds without a new warning, its user space too
	@lab/bisect.sh

clean: ## remove out/
	@lab/clean.sh out

distclean: ## remove out/ and the per-user cache that all clones share
	@lab/clean.sh out cache
