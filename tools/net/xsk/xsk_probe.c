// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * xsk-probe: print what of AF_XDP works on a queue, why the rest does not, and
 * the setting that would help. See xsk-probe(8).
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/netdev.h>

#include "xsk_probe.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum status { ALL_WORKS, SOMETHING_DOES_NOT, CANNOT_PROBE };

enum works { WORKS_NOT, WORKS, WORKS_UNKNOWN };

struct probe {
	struct xsk_probe_dev dev;
	struct xsk_probe_try tries[TRIES];
};

/* @note: the cause, then ": " and the setting that would help, or either */
struct verdict {
	enum works works;
	const char *note;
};

static struct verdict yes(const char *note)
{
	return (struct verdict){ WORKS, note };
}

static struct verdict no(const char *note)
{
	return (struct verdict){ WORKS_NOT, note };
}

static struct verdict no_reason(__u32 reason)
{
	return no(xsk_fastpath__attach_reason_str(reason));
}

static const char no_option[] =
	"the kernel does not have it: boot one with the AF_XDP fast path";
static const char behind[] =
	"an XDP program runs: set XDP_ATTACH_F_PASS, or detach it";
static const char resets[] =
	"attaching resets the port: ethtool --set-priv-flags NAME xdp-tx-rings on";

static struct verdict kernel_has(const struct probe *probe, __u64 feature)
{
	return probe->dev.kernel & feature ? yes("") : no(no_option);
}

/* A bind() that failed, with the reason of XDP_ATTACH if there is one */
static struct verdict bind_failed(const struct xsk_probe_try *try)
{
	if (try->attach.reason)
		return no_reason(try->attach.reason);
	return no(strerror(-try->err));
}

/* What keeps any socket from being attached to the queue */
static __u32 obstacle(const struct xsk_probe_dev *dev)
{
	if (dev->rx_queues && dev->queue >= dev->rx_queues)
		return XDP_ATTACH_R_NO_QUEUE;
	if (dev->attached)
		return XDP_ATTACH_R_QUEUE_BUSY;
	return XDP_ATTACH_R_NONE;
}

static bool has_program(const struct xsk_probe_dev *dev)
{
	return dev->drv_prog || dev->skb_prog;
}

static struct verdict attach(const struct probe *probe, int try, bool possible)
{
	const struct xsk_probe_dev *dev = &probe->dev;

	if (!(dev->kernel & XDP_FASTPATH_F_ATTACH))
		return no(no_option);
	if (probe->tries[try].tried && probe->tries[try].err)
		return bind_failed(&probe->tries[try]);
	if (obstacle(dev))
		return no_reason(obstacle(dev));
	if (!possible && !probe->tries[try].tried)
		return no_reason(XDP_ATTACH_R_NO_NATIVE);
	return yes(has_program(dev) ? behind : "");
}

static struct verdict attach_native(const struct probe *probe)
{
	return attach(probe, TRY_NATIVE,
		      probe->dev.xsk_features & NETDEV_XSK_FLAGS_ATTACH);
}

static struct verdict attach_generic(const struct probe *probe)
{
	return attach(probe, TRY_GENERIC, true);
}

static struct verdict pass(const struct probe *probe)
{
	return kernel_has(probe, XDP_FASTPATH_F_PASS);
}

static struct verdict zero_copy(const struct probe *probe)
{
	const struct xsk_probe_try *try = &probe->tries[TRY_NATIVE];
	const struct xsk_probe_dev *dev = &probe->dev;

	if (try->tried && !try->err)
		return try->zero_copy ? yes("") :
					no_reason(try->attach.zc_reason);
	if (!(dev->xdp_features & NETDEV_XDP_ACT_XSK_ZEROCOPY))
		return no_reason(XDP_ATTACH_R_ZC_DRIVER);
	if (dev->skb_prog)
		return no("an XDP program runs in generic mode: detach it");
	return yes("");
}

