// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the transmission of contiguous descriptors */
#include <net/xsk_tx_span.h>

#include "xsk_kunit.h"

#define CHUNK	2048
#define PAGES	4
#define COUNT	11	/* no multiple of the batch of the loop */
#define ENTRIES	16	/* of a Tx ring and of a device ring */

struct xsk_tx_span_written {
	dma_addr_t dma;
	u32 len;
	bool eop;
	u32 packet_len;
};

struct xsk_tx_span_fixture {
	struct xsk_buff_pool pool;
	struct xdp_sock xs;
	dma_addr_t dma_offsets[PAGES];
	struct xdp_desc desc[COUNT];
	u64 done[COUNT];
	struct xsk_tx_span_written written[1 + COUNT];
	struct xsk_tx_span span;
	struct xsk_tx_dev_ring ring;
};

struct xsk_tx_span_param {
	const char *name;
	struct xdp_desc desc;
	bool valid;
};

static const struct xsk_tx_span_param xsk_tx_span_params[] = {
	{ "a byte", { 0, 1, 0 }, true },
	{ "a chunk", { CHUNK, CHUNK, 0 }, true },
	{ "the end of a chunk", { CHUNK + 2000, 48, 0 }, true },
	{ "the last byte", { PAGES * PAGE_SIZE - 1, 1, 0 }, true },
	{ "empty", { 0, 0, 0 }, false },
	{ "empty, at the end of a chunk", { CHUNK - 1, 0, 0 }, false },
	{ "a byte more than a chunk", { CHUNK, CHUNK + 1, 0 }, false },
	{ "across chunks", { CHUNK + 2000, 49, 0 }, false },
	{ "the maximum length", { 64, U32_MAX, 0 }, false },
	{ "behind the umem", { PAGES * PAGE_SIZE, 1, 0 }, false },
	{ "the maximum address", { U64_MAX, 1, 0 }, false },
	{ "an option", { 0, 64, XDP_PKT_CONTD }, false },
	{ "all options", { 0, 64, U32_MAX }, false },
	{ "only options", { 0, 0, XDP_TX_METADATA }, false },
};

KUNIT_ARRAY_PARAM_DESC(xsk_tx_span, xsk_tx_span_params, name);

static void xsk_tx_span_record(void *desc, size_t index, dma_addr_t dma,
			       u32 len, bool eop)
{
	struct xsk_tx_span_written *written = desc;

	written[index] = (struct xsk_tx_span_written){ dma, len, eop, 0 };
}

static void xsk_tx_span_record_packet(void *desc, size_t index, u32 bytes)
{
	struct xsk_tx_span_written *written = desc;

	written[index].packet_len = bytes;
}

/* Total length of the packet whose first descriptor is @desc; 0 if it is its
 * only one
 */
static u32 xsk_tx_span_packet_len(const struct xdp_desc *desc)
{
	u32 len = desc->len;

	if (!desc->options)
		return 0;
	while (desc->options)
		len += (++desc)->len;
	return len;
}

/* DMA pages are in reverse order, the device ring begins at descriptor 1 */
static struct xsk_tx_span_fixture *xsk_tx_span_make(struct kunit *test)
{
	struct xsk_tx_span_fixture *f;
	u32 i;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);

	for (i = 0; i < PAGES; i++)
		f->dma_offsets[i] = (PAGES - i) * PAGE_SIZE - i * PAGE_SIZE;
	for (i = 0; i < COUNT; i++)
		f->desc[i] = (struct xdp_desc){ i * 100 % CHUNK, 60 + i, 0 };
	f->pool.dma_offsets = f->dma_offsets;
	f->pool.addrs_cnt = PAGES * PAGE_SIZE;
	f->pool.chunk_mask = ~(u64)(CHUNK - 1);
	f->xs.pool = &f->pool;
	f->span.xs = &f->xs;
	f->span.desc = f->desc;
	f->span.done = f->done;
	f->span.count = COUNT;
	f->ring.desc = f->written;
	f->ring.next = 1;
	return f;
}

static u32 xsk_tx_span_run(struct xsk_tx_span_fixture *f)
{
	return xsk_tx_span_write(&f->span, &f->ring, xsk_tx_span_record);
}

/* The first @count descriptors were written, and their addresses recorded */
static void xsk_tx_span_expect(struct kunit *test,
			       const struct xsk_tx_span_fixture *f, u32 count)
{
	u32 i, bytes = 0;
	u64 addr;

	for (i = 0; i < COUNT; i++) {
		if (i >= count) {
			KUNIT_EXPECT_EQ(test, f->written[1 + i].len, 0);
			KUNIT_EXPECT_EQ(test, f->done[i], 0);
			continue;
		}
		addr = f->desc[i].addr;
		KUNIT_EXPECT_EQ(test, f->written[1 + i].dma,
				(PAGES - addr / PAGE_SIZE) * PAGE_SIZE +
				addr % PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, f->written[1 + i].len,
				f->desc[i].len);
		if (f->span.done)
			KUNIT_EXPECT_EQ(test, f->done[i], addr);
		bytes += f->desc[i].len;
	}
	KUNIT_EXPECT_EQ(test, f->ring.bytes, bytes);
}

