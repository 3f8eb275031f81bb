// SPDX-License-Identifier: GPL-2.0
/* Regular XDP programs of the AF_XDP fast path tests */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

extern int bpf_xsk_redirect(struct xdp_md *ctx, __u64 flags) __ksym __weak;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

__u64 seen;
__u64 redirect_flags;

SEC("xdp")
int xsk_drop(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	return XDP_DROP;
}

SEC("xdp")
int xsk_pass(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	return XDP_PASS;
}

SEC("xdp")
int xsk_map(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_DROP);
}

SEC("xdp.frags")
int xsk_map_sg(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_DROP);
}

static int redirect(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	return bpf_xsk_redirect(ctx, redirect_flags);
}

SEC("?xdp")
int xsk_redirect(struct xdp_md *ctx)
{
	return redirect(ctx);
}

/*
 * Ignore a redirect to a socket of the map, then try a queue without an attached
 * socket: no target is left for XDP_REDIRECT.
 */
SEC("?xdp")
int xsk_redirect_stale(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	bpf_redirect_map(&sockets, 0, XDP_PASS);
	if (bpf_xsk_redirect(ctx, XDP_PASS) == XDP_REDIRECT)
		return XDP_ABORTED;
	return XDP_REDIRECT;
}

SEC("?xdp/cpumap")
int xsk_redirect_cpu(struct xdp_md *ctx)
{
	return redirect(ctx);
}

SEC("?xdp/devmap")
int xsk_redirect_dev(struct xdp_md *ctx)
{
	return redirect(ctx);
}

char _license[] SEC("license") = "GPL";
