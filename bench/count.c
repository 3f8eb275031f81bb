// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU that counts executed instructions per block of code, between two
 * points that are given in packets.
 *
 *   -plugin count.so,dir=BOOT,out=FOLDER[,lines=on]
 *
 * BOOT has the sockets control.sock of nicsim and bench.sock, the other end of a serial
 * port of the guest. There the guest asks for a measurement in one line
 *
 *   NAME COUNTER WARMUP PACKETS PORT...
 *
 * COUNTER is a key of nicsim's counters, to_chip or from_chip, added up over all ports, or
 * @ADDRESS, in hexadecimal: a packet is when the block there is entered.
 * Once the guest has gone to sleep, the plugin starts the generators of these PORTs. Each
 * SAMPLE instructions it asks nicsim for the counters, while the guest stands still. After
 * WARMUP packets it begins to count, after PACKETS more it writes FOLDER/NAME.blocks, stops
 * the generators and answers `done`. So nothing but the program that is measured runs in
 * between, and that need not know.
 *
 * FOLDER/NAME.blocks: a line of JSON with what was counted as a whole, then for each block
 * that ran: vCPU, address of its first instruction, times entered, instructions executed.
 *
 * With lines=on also how many cache lines went from vCPU 0 to 1 and back, a fifth number of
 * each block: those of physical memory that the block touched, that the other vCPU wrote
 * last, and that this one has not touched since. Caches hold everything; what a card reads
 * and writes is not seen. This makes the guest slower by some factor. A block then counts
 * with all its instructions when it is entered: QEMU 11.1 crashes with counters of its own
 * if there are several vCPUs.
 *
 * QEMU has to run all vCPUs in one thread (-icount): there are no locks.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "qemu_plugin.h"

/* Some batches of 64 packets; asking nicsim takes as long as some 5000 instructions */
#define SAMPLE 100000
/* Samples from the request on, until nothing else runs in the guest */
#define SETTLE 300
#define MAX_BLOCKS 524288U		/* a power of 2 */

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct block_count {
	__u64 entered;
	__u64 insns;
	__u64 lines;
};

/* Of a line of memory: which vCPU wrote it last, and which have its contents */
#define LINE_BITS 6
#define NUM_LINES (1ULL << (32 - LINE_BITS))
#define LINE_VCPUS 2
#define MAX_VCPUS 4
#define WRITTEN_BY(vcpu) (1U << (vcpu))
#define HELD_BY(vcpu) (4U << (vcpu))
static __u8 *lines;

/* The element of a vCPU in the scoreboard; block 0 takes those that found no place */
struct counts {
	__u64 since_sample;
	struct block_count blocks[MAX_BLOCKS];
};

enum state { WAITING, SETTLING, WARMING_UP, COUNTING };

static struct {
	char dir[80];
	char out[80];
	struct qemu_plugin_scoreboard *score;	/* or, with lines=on: */
	struct counts *counts[MAX_VCPUS];
	unsigned int num_blocks;
	int control, guest;
	enum state state;
	char name[80];
	char counter[32];
	__u64 address;				/* in place of it, or 0 */
	__u64 warmup, packets;		/* as asked for */
	char ports[32];
	unsigned int settle;			/* samples until the generators start */
	__u64 first_packet, begin;		/* counter when asked, when counting began */
	/* While counting: times a vCPU halted, samples, those of them without a backlog */
	__u64 idle, samples, starved;
} bench = { .control = -1, .guest = -1 };

/* Of the blocks, by their numbers; 0 is a free place */
static __u64 addresses[MAX_BLOCKS];

static void fail(const char *what)
{
	fprintf(stderr, "count.so: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static int connect_to(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", bench.dir, name);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail(addr.sun_path);
	return fd;
}

/* The sum of all numbers that stand behind the key in a line of JSON */
static __u64 sum_of(const char *json, const char *key)
{
	char quoted[40];
	__u64 sum = 0;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	while ((json = strstr(json, quoted))) {
		json += strlen(quoted);
		sum += strtoull(json, NULL, 10);
	}
	return sum;
}

/* Gives nicsim a command; returns its answer, a line */
static const char *tell(const char *command)
{
	static char answer[65536];
	size_t len = strlen(command);
	ssize_t got;

	if (write(bench.control, command, len) != (ssize_t)len)
		fail("nicsim");
	len = 0;
	do {
		got = read(bench.control, answer + len, sizeof(answer) - 1 - len);
		if (got <= 0)
			fail("nicsim");
		len += got;
	} while (answer[len - 1] != '\n');
	answer[len] = '\0';
	return answer;
}