/* Drivers that take recycled chunks are those that deliver directly */
static struct verdict direct(const struct probe *probe)
{
	const struct xsk_probe_dev *dev = &probe->dev;
	struct verdict zc = zero_copy(probe);

	if (!(dev->kernel & XDP_FASTPATH_F_ATTACH))
		return no(no_option);
	if (!(dev->xsk_features & NETDEV_XSK_FLAGS_RECYCLE))
		return no("the driver has none: the built-in program delivers");
	if (zc.works != WORKS)
		return zc;
	return has_program(dev) ? no_reason(XDP_ATTACH_R_REGULAR) : yes("");
}

static struct verdict inorder(const struct probe *probe)
{
	return kernel_has(probe, XDP_FASTPATH_F_INORDER);
}

static struct verdict recycle(const struct probe *probe)
{
	const struct xsk_probe_try *try = &probe->tries[TRY_NATIVE];
	struct verdict zc = zero_copy(probe);

	if (!(probe->dev.kernel & XDP_FASTPATH_F_RECYCLE))
		return no(no_option);
	if (!(probe->dev.xsk_features & NETDEV_XSK_FLAGS_RECYCLE))
		return no("the driver does not take recycled chunks");
	if (zc.works != WORKS)
		return zc;
	if (try->tried && !try->err && try->recycle_err)
		return no(strerror(-try->recycle_err));
	return yes("");
}

static struct verdict unaligned(const struct probe *probe)
{
	const struct xsk_probe_try *try = &probe->tries[TRY_UNALIGNED];

	if (try->tried && try->err)
		return bind_failed(try);
	return probe->dev.unaligned ? yes("") :
		no("the kernel refuses the umem: allow locked memory (ulimit -l)");
}

static struct verdict multi_buffer(const struct probe *probe)
{
	const struct xsk_probe_try *try = &probe->tries[TRY_MULTI_BUFFER];
	const struct xsk_probe_dev *dev = &probe->dev;

	if (try->tried && try->err)
		return bind_failed(try);
	if (dev->xdp_features & NETDEV_XDP_ACT_XSK_ZEROCOPY &&
	    dev->zc_max_segs < 2)
		return no_reason(XDP_ATTACH_R_ZC_SG);
	return yes("");
}

static struct verdict metadata(const struct probe *probe)
{
	__u64 features = probe->dev.xsk_features;
	bool timestamp = features & NETDEV_XSK_FLAGS_TX_TIMESTAMP;

	if (features & NETDEV_XSK_FLAGS_TX_CHECKSUM)
		return yes(timestamp ? "checksums and timestamps" :
				       "checksums, no timestamps");
	return timestamp ? yes("timestamps, no checksums") :
		no("the driver has none in zero-copy mode: use copy mode");
}

static struct verdict drops(const struct probe *probe)
{
	return kernel_has(probe, XDP_FASTPATH_F_DROPS);
}

static struct verdict captured(const struct probe *probe)
{
	switch (probe->dev.capture) {
	case SWITCH_OFF:
		return yes("is off: ethtool -K NAME xsk-capture on");
	case SWITCH_ON:
		return yes("is on");
	case SWITCH_NONE:
		break;
	}
	return no(no_option);
}

static struct verdict no_reset(const struct probe *probe)
{
	switch (probe->dev.tx_rings) {
	case SWITCH_OFF:
		return no(resets);
	case SWITCH_ON:
		return yes("");
	case SWITCH_NONE:
		break;
	}
	return (struct verdict){ WORKS_UNKNOWN, "the driver does not say" };
}

static const struct feature {
	const char *name;
	struct verdict (*judge)(const struct probe *probe);
} features[] = {
	{ "attach-native", attach_native },
	{ "attach-generic", attach_generic },
	{ "attach-pass", pass },
	{ "zero-copy", zero_copy },
	{ "direct-delivery", direct },
	{ "tx-inorder", inorder },
	{ "recycle", recycle },
	{ "unaligned", unaligned },
	{ "multi-buffer", multi_buffer },
	{ "tx-metadata", metadata },
	{ "drop-reasons", drops },
	{ "capture", captured },
	{ "no-reset", no_reset },
};

