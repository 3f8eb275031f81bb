// SPDX-License-Identifier: GPL-2.0
/*
 * The two levels of XDP programs, on a device that is not registered and
 * whose driver notes what it is told to run, or refuses.
 */
#include <kunit/test.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/xdp_builtin.h>

#include "../../core/xdp_builtin.h"

struct xdp_builtin_driver {
	struct bpf_prog *prog;	/* what the driver runs */
	struct bpf_prog *refuse; /* what it does not take */
	bool hold; /* it does not let go of what it runs */
	int calls;
};

struct xdp_builtin_fixture {
	struct net_device *dev;
	struct xdp_builtin_driver *drv;
	struct bpf_prog *builtin;
	struct bpf_prog *regular;
	bool fallback;	/* of the last xdp_builtin_use() */
};

static int xdp_builtin_ndo_bpf(struct net_device *dev, struct netdev_bpf *bpf)
{
	struct xdp_builtin_driver *drv = netdev_priv(dev);

	drv->calls++;
	if (bpf->prog ? bpf->prog == drv->refuse : drv->hold)
		return -EINVAL;

	if (drv->prog)
		bpf_prog_put(drv->prog);
	drv->prog = bpf->prog;
	return 0;
}

static const struct net_device_ops xdp_builtin_netdev_ops = {
	.ndo_bpf = xdp_builtin_ndo_bpf,
};

static void xdp_builtin_dev_setup(struct net_device *dev)
{
	dev->type = ARPHRD_ETHER;
	dev->netdev_ops = &xdp_builtin_netdev_ops;
}

static struct bpf_prog *xdp_builtin_test_prog(struct kunit *test)
{
	struct bpf_insn insns[] = {
		BPF_MOV64_IMM(BPF_REG_0, XDP_PASS),
		BPF_EXIT_INSN(),
	};
	struct bpf_prog *prog;
	int err;

	prog = bpf_prog_alloc(bpf_prog_size(ARRAY_SIZE(insns)), 0);
	KUNIT_ASSERT_NOT_NULL(test, prog);
	memcpy(prog->insns, insns, sizeof(insns));
	prog->len = ARRAY_SIZE(insns);
	prog->type = BPF_PROG_TYPE_XDP;
	atomic64_set(&prog->aux->refcnt, 1);
	prog = bpf_prog_select_runtime(prog, &err);
	KUNIT_ASSERT_EQ(test, err, 0);
	return prog;
}

static int xdp_builtin_init(struct kunit *test)
{
	struct xdp_builtin_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->dev = alloc_netdev(sizeof(*f->drv), "xdpbuiltin%d", NET_NAME_ENUM,
			      xdp_builtin_dev_setup);
	KUNIT_ASSERT_NOT_NULL(test, f->dev);
	f->drv = netdev_priv(f->dev);
	f->builtin = xdp_builtin_test_prog(test);
	f->builtin->aux->id = 1;
	f->regular = xdp_builtin_test_prog(test);
	f->regular->aux->id = 2;
	test->priv = f;
	return 0;
}

static void xdp_builtin_free_prog(struct kunit *test, struct bpf_prog *prog)
{
	/* Every reference that was taken was given back */
	KUNIT_EXPECT_EQ(test, atomic64_read(&prog->aux->refcnt), 1);
	prog->aux->id = 0;
	bpf_prog_free(prog);
}

static void xdp_builtin_exit(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	if (!f)
		return;

	KUNIT_EXPECT_NULL(test, f->drv->prog);
	synchronize_net();
	xdp_builtin_free_prog(test, f->builtin);
	xdp_builtin_free_prog(test, f->regular);
	free_netdev(f->dev);
}

/* What dev_xdp_attach() does around the switch */
static int xdp_builtin_set_regular(struct xdp_builtin_fixture *f,
				   enum bpf_xdp_mode mode,
				   struct bpf_prog *prog)
{
	struct bpf_prog *old = dev_xdp_prog(f->dev, mode);
	int err;

	err = xdp_builtin_switch(f->dev, mode, dev_xdp_bpf_op(f->dev, mode),
				 NULL, 0, old, prog);
	if (!err)
		f->dev->xdp_state[mode].prog = prog;
	return err;
}

static struct bpf_prog *xdp_builtin_generic(struct xdp_builtin_fixture *f)
{
	return rtnl_dereference(f->dev->xdp_prog);
}

static int xdp_builtin_use(struct xdp_builtin_fixture *f,
			   enum bpf_xdp_mode mode, bool fallback)
{
	f->fallback = fallback;
	return xdp_builtin_get(f->dev, f->builtin, mode, fallback, NULL);
}