/* All generators that were asked for: start or stop */
static void generators(const char *verb)
{
	char command[80];

	for (const char *port = bench.ports; *port; port++) {
		if (*port < '0' || *port > '9')
			continue;
		snprintf(command, sizeof(command), "gen %c %s\n", *port, verb);
		tell(command);
	}
}

static __u64 times_entered(__u64 address);

/* The packets so far; whether none waits at the ports, though a generator runs */
static __u64 packets_now(bool *starved)
{
	const char *answer;

	*starved = false;
	if (bench.address)
		return times_entered(bench.address);
	answer = tell("counters\n");
	*starved = strstr(answer, "\"running\":true") &&
		   sum_of(answer, "rx_wire") <= sum_of(answer, "rx_frames");
	return sum_of(answer, bench.counter);
}

/* Whether the guest has asked for a measurement */
static bool asked(void)
{
	static char line[256];
	static size_t len;
	ssize_t got = recv(bench.guest, line + len, sizeof(line) - 1 - len, MSG_DONTWAIT);

	if (got > 0)
		len += got;
	line[len] = '\0';
	if (!strchr(line, '\n'))
		return false;
	len = 0;
	bench.ports[0] = '\0';
	if (sscanf(line, "%79s %31s %llu %llu %31[0-9 ]", bench.name, bench.counter,
		   &bench.warmup, &bench.packets, bench.ports) >= 4) {
		bench.address = bench.counter[0] == '@' ?
				strtoull(bench.counter + 1, NULL, 16) : 0;
		return true;
	}
	errno = EINVAL;
	fail("request of the guest");
	return false;
}

static struct counts *counts_of(int vcpu)
{
	return lines ? bench.counts[vcpu] : qemu_plugin_scoreboard_find(bench.score, vcpu);
}

/* Blocks that start at the same address, in whatever process, are one */
static unsigned int block_number(__u64 address)
{
	unsigned int i = (address * 0x9e3779b97f4a7c15) >> 45;

	while (addresses[i] != address || !i) {
		if (i && !addresses[i]) {
			if (bench.num_blocks >= MAX_BLOCKS / 4 * 3)
				return 0;
			bench.num_blocks++;
			addresses[i] = address;
			return i;
		}
		i = (i + 1) % MAX_BLOCKS;
	}
	return i;
}

/* Since counting began, or before that since the guest was started */
static __u64 times_entered(__u64 address)
{
	unsigned int number = block_number(address);
	__u64 entered = 0;

	for (int vcpu = 0; vcpu < qemu_plugin_num_vcpus(); vcpu++)
		entered += counts_of(vcpu)->blocks[number].entered;
	return entered;
}

static void begin_counting(__u64 now)
{
	for (int vcpu = 0; vcpu < qemu_plugin_num_vcpus(); vcpu++)
		memset(counts_of(vcpu)->blocks, 0, sizeof(counts_of(vcpu)->blocks));
	bench.idle = 0;
	bench.samples = 0;
	bench.starved = 0;
	bench.begin = bench.address ? 0 : now;
}

static __u64 total_insns(void)
{
	__u64 total = 0;

	for (int vcpu = 0; vcpu < qemu_plugin_num_vcpus(); vcpu++)
		for (unsigned int i = 0; i < MAX_BLOCKS; i++)
			total += counts_of(vcpu)->blocks[i].insns;
	return total;
}

static void write_blocks(FILE *file, int vcpu)
{
	const struct block_count *blocks = counts_of(vcpu)->blocks;

	for (unsigned int i = 0; i < MAX_BLOCKS; i++) {
		if (blocks[i].insns)
			fprintf(file, "%d %llx %llu %llu %llu\n", vcpu, addresses[i],
				blocks[i].entered, blocks[i].insns, blocks[i].lines);
	}
}

static void end_counting(__u64 now)
{
	static const char done[] = "done\n";
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.blocks", bench.out, bench.name);
	file = fopen(path, "w");
	if (!file)
		fail(path);
	fprintf(file,
		"{\"packets\": %llu, \"insns\": %llu, \"idle\": %llu, \"samples\": %llu, \"starved\": %llu}\n",
		now - bench.begin, total_insns(), bench.idle, bench.samples, bench.starved);
	for (int vcpu = 0; vcpu < qemu_plugin_num_vcpus(); vcpu++)
		write_blocks(file, vcpu);
	if (fclose(file))
		fail(path);
	generators("stop");
	if (write(bench.guest, done, sizeof(done) - 1) < 0)
		fail("guest");
}

static void settle(void)
{
	bool starved;

	if (bench.settle--)
		return;
	bench.first_packet = packets_now(&starved);
	generators("start");
	bench.state = WARMING_UP;
}