/* A descriptor that is invalid or has options ends the span, at any position */
static void xsk_tx_span_stops(struct kunit *test)
{
	const struct xsk_tx_span_param *param = test->param_value;
	struct xsk_tx_span_fixture *f;
	u32 index, count;

	for (index = 0; index < COUNT; index++) {
		f = xsk_tx_span_make(test);
		f->desc[index] = param->desc;
		count = param->valid ? COUNT : index;
		KUNIT_EXPECT_EQ(test, xsk_tx_span_run(f), count);
		xsk_tx_span_expect(test, f, count);
	}
}

/* A single descriptor is checked in the same way */
static void xsk_tx_span_single(struct kunit *test)
{
	const struct xsk_tx_span_param *param = test->param_value;
	struct xsk_tx_span_fixture *f = xsk_tx_span_make(test);

	f->desc[0] = param->desc;
	f->span.count = 1;
	KUNIT_EXPECT_EQ(test, param->valid,
			xsk_tx_span_write_single(&f->span, &f->ring,
						 xsk_tx_span_record));
	xsk_tx_span_expect(test, f, param->valid);
}

/* Addresses are recorded only if there is an array for them */
static void xsk_tx_span_not_recorded(struct kunit *test)
{
	struct xsk_tx_span_fixture *f;
	u32 count;

	for (count = 0; count <= COUNT; count++) {
		f = xsk_tx_span_make(test);
		f->span.done = NULL;
		f->span.count = count;
		KUNIT_EXPECT_EQ(test, xsk_tx_span_run(f), count);
		xsk_tx_span_expect(test, f, count);
		KUNIT_EXPECT_NULL(test, memchr_inv(f->done, 0,
						   sizeof(f->done)));
	}

	f = xsk_tx_span_make(test);
	f->span.done = NULL;
	f->span.count = 1;
	KUNIT_EXPECT_EQ(test, 1,
			xsk_tx_span_write_single(&f->span, &f->ring,
						 xsk_tx_span_record));
	KUNIT_EXPECT_EQ(test, f->done[0], 0);
}

/* Packets of @segs descriptors, of which @invalid is not valid. All packets
 * before it are written that are whole within the span.
 */
static void xsk_tx_span_expect_packets(struct kunit *test,
				       struct net_device *netdev, u32 segs,
				       u32 invalid)
{
	struct xsk_tx_span_fixture *f = xsk_tx_span_make(test);
	u32 i, sent, bytes = 0;

	for (i = 0; i < COUNT; i++)
		f->desc[i].options = (i + 1) % segs ? XDP_PKT_CONTD : 0;
	if (invalid < COUNT)
		f->desc[invalid].options |= XDP_TX_METADATA;
	f->pool.netdev = netdev;
	f->xs.sg = true;
	sent = segs > netdev->xdp_zc_max_segs ? 0 :
						rounddown(invalid, segs);
	KUNIT_EXPECT_EQ(test, sent,
			xsk_tx_span_write_packets(&f->span, &f->ring,
						  xsk_tx_span_record,
						  xsk_tx_span_record_packet));
	for (i = 0; i < sent; i++) {
		KUNIT_EXPECT_EQ(test, f->written[1 + i].len, f->desc[i].len);
		KUNIT_EXPECT_EQ(test, f->written[1 + i].eop,
				!f->desc[i].options);
		KUNIT_EXPECT_EQ(test, f->written[1 + i].packet_len,
				i % segs ? 0 :
				xsk_tx_span_packet_len(&f->desc[i]));
		KUNIT_EXPECT_EQ(test, f->done[i], f->desc[i].addr);
		bytes += f->desc[i].len;
	}
	KUNIT_EXPECT_EQ(test, f->ring.bytes, bytes);
}

