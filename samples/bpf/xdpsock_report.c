// SPDX-License-Identifier: GPL-2.0
/* xdpsock: statistics and final report */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sys/socket.h>

#include "xdpsock_report.h"
#include "xsk_fastpath.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NSEC_PER_SEC 1000000000ULL
#define JSON_VERSION 1

/* Counters of XDP_STATISTICS, by their usual xdpsock names */
struct drop_counter {
	const char *name;
	size_t offset;
};

#define DROP(name, field) { name, offsetof(struct xdp_statistics, field) }

static const struct drop_counter drop_counters[] = {
	DROP("rx_dropped", rx_dropped),
	DROP("rx_invalid", rx_invalid_descs),
	DROP("tx_invalid", tx_invalid_descs),
	DROP("rx_queue_full", rx_ring_full),
	DROP("fill_ring_empty", rx_fill_ring_empty_descs),
	DROP("tx_ring_empty", tx_ring_empty_descs),
};

static __u64 drop_count(const struct xdp_statistics *stats, size_t i)
{
	return *(const __u64 *)((const char *)stats + drop_counters[i].offset);
}

/* Sums over all sockets: packets, system calls, drops */
struct totals {
	struct xsk_counts count;
	__u64 outstanding;
	__u64 drops[ARRAY_SIZE(drop_counters)];
	struct xdp_drop_stats causes;
};

/* Nothing on a kernel without XDP_DROP_STATS */
static void add_causes(struct totals *totals, int fd)
{
	struct xdp_drop_stats stats;

	xsk_fastpath__drop_stats(fd, &stats);
	for (__u32 i = 0; i < XDP_DROP_REASONS; i++)
		totals->causes.count[i] += stats.count[i];
}

static void add_statistics(struct totals *totals, const struct xsk_port *port)
{
	struct xdp_statistics stats = {};
	socklen_t len = sizeof(stats);

	if (getsockopt(port->fd, SOL_XDP, XDP_STATISTICS, &stats, &len))
		perror("xdpsock: XDP_STATISTICS");
	for (size_t i = 0; i < ARRAY_SIZE(drop_counters); i++)
		totals->drops[i] += drop_count(&stats, i);
	add_causes(totals, port->fd);
}

static struct totals add_up(const struct xsk_ports *ports)
{
	struct totals totals = {};

	for (unsigned int i = 0; i < ports->num; i++) {
		const struct xsk_port *port = &ports->port[i];

		totals.count.rx += port->count.rx;
		totals.count.tx += port->count.tx;
		totals.count.sendto += port->count.sendto;
		totals.count.recvfrom += port->count.recvfrom;
		totals.count.poll += port->count.poll;
		totals.outstanding += port->outstanding;
		add_statistics(&totals, port);
	}
	return totals;
}

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static const char *bench_name(const struct xdpsock_opts *opts)
{
	static const char * const names[] = {
		[BENCH_RXDROP] = "rxdrop",
		[BENCH_TXONLY] = "txonly",
		[BENCH_L2FWD] = "l2fwd",
		[BENCH_FWD] = "fwd",
	};

	return names[opts->bench];
}

static const char *how(const struct xsk_port *port)
{
	return port->binding.attach ? "attach" : "xskmap";
}

static const char *copy_mode(const struct xsk_port *port)
{
	return port->binding.zero_copy ? "zero-copy" : "copy";
}

static FILE *table(const struct xdpsock_opts *opts)
{
	return opts->json ? stderr : stdout;
}

static void print_row(FILE *out, const char *name, __u64 packets, __u64 total,
		      double seconds)
{
	fprintf(out, "%-18s %-14.0f %-14llu\n", name,
		seconds > 0 ? packets / seconds : 0, total);
}

static void print_rates(const struct xsk_port *port, double seconds,
			const struct xsk_counts *since)
{
	const struct xsk_counts *count = &port->count;
	FILE *out = table(port->opts);

	fprintf(out, "\n sock%td@%s:%u %s xdp-%s %s %s\n",
		port - port->ports->port, port->interface, port->queue,
		bench_name(port->opts), port->binding.mode, copy_mode(port),
		how(port));
	fprintf(out, "%-18s %-14s %-14s %.2f\n", "", "pps", "pkts", seconds);
	print_row(out, "rx", count->rx - since->rx, count->rx, seconds);
	print_row(out, "tx", count->tx - since->tx, count->tx, seconds);
	fflush(out);
}

static void print_binding(const struct xsk_port *port)
{
	const struct xsk_binding *binding = &port->binding;
	FILE *out = table(port->opts);

	fprintf(out, "%s on %s queue %u: %s, %s, %s", bench_name(port->opts),
		port->interface, port->queue, binding->mode, copy_mode(port),
		how(port));
	if (binding->attach)
		fprintf(out, " %s",
			xsk_fastpath__attach_state_str(binding->info.state));
	fprintf(out, ", program id %u\n", binding->prog_id);
	fflush(out);
}

