/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture of the tests of XDP_ATTACH that run in each mode: generic, native and
 * zero-copy, driven by softirqs and by busy polling
 */
#ifndef XSK_ATTACH_MODES_H
#define XSK_ATTACH_MODES_H

#include "xsk_attach_common.h"

FIXTURE(xsk_attach)
{
	struct testbed bed;
};

FIXTURE_VARIANT(xsk_attach)
{
	bool skb;
	bool zc;
	bool busy_poll;
};

FIXTURE_VARIANT_ADD(xsk_attach, skb_softirq)
{
	.skb = true,
};

FIXTURE_VARIANT_ADD(xsk_attach, skb_busy_poll)
{
	.skb = true,
	.busy_poll = true,
};

FIXTURE_VARIANT_ADD(xsk_attach, drv_softirq)
{
};

FIXTURE_VARIANT_ADD(xsk_attach, drv_busy_poll)
{
	.busy_poll = true,
};

FIXTURE_VARIANT_ADD(xsk_attach, zc_softirq)
{
	.zc = true,
};

FIXTURE_VARIANT_ADD(xsk_attach, zc_busy_poll)
{
	.zc = true,
	.busy_poll = true,
};

FIXTURE_SETUP(xsk_attach)
{
	bed_attach(_metadata, &self->bed, variant->skb, variant->zc,
		   variant->busy_poll);
}

/* The exit of the process closes sockets, programs and network namespace */
FIXTURE_TEARDOWN(xsk_attach)
{
}

#endif /* XSK_ATTACH_MODES_H */
