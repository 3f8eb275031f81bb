# SPDX-License-Identifier: GPL-2.0
# Builds the selftests of the AF_XDP fast path without the rest of the BPF selftests:
#   make -f tools/testing/selftests/bpf/xsk_fastpath.mk O=/where/to KTREE=/a/kernel
# Run it at the top of the kernel tree.
# KTREE is any 6.12 kernel tree, for kselftest_harness.h. Needs clang, bpftool and
# libbpf. The tests, except xsk_fuzz --unprivileged, run as root and use ip, tc,
# ethtool, bpftool, nsenter, xdp-loader.

ifeq ($(and $(O),$(KTREE)),)
$(error Say where to build and where a kernel tree is: O=/where/to KTREE=/a/kernel)
endif

CFLAGS ?= -O2
CLANG ?= clang
BPFTOOL ?= bpftool

TESTS := xsk_attach xsk_attach_bind xsk_attach_lifetime xsk_attach_prog
TESTS += xsk_attach_pass
TESTS += xsk_inorder
TESTS += xsk_safety
TESTS += xsk_fuzz
TESTS += xsk_options
TESTS += xsk_rebind
TESTS += xsk_capture

DIR := tools/testing/selftests/bpf
# The rest of include/uapi is not for user space: take these headers only.
UAPI := $(addprefix $(O)/include/linux/, if_xdp_fastpath.h netdev.h)
BPF := $(O)/xsk_test_progs.bpf.o
SKEL := $(O)/include/xsk_test_progs.skel.h
PROGRAMS := $(addprefix $(O)/, $(TESTS))
LIB_OBJS := $(patsubst $(DIR)/%.c, $(O)/%.o, $(wildcard $(DIR)/xsk_test_*.c))
OBJS := $(PROGRAMS:=.o) $(LIB_OBJS)
XSK_CFLAGS := -g -Wall -Wextra -Werror -Wno-sign-compare \
	-Wno-missing-field-initializers -MMD -I$(O)/include -Itools/net/xsk \
	-isystem $(KTREE)/tools/testing/selftests

all: $(PROGRAMS)

$(UAPI): $(O)/include/%: include/uapi/%
	install -D -m 644 $< $@

$(BPF): $(DIR)/progs/xsk_test_progs.c
	mkdir -p $(O)
	$(CLANG) -g -O2 -Wall -Werror -mcpu=v3 -target bpf \
		-idirafter /usr/include/$(shell uname -m)-linux-gnu \
		-c $< -o $@

$(SKEL): $(BPF)
	mkdir -p $(@D)
	$(BPFTOOL) gen skeleton $< name xsk_test_progs > $@

$(OBJS): $(O)/%.o: $(DIR)/%.c $(UAPI) $(SKEL)
	$(CC) $(CFLAGS) $(XSK_CFLAGS) -c -o $@ $<

$(PROGRAMS): %: %.o $(LIB_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lbpf -lpthread

clean:
	$(RM) $(PROGRAMS) $(OBJS) $(OBJS:.o=.d) $(BPF) $(SKEL)

.PHONY: all clean
.DELETE_ON_ERROR:
-include $(wildcard $(OBJS:.o=.d))