static void xsk_tx_span_packets(struct kunit *test)
{
	struct net_device *netdev;
	u32 segs, invalid;

	netdev = kunit_kzalloc(test, sizeof(*netdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, netdev);
	netdev->xdp_zc_max_segs = 5;
	for (segs = 1; segs <= 7; segs++)
		for (invalid = 0; invalid <= COUNT; invalid++)
			xsk_tx_span_expect_packets(test, netdev, segs, invalid);
}

/* The largest MTU of the device limits the length of a packet */
static void xsk_tx_span_long_packet(struct kunit *test)
{
	struct xsk_tx_span_fixture *f = xsk_tx_span_make(test);
	struct net_device *netdev;
	u32 expected;

	netdev = kunit_kzalloc(test, sizeof(*netdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, netdev);
	f->desc[0] = (struct xdp_desc){ 0, 1000, XDP_PKT_CONTD };
	f->desc[1] = (struct xdp_desc){ 0, 1000, 0 };
	f->span.count = 2;
	f->pool.netdev = netdev;
	f->xs.sg = true;
	netdev->xdp_zc_max_segs = 5;
	netdev->max_mtu = 2000 - ETH_HLEN - 2 * VLAN_HLEN;
	for (expected = 2; netdev->max_mtu > 1970; expected = 0) {
		KUNIT_EXPECT_EQ(test, expected,
				xsk_tx_span_write_any(&f->span, &f->ring,
						      xsk_tx_span_record));
		netdev->max_mtu--;
	}
}

/* A packet of an unaligned chunk is on pages that are contiguous: here the first
 * two, and the last two
 */
static void xsk_tx_span_unaligned(struct kunit *test)
{
	const dma_addr_t offsets[PAGES] = { 0x10000, 0x10000, 0x90000, 0x90000 };
	struct xsk_tx_span_fixture *f = xsk_tx_span_make(test);
	struct xdp_desc desc = {};
	struct net_device *netdev;
	u64 addr, offset = 1000;
	u32 len;
	bool valid;

	netdev = kunit_kzalloc(test, sizeof(*netdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, netdev);
	f->pool.netdev = netdev;
	memcpy(f->dma_offsets, offsets, sizeof(offsets));
	f->pool.unaligned = true;
	f->pool.chunk_size = CHUNK;
	f->span.count = 1;
	for (addr = 0; addr <= (PAGES + 1) * PAGE_SIZE; addr += 100) {
		for (len = 0; len <= CHUNK + 8; len += 8) {
			desc.addr = addr < offset ? addr :
				    (addr - offset) |
				    offset << XSK_UNALIGNED_BUF_OFFSET_SHIFT;
			desc.len = len;
			f->desc[0] = desc;
			valid = xp_unaligned_validate_desc(&f->pool, &desc, 0);
			KUNIT_EXPECT_EQ(test, valid,
					xsk_tx_span_write_any(&f->span, &f->ring,
							      xsk_tx_span_record));
			if (!valid)
				continue;
			KUNIT_EXPECT_EQ(test, f->written[1].dma,
					addr + offsets[addr / PAGE_SIZE]);
			KUNIT_EXPECT_EQ(test, f->done[0], desc.addr);
		}
	}
}

/* A queue with a socket that has written @count descriptors to its Tx ring */
static struct xsk_kunit_queue *xsk_tx_span_queue(struct kunit *test, u32 count)
{
	struct xsk_kunit_queue *queue = xsk_kunit_queue(test, 1, ENTRIES);

	xsk_kunit_ring(test, &queue->cq, ENTRIES);
	queue->tx[0].ring->producer = count;
	queue->pool.cq = &queue->cq;
	return queue;
}

static u32 xsk_tx_span_take_all(const struct xsk_tx_span *span,
				struct xsk_tx_dev_ring *ring)
{
	return span->count;
}

/* An empty Tx ring is counted once if the device ring has free descriptors,
 * wherever that ring ends, as by a driver that peeks single descriptors
 */
static void xsk_tx_span_counts_empty(struct kunit *test)
{
	struct xsk_kunit_queue *queue;
	struct xsk_tx_dev_ring ring;
	u32 count, next, empty;

	for (count = 0; count < ENTRIES; count++) {
		for (next = 0; next < ENTRIES; next++) {
			queue = xsk_tx_span_queue(test, count);
			if (dma_dev_need_sync(&queue->dev))
				kunit_skip(test, "DMA needs syncs");
			ring = (struct xsk_tx_dev_ring){
				.count = ENTRIES, .next = next, .room = ENTRIES / 2,
			};
			rcu_read_lock();
			xsk_tx_spans(&queue->pool, &ring, xsk_tx_span_take_all,
				     xsk_tx_span_take_all, true);
			rcu_read_unlock();
			empty = count < ENTRIES / 2;
			KUNIT_EXPECT_EQ(test, queue->tx[0].queue_empty_descs,
					empty);
			KUNIT_EXPECT_EQ(test, ring.room,
					ENTRIES / 2 - min(count, ENTRIES / 2));
		}
	}
}

static struct kunit_case xsk_tx_span_cases[] = {
	KUNIT_CASE_PARAM(xsk_tx_span_stops, xsk_tx_span_gen_params),
	KUNIT_CASE_PARAM(xsk_tx_span_single, xsk_tx_span_gen_params),
	KUNIT_CASE(xsk_tx_span_not_recorded),
	KUNIT_CASE(xsk_tx_span_packets),
	KUNIT_CASE(xsk_tx_span_long_packet),
	KUNIT_CASE(xsk_tx_span_unaligned),
	KUNIT_CASE(xsk_tx_span_counts_empty),
	{}
};

static struct kunit_suite xsk_tx_span_suite = {
	.name = "xsk_tx_span",
	.test_cases = xsk_tx_span_cases,
};

kunit_test_suite(xsk_tx_span_suite);
