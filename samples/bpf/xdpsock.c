// SPDX-License-Identifier: GPL-2.0
/*
 * xdpsock: benchmark of an AF_XDP socket, by XDP_ATTACH or by libxdp's default
 * program and XSKMAP. This file has the packet loops.
 *
 * A round takes at most a batch from a ring, and only as much as the ring that
 * it goes to has room for. So no chunk is ever held between two rounds or
 * dropped for lack of room: frames that cannot go on stay in the Rx ring, and
 * once that is full the kernel counts what it drops (rx_queue_full).
 *
 * In aligned mode the kernel rounds an address to its chunk: addresses go from
 * Rx or completion ring to the fill ring as they are.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "xdpsock_frame.h"
#include "xdpsock_opts.h"
#include "xdpsock_port.h"
#include "xdpsock_report.h"

enum { SIGNAL_TICK = 1, SIGNAL_STOP = 2 };

/* Which of them came since the loop last looked */
static unsigned int signals;

static __u32 at_most(__u32 n, __u32 limit)
{
	return n < limit ? n : limit;
}

/* For as many slots as there is room for, by xsk_prod_nb_free() before */
static __u32 reserve(struct xsk_ring_prod *ring, __u32 n)
{
	__u32 first = 0;

	xsk_ring_prod__reserve(ring, n, &first);
	return first;
}

/* A round: handles up to @budget new packets, returns how many chunks moved */
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
	xsk_ring_cons__release(&port->comp, n);
	port->outstanding -= n;
	port->count.tx += n;
}

/* l2fwd: what has been sent may be filled again */
static __u32 completed_to_fill(struct xsk_port *port)
{
	__u32 room = xsk_prod_nb_free(&port->fill, port->batch);
	__u32 from, to, n;

	n = xsk_ring_cons__peek(&port->comp, at_most(port->batch, room), &from);
	if (!n)
		return 0;
	to = reserve(&port->fill, n);
	for (__u32 i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&port->fill, to + i) =
			*xsk_ring_cons__comp_addr(&port->comp, from + i);
	xsk_ring_prod__submit(&port->fill, n);
	count_completed(port, n);
	return n;
}

static __u32 received_to_tx(struct xsk_port *port, __u32 budget)
{
	__u32 room = xsk_prod_nb_free(&port->tx, budget);
	__u32 from, to, n;

	n = xsk_ring_cons__peek(&port->rx, at_most(budget, room), &from);
	if (!n)
		return 0;
	to = reserve(&port->tx, n);
	for (__u32 i = 0; i < n; i++) {
		const struct xdp_desc *desc =
			xsk_ring_cons__rx_desc(&port->rx, from + i);

		frame_swap_macs(port->area + desc->addr);
		*xsk_ring_prod__tx_desc(&port->tx, to + i) =
			(struct xdp_desc){ desc->addr, desc->len, 0 };
	}
	xsk_ring_prod__submit(&port->tx, n);
	xsk_ring_cons__release(&port->rx, n);
	port->count.rx += n;
	port->outstanding += n;
	return n;
}

static __u32 round_l2fwd(struct xsk_port *port, __u32 budget)
{
	__u32 n = completed_to_fill(port);

	return n + received_to_tx(port, budget);
}

/* txonly: what has been sent may be sent again, it still holds the frame */
static __u32 completed_to_free(struct xsk_port *port)
{
	__u32 from, n;

	n = xsk_ring_cons__peek(&port->comp, port->batch, &from);
	if (!n)
		return 0;
	for (__u32 i = 0; i < n; i++)
		port->free[port->num_free++] =
			*xsk_ring_cons__comp_addr(&port->comp, from + i);
	count_completed(port, n);
	return n;
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
			port->free[--port->num_free], port->packet_len, 0 };
	xsk_ring_prod__submit(&port->tx, n);
	port->outstanding += n;
	return n;
}

static __u32 round_txonly(struct xsk_port *port, __u32 budget)
{
	__u32 n = completed_to_free(port);

	return n + free_to_tx(port, budget);
}

static const round_fn rounds[] = {
	[BENCH_RXDROP] = round_rxdrop,
	[BENCH_TXONLY] = round_txonly,
	[BENCH_L2FWD] = round_l2fwd,
};

struct run {
	struct xsk_port *port;
	struct report report;
	unsigned int reported;		/* second of the last statistics */
	unsigned int ticks_to_drain;	/* once stopping */
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

/* A timer, so that the loop need not ask for the time */
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
	const struct xdpsock_opts *opts = run->port->opts;
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

/* How many new packets the next round may handle */
static __u32 budget(const struct run *run)
{
	const struct xsk_port *port = run->port;
	__u32 limit = port->opts->packets;
	__u64 done;

	if (run->stopping)
		return 0;
	if (!limit)
		return port->batch;
	done = port->has_rx ? port->count.rx :
			      port->count.tx + port->outstanding;
	return at_most(port->batch, limit - done);
}

/* Frames handed to Tx are waited for: 1 to 2 s, or with -C alone for ever */
static bool finished(const struct run *run, __u32 limit)
{
	if (limit)
		return false;
	return !run->port->outstanding || !run->ticks_to_drain;
}

static int run_rounds(struct run *run)
{
	struct xsk_port *port = run->port;
	round_fn round = rounds[port->opts->bench];
	__u32 limit, moved;
	int err = 0;

	while (!err) {
		if (__atomic_load_n(&signals, __ATOMIC_RELAXED))
			handle_signals(run);
		limit = budget(run);
		if (finished(run, limit))
			return 0;
		moved = round(port, limit);
		err = xsk_port_wake_tx(port);
		if (!moved && !err)
			err = xsk_port_idle(port);
	}
	fprintf(stderr, "xdpsock: socket on %s queue %u no longer works: %s\n",
		port->opts->interface, port->opts->queue,
		err == -ENXIO ? "the interface is gone" : strerror(-err));
	return 1;
}

int main(int argc, char **argv)
{
	struct xdpsock_opts opts;
	struct xsk_port port;
	struct run run = { .port = &port, .ticks_to_drain = 2 };
	int status = xdpsock_parse(&opts, argc, argv);

	if (status >= 0)
		return status;
	if (catch_signals() || xsk_port_open(&port, &opts))
		return 1;
	report_start(&run.report, &port);
	status = start_ticking() || run_rounds(&run);
	xsk_port_refresh(&port);
	report_end(&run.report);
	xsk_port_close(&port);
	return status;
}
