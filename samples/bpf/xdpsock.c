// SPDX-License-Identifier: GPL-2.0
/*
 * xdpsock: benchmark of AF_XDP sockets, via XDP_ATTACH or libxdp's default
 * program and XSKMAP. This file has the packet loops.
 *
 * A round takes at most a batch from a ring, and only as many entries as there
 * is room for in the destination ring. So no chunk is held between two rounds
 * or dropped for lack of room: frames that cannot be forwarded stay in the Rx
 * ring, and once that is full the kernel counts the drops (rx_queue_full).
 *
 * Addresses are copied unmodified from the Rx or completion ring to the fill
 * ring: the kernel rounds them down to the chunk or, with --unaligned, strips
 * the offset in their upper bits.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "xdpsock_frame.h"
#include "xdpsock_opts.h"
#include "xdpsock_port.h"
#include "xdpsock_report.h"
#include "xsk_fastpath.h"

enum { SIGNAL_TICK = 1, SIGNAL_STOP = 2 };

/* Signals received since the loop last checked */
static unsigned int signals;

static __u32 at_most(__u32 n, __u32 limit)
{
	return n < limit ? n : limit;
}

/* @n must not exceed a preceding xsk_prod_nb_free() */
static __u32 reserve(struct xsk_ring_prod *ring, __u32 n)
{
	__u32 first = 0;

	xsk_ring_prod__reserve(ring, n, &first);
	return first;
}

/* Handles up to @budget new packets, returns the number of chunks moved */
typedef __u32 (*round_fn)(struct xsk_port *port, __u32 budget);

static __u32 round_rxdrop(struct xsk_port *port, __u32 budget)
{
	__u32 room = xsk_prod_nb_free(&port->fill, budget);
	__u32 from, to, n;

	n = xsk_ring_cons__peek(&port->rx, at_most(budget, room), &from);
	if (!n)
		return 0;
	to = reserve(&port->fill, n);
	for (__u32 i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&port->fill, to + i) =
			xsk_ring_cons__rx_desc(&port->rx, from + i)->addr;
	xsk_ring_prod__submit(&port->fill, n);
	xsk_ring_cons__release(&port->rx, n);
	port->count.rx += n;
	return n;
}

static void count_completed(struct xsk_port *port, __u32 n)
{
	port->outstanding -= n;
	port->count.tx += n;
}

/* In order: completed entries of the Tx ring, at most @max from *@from */
static __u32 completed_slots(const struct xsk_port *port, __u32 max,
			     __u32 *from)
{
	*from = port->tx.cached_prod - port->outstanding;
	return at_most(xsk_fastpath__tx_completed(port->tx.consumer, *from),
		       max);
}

/* In order, a completed entry still holds the address of its chunk */
static __u32 tx_room(struct xsk_port *port, __u32 max)
{
	if (port->inorder)
		return at_most(max, port->tx.size - port->outstanding);
	return xsk_prod_nb_free(&port->tx, max);
}

