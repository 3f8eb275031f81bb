// SPDX-License-Identifier: GPL-2.0
/* xdpsock: the table of options, from which parser and usage are generated */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <net/if.h>

#include "xdpsock_opts.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum opt_kind { OPT_HELP, OPT_INTERFACE, OPT_NUMBER, OPT_CHOICE };

/* Keys of options without a letter */
enum {
	KEY_ATTACH = UCHAR_MAX + 1,
	KEY_FORCE,
	KEY_PASS,
	KEY_INORDER,
	KEY_RECYCLE,
	KEY_FRAGS,
	KEY_CHECKSUM,
	KEY_FWD,
	KEY_QUEUES,
	KEY_RING_SIZE,
	KEY_FRAMES,
	KEY_BUDGET,
	KEY_JSON,
};

struct opt_spec {
	int key;
	const char *name;
	enum opt_kind kind;
	size_t offset;			/* into struct xdpsock_opts */
	unsigned int min;
	unsigned int max;		/* the value that a choice stores */
	const char *help;
};

#define NUMBER(key, name, field, min, max, help) \
	{ key, name, OPT_NUMBER, offsetof(struct xdpsock_opts, field), \
	  min, max, help }
#define CHOICE(key, name, field, value, help) \
	{ key, name, OPT_CHOICE, offsetof(struct xdpsock_opts, field), \
	  0, value, help }

static const struct opt_spec specs[] = {
	{ .key = 'i', .name = "interface", .kind = OPT_INTERFACE,
	  .help = "network interface; --fwd takes two" },
	NUMBER('q', "queue", queue, 0, 65535, "its queue"),
	NUMBER(KEY_QUEUES, "queues", queues, 1, 1024,
	       "number of queues from that one on, one socket\n"
	       "per queue; all sockets share the umem"),
	CHOICE('r', "rxdrop", bench, BENCH_RXDROP,
	       "benchmark: receive and drop"),
	CHOICE('t', "txonly", bench, BENCH_TXONLY, "benchmark: send"),
	CHOICE('l', "l2fwd", bench, BENCH_L2FWD,
	       "benchmark: swap MACs and send back"),
	CHOICE(KEY_FWD, "fwd", bench, BENCH_FWD,
	       "benchmark: forward between two interfaces,\n"
	       "in both directions"),
	CHOICE('S', "xdp-skb", mode, MODE_SKB,
	       "generic XDP, in copy mode"),
	CHOICE('N', "xdp-native", mode, MODE_NATIVE,
	       "native XDP, no fallback to generic"),
	CHOICE('z', "zero-copy", copy, COPY_ZERO,
	       "zero-copy, no fallback to copy"),
	CHOICE('c', "copy", copy, COPY_YES, "copy mode"),
	CHOICE(KEY_ATTACH, "attach", attach, 1,
	       "use XDP_ATTACH: no program, no XSKMAP"),
	CHOICE(KEY_FORCE, "force", force, 1,
	       "with --attach: fail instead of falling back"),
	CHOICE(KEY_PASS, "pass", pass, 1,
	       "with --attach: receive what an XDP program\n"
	       "of the interface passes"),
	CHOICE(KEY_INORDER, "inorder", inorder, 1,
	       "use XDP_TX_INORDER: completion via the Tx\n"
	       "ring's consumer, without completion ring"),
	CHOICE(KEY_RECYCLE, "recycle", recycle, 1,
	       "with --inorder: recycle completed chunks to\n"
	       "the Rx queue of their origin (l2fwd, fwd)"),
	CHOICE('p', "poll", poll, 1, "wait in poll()"),
	CHOICE('m', "no-need-wakeup", no_need_wakeup, 1,
	       "do not use XDP_USE_NEED_WAKEUP"),
	CHOICE('B', "busy-poll", busy_poll, 1,
	       "busy poll; set napi_defer_hard_irqs and\n"
	       "gro_flush_timeout of the interface before"),
	NUMBER(KEY_BUDGET, "busy-poll-budget", budget, 0, 65536,
	       "packets per poll of the driver, 0: batch size;\n"
	       "one poll per system call if\n"
	       "interrupts are deferred, else two"),
	NUMBER('b', "batch-size", batch, 1, 65536, "packets per round"),
	NUMBER(KEY_RING_SIZE, "ring-size", ring_size, 2, 65536,
	       "entries of Rx, Tx and completion ring"),
	NUMBER(KEY_FRAMES, "frames", frames, 1, 1 << 20,
	       "frames in the umem"),
	NUMBER('f', "frame-size", frame_size, 2048, 65536,
	       "bytes per frame of the umem"),
	CHOICE('u', "unaligned", unaligned, 1,
	       "umem of huge pages with unaligned frames"),
	CHOICE(KEY_FRAGS, "frags", frags, 1,
	       "multi-buffer packets (XDP_USE_SG): counts and\n"
	       "batch are of buffers"),
	NUMBER('s', "tx-pkt-size", packet_size, 64, 65536,
	       "txonly: bytes per packet, with FCS"),
	CHOICE(KEY_CHECKSUM, "tx-checksum", checksum, 1,
	       "txonly: request the UDP checksum of each\n"
	       "packet, in Tx metadata"),
	NUMBER('C', "tx-pkt-count", packets, 0, UINT_MAX,
	       "stop after N packets, 0: never"),
	NUMBER('d', "duration", duration, 0, 86400 * 365,
	       "stop after N seconds, 0: never"),
	NUMBER('n', "interval", interval, 1, 86400,
	       "seconds between statistics"),
	CHOICE(KEY_JSON, "json", json, 1,
	       "results as one line of JSON on stdout,\n"
	       "all other output on stderr"),
	{ .key = 'h', .name = "help", .help = "this text" },
};

