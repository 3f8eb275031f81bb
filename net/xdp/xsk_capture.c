// SPDX-License-Identifier: GPL-2.0
/*
 * Capture: copies of the packets that AF_XDP sockets receive and send go to the
 * packet sockets that listen on the device, if its feature xsk-capture is on.
 *
 * A packet is copied before it is published: to user space, before the Rx
 * ring's producer index; to the device, before the doorbell. User space can
 * write to the entries of the Rx ring and to the umem meanwhile: the owner of a
 * socket can change what is seen of its own packets, but not read or write any
 * memory other than its umem. In zero-copy Tx, the descriptors are those that
 * the driver gets.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_xdp.h>
#include <linux/init.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>
#include <net/hotdata.h>
#include <net/net_namespace.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_capture.h>
#include <trace/events/xsk.h>

#include "xsk_capture.h"
#include "xsk_queue.h"

/* Number of devices with the feature. Deferred: root of a user namespace, who
 * changes the feature in a loop, must not patch the kernel's text each time.
 */
DEFINE_STATIC_KEY_DEFERRED_FALSE(xsk_capture_key, HZ);

/*
 * Descriptors with packets to capture: entries of an Rx ring, or an array
 * @dev: the device; @pool may have none any more in copy mode
 * @next: index of the next one
 * @end: index behind the last one
 * @mask: of the indices
 */
struct xsk_capture {
	struct net_device *dev;
	struct xsk_buff_pool *pool;
	const struct xdp_desc *descs;
	u32 next;
	u32 end;
	u32 mask;
};

/**
 * xsk_capture_has_tap() - check whether a packet socket listens on a device
 * @dev: the device
 *
 * Packet sockets of other network namespaces are on the global list, but would
 * drop the packets.
 *
 * Context: RCU read section
 * Return: true if there is one
 */
bool xsk_capture_has_tap(const struct net_device *dev)
{
	const struct packet_type *pt;

	if (!list_empty(&dev->ptype_all))
		return true;

	list_for_each_entry_rcu(pt, &net_hotdata.ptype_all, list) {
		if (!pt->af_packet_net ||
		    net_eq(pt->af_packet_net, dev_net(dev)))
			return true;
	}
	return false;
}

static const struct xdp_desc *xsk_capture_desc(const struct xsk_capture *c,
					       u32 i)
{
	return &c->descs[(c->next + i) & c->mask];
}

/* Number of descriptors of the next packet. User space may change them later:
 * @len is only a limit for xsk_capture_fill().
 */
static u32 xsk_capture_measure(const struct xsk_capture *c, u32 *len)
{
	const u32 max = c->end - c->next;
	const struct xdp_desc *desc;
	u32 count = 0;

	*len = 0;
	do {
		desc = xsk_capture_desc(c, count++);
		*len += min(READ_ONCE(desc->len), c->pool->chunk_size);
	} while (count < max && READ_ONCE(desc->options) & XDP_PKT_CONTD);

	return count;
}

/* Copy one buffer. Returns its length, or a negative errno: if it is not in the
 * umem, or exceeds the length of the skb.
 */
static int xsk_capture_copy(const struct xsk_buff_pool *pool,
			    const struct xdp_desc *desc, struct sk_buff *skb,
			    u32 offset)
{
	u64 addr = READ_ONCE(desc->addr);
	u32 len = READ_ONCE(desc->len);

	if (pool->unaligned)
		addr = xp_unaligned_add_offset_to_addr(addr);
	if (len > skb->len - offset || addr >= pool->addrs_cnt ||
	    len > pool->addrs_cnt - addr)
		return -EINVAL;

	return skb_store_bits(skb, offset, pool->addrs + addr, len) ?: len;
}

static bool xsk_capture_fill(const struct xsk_capture *c, struct sk_buff *skb,
			     u32 count)
{
	u32 i, offset = 0;
	int len;

	for (i = 0; i < count; i++) {
		len = xsk_capture_copy(c->pool, xsk_capture_desc(c, i), skb,
				       offset);
		if (len < 0)
			return false;
		offset += len;
	}
	/* No byte is left uninitialised */
	return offset == skb->len;
}

static struct sk_buff *xsk_capture_alloc(struct net_device *dev, u32 len)
{
	u32 head = min_t(u32, len, SKB_MAX_HEAD(0));
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(head, len - head, PAGE_ALLOC_COSTLY_ORDER,
				   &err, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;

	skb_put(skb, head);
	skb->data_len = len - head;
	skb->len = len;
	skb->dev = dev;
	skb_reset_mac_header(skb);
	return skb;
}

/* Returns NULL if there is no memory, or user space has changed an entry */
static struct sk_buff *xsk_capture_next(struct xsk_capture *c)
{
	struct sk_buff *skb;
	u32 count, len;