static void look_at_packets(void)
{
	bool starved;
	__u64 now = packets_now(&starved);

	bench.samples++;
	bench.starved += starved;
	if (bench.state == WARMING_UP && now - bench.first_packet >= bench.warmup) {
		begin_counting(now);
		bench.state = COUNTING;
	} else if (bench.state == COUNTING && now - bench.begin >= bench.packets) {
		end_counting(now);
		bench.state = WAITING;
	}
}

static void sample(unsigned int vcpu, void *data)
{
	(void)data;
	counts_of(vcpu)->since_sample = 0;
	if (bench.guest < 0) {
		bench.guest = connect_to("bench.sock");
		bench.control = connect_to("control.sock");
	}
	if (bench.state == SETTLING) {
		settle();
	} else if (bench.state != WAITING) {
		look_at_packets();
	} else if (asked()) {
		bench.settle = SETTLE;
		bench.state = SETTLING;
	}
}

static struct qemu_plugin_u64 entry(size_t offset)
{
	return (struct qemu_plugin_u64){ bench.score, offset };
}

/* A load or store of the block with this number */
static void touched(unsigned int vcpu, qemu_plugin_meminfo_t info, __u64 vaddr, void *number)
{
	const struct qemu_plugin_hwaddr *hwaddr;
	__u64 line;

	if (vcpu >= LINE_VCPUS || bench.state < WARMING_UP)
		return;
	hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hwaddr || qemu_plugin_hwaddr_is_io(hwaddr))
		return;
	line = qemu_plugin_hwaddr_phys_addr(hwaddr) >> LINE_BITS;
	if (line >= NUM_LINES)
		return;
	if ((lines[line] & WRITTEN_BY(!vcpu)) && !(lines[line] & HELD_BY(vcpu)))
		counts_of(vcpu)->blocks[(size_t)number].lines++;
	if (qemu_plugin_mem_is_store(info))
		lines[line] = WRITTEN_BY(vcpu);
	lines[line] |= HELD_BY(vcpu);
}

/* A block with its number and, above, its instructions */
static void entered_block(unsigned int vcpu, void *block)
{
	struct counts *counts = counts_of(vcpu);
	size_t n = (size_t)block >> 32;
	struct block_count *count = &counts->blocks[(__u32)(size_t)block];

	count->entered++;
	count->insns += n;
	counts->since_sample += n;
	if (counts->since_sample >= SAMPLE)
		sample(vcpu, NULL);
}

static void watch_lines(struct qemu_plugin_tb *tb, size_t n, size_t number)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, entered_block, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)(n << 32 | number));
	for (size_t i = 0; i < n; i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), touched,
						 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
						 (void *)number);
}

/* Instructions one by one: QEMU starts a block anew behind an access to a device */
static void count_insns(struct qemu_plugin_tb *tb, size_t n, size_t number)
{
	struct qemu_plugin_u64 since_sample = entry(offsetof(struct counts, since_sample));
	struct qemu_plugin_u64 entered = entry(offsetof(struct counts, blocks[number].entered));
	struct qemu_plugin_u64 insns = entry(offsetof(struct counts, blocks[number].insns));

	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64, entered,
							  1);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							  since_sample, n);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, sample, QEMU_PLUGIN_CB_NO_REGS,
						  QEMU_PLUGIN_COND_GE, since_sample, SAMPLE, NULL);
	for (size_t i = 0; i < n; i++)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(qemu_plugin_tb_get_insn(tb, i),
								    QEMU_PLUGIN_INLINE_ADD_U64,
								    insns, 1);
}

static void translated(struct qemu_plugin_tb *tb, void *data)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	unsigned int number = block_number(qemu_plugin_tb_vaddr(tb));

	(void)data;
	if (lines)
		watch_lines(tb, n, number);
	else
		count_insns(tb, n, number);
}

static void idle(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	bench.idle++;
}

static void watch_lines_from_now(void)
{
	lines = calloc(NUM_LINES, sizeof(*lines));
	for (int vcpu = 0; vcpu < MAX_VCPUS; vcpu++) {
		bench.counts[vcpu] = calloc(1, sizeof(*bench.counts[vcpu]));
		if (!lines || !bench.counts[vcpu])
			fail("lines=on");
	}
}

int qemu_plugin_install(__u64 id, const struct qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "lines=on")) {
			watch_lines_from_now();
		} else if (sscanf(argv[i], "dir=%79s", bench.dir) != 1 &&
		    sscanf(argv[i], "out=%79s", bench.out) != 1) {
			fprintf(stderr, "count.so: unknown argument %s\n", argv[i]);
			return 1;
		}
	}
	if (!lines)
		bench.score = qemu_plugin_scoreboard_new(sizeof(struct counts));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
	qemu_plugin_register_vcpu_idle_cb(id, idle, NULL);
	return 0;
}
