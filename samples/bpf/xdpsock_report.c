// SPDX-License-Identifier: GPL-2.0
/* xdpsock: what it prints while it runs and at the end */
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <sys/socket.h>

#include "xdpsock_report.h"
#include "xsk_fastpath.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NSEC_PER_SEC 1000000000ULL
#define JSON_VERSION 1

/* Counters of XDP_STATISTICS, by the names that xdpsock users know */
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

static struct xdp_statistics read_statistics(const struct xsk_port *port)
{
	struct xdp_statistics stats = {};
	socklen_t len = sizeof(stats);

	if (getsockopt(port->fd, SOL_XDP, XDP_STATISTICS, &stats, &len))
		perror("xdpsock: XDP_STATISTICS");
	return stats;
}

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static const char *bench_name(const struct xsk_port *port)
{
	static const char * const names[] = {
		[BENCH_RXDROP] = "rxdrop",
		[BENCH_TXONLY] = "txonly",
		[BENCH_L2FWD] = "l2fwd",
	};

	return names[port->opts->bench];
}

static const char *how(const struct xsk_port *port)
{
	return port->binding.attach ? "attach" : "xskmap";
}

static const char *copy_mode(const struct xsk_port *port)
{
	return port->binding.zero_copy ? "zero-copy" : "copy";
}

static FILE *table(const struct xsk_port *port)
{
	return port->opts->json ? stderr : stdout;
}

static void print_row(FILE *out, const char *name, __u64 packets, __u64 total,
		      double seconds)
{
	fprintf(out, "%-18s %-14.0f %-14llu\n", name,
		seconds > 0 ? packets / seconds : 0, total);
}

static void print_rates(const struct report *report, double seconds,
			const struct xsk_counts *since)
{
	const struct xsk_port *port = report->port;
	const struct xsk_counts *count = &port->count;
	FILE *out = table(port);

	fprintf(out, "\n sock0@%s:%u %s xdp-%s %s %s\n",
		port->opts->interface, port->opts->queue, bench_name(port),
		port->binding.mode, copy_mode(port), how(port));
	fprintf(out, "%-18s %-14s %-14s %.2f\n", "", "pps", "pkts", seconds);
	print_row(out, "rx", count->rx - since->rx, count->rx, seconds);
	print_row(out, "tx", count->tx - since->tx, count->tx, seconds);
	fflush(out);
}

void report_start(struct report *report, const struct xsk_port *port)
{
	const struct xsk_binding *binding = &port->binding;
	FILE *out = table(port);

	fprintf(out, "%s on %s queue %u: %s, %s, %s", bench_name(port),
		port->opts->interface, port->opts->queue, binding->mode,
		copy_mode(port), how(port));
	if (binding->attach)
		fprintf(out, " %s",
			xsk_fastpath__attach_state_str(binding->info.state));
	fprintf(out, ", program id %u\n", binding->prog_id);
	fflush(out);
	*report = (struct report){ .port = port, .start_ns = now_ns() };
	report->last_ns = report->start_ns;
}

unsigned int report_seconds(const struct report *report)
{
	__u64 elapsed = now_ns() - report->start_ns;

	return (elapsed + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
}

void report_interval(struct report *report)
{
	__u64 now = now_ns();

	print_rates(report, (double)(now - report->last_ns) / NSEC_PER_SEC,
		    &report->last);
	report->last = report->port->count;
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

static void json_setup(const struct xsk_port *port)
{
	const struct xsk_binding *binding = &port->binding;
	const struct xdpsock_opts *opts = port->opts;

	json_number("version", JSON_VERSION, ',');
	json_string("benchmark", bench_name(port));
	json_string("interface", opts->interface);
	json_number("queue", opts->queue, ',');
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

static void json_results(const struct xsk_port *port, double seconds,
			 const struct xdp_statistics *stats)
{
	const struct xsk_counts *count = &port->count;
	size_t last = ARRAY_SIZE(drop_counters) - 1;

	printf("\"seconds\":%.6f,", seconds);
	json_number("rx_packets", count->rx, ',');
	json_number("tx_packets", count->tx, ',');
	json_number("tx_outstanding", port->outstanding, ',');
	json_number("sendto", count->sendto, ',');
	json_number("recvfrom", count->recvfrom, ',');
	json_number("poll", count->poll, ',');
	for (size_t i = 0; i <= last; i++)
		json_number(drop_counters[i].name, drop_count(stats, i),
			    i < last ? ',' : '}');
}

void report_end(struct report *report)
{
	static const struct xsk_counts zero;
	const struct xsk_port *port = report->port;
	double seconds = (double)(now_ns() - report->start_ns) / NSEC_PER_SEC;
	struct xdp_statistics stats = read_statistics(port);

	fputs("\nIn total:", table(port));
	print_rates(report, seconds, &zero);
	for (size_t i = 0; i < ARRAY_SIZE(drop_counters); i++)
		fprintf(table(port), "%-18s %-14s %-14llu\n",
			drop_counters[i].name, "", drop_count(&stats, i));
	if (port->outstanding)
		fprintf(table(port), "%-18s %-14s %-14u\n", "tx_outstanding",
			"", port->outstanding);
	if (!port->opts->json)
		return;
	putchar('{');
	json_setup(port);
	json_results(port, seconds, &stats);
	putchar('\n');
	fflush(stdout);
}
