// SPDX-License-Identifier: GPL-2.0
/* The controls: programs that no feature of this patchset may make dearer */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

struct macs {
	__u8 to[6];
	__u8 from[6];
};

SEC("xdp_drop")
int control_drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

SEC("xdp_tx")
int control_tx(struct xdp_md *ctx)
{
	struct macs *macs = (void *)(long)ctx->data;
	struct macs swapped;

	if ((void *)(macs + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	__builtin_memcpy(swapped.to, macs->from, sizeof(swapped.to));
	__builtin_memcpy(swapped.from, macs->to, sizeof(swapped.from));
	*macs = swapped;
	return XDP_TX;
}

char control_license[] SEC("license") = "GPL";
