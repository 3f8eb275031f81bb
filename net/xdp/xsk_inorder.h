/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_INORDER_H_
#define XSK_INORDER_H_

#include <linux/bits.h>
#include <linux/sockptr.h>
#include <linux/types.h>
#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>

/* Maximum number of runs in flight per queue; a power of two */
#define XSK_INORDER_RUNS	256

/* Flag in the id of a run: the addresses of its descriptors were recorded */
#define XSK_INORDER_RECORDED	BIT(31)

/*
 * Bits of an skb's destructor_arg, in copy mode: the entry of its first
 * descriptor, which limits the size of the Tx ring, above the number of its
 * descriptors.
 */
#define XSK_INORDER_ENTRY_BITS	24
#define XSK_INORDER_DESCS_BITS	8

/**
 * struct xsk_inorder_run - descriptors of one socket that the driver has
 * @id: id of the socket, with XSK_INORDER_RECORDED if addresses were recorded
 * @descs: number of descriptors that are not complete
 * @extra: number of invalid entries behind them, which the driver did not get;
 *	they are complete when all of @descs are
 */
struct xsk_inorder_run {
	u32 id;
	u32 descs;
	u32 extra;
};

/**
 * struct xsk_inorder_pool - runs of a queue that are in flight
 * @head: index of the oldest run
 * @tail: index of the next run to add
 * @last_id: the last id that was allocated, protected by RTNL
 * @skipped: an attempt ended at invalid entries, more may follow
 * @runs: ring of runs
 *
 * Drivers serialise taking and completing descriptors, as the completion ring
 * requires, too. This protects all other members.
 */
struct xsk_inorder_pool {
	u32 head;
	u32 tail;
	u32 last_id;
	bool skipped;
	struct xsk_inorder_run runs[XSK_INORDER_RUNS];
};

static inline bool xsk_is_inorder(const struct xdp_sock *xs)
{
	return xs->inorder.requested;
}

/* Can become true during polls, if no socket of the queue had a Tx ring */
static inline bool xsk_pool_is_inorder(const struct xsk_buff_pool *pool)
{
	return READ_ONCE(pool->inorder);
}

/* The index logic, apart from sockets and rings */
u32 xsk_inorder_new_id(struct xsk_inorder_pool *order);
bool xsk_inorder_full(const struct xsk_inorder_pool *order);
u32 xsk_inorder_add(struct xsk_inorder_pool *order, u32 id, u32 descs,
		    u32 entries);
u32 xsk_inorder_next(struct xsk_inorder_pool *order, u32 *descs, u32 *id);
u32 xsk_inorder_limit(u32 done, u32 taken, u32 produced, u32 size);
u32 xsk_inorder_prefix(unsigned long *finished, u32 mask, u32 done);

/* Sockets */
int xsk_inorder_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			   unsigned int optlen);
int xsk_inorder_getsockopt(struct xdp_sock *xs, char __user *optval,
			   int __user *optlen, int len);
int xsk_inorder_prepare(struct xdp_sock *xs);
int xsk_inorder_check(const struct xsk_buff_pool *pool,
		      const struct xdp_sock *xs);
int xsk_inorder_join(struct xsk_buff_pool *pool, struct xdp_sock *xs);
void xsk_inorder_destroy(struct xdp_sock *xs);

/* Zero-copy */
bool xsk_inorder_peek(struct xdp_sock *xs);
u32 xsk_inorder_entries(struct xdp_sock *xs, u32 max);
void xsk_inorder_taken(struct xsk_buff_pool *pool, struct xdp_sock *xs,
		       const struct xdp_desc *descs, u32 count, u32 entries);
bool xsk_inorder_peek_desc(struct xsk_buff_pool *pool, struct xdp_desc *desc);
u32 xsk_inorder_peek_batch(struct xsk_buff_pool *pool, u32 max);
void xsk_inorder_completed(struct xsk_buff_pool *pool, u32 descs);

/* Copy mode */
bool xsk_inorder_peek_copy(struct xdp_sock *xs, struct xdp_desc *desc);
long xsk_inorder_skb_entry(const struct xdp_sock *xs);
void xsk_inorder_finish(struct xdp_sock *xs, u32 entry, u32 count);
void xsk_inorder_skip(struct xdp_sock *xs);

#endif /* XSK_INORDER_H_ */
