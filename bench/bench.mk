# SPDX-License-Identifier: GPL-2.0
# Builds the plugin, the BPF programs and the xdpsock of the benchmark. In the lab:
#   make -f /src/bench/bench.mk O=/out/bench

O ?= /out/bench
SRC := $(dir $(lastword $(MAKEFILE_LIST)))

# libxdp takes the second one if its check of bpf_redirect_map() fails
BARE := $(O)/bare/xsk_def_xdp_prog.o $(O)/bare/xsk_def_xdp_prog_5.3.o

all: $(O)/count.so $(O)/control.bpf.o $(BARE) $(O)/pace xdpsock

xdpsock:
	$(MAKE) -C $(SRC).. -f samples/bpf/xdpsock.mk O=$(O)/user

$(O)/count.so: $(SRC)count.c $(SRC)insn_kind.h $(SRC)qemu_plugin.h
	$(CC) -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -o $@ $<

$(O)/pace: $(SRC)guest/pace.c
	$(CC) -O2 -Wall -Wextra -Werror -o $@ $<

COMPILE_BPF = clang -O2 -g -Wall -Werror -target bpf -I/usr/include/$(shell $(CC) -print-multiarch)

$(O)/control.bpf.o: $(SRC)control.bpf.c
	$(COMPILE_BPF) -c $< -o $@

$(BARE): $(SRC)bare.bpf.c
	mkdir -p $(@D)
	$(COMPILE_BPF) -c $< -o $@

.PHONY: all xdpsock
.DELETE_ON_ERROR:
