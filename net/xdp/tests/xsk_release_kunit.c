// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the wait for closed sockets */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>
#include <net/xdp_sock.h>

#include "../xsk_attach.h"
#include "../xsk_release.h"

/* Longer than a test may take */
#define LONG	(600 * HZ)

/* bind() failed because closed sockets still have the device */
static void xsk_release_found(struct kunit *test, struct xsk_release *release,
			      unsigned long timeout)
{
	struct net_device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct xdp_sock *xs = kunit_kzalloc(test, sizeof(*xs), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_NOT_NULL(test, xs);
	xs->attach.reason = XDP_ATTACH_R_MODE_CONFLICT;
	xsk_release_init(release, timeout);
	rtnl_lock();
	xsk_release_check(release, xs, dev, 0, -EBUSY);
	rtnl_unlock();
}

static void xsk_release_one(void)
{
	rtnl_lock();
	xsk_release_done();
	rtnl_unlock();
}

/* Errors that no release will remove */
static void xsk_release_other_errors(struct kunit *test)
{
	struct net_device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct xdp_sock *xs = kunit_kzalloc(test, sizeof(*xs), GFP_KERNEL);
	struct xsk_release release;

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_NOT_NULL(test, xs);
	xsk_release_init(&release, LONG);
	rtnl_lock();
	/* A socket without XDP_ATTACH; one that is attached to the queue */
	xsk_release_check(&release, xs, dev, 0, -EBUSY);
	xs->attach.reason = XDP_ATTACH_R_QUEUE_BUSY;
	xsk_release_check(&release, xs, dev, 0, -EBUSY);
	/* Sockets that are open use the other mode */
	xs->attach.reason = XDP_ATTACH_R_MODE_CONFLICT;
	xsk_release_check(&release, xs, dev, 0, -EEXIST);
	rtnl_unlock();
	KUNIT_EXPECT_FALSE(test, xsk_release_wait(&release));
}

/* The release between the check and the wait is not lost */
static void xsk_release_before_wait(struct kunit *test)
{
	struct xsk_release release;

	xsk_release_found(test, &release, LONG);
	xsk_release_one();
	KUNIT_EXPECT_TRUE(test, xsk_release_wait(&release));
	/* Another check must find a reason to wait again */
	KUNIT_EXPECT_FALSE(test, xsk_release_wait(&release));
}

static void xsk_release_work(struct work_struct *work)
{
	xsk_release_one();
}

static void xsk_release_during_wait(struct kunit *test)
{
	struct xsk_release release;
	struct delayed_work work;

	xsk_release_found(test, &release, LONG);
	INIT_DELAYED_WORK_ONSTACK(&work, xsk_release_work);
	schedule_delayed_work(&work, HZ / 50);
	KUNIT_EXPECT_TRUE(test, xsk_release_wait(&release));
	flush_delayed_work(&work);
	destroy_delayed_work_on_stack(&work);
}

/* O_NONBLOCK, and the end of the time, which all waits share */
static void xsk_release_elapsed(struct kunit *test)
{
	struct xsk_release release;

	xsk_release_found(test, &release, 0);
	KUNIT_EXPECT_FALSE(test, xsk_release_wait(&release));
	xsk_release_found(test, &release, HZ / 50);
	KUNIT_EXPECT_FALSE(test, xsk_release_wait(&release));

	xsk_release_found(test, &release, 1);
	xsk_release_one();
	schedule_timeout_uninterruptible(2);
	KUNIT_EXPECT_FALSE(test, xsk_release_wait(&release));
}

static int xsk_release_waiter(void *release)
{
	int again;

	allow_signal(SIGKILL);
	again = xsk_release_wait(release);
	while (!kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	return again;
}

static void xsk_release_killed(struct kunit *test)
{
	struct xsk_release release;
	struct task_struct *waiter;

	xsk_release_found(test, &release, LONG);
	waiter = kthread_run(xsk_release_waiter, &release, "xsk_release_kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, waiter);
	schedule_timeout_uninterruptible(HZ / 50);
	send_sig(SIGKILL, waiter, 1);
	KUNIT_EXPECT_EQ(test, kthread_stop(waiter), 0);
}

static struct kunit_case xsk_release_cases[] = {
	KUNIT_CASE(xsk_release_other_errors),
	KUNIT_CASE(xsk_release_before_wait),
	KUNIT_CASE(xsk_release_during_wait),
	KUNIT_CASE(xsk_release_elapsed),
	KUNIT_CASE(xsk_release_killed),
	{}
};

static struct kunit_suite xsk_release_suite = {
	.name = "xsk_release",
	.test_cases = xsk_release_cases,
};

kunit_test_suite(xsk_release_suite);
