/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XDPSOCK_REPORT_H
#define XDPSOCK_REPORT_H

#include "xdpsock_port.h"

struct report {
	const struct xsk_ports *ports;
	__u64 start_ns;
	__u64 last_ns;
	struct xsk_counts *last;	/* of each socket */
};

/*
 * report_start() - print the bindings and record the start time
 *
 * Return: 0, or 1 after a reported failure.
 */
int report_start(struct report *report, const struct xsk_ports *ports);

/* report_seconds() - return the rounded seconds since report_start() */
unsigned int report_seconds(const struct report *report);

/* report_interval() - print the rates since the previous call */
void report_interval(struct report *report);

/*
 * report_end() - print totals, and with --json the line of JSON
 *
 * To be called before the sockets are closed. The keys of the JSON object are
 * stable; later versions add keys, and increment "version" if one changes its
 * meaning.
 */
void report_end(struct report *report);

#endif /* XDPSOCK_REPORT_H */
