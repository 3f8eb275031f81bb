// SPDX-License-Identifier: GPL-2.0
/* The controls: programs whose cost no feature of this patchset may raise */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

struct macs {
	__u8 to[6];
	__u8 from[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} control_ports SEC(".maps");

static bool swap_macs(struct xdp_md *ctx)
{
	struct macs *macs = (void *)(long)ctx->data;
	struct macs swapped;

	if ((void *)(macs + 1) > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(swapped.to, macs->from, sizeof(swapped.to));
	__builtin_memcpy(swapped.from, macs->to, sizeof(swapped.from));
	*macs = swapped;
	return true;
}

SEC("xdp_drop")
int control_drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

SEC("xdp_tx")
int control_tx(struct xdp_md *ctx)
{
	return swap_macs(ctx) ? XDP_TX : XDP_DROP;
}

/* To the port that it came from */
SEC("xdp_redirect")
int control_redirect(struct xdp_md *ctx)
{
	return swap_macs(ctx) ? bpf_redirect_map(&control_ports, 0, 0) : XDP_DROP;
}

/* In front of an attached socket */
SEC("xdp_pass")
int control_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char control_license[] SEC("license") = "GPL";
