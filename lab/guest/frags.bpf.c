// SPDX-License-Identifier: GPL-2.0
/* XDP programs for multi-buffer packets, which those of xdp-bench do not support */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* From eth4 to eth1 */
SEC("xdp.frags")
int to_eth1(struct xdp_md *ctx)
{
	return bpf_redirect(ctx->ingress_ifindex - 3, 0);
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

char _license[] SEC("license") = "GPL";
