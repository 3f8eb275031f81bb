// SPDX-License-Identifier: GPL-2.0
/* Regular XDP programs of the AF_XDP fast path tests */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* Of a packet of frame_build(): its number, big endian */
#define SEQ_OFFSET	44
#define METADATA	0x5c5d5e5f

extern int bpf_xsk_redirect(struct xdp_md *ctx, __u64 flags) __ksym __weak;
extern int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx,
					 __u64 *timestamp) __ksym __weak;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 4);
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

SEC("xdp.frags")
int xsk_drop_sg(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	return XDP_DROP;
}

SEC("xdp.frags")
int xsk_pass_sg(struct xdp_md *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	return XDP_PASS;
}

/* Each action for a quarter of the packets */
SEC("xdp")
int xsk_sort(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;

	if (data + SEQ_OFFSET + 4 > (unsigned char *)(long)ctx->data_end)
		return XDP_ABORTED;
	switch (data[SEQ_OFFSET + 3] % 4) {
	case 0:
		return XDP_DROP;
	case 1:
		return XDP_TX;
	case 2:
		return bpf_redirect_map(&sockets, ctx->rx_queue_index,
					XDP_ABORTED);
	}
	return XDP_PASS;
}

/* As libxdp's program: the stack receives what has no socket */
SEC("xdp")
int xsk_map_or_pass(struct xdp_md *ctx)
{
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

/* To be loaded for one device */
SEC("?xdp")
int xsk_metadata(struct xdp_md *ctx)
{
	__u64 timestamp;
	__u32 *meta;

	bpf_xdp_metadata_rx_timestamp(ctx, &timestamp);
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		return XDP_ABORTED;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return XDP_ABORTED;
	*meta = METADATA;
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
