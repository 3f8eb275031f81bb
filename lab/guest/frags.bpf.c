// SPDX-License-Identifier: GPL-2.0
/* XDP programs for multi-buffer packets, unlike those of xdp-bench, and one without frags */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* From eth4 to eth1 */
SEC("xdp.frags")
int to_eth1(struct xdp_md *ctx)
{
	return bpf_redirect(ctx->ingress_ifindex - 3, 0);
}

/* From eth4 to eth0, of a buffer of 3072 bytes and the next one 2800 bytes */
SEC("xdp.frags")
int to_eth0(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, 2000) ||
	    bpf_xdp_adjust_tail(ctx, 2800 - bpf_xdp_get_buff_len(ctx)))
		return XDP_ABORTED;
	return bpf_redirect(ctx->ingress_ifindex - 4, 0);
}

/* Into the third buffer of 1472 bytes */
SEC("xdp.frags")
int mark(struct xdp_md *ctx)
{
	bpf_xdp_store_bytes(ctx, 4000, "MARK", 4);
	return XDP_DROP;
}

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} socket SEC(".maps");

SEC("xdp.frags")
int to_socket(struct xdp_md *ctx)
{
	return bpf_redirect_map(&socket, 0, XDP_DROP);
}

SEC("xdp.frags")
int back(struct xdp_md *ctx)
{
	return XDP_TX;
}

SEC("xdp.frags")
int drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

SEC("xdp.frags")
int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("xdp")
int linear(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