static void put_char(char c, bool json)
{
	if (json && (c == '"' || c == '\\'))
		putchar('\\');
	putchar(c);
}

static void put_name(const struct probe *probe, bool json)
{
	for (const char *c = probe->dev.name; *c; c++)
		put_char(*c, json);
}

/* Print a note up to @end, with the interface in place of NAME */
static void put_note(const struct probe *probe, const char *note,
		     const char *end, bool json)
{
	while (note < end) {
		if (strncmp(note, "NAME", 4)) {
			put_char(*note++, json);
		} else {
			put_name(probe, json);
			note += 4;
		}
	}
}

static void put_sockets(const struct xsk_probe_dev *dev, const char *unknown)
{
	if (dev->no_diag)
		fputs(unknown, stdout);
	else
		printf("%u", dev->sockets);
}

static void print_table(const struct probe *probe, bool bound)
{
	static const char * const words[] = { "no", "yes", "-" };
	const struct xsk_probe_dev *dev = &probe->dev;

	printf("%s queue %u: driver %s, MTU %u, Rx queues: %u, sockets on the queue: ",
	       dev->name, dev->queue, dev->driver, dev->mtu, dev->rx_queues);
	put_sockets(dev, "unknown");
	puts(bound ? ", tested by bind()" : "");
	if (has_program(dev))
		printf("XDP program %u runs in %s mode\n",
		       dev->drv_prog ?: dev->skb_prog,
		       dev->drv_prog ? "native" : "generic");
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		struct verdict verdict = features[i].judge(probe);

		printf("%-16s %s", features[i].name, words[verdict.works]);
		if (*verdict.note)
			printf("%*s", verdict.works == WORKS ? 3 : 4, "");
		put_note(probe, verdict.note,
			 verdict.note + strlen(verdict.note), false);
		putchar('\n');
	}
}

static void print_json_feature(const struct probe *probe,
			       const struct feature *feature)
{
	static const char * const words[] = { "false", "true", "null" };
	struct verdict verdict = feature->judge(probe);
	const char *end = verdict.note + strlen(verdict.note);
	const char *colon = strstr(verdict.note, ": ") ?: end;

	printf("\"%s\": {\"works\": %s, \"why\": \"", feature->name,
	       words[verdict.works]);
	put_note(probe, verdict.note, colon, true);
	printf("\", \"setting\": \"");
	put_note(probe, colon == end ? end : colon + 2, end, true);
	printf("\"}");
}

static void print_json(const struct probe *probe, bool bound)
{
	const struct xsk_probe_dev *dev = &probe->dev;

	printf("{\"interface\": \"");
	put_name(probe, true);
	printf("\", \"queue\": %u, \"driver\": \"%s\", \"mtu\": %u, ",
	       dev->queue, dev->driver, dev->mtu);
	printf("\"rx_queues\": %u, \"sockets\": ", dev->rx_queues);
	put_sockets(dev, "null");
	printf(", \"native_program\": %u, ", dev->drv_prog);
	printf("\"generic_program\": %u, \"bound\": %s, \"features\": {",
	       dev->skb_prog, bound ? "true" : "false");
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		printf(i ? ", " : "");
		print_json_feature(probe, &features[i]);
	}
	puts("}}");
}

static void print_usage(FILE *out)
{
	fputs("Usage: xsk-probe [OPTION]... IFACE [QUEUE]\n"
	      "Print what of AF_XDP works on a queue (0), why the rest does not, and the\n"
	      "setting that would help.\n\n"
	      "  -b, --bind          bind sockets to the queue for a moment. This takes its\n"
	      "                      packets away from the stack, and may reset the port\n"
	      "  -f, --feature=NAME  exit status 1 only if this does not work; can be repeated\n"
	      "  -j, --json          print JSON\n"
	      "  -h, --help          this text\n\n"
	      "Features:", out);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		fprintf(out, "%s%s", i % 6 ? " " : "\n  ", features[i].name);
	fputs("\n\nExit status: 0 all features work, or all of --feature; 1 one does not; 2 the\n"
	      "queue cannot be probed, or wrong usage.\n", out);
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "xsk-probe: %s: %s\n", what, why);
	return CANNOT_PROBE;
}