	count = xsk_capture_measure(c, &len);
	skb = len ? xsk_capture_alloc(c->dev, len) : NULL;
	if (skb && !xsk_capture_fill(c, skb, count)) {
		kfree_skb(skb);
		skb = NULL;
	}
	if (!skb)
		trace_xsk_capture_lost(c->dev, c->pool->queue_id, len);
	c->next += count;
	return skb;
}

static bool xsk_capture_is_ethernet(const struct sk_buff *skb)
{
	return (skb->dev->type == ARPHRD_ETHER ||
		skb->dev->type == ARPHRD_LOOPBACK) &&
	       skb_headlen(skb) >= ETH_HLEN;
}

static void xsk_capture_receive(struct sk_buff *skb, u16 queue)
{
	skb_record_rx_queue(skb, queue);
	if (xsk_capture_is_ethernet(skb))
		skb->protocol = eth_type_trans(skb, skb->dev);
	dev_receive_nit(skb);
}

static void xsk_capture_rx(struct xdp_sock *xs)
{
	const struct xdp_rxtx_ring *ring = (struct xdp_rxtx_ring *)xs->rx->ring;
	struct xsk_capture c = {
		.dev = xs->dev,
		.pool = xs->pool,
		.descs = ring->desc,
		.next = xs->rx->submitted,
		.end = xs->rx->cached_prod,
		.mask = xs->rx->ring_mask,
	};
	struct sk_buff *skb;

	while (c.next != c.end) {
		skb = xsk_capture_next(&c);
		if (skb)
			xsk_capture_receive(skb, xs->queue_id);
	}
}

/**
 * xsk_capture_publish() - publish the new entries of an Rx ring, and capture
 *	them before, if that is wanted
 * @xs: the socket
 *
 * Context: as the producer of the Rx ring
 */
void xsk_capture_publish(struct xdp_sock *xs)
{
	if (xsk_capture_wanted(xs->dev))
		xsk_capture_rx(xs);
	__xsk_rx_publish(xs);
}

static void xsk_capture_transmit(struct sk_buff *skb)
{
	skb_set_network_header(skb, min_t(u32, skb_headlen(skb), ETH_HLEN));
	if (xsk_capture_is_ethernet(skb))
		skb->protocol = eth_hdr(skb)->h_proto;
	dev_queue_xmit_nit(skb, skb->dev);
}

/**
 * xsk_capture_tx() - capture packets that a driver is about to transmit
 * @pool: the pool, with a device for which xsk_capture_wanted() is true
 * @descs: the descriptors, in memory of the kernel
 * @count: number of descriptors
 *
 * Context: NAPI poll
 */
void xsk_capture_tx(struct xsk_buff_pool *pool, const struct xdp_desc *descs,
		    u32 count)
{
	struct xsk_capture c = {
		.dev = pool->netdev,
		.pool = pool,
		.descs = descs,
		.end = count,
		.mask = U32_MAX,
	};
	struct sk_buff *skb;

	while (c.next != c.end) {
		skb = xsk_capture_next(&c);
		if (!skb)
			continue;
		skb_set_queue_mapping(skb, pool->queue_id);
		xsk_capture_transmit(skb);
		consume_skb(skb);
	}
}

/**
 * xsk_capture_skb() - capture a packet that is transmitted in copy mode
 * @skb: the packet; its device is one for which xsk_capture_wanted() is true
 *
 * Does nothing if it is not a packet of an AF_XDP socket.
 *
 * Context: BH disabled
 */
void xsk_capture_skb(struct sk_buff *skb)
{
	const __be16 protocol = skb->protocol;
	struct sk_buff *copy;

	if (!skb->sk || skb->sk->sk_family != PF_XDP)
		return;

	if (!(skb->dev->priv_flags & IFF_TX_SKB_NO_LINEAR) &&
	    !skb_shinfo(skb)->xsk_meta.tx_timestamp) {
		xsk_capture_transmit(skb);
		skb->protocol = protocol;
		return;
	}

	/* Listeners keep it, and user space may reuse the chunk, in which the
	 * fragments are, once the device has sent it. A listener would take the
	 * address of metadata for a timestamp, which is in the same field.
	 */
	copy = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!copy) {
		trace_xsk_capture_lost(skb->dev, skb_get_queue_mapping(skb),
				       skb->len);
		return;
	}
	xsk_capture_transmit(copy);
	consume_skb(copy);
}

/* While the feature is on, xsk_tx_span_begin() has to look for taps. A socket
 * that is added at the same time sees the feature, or is on the list here.
 */
static void xsk_capture_update_spans(struct net_device *dev)
{
	u32 queues = max(dev->num_rx_queues, dev->num_tx_queues), i;
	struct xsk_buff_pool *pool;

	for (i = 0; i < queues; i++) {
		pool = xsk_get_pool_from_qid(dev, i);
		if (!pool)
			continue;
		spin_lock_irq(&pool->xsk_tx_list_lock);
		xsk_tx_span_update(pool);
		spin_unlock_irq(&pool->xsk_tx_list_lock);
	}
}

/* Count the device in the static key while its feature is on. Under RTNL, but
 * also for features that change while the device is unregistered, after
 * NETDEV_UNREGISTER.
 */
static void xsk_capture_update(struct net_device *dev)
{
	bool on = dev->reg_state == NETREG_REGISTERED &&
		  dev->features & NETIF_F_XSK_CAPTURE;

	if (on == dev->xsk_captured)
		return;

	dev->xsk_captured = on;
	if (on)
		static_branch_deferred_inc(&xsk_capture_key);
	else
		static_branch_slow_dec_deferred(&xsk_capture_key);
	xsk_capture_update_spans(dev);
}

static int xsk_capture_notifier(struct notifier_block *nb, unsigned long event,
				void *ptr)
{
	if (event == NETDEV_FEAT_CHANGE || event == NETDEV_UNREGISTER)
		xsk_capture_update(netdev_notifier_info_to_dev(ptr));
	return NOTIFY_DONE;
}

static struct notifier_block xsk_capture_nb = {
	.notifier_call = xsk_capture_notifier,
};

static int __init xsk_capture_init(void)
{
	return register_netdevice_notifier(&xsk_capture_nb);
}
fs_initcall(xsk_capture_init);
