// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the need_wakeup flag of Tx rings */
#include <net/xsk_tx_wakeup.h>

#include "xsk_kunit.h"

#define SIZE	8	/* entries of the Tx ring */

struct xsk_tx_wakeup_param {
	const char *name;
	unsigned long state;	/* of the NAPI */
	bool completion_ring;
	u32 ll_usec;
};

/* Polls that are not interrupt-driven, or sockets that may not check the flag */
static const struct xsk_tx_wakeup_param xsk_tx_wakeup_params[] = {
	{ "busy poll", NAPIF_STATE_IN_BUSY_POLL },
	{ "prefer busy poll", NAPIF_STATE_PREFER_BUSY_POLL },
	{ "netpoll", NAPIF_STATE_NPSVC },
	{ "a busy polling socket", .ll_usec = 1 },
	{ "a completion ring", .completion_ring = true },
};

KUNIT_ARRAY_PARAM_DESC(xsk_tx_wakeup, xsk_tx_wakeup_params, name);

/* As after bind() and a first poll that found nothing */
static struct xsk_kunit_queue *xsk_tx_wakeup_queue(struct kunit *test)
{
	struct xsk_kunit_queue *queue = xsk_kunit_queue(test, 1, SIZE);

	queue->tx[0].ring->flags = XDP_RING_NEED_WAKEUP;
	queue->pool.inorder = &queue->order;
	queue->pool.uses_need_wakeup = true;
	queue->pool.tx_need_wakeup = true;
	return queue;
}

static bool xsk_tx_wakeup_needed(const struct xsk_kunit_queue *queue)
{
	return queue->tx[0].ring->flags & XDP_RING_NEED_WAKEUP;
}

/* Cleared while the queue is polled; it is polled until the ring is empty */
static void xsk_tx_wakeup_polled(struct kunit *test)
{
	struct xsk_kunit_queue *queue = xsk_tx_wakeup_queue(test);

	xsk_tx_wakeup_begin(&queue->pool, &queue->napi);
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_needed(queue));
	queue->tx[0].ring->producer = 3;
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_end(&queue->pool));

	xsk_tx_wakeup_begin(&queue->pool, &queue->napi);
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_needed(queue));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_end(&queue->pool));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_needed(queue));
}

static void xsk_tx_wakeup_set(struct xsk_kunit_queue *queue,
			      const struct xsk_tx_wakeup_param *param)
{
	queue->napi.state = param->state;
	queue->pool.inorder = param->completion_ring ? NULL : &queue->order;
#ifdef CONFIG_NET_RX_BUSY_POLL
	queue->xs[0].sk.sk_ll_usec = param->ll_usec;
#endif
}

/* Always set */
static void xsk_tx_wakeup_not_polled(struct kunit *test)
{
	struct xsk_kunit_queue *queue = xsk_tx_wakeup_queue(test);

	xsk_tx_wakeup_set(queue, test->param_value);
	xsk_tx_wakeup_begin(&queue->pool, &queue->napi);
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_needed(queue));
	queue->tx[0].ring->producer = 3;
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_end(&queue->pool));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_needed(queue));
}

/* A change during a poll takes effect in the next one: no packet is left */
static void xsk_tx_wakeup_changed(struct kunit *test)
{
	const struct xsk_tx_wakeup_param *param = test->param_value;
	struct xsk_kunit_queue *queue = xsk_tx_wakeup_queue(test);

	if (param->completion_ring)
		kunit_skip(test, "the completion mode never changes");
	xsk_tx_wakeup_begin(&queue->pool, &queue->napi);
	xsk_tx_wakeup_set(queue, param);
	queue->tx[0].ring->producer = 3;
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_end(&queue->pool));

	xsk_tx_wakeup_begin(&queue->pool, &queue->napi);
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_needed(queue));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_end(&queue->pool));
}

static struct kunit_case xsk_tx_wakeup_cases[] = {
	KUNIT_CASE(xsk_tx_wakeup_polled),
	KUNIT_CASE_PARAM(xsk_tx_wakeup_not_polled, xsk_tx_wakeup_gen_params),
	KUNIT_CASE_PARAM(xsk_tx_wakeup_changed, xsk_tx_wakeup_gen_params),
	{}
};

static struct kunit_suite xsk_tx_wakeup_suite = {
	.name = "xsk_tx_wakeup",
	.test_cases = xsk_tx_wakeup_cases,
};

kunit_test_suite(xsk_tx_wakeup_suite);
