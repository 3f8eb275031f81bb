// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the index logic of XDP_TX_INORDER */
#include <linux/bitmap.h>
#include <linux/vmalloc.h>
#include <net/xsk_tx_wakeup.h>

#include "../xsk_recycle.h"
#include "xsk_kunit.h"

/* A queue with nothing in flight, with the index of the parameter */
static struct xsk_inorder_pool *xsk_inorder_queue(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct xsk_inorder_pool *order;

	order = kunit_kzalloc(test, sizeof(*order), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, order);
	order->head = *start;
	order->tail = *start;
	return order;
}

/* The next run has @entries entries of socket @id; @left descriptors remain */
static void xsk_inorder_expect(struct kunit *test,
			       struct xsk_inorder_pool *order, u32 *descs,
			       u32 id, u32 entries, u32 left)
{
	u32 of = 0;

	KUNIT_EXPECT_EQ(test, xsk_inorder_next(order, descs, &of), entries);
	if (entries)
		KUNIT_EXPECT_EQ(test, of, id);
	KUNIT_EXPECT_EQ(test, *descs, left);
}

/* All packets of one socket without invalid descriptors are one run */
static void xsk_inorder_one_socket(struct kunit *test)
{
	struct xsk_inorder_pool *order = xsk_inorder_queue(test);
	u32 descs, i;

	for (i = 0; i < 1000; i++)
		KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 7, 3, 3), 0);
	KUNIT_EXPECT_EQ(test, order->tail - order->head, 1);

	descs = 1000;
	xsk_inorder_expect(test, order, &descs, 7, 1000, 0);
	xsk_inorder_expect(test, order, &descs, 7, 0, 0);
	descs = 2000;
	xsk_inorder_expect(test, order, &descs, 7, 2000, 0);
	KUNIT_EXPECT_EQ(test, order->tail, order->head);

	/* Completions of packets that the driver never got are ignored */
	descs = 4;
	xsk_inorder_expect(test, order, &descs, 7, 0, 4);
}

/* Entries of invalid descriptors complete with the packet before them */
static void xsk_inorder_invalid(struct kunit *test)
{
	struct xsk_inorder_pool *order = xsk_inorder_queue(test);
	u32 descs = 0;

	/* At once without a packet before them */
	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 1, 0, 9), 9);
	KUNIT_EXPECT_EQ(test, order->tail, order->head);

	/* 2 frames, 3 invalid, 1 invalid, 1 frame, 1 invalid */
	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 1, 2, 5), 0);
	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 1, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 1, 1, 2), 0);
	xsk_inorder_expect(test, order, &descs, 1, 0, 0);
	descs = 1;
	xsk_inorder_expect(test, order, &descs, 1, 1, 0);
	xsk_inorder_expect(test, order, &descs, 1, 0, 0);
	descs = 1;
	xsk_inorder_expect(test, order, &descs, 1, 5, 0);
	xsk_inorder_expect(test, order, &descs, 1, 0, 0);
	descs = 1;
	xsk_inorder_expect(test, order, &descs, 1, 2, 0);
	KUNIT_EXPECT_EQ(test, order->tail, order->head);
}

/* Sockets complete in order, also one with invalid descriptors only */
static void xsk_inorder_several_sockets(struct kunit *test)
{
	struct xsk_inorder_pool *order = xsk_inorder_queue(test);
	u32 descs = 6;

	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 1, 2, 2), 0);
	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 2, 0, 4), 0);
	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 3, 3, 4), 0);
	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, 1, 5, 5), 0);

	xsk_inorder_expect(test, order, &descs, 1, 2, 4);
	xsk_inorder_expect(test, order, &descs, 2, 4, 4);
	xsk_inorder_expect(test, order, &descs, 3, 4, 1);
	xsk_inorder_expect(test, order, &descs, 1, 1, 0);
	xsk_inorder_expect(test, order, &descs, 1, 0, 0);
	descs = 4;
	xsk_inorder_expect(test, order, &descs, 1, 4, 0);
}

/* All runs in use; a completed run is free again */
static void xsk_inorder_all_runs(struct kunit *test)
{
	struct xsk_inorder_pool *order = xsk_inorder_queue(test);
	u32 descs, i;

	for (i = 0; i < XSK_INORDER_RUNS; i++) {
		KUNIT_EXPECT_FALSE(test, xsk_inorder_full(order));
		KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, i, 1, 1), 0);
	}
	KUNIT_EXPECT_TRUE(test, xsk_inorder_full(order));

	descs = 1;
	xsk_inorder_expect(test, order, &descs, 0, 1, 0);
	KUNIT_EXPECT_FALSE(test, xsk_inorder_full(order));
	KUNIT_EXPECT_EQ(test, xsk_inorder_add(order, i, 2, 2), 0);
	KUNIT_EXPECT_TRUE(test, xsk_inorder_full(order));

	descs = XSK_INORDER_RUNS;
	for (i = 1; i < XSK_INORDER_RUNS; i++)
		xsk_inorder_expect(test, order, &descs, i, 1,
				   XSK_INORDER_RUNS - i);
	xsk_inorder_expect(test, order, &descs, i, 1, 0);
	descs = 1;
	xsk_inorder_expect(test, order, &descs, i, 1, 0);
}

