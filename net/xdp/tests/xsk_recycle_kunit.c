// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of XDP_RECYCLE: the index logic and the checks of a pairing */
#include <linux/netdevice.h>

#include "../xsk_recycle.h"
#include "xsk_kunit.h"

#define SIZE	8	/* entries of the Tx ring */

static void xsk_recycle_ask(struct xsk_recycle *recycle, bool on, u32 entry)
{
	recycle->request++;
	recycle->request_on = on;
	recycle->request_entry = entry;
}

/* Without a request, all descriptors can be taken, and nothing changes */
static void xsk_recycle_no_request(struct kunit *test)
{
	u32 start = *(const u32 *)test->param_value;
	struct xsk_recycle recycle = { .request = start, .applied = start };

	KUNIT_EXPECT_EQ(test, xsk_recycle_switch(&recycle, start, SIZE, 3), 3);
	KUNIT_EXPECT_FALSE(test, recycle.on);
	recycle.on = true;
	KUNIT_EXPECT_EQ(test, xsk_recycle_switch(&recycle, 0, SIZE, 64), 64);
	KUNIT_EXPECT_TRUE(test, recycle.on);
	KUNIT_EXPECT_EQ(test, recycle.applied, start);
}

/* The request takes effect at its entry */
static void xsk_recycle_switches(struct kunit *test)
{
	u32 start = *(const u32 *)test->param_value;
	struct xsk_recycle recycle = { .request = start, .applied = start };
	u32 left;

	for (left = SIZE; left; left--) {
		xsk_recycle_ask(&recycle, true, start + left);
		KUNIT_EXPECT_EQ(test, xsk_recycle_switch(&recycle, start, SIZE,
							 64), left);
		KUNIT_EXPECT_EQ(test, xsk_recycle_switch(&recycle, start, SIZE,
							 2), min(left, 2));
		KUNIT_EXPECT_FALSE(test, recycle.on);
		KUNIT_EXPECT_NE(test, recycle.applied, recycle.request);
	}

	KUNIT_EXPECT_EQ(test, xsk_recycle_switch(&recycle, start + 1, SIZE, 64),
			64);
	KUNIT_EXPECT_TRUE(test, recycle.on);
	KUNIT_EXPECT_EQ(test, recycle.entry, start + 1);
	KUNIT_EXPECT_EQ(test, recycle.applied, recycle.request);

	xsk_recycle_ask(&recycle, false, start + 3);
	KUNIT_EXPECT_EQ(test, xsk_recycle_switch(&recycle, start + 1, SIZE, 64),
			2);
	KUNIT_EXPECT_TRUE(test, recycle.on);
	KUNIT_EXPECT_EQ(test, xsk_recycle_switch(&recycle, start + 3, SIZE, 64),
			64);
	KUNIT_EXPECT_FALSE(test, recycle.on);
	KUNIT_EXPECT_EQ(test, recycle.entry, start + 3);
}

/* A request with an invalid entry does not block the ring */
static void xsk_recycle_invalid_entries(struct kunit *test)
{
	static const u32 wrong[] = { -1, -SIZE, SIZE + 1, 2 * SIZE, 1U << 31 };
	u32 start = *(const u32 *)test->param_value, i;
	struct xsk_recycle recycle = {};

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		xsk_recycle_ask(&recycle, !recycle.on, start + wrong[i]);
		KUNIT_EXPECT_EQ(test, xsk_recycle_switch(&recycle, start, SIZE,
							 5), 5);
		KUNIT_EXPECT_EQ(test, recycle.on, recycle.request_on);
		KUNIT_EXPECT_EQ(test, recycle.entry, start);
		KUNIT_EXPECT_EQ(test, recycle.applied, recycle.request);
	}
}

/* The backlog is limited; the others are surplus */
static void xsk_recycle_surplus(struct kunit *test)
{
	u32 start = *(const u32 *)test->param_value;
	struct xsk_recycle recycle = {
		.limit = 10,
		.published = start,
		.read = start,
	};

	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 0), 0);
	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 10), 0);
	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 11), 1);
	recycle.published += 9;
	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 1), 0);
	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 4), 3);
	/* Far above, as the completion ring was full: at most the new chunks */
	recycle.published += 100;
	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 4), 4);
	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 0), 0);
	recycle.read += 105;
	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 6), 0);
	KUNIT_EXPECT_EQ(test, xsk_recycle_excess(&recycle, 7), 1);
}

static struct net_device *xsk_recycle_make_dev(struct kunit *test)
{
	struct net_device *dev;

	dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	return dev;
}

/* Zero-copy sockets that can be paired: the first one for Tx */
static struct xsk_kunit_queue *xsk_recycle_make_pair(struct kunit *test)
{
	struct xsk_kunit_queue *pair = xsk_kunit_queue(test, 2, SIZE);
	u32 i;

	for (i = 0; i < 2; i++) {
		pair->xs[i].dev = xsk_recycle_make_dev(test);
		pair->xs[i].zc = true;
	}
	pair->xs[1].dev->xsk_recycle = true;
	return pair;
}

static void xsk_recycle_expect(struct kunit *test, int err,
			       const struct xsk_kunit_queue *pair)
{
	KUNIT_EXPECT_EQ(test, err, xsk_recycle_check_mode(&pair->xs[0],
							  &pair->xs[1], 0));
}

/* Only the driver of the Rx queue has to support recycling */
static void xsk_recycle_drivers(struct kunit *test)
{
	struct xsk_kunit_queue *pair = xsk_recycle_make_pair(test);

	xsk_recycle_expect(test, 0, pair);
	pair->xs[0].dev->xsk_recycle = true;
	pair->xs[1].dev->xsk_recycle = false;
	xsk_recycle_expect(test, -EOPNOTSUPP, pair);
}

/* Both sockets are zero-copy, with single-buffer packets */
static void xsk_recycle_modes(struct kunit *test)
{
	struct xsk_kunit_queue *pair = xsk_recycle_make_pair(test);
	bool *const modes[] = {
		&pair->xs[0].sg,
		&pair->xs[0].zc,
		&pair->xs[1].zc,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		*modes[i] = !*modes[i];
		xsk_recycle_expect(test, -EOPNOTSUPP, pair);
		*modes[i] = !*modes[i];
	}
	xsk_recycle_expect(test, 0, pair);
}

/* Unaligned chunks are recycled, but duplicates are not found */
static void xsk_recycle_unaligned(struct kunit *test)
{
	struct xsk_kunit_queue *pair = xsk_recycle_make_pair(test);

	pair->pool.unaligned = true;
	xsk_recycle_expect(test, 0, pair);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			xsk_recycle_check_mode(&pair->xs[0], &pair->xs[1],
					       XDP_RECYCLE_F_CHECK));
}

static struct kunit_case xsk_recycle_cases[] = {
	KUNIT_CASE_PARAM(xsk_recycle_no_request, xsk_kunit_index_gen_params),
	KUNIT_CASE_PARAM(xsk_recycle_switches, xsk_kunit_index_gen_params),
	KUNIT_CASE_PARAM(xsk_recycle_invalid_entries,
			 xsk_kunit_index_gen_params),
	KUNIT_CASE_PARAM(xsk_recycle_surplus, xsk_kunit_index_gen_params),
	KUNIT_CASE(xsk_recycle_drivers),
	KUNIT_CASE(xsk_recycle_modes),
	KUNIT_CASE(xsk_recycle_unaligned),
	{}
};

static struct kunit_suite xsk_recycle_suite = {
	.name = "xsk_recycle",
	.test_cases = xsk_recycle_cases,
};

kunit_test_suite(xsk_recycle_suite);