static void xdp_builtin_first_and_last_user(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_SKB, true), -EEXIST);
	KUNIT_EXPECT_EQ(test, f->drv->calls, 1);
	KUNIT_EXPECT_EQ(test, dev_xdp_prog_count(f->dev), 0);
	KUNIT_EXPECT_EQ(test, dev_xdp_prog_id(f->dev, XDP_MODE_DRV), 0);

	xdp_builtin_put(f->dev, f->fallback);
	KUNIT_EXPECT_TRUE(test, xdp_builtin_running(f->dev));
	xdp_builtin_put(f->dev, f->fallback);
	KUNIT_EXPECT_FALSE(test, xdp_builtin_running(f->dev));
	rtnl_unlock();
}

static void xdp_builtin_refused(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	f->drv->refuse = f->builtin;
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_SKB, true), 0);
	KUNIT_EXPECT_PTR_EQ(test, xdp_builtin_generic(f), f->builtin);
	xdp_builtin_put(f->dev, f->fallback);
	KUNIT_EXPECT_NULL(test, xdp_builtin_generic(f));
	rtnl_unlock();
}

static void xdp_builtin_regular_wins(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);

	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->regular);
	KUNIT_EXPECT_FALSE(test, xdp_builtin_running(f->dev));
	KUNIT_EXPECT_EQ(test, f->dev->xdp_builtin.active_id, 2);
	/* One call to the driver, no gap without a program */
	KUNIT_EXPECT_EQ(test, f->drv->calls, 2);

	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	KUNIT_EXPECT_TRUE(test, xdp_builtin_running(f->dev));
	KUNIT_EXPECT_EQ(test, f->dev->xdp_builtin.active_id, 1);
	KUNIT_EXPECT_EQ(test, f->drv->calls, 3);
	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

static void xdp_builtin_regular_was_first(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->regular);
	KUNIT_EXPECT_EQ(test, f->dev->xdp_builtin.active_id, 2);

	/* The user goes while shadowed: the regular program stays alone */
	xdp_builtin_put(f->dev, f->fallback);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->regular);
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_NULL(test, f->drv->prog);
	rtnl_unlock();
}

static void xdp_builtin_other_mode(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_SKB, false), 0);

	/* A native regular program: never both at once */
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->regular);
	KUNIT_EXPECT_NULL(test, xdp_builtin_generic(f));

	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_NULL(test, f->drv->prog);
	KUNIT_EXPECT_PTR_EQ(test, xdp_builtin_generic(f), f->builtin);

	/* One that the driver refuses leaves all as it was */
	f->drv->refuse = f->regular;
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			-EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, xdp_builtin_generic(f), f->builtin);
	KUNIT_EXPECT_TRUE(test, xdp_builtin_running(f->dev));
	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

static void xdp_builtin_does_not_come_back(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, false), 0);
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	f->drv->refuse = f->builtin;
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_NULL(test, f->drv->prog);
	KUNIT_EXPECT_NULL(test, xdp_builtin_generic(f));
	KUNIT_EXPECT_EQ(test, f->dev->xdp_builtin.active_id, 0);
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, false), -EINVAL);

	/* It tries again when the next regular program goes */
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	f->drv->refuse = NULL;
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

static void xdp_builtin_falls_back(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	f->drv->refuse = f->builtin;
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_NULL(test, f->drv->prog);
	KUNIT_EXPECT_PTR_EQ(test, xdp_builtin_generic(f), f->builtin);
	KUNIT_EXPECT_EQ(test, f->dev->xdp_builtin.mode, XDP_MODE_SKB);
	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

/* ixgbe refuses with "legacy-rx" and a larger MTU, for example */
static void xdp_builtin_driver_holds_on(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;
	u8 attached = XDP_ATTACHED_NONE;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	f->drv->hold = true;
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_SKB, f->regular),
			-EINVAL);
	KUNIT_EXPECT_TRUE(test, xdp_builtin_running(f->dev));
	KUNIT_EXPECT_NULL(test, xdp_builtin_generic(f));

	/* It runs on without a user, and says so */
	xdp_builtin_put(f->dev, f->fallback);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	KUNIT_EXPECT_EQ(test, xdp_builtin_report(f->dev, &attached), 1);
	KUNIT_EXPECT_EQ(test, attached, XDP_ATTACHED_DRV);
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_SKB, true), -EINVAL);

	/* The next user, or a regular program, gets rid of it */
	f->drv->hold = false;
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_SKB, true), 0);
	KUNIT_EXPECT_NULL(test, f->drv->prog);
	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

static void xdp_builtin_held_meets_regular(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	f->drv->hold = true;
	xdp_builtin_put(f->dev, f->fallback);
	f->drv->hold = false;
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_NULL(test, f->drv->prog);
	rtnl_unlock();
}