struct xsk_inorder_limit_case {
	const char *desc;
	u32 taken;	/* these three relative to the first incomplete entry */
	u32 produced;
	u32 limit;
};

#define SIZE	8

static const struct xsk_inorder_limit_case xsk_inorder_limit_cases[] = {
	{ "empty", 0, 0, 0 },
	{ "all taken", 3, 3, 3 },
	{ "some to take", 3, 5, 5 },
	{ "full", 0, SIZE, SIZE },
	{ "full and all taken", SIZE, SIZE, SIZE },
	{ "one more than the ring size", 3, SIZE + 1, 3 },
	{ "a ring size too far", 3, 5 + SIZE, 3 },
	{ "half of the number space ahead", 3, 1U << 31, 3 },
	{ "before the taken entries", 3, 2, 3 },
	{ "before the taken entries, nothing in flight", 0, -1, 0 },
	{ "before the entries in flight", 3, -1, 3 },
	{ "a ring size before", 3, 3 - SIZE, 3 },
};

KUNIT_ARRAY_PARAM_DESC(xsk_inorder_limit, xsk_inorder_limit_cases, desc);

static void xsk_inorder_limits(struct kunit *test)
{
	const struct xsk_inorder_limit_case *c = test->param_value;
	u32 done, i;

	for (i = 0; i < 3 * SIZE; i++) {
		done = i - SIZE;
		KUNIT_EXPECT_EQ(test,
				xsk_inorder_limit(done, done + c->taken,
						  done + c->produced, SIZE),
				done + c->limit);
	}
}

/* Entries finish in any order and complete in order, several times around */
static void xsk_inorder_any_order(struct kunit *test)
{
	static const u32 order[SIZE] = { 3, 0, 2, 1, 7, 6, 4, 5 };
	static const u32 prefix[SIZE] = { 0, 1, 1, 4, 4, 4, 5, 8 };
	DECLARE_BITMAP(finished, SIZE) = {};
	u32 base = *(const u32 *)test->param_value;
	u32 done = base, round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < SIZE; i++) {
			__set_bit((base + order[i]) & (SIZE - 1), finished);
			done = xsk_inorder_prefix(finished, SIZE - 1, done);
			KUNIT_EXPECT_EQ(test, done, base + prefix[i]);
		}
		KUNIT_EXPECT_TRUE(test, bitmap_empty(finished, SIZE));
		base += SIZE;
	}

	/* The loop ends on a whole ring, too */
	bitmap_fill(finished, SIZE);
	done = xsk_inorder_prefix(finished, SIZE - 1, done);
	KUNIT_EXPECT_EQ(test, done, base + SIZE);
}

/* Prefixes that begin and end anywhere in a word */
static void xsk_inorder_long_prefix(struct kunit *test)
{
	enum { LONG_SIZE = 4 * BITS_PER_LONG };
	DECLARE_BITMAP(finished, LONG_SIZE) = {};
	u32 base = *(const u32 *)test->param_value;
	u32 done, start, len, i;

	for (start = 0; start < LONG_SIZE; start += 31) {
		for (len = 0; len <= LONG_SIZE; len++) {
			for (i = 0; i < len; i++)
				__set_bit((base + start + i) & (LONG_SIZE - 1),
					  finished);
			done = xsk_inorder_prefix(finished, LONG_SIZE - 1,
						  base + start);
			KUNIT_EXPECT_EQ(test, done, base + start + len);
			KUNIT_EXPECT_TRUE(test, bitmap_empty(finished,
							     LONG_SIZE));
		}
	}
}

/* The ids of more than 2^31 sockets do not overlap the flag beside them */
static void xsk_inorder_ids(struct kunit *test)
{
	struct xsk_inorder_pool *order;
	u32 id, i;

	order = kunit_kzalloc(test, sizeof(*order), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, order);

	order->last_id = XSK_INORDER_RECORDED - 3;
	for (i = 0; i < 5; i++) {
		id = xsk_inorder_new_id(order);
		KUNIT_EXPECT_EQ(test, id & XSK_INORDER_RECORDED, 0);
	}
	KUNIT_EXPECT_EQ(test, id, 2);
}

