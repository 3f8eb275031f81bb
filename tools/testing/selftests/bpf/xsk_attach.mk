# SPDX-License-Identifier: GPL-2.0
# Builds the selftests of the AF_XDP fast path without the rest of the BPF selftests:
#   make -f tools/testing/selftests/bpf/xsk_attach.mk O=/where/to KTREE=/a/kernel
# Run it at the top of the repository, or of a kernel tree that has the series.
# KTREE is any 6.12 kernel tree, for kselftest_harness.h. Needs clang, bpftool and
# libbpf; $(O)/xsk_attach, $(O)/xsk_inorder and $(O)/xsk_safety run as root and want
# ip, tc, ethtool, bpftool, nsenter, xdp-loader.

ifeq ($(and $(O),$(KTREE)),)
$(error Say where to build and where a kernel tree is: O=/where/to KTREE=/a/kernel)
endif

CFLAGS ?= -O2
CLANG ?= clang
BPFTOOL ?= bpftool

DIR := tools/testing/selftests/bpf
# The rest of include/uapi is not for user space: take this one header only.
XSK_ATTACH_UAPI := $(O)/include/linux/if_xdp_fastpath.h
XSK_ATTACH_TESTS := $(addprefix $(O)/, xsk_attach xsk_inorder xsk_safety xsk_fuzz)
XSK_ATTACH_OBJS := $(addsuffix .o, $(XSK_ATTACH_TESTS)) $(O)/xsk_attach_lib.o
XSK_ATTACH_BPF := $(O)/xsk_attach_progs.bpf.o
XSK_ATTACH_SKEL := $(O)/include/xsk_attach_progs.skel.h
XSK_ATTACH_CFLAGS := -g -Wall -Wextra -Werror -Wno-sign-compare \
	-Wno-missing-field-initializers -MMD -I$(O)/include -Itools/net/xsk \
	-isystem $(KTREE)/tools/testing/selftests

all: $(XSK_ATTACH_TESTS)

$(XSK_ATTACH_UAPI): include/uapi/linux/if_xdp_fastpath.h
	install -D -m 644 $< $@

$(XSK_ATTACH_BPF): $(DIR)/progs/xsk_attach_progs.c
	mkdir -p $(O)
	$(CLANG) -g -O2 -Wall -Werror -mcpu=v3 -target bpf \
		-idirafter /usr/include/$(shell uname -m)-linux-gnu \
		-c $< -o $@

$(XSK_ATTACH_SKEL): $(XSK_ATTACH_BPF)
	mkdir -p $(@D)
	$(BPFTOOL) gen skeleton $< name xsk_attach_progs > $@

$(XSK_ATTACH_OBJS): $(O)/%.o: $(DIR)/%.c $(XSK_ATTACH_UAPI) $(XSK_ATTACH_SKEL)
	$(CC) $(CFLAGS) $(XSK_ATTACH_CFLAGS) -c -o $@ $<

$(XSK_ATTACH_TESTS): %: %.o $(O)/xsk_attach_lib.o
	$(CC) $(LDFLAGS) -o $@ $^ -lbpf -lpthread

clean:
	$(RM) $(XSK_ATTACH_TESTS) $(XSK_ATTACH_OBJS) $(XSK_ATTACH_OBJS:.o=.d) \
		$(XSK_ATTACH_BPF) $(XSK_ATTACH_SKEL)

.PHONY: all clean
.DELETE_ON_ERROR:
-include $(wildcard $(XSK_ATTACH_OBJS:.o=.d))