struct options {
	const char *interface;
	const char *queue;
	bool bind;
	bool json;
	__u64 asked;		/* bits of features */
};

static int ask_feature(struct options *options, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (!strcmp(features[i].name, name)) {
			options->asked |= 1ULL << i;
			return 0;
		}
	}
	return fail(name, "no such feature (xsk-probe --help lists them)");
}

/* Return 0 to continue, 1 after --help, 2 if the usage is wrong */
static int parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "bind", no_argument, NULL, 'b' },
		{ "feature", required_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	int key;

	while ((key = getopt_long(argc, argv, "bf:jh", longs, NULL)) != -1) {
		if (key == 'b')
			options->bind = true;
		else if (key == 'j')
			options->json = true;
		else if (key == 'h')
			print_usage(stdout);
		if (key == 'h')
			return 1;
		if (key == '?' ||
		    (key == 'f' && ask_feature(options, optarg)))
			return CANNOT_PROBE;
	}
	if (argc - optind < 1 || argc - optind > 2) {
		print_usage(stderr);
		return CANNOT_PROBE;
	}
	options->interface = argv[optind];
	options->queue = argv[optind + 1] ?: "0";
	return 0;
}

static int find_queue(struct xsk_probe_dev *dev, const struct options *options)
{
	unsigned long queue;
	char *end;

	dev->ifindex = if_nametoindex(options->interface);
	if (!dev->ifindex)
		return fail(options->interface, "no such interface");
	snprintf(dev->name, sizeof(dev->name), "%s", options->interface);
	queue = strtoul(options->queue, &end, 10);
	if (*end || end == options->queue || queue > 65535)
		return fail(options->queue, "not the number of a queue");
	dev->queue = queue;
	return 0;
}

static int query(struct xsk_probe_dev *dev)
{
	int err = xsk_probe_kernel(dev);

	if (err == -EAFNOSUPPORT)
		return fail("socket", "no AF_XDP: build the kernel with CONFIG_XDP_SOCKETS");
	if (err)
		return fail("socket", err == -EPERM ?
			    "no permission: run as root (CAP_NET_RAW)" :
			    strerror(-err));
	err = xsk_probe_ethtool(dev) ?: xsk_probe_netlink(dev);
	return err ? fail(dev->name, strerror(-err)) : 0;
}

static int bind_sockets(struct probe *probe)
{
	if (probe->dev.no_diag)
		return fail("--bind",
			    "the sockets of the queue are unknown: build the kernel with CONFIG_XDP_SOCKETS_DIAG");
	if (probe->dev.sockets)
		return fail("--bind", "a socket is bound to the queue (ss --xdp -p)");
	if (!(probe->dev.kernel & XDP_FASTPATH_F_ATTACH))
		return fail("--bind", no_option);
	if (xsk_probe_bind(&probe->dev, probe->tries))
		return fail("--bind", strerror(ENOMEM));
	return 0;
}

static int judge(const struct probe *probe, __u64 asked)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (asked && !(asked & 1ULL << i))
			continue;
		if (features[i].judge(probe).works == WORKS_NOT)
			return SOMETHING_DOES_NOT;
	}
	return ALL_WORKS;
}

int main(int argc, char **argv)
{
	static struct probe probe;
	struct options options = {};
	int ret;

	ret = parse(&options, argc, argv);
	if (ret)
		return ret == CANNOT_PROBE ? ret : 0;
	ret = find_queue(&probe.dev, &options) ?: query(&probe.dev);
	if (!ret && options.bind)
		ret = bind_sockets(&probe);
	if (ret)
		return ret;
	if (options.json)
		print_json(&probe, options.bind);
	else
		print_table(&probe, options.bind);
	return judge(&probe, options.asked);
}