/* The record of a packet has 24 bits for its entry */
static void xsk_inorder_longest_ring(struct kunit *test)
{
	struct xsk_buff_pool *pool;
	unsigned long finished = 0;
	struct xsk_queue tx = {};
	struct xdp_sock *xs;

	pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool);
	xs = kunit_kzalloc(test, sizeof(*xs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, xs);
	xs->inorder.requested = 1;
	xs->tx = &tx;

	tx.nentries = 1U << 24;
	KUNIT_EXPECT_EQ(test, xsk_inorder_check(pool, xs), -ENOMEM);
	/* xsk_inorder_prepare() allocates it; its contents do not matter */
	xs->inorder.finished = &finished;
	KUNIT_EXPECT_EQ(test, xsk_inorder_check(pool, xs), 0);
	tx.nentries = 1U << 25;
	KUNIT_EXPECT_EQ(test, xsk_inorder_check(pool, xs), -ENOMEM);
}

/* The last skb of a closed socket may be freed with a lock held */
static void xsk_inorder_freed_in_atomic_context(struct kunit *test)
{
	struct xdp_sock *xs;
	unsigned long flags;

	xs = kunit_kzalloc(test, sizeof(*xs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, xs);
	xs->tx = kzalloc(sizeof(*xs->tx), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, xs->tx);
	xs->tx->ring = vmalloc(PAGE_SIZE);
	xs->inorder.requested = 1;
	xs->inorder.finished = bitmap_zalloc(SIZE, GFP_KERNEL);

	local_irq_save(flags);
	xsk_inorder_destroy(xs);
	local_irq_restore(flags);
}

/* An in-order queue whose Tx rings are full of invalid descriptors */
static struct xsk_kunit_queue *xsk_inorder_hostile(struct kunit *test,
						   u32 socks,
						   struct xdp_desc *desc)
{
	const u32 entries = 256;
	struct xsk_kunit_queue *queue;
	u32 i;

	queue = xsk_kunit_queue(test, socks, entries);
	queue->pool.inorder = &queue->order;
	queue->pool.tx_descs = desc;
	queue->pool.tx_descs_nentries = 1;
	for (i = 0; i < socks; i++)
		queue->tx[i].ring->producer = entries;
	return queue;
}

/* A poll skips a bounded number of invalid descriptors; another poll follows */
static void xsk_inorder_bounded_skip(struct kunit *test)
{
	struct xsk_kunit_queue *queue;
	struct xdp_desc batch, desc;

	queue = xsk_inorder_hostile(test, 1, &batch);
	KUNIT_EXPECT_FALSE(test, xsk_inorder_peek_desc(&queue->pool, &desc));
	KUNIT_EXPECT_EQ(test, queue->tx[0].ring->consumer, 64);
	KUNIT_EXPECT_EQ(test, xsk_drops_tx_invalid(&queue->xs[0]), 64);
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_arm(&queue->pool));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_arm(&queue->pool));

	KUNIT_EXPECT_EQ(test, xsk_inorder_peek_batch(&queue->pool, 1), 0);
	KUNIT_EXPECT_EQ(test, queue->tx[0].ring->consumer, 128);
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_arm(&queue->pool));

	queue = xsk_inorder_hostile(test, 2, &batch);
	KUNIT_EXPECT_FALSE(test, xsk_inorder_peek_desc(&queue->pool, &desc));
	KUNIT_EXPECT_EQ(test, queue->tx[0].ring->consumer, 1);
	KUNIT_EXPECT_EQ(test, queue->tx[1].ring->consumer, 1);
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_arm(&queue->pool));
}

static struct kunit_case xsk_inorder_cases[] = {
	KUNIT_CASE_PARAM(xsk_inorder_one_socket, xsk_kunit_index_gen_params),
	KUNIT_CASE_PARAM(xsk_inorder_invalid, xsk_kunit_index_gen_params),
	KUNIT_CASE_PARAM(xsk_inorder_several_sockets,
			 xsk_kunit_index_gen_params),
	KUNIT_CASE_PARAM(xsk_inorder_all_runs, xsk_kunit_index_gen_params),
	KUNIT_CASE_PARAM(xsk_inorder_limits, xsk_inorder_limit_gen_params),
	KUNIT_CASE_PARAM(xsk_inorder_any_order, xsk_kunit_index_gen_params),
	KUNIT_CASE_PARAM(xsk_inorder_long_prefix,
			 xsk_kunit_index_gen_params),
	KUNIT_CASE(xsk_inorder_ids),
	KUNIT_CASE(xsk_inorder_longest_ring),
	KUNIT_CASE(xsk_inorder_freed_in_atomic_context),
	KUNIT_CASE(xsk_inorder_bounded_skip),
	{}
};

static struct kunit_suite xsk_inorder_suite = {
	.name = "xsk_inorder",
	.test_cases = xsk_inorder_cases,
};

kunit_test_suite(xsk_inorder_suite);
