# SPDX-License-Identifier: GPL-2.0
# Builds the AF_XDP samples: make -f samples/bpf/xdpsock.mk O=/where/to
# Run it at the top of the kernel tree.
# Needs libxdp and libbpf; the examples need neither.

ifeq ($(O),)
$(error O is not set: make -f samples/bpf/xdpsock.mk O=/where/to)
endif

CFLAGS ?= -O2
prefix ?= /usr/local
XDPSOCK_CFLAGS := -Wall -Wextra -Werror -MMD -Itools/net/xsk -I$(O)/include

XDPSOCK_OBJS := $(addprefix $(O)/, xdpsock.o xdpsock_frame.o xdpsock_opts.o \
	xdpsock_port.o xdpsock_report.o xdpsock_share.o)
EXAMPLES := $(addprefix $(O)/, xsk_attach_example xsk_inorder_example \
	xsk_pass_fd_example)
PROGS := $(O)/xdpsock $(EXAMPLES)
# Only this header of include/uapi is suitable for user space.
UAPI := $(O)/include/linux/if_xdp_fastpath.h

all: $(PROGS)

$(UAPI): include/uapi/linux/if_xdp_fastpath.h
	install -D -m 644 $< $@

$(O)/%.o: samples/bpf/%.c $(UAPI)
	$(CC) $(CFLAGS) $(XDPSOCK_CFLAGS) -c -o $@ $<

$(O)/xdpsock: $(XDPSOCK_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lxdp -lbpf

$(EXAMPLES): %: %.o
	$(CC) $(LDFLAGS) -o $@ $^ -lpthread

install: $(O)/xdpsock
	install -D -m 755 -t $(DESTDIR)$(prefix)/bin $<
	install -D -m 644 -t $(DESTDIR)$(prefix)/share/man/man1 \
		samples/bpf/xdpsock.1

clean:
	$(RM) $(PROGS) $(XDPSOCK_OBJS) $(XDPSOCK_OBJS:.o=.d) $(UAPI) \
		$(EXAMPLES:=.o) $(EXAMPLES:=.d)

.PHONY: all install clean
-include $(wildcard $(O)/*.d)
