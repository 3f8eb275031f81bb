# SPDX-License-Identifier: GPL-2.0
# Builds the plugin, the BPF programs and the xdpsock of the benchmark. In the lab:
#   make -f /src/bench/bench.mk O=/out/bench

O ?= /out/bench
SRC := $(dir $(lastword $(MAKEFILE_LIST)))

all: $(O)/count.so $(O)/control.bpf.o $(O)/pace
	$(MAKE) -C $(SRC).. -f samples/bpf/xdpsock.mk O=$(O)/user

$(O)/count.so: $(SRC)count.c $(SRC)qemu_plugin.h
	$(CC) -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -o $@ $<

$(O)/pace: $(SRC)guest/pace.c
	$(CC) -O2 -Wall -Wextra -Werror -o $@ $<

$(O)/control.bpf.o: $(SRC)control.bpf.c
	clang -O2 -g -Wall -Werror -target bpf -I/usr/include/$(shell $(CC) -print-multiarch) -c $< -o $@

.PHONY: all
.DELETE_ON_ERROR:
