# SPDX-License-Identifier: GPL-2.0
# Everything of user space that runs in the guest. In the lab:
#   make -f /src/lab/user.mk O=/out/user KTREE=/out/linux-base SERIES=/out/linux
# KTREE is the unpatched kernel tree, whose xskxceiver is built.

O ?= /out/user
KTREE ?= /out/linux-base
SERIES ?= /out/linux
SRC := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
SELFTESTS := $(KTREE)/tools/testing/selftests
XSKXCEIVER := $(SELFTESTS)/bpf
TOOLS := $(KTREE)/tools
INCLUDES := -I$(XSKXCEIVER) -I$(SELFTESTS) -I$(TOOLS)/include -I$(TOOLS)/include/uapi -I$(TOOLS)/lib

all: samples selftest tools $(O)/replay_rx $(O)/pin_dispatcher $(O)/frags.bpf.o $(O)/xskxceiver $(O)/xskxceiver-rest

samples:
	$(MAKE) -C $(SERIES) -f samples/bpf/xdpsock.mk O=$(O)

selftest:
	$(MAKE) -C $(SERIES) -f tools/testing/selftests/bpf/xsk_fastpath.mk O=$(O) KTREE=$(KTREE)

tools:
	$(MAKE) -C $(SERIES)/tools/net/xsk O=$(O)

$(O)/replay_rx: $(SRC)/lab/guest/replay_rx.c $(SERIES)/tools/net/xsk/xsk_fastpath.h | samples
	$(CC) -O2 -Wall -Wextra -Werror -I$(SERIES)/tools/net/xsk -I$(O)/include $< -lxdp -lpcap -o $@

$(O)/pin_dispatcher: $(SRC)/lab/guest/pin_dispatcher.c
	$(CC) -O2 -Wall -Wextra -Werror $< -lbpf -o $@

$(O)/frags.bpf.o: $(SRC)/lab/guest/frags.bpf.c
	clang -g -O2 -Wall -Werror -target bpf -I/usr/include/$(shell $(CC) -print-multiarch) -c $< -o $@

# Not in "all": only lab/tests/companions.sh needs it, and it takes a minute
bpftool:
	mkdir -p $(O)/bpftool
	$(MAKE) -C $(SERIES)/tools/bpf/bpftool OUTPUT=$(O)/bpftool/

# The base's own test with longer wall-clock limits, in seconds and
# milliseconds: emulation is slow.
$(O)/xsk/xskxceiver.h: $(XSKXCEIVER)/xskxceiver.h
	mkdir -p $(@D)
	sed -E 's/^(#define THREAD_TMOUT) 3$$/\1 12/; s/^(#define POLL_TMOUT) 1000$$/\1 3000/' $< > $@
	[ "$$(diff $< $@ | grep -c '^>')" = 2 ]

$(O)/xsk/xskxceiver.c: $(XSKXCEIVER)/xskxceiver.c
	mkdir -p $(@D)
	cp $< $@

# Without the tests that always fail on the base on veth: lab/guest/xskxceiver.sh. One of them
# needs a umem that 6.12.y refuses since it checks the headroom, which ends the whole program.
$(O)/xsk/xskxceiver-rest.c: $(XSKXCEIVER)/xskxceiver.c
	mkdir -p $(@D)
	sed -E '/^\t\{\.name = "\w*(INV_DESC|STAT_TX_INVALID|TOO_MANY_FRAGS|STAT_RX_DROPPED)/ { /\}/! N; d }' $< > $@
	[ "$$(diff $< $@ | grep -c '^<')" = 10 ]

$(O)/xsk/xsk_xdp_progs.o: $(XSKXCEIVER)/progs/xsk_xdp_progs.c
	mkdir -p $(@D)
	clang -g -O2 -mcpu=v3 -target bpf -w -I/usr/include/$(shell $(CC) -print-multiarch) \
		-I$(XSKXCEIVER) -c $< -o $@

$(O)/xsk/xsk_xdp_progs.skel.h: $(O)/xsk/xsk_xdp_progs.o
	bpftool gen skeleton $< name xsk_xdp_progs > $@

$(O)/xskxceiver $(O)/xskxceiver-rest: $(O)/%: $(O)/xsk/%.c $(O)/xsk/xskxceiver.h $(O)/xsk/xsk_xdp_progs.skel.h
	$(CC) -g -O0 -w -D_GNU_SOURCE= -I$(O)/xsk $(INCLUDES) $< $(XSKXCEIVER)/xsk.c \
		$(XSKXCEIVER)/network_helpers.c $(TOOLS)/lib/find_bit.c \
		-lbpf -lelf -lz -lpthread -lrt -o $@

.PHONY: all samples selftest tools bpftool
.DELETE_ON_ERROR:
