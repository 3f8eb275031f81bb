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
 * report_start() - say what runs, and take the time
 *
 * Return: 0, or 1 after it said why not.
 */
int report_start(struct report *report, const struct xsk_ports *ports);

/* report_seconds() - whole seconds since report_start(), rounded */
unsigned int report_seconds(const struct report *report);

/* report_interval() - print the rates since the last call */
void report_interval(struct report *report);

/*
 * report_end() - print totals, and with --json the line of JSON
 *
 * While the socket is still open. The keys of the JSON object stay; later
 * versions add some, and count up "version" if a meaning changes.
 */
void report_end(struct report *report);

#endif /* XDPSOCK_REPORT_H */