static const struct xdpsock_opts defaults = {
	.queues = 1,
	.batch = 64,
	.ring_size = 2048,
	.frames = 4096,
	.frame_size = 4096,
	.packet_size = 64,
	.interval = 1,
};

static bool takes_argument(const struct opt_spec *spec)
{
	return spec->kind == OPT_INTERFACE || spec->kind == OPT_NUMBER;
}

static unsigned int *number_field(struct xdpsock_opts *opts,
				  const struct opt_spec *spec)
{
	return (unsigned int *)((char *)opts + spec->offset);
}

static void print_help_text(const char *text)
{
	const int column = 28;

	for (; *text; text++) {
		putchar(*text);
		if (*text == '\n')
			printf("%*s", column, "");
	}
}

static void print_option(const struct opt_spec *spec)
{
	struct xdpsock_opts opts = defaults;
	char name[32];

	snprintf(name, sizeof(name), "--%s%s", spec->name,
		 spec->kind == OPT_NUMBER ? "=N" :
		 spec->kind == OPT_INTERFACE ? "=NAME" : "");
	if (spec->key <= UCHAR_MAX)
		printf("  -%c, %-22s", spec->key, name);
	else
		printf("      %-22s", name);
	print_help_text(spec->help);
	if (spec->kind == OPT_NUMBER)
		printf(" (%u)", *number_field(&opts, spec));
	putchar('\n');
}

static void print_usage(void)
{
	puts("Usage: xdpsock -i NAME (-r | -t | -l) [OPTION]...\n"
	     "       xdpsock -i NAME -i NAME --fwd [OPTION]...\n"
	     "Benchmark of AF_XDP sockets on queues of network interfaces.\n");
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		print_option(&specs[i]);
	puts("\nA number in parentheses is the default. Without -S, -N, -z and\n"
	     "-c, the best mode that interface and driver support is used.\n"
	     "Exit status: 0 done, 1 failed, 2 wrong usage.");
}

static int mistake(const char *fmt, const char *what)
{
	fputs("xdpsock: ", stderr);
	fprintf(stderr, fmt, what);
	fputs(" (xdpsock --help lists options)\n", stderr);
	return 2;
}

static int store_number(struct xdpsock_opts *opts, const struct opt_spec *spec,
			const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || *text == '-' ||
	    value < spec->min || value > spec->max) {
		fprintf(stderr, "xdpsock: --%s needs a number from %u to %u, not '%s'\n",
			spec->name, spec->min, spec->max, text);
		return 2;
	}
	*number_field(opts, spec) = value;
	return -1;
}

static int store_choice(struct xdpsock_opts *opts, const struct opt_spec *spec)
{
	unsigned int *field = number_field(opts, spec);

	if (*field && *field != spec->max)
		return mistake("--%s contradicts a previous option",
			       spec->name);
	*field = spec->max;
	return -1;
}