/* Somebody got hold of it by its id and attached it as a regular program */
static void xdp_builtin_as_regular(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->builtin),
			0);
	KUNIT_EXPECT_FALSE(test, xdp_builtin_running(f->dev));
	xdp_builtin_put(f->dev, f->fallback);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_NULL(test, f->drv->prog);
	rtnl_unlock();
}

static int xdp_builtin_hand_down(struct xdp_builtin_fixture *f,
				 struct bpf_prog *prog)
{
	struct netdev_bpf bpf = { .command = XDP_SETUP_PROG, .prog = prog };
	int err;

	if (prog)
		bpf_prog_inc(prog);
	err = dev_xdp_propagate(f->dev, &bpf);
	if (err && prog)
		bpf_prog_put(prog);
	return err;
}

/* A master above the upper device, say: nothing shows but what was propagated */
static void xdp_builtin_after_a_master(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, f->regular), 0);
	KUNIT_EXPECT_PTR_EQ(test, xdp_builtin_regular(f->dev), f->regular);

	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->regular);
	KUNIT_EXPECT_FALSE(test, xdp_builtin_running(f->dev));
	KUNIT_EXPECT_EQ(test, f->dev->xdp_builtin.active_id, 2);

	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, NULL), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	KUNIT_EXPECT_NULL(test, xdp_builtin_regular(f->dev));

	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

/* It forgets the program of a master that a user's own has displaced */
static void xdp_builtin_user_displaces_master(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, f->builtin), 0);
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	KUNIT_EXPECT_NULL(test, xdp_builtin_regular(f->dev));
	rtnl_unlock();
}

/* A generic program leaves that of a master where it is, in the driver */
static void xdp_builtin_generic_beside_master(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, f->regular), 0);
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_SKB, f->regular),
			0);
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_SKB, NULL),
			0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->regular);
	KUNIT_EXPECT_FALSE(test, xdp_builtin_running(f->dev));
	KUNIT_EXPECT_EQ(test, f->dev->xdp_builtin.active_id, 2);

	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, NULL), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

static void xdp_builtin_port_of_a_master(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, f->regular), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->regular);
	KUNIT_EXPECT_EQ(test, f->dev->xdp_builtin.active_id, 2);

	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, NULL), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	KUNIT_EXPECT_TRUE(test, xdp_builtin_running(f->dev));

	/* Nothing of the master's to take away */
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, NULL), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);

	/* One that the driver refuses leaves all as it was */
	f->drv->refuse = f->regular;
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, f->regular), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->builtin);
	f->drv->refuse = NULL;
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, f->regular), 0);
	f->drv->refuse = f->builtin;
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, f->builtin), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, f->drv->prog, f->regular);
	f->drv->refuse = NULL;
	KUNIT_EXPECT_EQ(test, xdp_builtin_hand_down(f, NULL), 0);
	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

static void xdp_builtin_device_dies(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, xdp_builtin_use(f, XDP_MODE_DRV, true), 0);
	KUNIT_EXPECT_EQ(test,
			xdp_builtin_set_regular(f, XDP_MODE_DRV, f->regular),
			0);
	xdp_builtin_uninstall(f->dev);
	KUNIT_EXPECT_EQ(test, xdp_builtin_set_regular(f, XDP_MODE_DRV, NULL),
			0);
	/* The built-in does not come back to a dying device */
	KUNIT_EXPECT_NULL(test, f->drv->prog);
	xdp_builtin_put(f->dev, f->fallback);
	rtnl_unlock();
}

static struct kunit_case xdp_builtin_cases[] = {
	KUNIT_CASE(xdp_builtin_first_and_last_user),
	KUNIT_CASE(xdp_builtin_refused),
	KUNIT_CASE(xdp_builtin_regular_wins),
	KUNIT_CASE(xdp_builtin_regular_was_first),
	KUNIT_CASE(xdp_builtin_other_mode),
	KUNIT_CASE(xdp_builtin_does_not_come_back),
	KUNIT_CASE(xdp_builtin_falls_back),
	KUNIT_CASE(xdp_builtin_driver_holds_on),
	KUNIT_CASE(xdp_builtin_held_meets_regular),
	KUNIT_CASE(xdp_builtin_as_regular),
	KUNIT_CASE(xdp_builtin_port_of_a_master),
	KUNIT_CASE(xdp_builtin_after_a_master),
	KUNIT_CASE(xdp_builtin_user_displaces_master),
	KUNIT_CASE(xdp_builtin_generic_beside_master),
	KUNIT_CASE(xdp_builtin_device_dies),
	{}
};

static struct kunit_suite xdp_builtin_suite = {
	.name = "xdp_builtin",
	.init = xdp_builtin_init,
	.exit = xdp_builtin_exit,
	.test_cases = xdp_builtin_cases,
};

kunit_test_suite(xdp_builtin_suite);