static __u32 slots_to_fill(struct xsk_port *port)
{
	struct xsk_ring_prod *fill = &port->peer->fill;
	__u32 room = xsk_prod_nb_free(fill, port->batch);
	__u32 from, to, n;

	n = completed_slots(port, at_most(port->batch, room), &from);
	if (!n)
		return 0;
	to = reserve(fill, n);
	for (__u32 i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(fill, to + i) =
			xsk_ring_prod__tx_desc(&port->tx, from + i)->addr;
	xsk_ring_prod__submit(fill, n);
	return n;
}

static __u32 comp_to_fill(struct xsk_port *port)
{
	struct xsk_ring_prod *fill = &port->peer->fill;
	__u32 room = xsk_prod_nb_free(fill, port->batch);
	__u32 from, to, n;

	n = xsk_ring_cons__peek(&port->comp, at_most(port->batch, room), &from);
	if (!n)
		return 0;
	to = reserve(fill, n);
	for (__u32 i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(fill, to + i) =
			*xsk_ring_cons__comp_addr(&port->comp, from + i);
	xsk_ring_prod__submit(fill, n);
	xsk_ring_cons__release(&port->comp, n);
	return n;
}

/* Most chunks were recycled to the Rx queue; a surplus comes back to us.
 * Inline, because there is little to do.
 */
static __always_inline __u32 recycled(struct xsk_port *port)
{
	if (xsk_cons_nb_avail(&port->comp, 1))
		comp_to_fill(port);
	return xsk_fastpath__tx_completed(port->tx.consumer,
					  port->tx.cached_prod -
					  port->outstanding);
}

/* l2fwd, fwd: completed chunks go back to the fill ring of their origin */
static __always_inline __u32 completed_to_fill(struct xsk_port *port)
{
	__u32 n = port->recycle ? recycled(port) :
		  port->inorder ? slots_to_fill(port) : comp_to_fill(port);

	count_completed(port, n);
	return n;
}

/* Number of entries from @index to the end of the ring */
static __u32 row_of(__u32 index, __u32 size)
{
	return size - (index & (size - 1));
}

/* Inline, to specialize the loop for @swap and @unaligned */
static __always_inline void
move_row(struct xdp_desc *to, const struct xdp_desc *from, __u32 n,
	 char *area, bool swap, bool unaligned)
{
	for (__u32 i = 0; i < n; i++) {
		const __u64 addr = from[i].addr;

		if (swap && unaligned)
			frame_swap_macs(area +
					xsk_umem__add_offset_to_addr(addr));
		else if (swap)
			frame_swap_macs(area + addr);
		/* Without XDP_USE_SG, no options are set */
		to[i] = from[i];
	}
}

/* The same for buffers of packets, of which the first one has the MACs */
static void move_frags(struct xsk_port *port, struct xdp_desc *to,
		       const struct xdp_desc *from, __u32 n, bool swap)
{
	bool in_packet = port->in_packet;
	__u64 at;

	for (__u32 i = 0; i < n; i++) {
		at = xsk_umem__add_offset_to_addr(from[i].addr);
		if (swap && !in_packet)
			frame_swap_macs(port->area + at);
		in_packet = from[i].options & XDP_PKT_CONTD;
		to[i] = from[i];
	}
	port->in_packet = in_packet;
}

/* Inline, to specialize the loop for @swap */
static __always_inline __u32
received_to_tx(struct xsk_port *port, __u32 budget, bool swap)
{
	struct xsk_port *out = port->peer;
	__u32 room = tx_room(out, budget);
	const struct xdp_desc *src;
	struct xdp_desc *dst;
	__u32 from, to, n;

	n = xsk_ring_cons__peek(&port->rx, at_most(budget, room), &from);
	if (!n)
		return 0;
	to = reserve(&out->tx, n);
	for (__u32 done = 0, row; done < n; done += row) {
		row = at_most(row_of(from + done, port->rx.size),
			      row_of(to + done, out->tx.size));
		row = at_most(row, n - done);
		dst = xsk_ring_prod__tx_desc(&out->tx, to + done);
		src = xsk_ring_cons__rx_desc(&port->rx, from + done);
		if (port->opts->frags)
			move_frags(port, dst, src, row, swap);
		else if (swap && port->opts->unaligned)
			move_row(dst, src, row, port->area, true, true);
		else
			move_row(dst, src, row, port->area, swap, false);
	}
	/* Release first: a chunk that was sent may be received again, which
	 * needs a free entry. A ring with an entry per chunk then never fills.
	 */
	xsk_ring_cons__release(&port->rx, n);
	xsk_ring_prod__submit(&out->tx, n);
	port->count.rx += n;
	out->outstanding += n;
	return n;
}

static __u32 round_l2fwd(struct xsk_port *port, __u32 budget)
{
	__u32 n = completed_to_fill(port);

	return n + received_to_tx(port, budget, true);
}

/* Forwards frames unmodified */
static __u32 round_fwd(struct xsk_port *port, __u32 budget)
{
	__u32 n = completed_to_fill(port);

	return n + received_to_tx(port, budget, false);
}

/* txonly: a completed chunk still holds its frame and can be sent again */
static __u32 completed_to_free(struct xsk_port *port)
{
	__u32 from, n;

	n = xsk_ring_cons__peek(&port->comp, port->batch, &from);
	if (!n)
		return 0;
	for (__u32 i = 0; i < n; i++)
		port->free[port->num_free++] =
			*xsk_ring_cons__comp_addr(&port->comp, from + i);
	xsk_ring_cons__release(&port->comp, n);
	count_completed(port, n);
	return n;
}

/* txonly in order: ring entry N uses chunk N, so both complete together */
static __u32 slots_to_tx(struct xsk_port *port, __u32 budget)
{
	__u32 slot = port->tx.cached_prod & port->tx.mask;
	struct xdp_desc *desc;
	__u32 from, done, n;

	done = completed_slots(port, port->batch, &from);
	count_completed(port, done);
	n = at_most(tx_room(port, budget), port->tx.size - slot);
	if (!n)
		return done;
	reserve(&port->tx, n);
	desc = xsk_ring_prod__tx_desc(&port->tx, slot);
	for (__u32 i = 0; i < n; i++)
		desc[i] = (struct xdp_desc){ port->free[slot + i],
					     port->packet_len,
					     port->tx_options };
	xsk_ring_prod__submit(&port->tx, n);
	port->outstanding += n;
	return done + n;
}

static __u32 free_to_tx(struct xsk_port *port, __u32 budget)
{
	__u32 room = xsk_prod_nb_free(&port->tx, budget);
	__u32 to, n = at_most(at_most(budget, room), port->num_free);

	if (!n)
		return 0;
	to = reserve(&port->tx, n);
	for (__u32 i = 0; i < n; i++)
		*xsk_ring_prod__tx_desc(&port->tx, to + i) = (struct xdp_desc){
			port->free[--port->num_free], port->packet_len,
			port->tx_options };
	xsk_ring_prod__submit(&port->tx, n);
	port->outstanding += n;
	return n;
}

static __u32 round_txonly(struct xsk_port *port, __u32 budget)
{
	__u32 n;

	if (port->inorder)
		return slots_to_tx(port, budget);
	n = completed_to_free(port);
	return n + free_to_tx(port, budget);
}

static const round_fn rounds[] = {
	[BENCH_RXDROP] = round_rxdrop,
	[BENCH_TXONLY] = round_txonly,
	[BENCH_L2FWD] = round_l2fwd,
	[BENCH_FWD] = round_fwd,
};

struct run {
	struct xsk_ports *ports;
	struct report report;
	unsigned int reported;		/* second of the previous statistics */
	unsigned int ticks_to_drain;	/* while stopping */
	bool stopping;			/* no new packets: only drain Tx */
};

static void on_signal(int signal)
{
	__atomic_fetch_or(&signals,
			  signal == SIGALRM ? SIGNAL_TICK : SIGNAL_STOP,
			  __ATOMIC_RELAXED);
}

static int catch_signals(void)
{
	struct sigaction action = {
		.sa_handler = on_signal,
		.sa_flags = SA_RESTART,
	};

	if (sigaction(SIGALRM, &action, NULL) ||
	    sigaction(SIGINT, &action, NULL) ||
	    sigaction(SIGTERM, &action, NULL)) {
		perror("xdpsock: sigaction");
		return 1;
	}
	return 0;
}

/* A timer, so that the loop need not read the clock */
static int start_ticking(void)
{
	const struct itimerval every_second = { { 1, 0 }, { 1, 0 } };

	if (setitimer(ITIMER_REAL, &every_second, NULL)) {
		perror("xdpsock: setitimer");
		return 1;
	}
	return 0;
}

static void on_tick(struct run *run)
{
	const struct xdpsock_opts *opts = run->ports->opts;
	unsigned int seconds = report_seconds(&run->report);

	if (run->stopping) {
		run->ticks_to_drain -= !!run->ticks_to_drain;
		return;
	}
	if (seconds - run->reported >= opts->interval) {
		report_interval(&run->report);
		run->reported = seconds;
	}
	if (opts->duration && seconds >= opts->duration)
		run->stopping = true;
}

static void handle_signals(struct run *run)
{
	unsigned int now = __atomic_exchange_n(&signals, 0, __ATOMIC_RELAXED);

	if (now & SIGNAL_STOP)
		run->stopping = true;
	if (now & SIGNAL_TICK)
		on_tick(run);
}

/* Packets that all sockets have received, or have handed to Tx */
static __u64 packets_done(const struct xsk_ports *ports)
{
	__u64 done = 0;

	for (unsigned int i = 0; i < ports->num; i++) {
		const struct xsk_port *port = &ports->port[i];

		done += port->has_rx ? port->count.rx :
				       port->count.tx + port->outstanding;
	}
	return done;
}

/* Maximum number of new packets in the next round */
static __u32 budget(const struct run *run)
{
	const struct xdpsock_opts *opts = run->ports->opts;

	if (run->stopping)
		return 0;
	if (!opts->packets)
		return opts->batch;
	return at_most(opts->batch, opts->packets - packets_done(run->ports));
}

/* Waits for outstanding Tx frames: 1 to 2 s, or with -C alone without limit */
static bool finished(const struct run *run, __u32 limit)
{
	if (limit)
		return false;
	for (unsigned int i = 0; i < run->ports->num; i++) {
		if (run->ports->port[i].outstanding)
			return !run->ticks_to_drain;
	}
	return true;
}

static int failed(const struct xsk_port *port, int err)
{
	fprintf(stderr, "xdpsock: socket on %s queue %u no longer works: %s\n",
		port->interface, port->queue,
		err == -ENXIO ? "the interface was removed" : strerror(-err));
	return 1;
}

/* A round of one socket: a negative errno, or the number of chunks moved */
static int run_round(struct xsk_port *port, round_fn round, __u32 limit)
{
	__u32 moved = round(port, limit);
	int err = xsk_port_wake_tx(port->peer);

	if (!moved && !err && !port->poll)
		err = xsk_port_idle(port);
	return err ?: (int)moved;
}

static int run_rounds(struct run *run)
{
	struct xsk_ports *ports = run->ports;
	round_fn round = rounds[ports->opts->bench];
	struct xsk_port *port = ports->port;
	struct xsk_port *end = port + ports->num;
	bool moved = false;
	__u32 limit;
	int ret;

	for (;;) {
		if (__atomic_load_n(&signals, __ATOMIC_RELAXED))
			handle_signals(run);
		limit = budget(run);
		if (finished(run, limit))
			return 0;
		ret = run_round(port, round, limit);
		moved |= ret > 0;
		if (ret >= 0 && ++port == end) {
			port = ports->port;
			ret = moved || !port->poll ? 0 : xsk_ports_wait(ports);
			moved = false;
		}
		if (ret < 0)
			return failed(port, ret);
	}
}

int main(int argc, char **argv)
{
	struct xdpsock_opts opts;
	struct xsk_ports ports;
	struct run run = { .ports = &ports, .ticks_to_drain = 2 };
	int status = xdpsock_parse(&opts, argc, argv);

	if (status >= 0)
		return status;
	if (catch_signals() || xsk_ports_open(&ports, &opts))
		return 1;
	if (report_start(&run.report, &ports))
		return 1;
	status = start_ticking() || run_rounds(&run);
	xsk_ports_refresh(&ports);
	report_end(&run.report);
	xsk_ports_close(&ports);
	free(ports.port);
	return status;
}