static int store_interface(struct xdpsock_opts *opts, const char *name)
{
	if (opts->num_interfaces == XDPSOCK_MAX_INTERFACES)
		return mistake("too many interfaces: '%s'", name);
	if (!if_nametoindex(name))
		return mistake("no interface is named '%s'", name);
	opts->interfaces[opts->num_interfaces++] = name;
	return -1;
}

static int store(struct xdpsock_opts *opts, int key, const char *text)
{
	const struct opt_spec *spec = specs;

	while (spec->key != key)
		spec++;
	switch (spec->kind) {
	case OPT_NUMBER:
		return store_number(opts, spec, text);
	case OPT_CHOICE:
		return store_choice(opts, spec);
	case OPT_INTERFACE:
		return store_interface(opts, text);
	case OPT_HELP:
		break;
	}
	print_usage();
	return 0;
}

static bool is_power_of_2(unsigned int n)
{
	return !(n & (n - 1));
}

static int check_interfaces(const struct xdpsock_opts *opts)
{
	unsigned int wanted = opts->bench == BENCH_FWD ? 2 : 1;

	if (!opts->num_interfaces)
		return mistake("no interface given: use %s", "-i NAME");
	if (!opts->bench)
		return mistake("no benchmark given: use one of %s",
			       "-r, -t, -l and --fwd");
	if (opts->num_interfaces != wanted)
		return mistake(wanted == 2 ? "--fwd needs %s" :
				"a second interface is valid with %s only",
			       wanted == 2 ? "two interfaces" : "--fwd");
	if (wanted == 2 && !strcmp(opts->interfaces[0], opts->interfaces[1]))
		return mistake("%s given twice: use -l to send back",
			       opts->interfaces[0]);
	if (opts->frames < opts->queues * opts->num_interfaces)
		return mistake("each socket needs a chunk: use more %s",
			       "--frames");
	return -1;
}

static int check(const struct xdpsock_opts *opts)
{
	unsigned int page_size = getpagesize();
	int ret = check_interfaces(opts);

	if (ret >= 0)
		return ret;
	if (opts->force && !opts->attach)
		return mistake("--force needs %s", "--attach");
	if (opts->pass && !opts->attach)
		return mistake("--pass needs %s", "--attach");
	if (opts->mode == MODE_SKB && opts->copy == COPY_ZERO)
		return mistake("generic XDP has no zero-copy: remove %s",
			       "-S or -z");
	if (!is_power_of_2(opts->ring_size))
		return mistake("%s must be a power of two", "--ring-size");
	if (opts->recycle && !opts->inorder)
		return mistake("--recycle needs %s", "--inorder");
	if (opts->recycle && opts->bench != BENCH_L2FWD &&
	    opts->bench != BENCH_FWD)
		return mistake("--recycle is valid for %s only", "l2fwd and fwd");
	if (opts->recycle && opts->frags)
		return mistake("--recycle cannot be used with %s", "--frags");
	if (opts->inorder && opts->frames < opts->ring_size)
		return mistake("--inorder needs at least as many %s as --ring-size",
			       "--frames");
	if (opts->frame_size > page_size)
		return mistake("%s must not exceed a page", "--frame-size");
	if (!opts->unaligned && !is_power_of_2(opts->frame_size))
		return mistake("%s must be a power of two without --unaligned",
			       "--frame-size");
	if (opts->checksum && opts->bench != BENCH_TXONLY)
		return mistake("--tx-checksum is valid for %s only", "txonly");
	if (opts->packet_size + tx_metadata_len(opts) > opts->frame_size)
		return mistake("%s exceeds the frame size of the umem",
			       "--tx-pkt-size");
	return -1;
}

int xdpsock_parse(struct xdpsock_opts *opts, int argc, char **argv)
{
	struct option longs[ARRAY_SIZE(specs) + 1] = {};
	char shorts[2 * ARRAY_SIZE(specs) + 1];
	char *s = shorts;
	int key, ret;

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		longs[i].name = specs[i].name;
		longs[i].has_arg = takes_argument(&specs[i]);
		longs[i].val = specs[i].key;
		if (specs[i].key > UCHAR_MAX)
			continue;
		*s++ = specs[i].key;
		if (takes_argument(&specs[i]))
			*s++ = ':';
	}
	*s = '\0';

	*opts = defaults;
	while ((key = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		ret = key == '?' ? 2 : store(opts, key, optarg);
		if (ret >= 0)
			return ret;
	}
	if (optind < argc)
		return mistake("'%s' is not an option", argv[optind]);
	return check(opts);
}