int report_start(struct report *report, const struct xsk_ports *ports)
{
	*report = (struct report){ .ports = ports };
	report->last = calloc(ports->num, sizeof(*report->last));
	if (!report->last) {
		perror("xdpsock");
		return 1;
	}
	for (unsigned int i = 0; i < ports->num; i++)
		print_binding(&ports->port[i]);
	report->start_ns = now_ns();
	report->last_ns = report->start_ns;
	return 0;
}

unsigned int report_seconds(const struct report *report)
{
	__u64 elapsed = now_ns() - report->start_ns;

	return (elapsed + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
}

void report_interval(struct report *report)
{
	__u64 now = now_ns();

	for (unsigned int i = 0; i < report->ports->num; i++) {
		const struct xsk_port *port = &report->ports->port[i];

		print_rates(port, (double)(now - report->last_ns) / NSEC_PER_SEC,
			    &report->last[i]);
		report->last[i] = port->count;
	}
	report->last_ns = now;
}

static void json_string(const char *key, const char *value)
{
	printf("\"%s\":\"", key);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putchar('\\');
		putchar(*value);
	}
	fputs("\",", stdout);
}

static void json_number(const char *key, __u64 value, char after)
{
	printf("\"%s\":%llu%c", key, value, after);
}

/* Properties of a single socket are those of the first one */
static void json_setup(const struct xsk_ports *ports)
{
	const struct xsk_port *port = ports->port;
	const struct xsk_binding *binding = &port->binding;
	const struct xdpsock_opts *opts = ports->opts;

	json_number("version", JSON_VERSION, ',');
	json_string("benchmark", bench_name(opts));
	json_string("interface", port->interface);
	if (opts->num_interfaces > 1)
		json_string("interface2", opts->interfaces[1]);
	json_number("queue", opts->queue, ',');
	json_number("sockets", ports->num, ',');
	json_string("mode", binding->mode);
	json_string("copy_mode", copy_mode(port));
	json_string("how", how(port));
	json_string("attach_state",
		    xsk_fastpath__attach_state_str(binding->info.state));
	json_number("attach_reason", binding->info.reason, ',');
	json_string("attach_reason_text",
		    xsk_fastpath__attach_reason_str(binding->info.reason));
	json_number("prog_id", binding->prog_id, ',');
	json_number("batch", opts->batch, ',');
	json_number("ring_size", opts->ring_size, ',');
	json_number("frames", opts->frames, ',');
	json_number("frame_size", opts->frame_size, ',');
}

/* An object with the causes that are not zero */
static void json_causes(const struct totals *totals)
{
	const char *comma = "";

	fputs("\"drops\":{", stdout);
	for (__u32 i = 0; i < XDP_DROP_REASONS; i++) {
		if (!totals->causes.count[i])
			continue;
		printf("%s\"%s\":%llu", comma, xsk_fastpath__drop_str(i),
		       totals->causes.count[i]);
		comma = ",";
	}
	fputs("},", stdout);
}

static void json_results(const struct totals *totals, double seconds)
{
	size_t last = ARRAY_SIZE(drop_counters) - 1;

	printf("\"seconds\":%.6f,", seconds);
	json_number("rx_packets", totals->count.rx, ',');
	json_number("tx_packets", totals->count.tx, ',');
	json_number("tx_outstanding", totals->outstanding, ',');
	json_number("sendto", totals->count.sendto, ',');
	json_number("recvfrom", totals->count.recvfrom, ',');
	json_number("poll", totals->count.poll, ',');
	json_causes(totals);
	for (size_t i = 0; i <= last; i++)
		json_number(drop_counters[i].name, totals->drops[i],
			    i < last ? ',' : '}');
}

static void print_causes(FILE *out, const struct totals *totals)
{
	for (__u32 i = 0; i < XDP_DROP_REASONS; i++) {
		if (totals->causes.count[i])
			fprintf(out, "  %-16s %-14s %-14llu\n",
				xsk_fastpath__drop_str(i), "",
				totals->causes.count[i]);
	}
}

void report_end(struct report *report)
{
	static const struct xsk_counts zero;
	const struct xsk_ports *ports = report->ports;
	double seconds = (double)(now_ns() - report->start_ns) / NSEC_PER_SEC;
	struct totals totals = add_up(ports);
	FILE *out = table(ports->opts);

	fputs("\nIn total:", out);
	for (unsigned int i = 0; i < ports->num; i++)
		print_rates(&ports->port[i], seconds, &zero);
	for (size_t i = 0; i < ARRAY_SIZE(drop_counters); i++)
		fprintf(out, "%-18s %-14s %-14llu\n", drop_counters[i].name,
			"", totals.drops[i]);
	print_causes(out, &totals);
	if (totals.outstanding)
		fprintf(out, "%-18s %-14s %-14llu\n", "tx_outstanding", "",
			totals.outstanding);
	free(report->last);
	if (!ports->opts->json)
		return;
	putchar('{');
	json_setup(ports);
	json_results(&totals, seconds);
	putchar('\n');
	fflush(stdout);
}
