// SPDX-License-Identifier: GPL-2.0
/* AF_XDP test library: text, processes and users */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "xsk_test.h"

long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void nap(int ms)
{
	usleep(ms * 1000);
}

int complain(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("# ", stderr);
	vfprintf(stderr, fmt, args);
	fprintf(stderr, ": %s\n", strerror(-err));
	va_end(args);
	return err;
}

/* The output of the command is printed only if it fails */
int run(const char *fmt, ...)
{
	char cmd[512], line[600];
	va_list args;
	size_t len;
	FILE *out;
	int ret;

	va_start(args, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, args);
	va_end(args);

	snprintf(line, sizeof(line), "{ %s; } 2>&1", cmd);
	out = popen(line, "r");
	if (!out)
		return complain(-errno, "%s", cmd);

	len = fread(line, 1, sizeof(line) - 1, out);
	line[len] = 0;
	while (fgetc(out) != EOF)
		;
	ret = pclose(out);
	if (!ret)
		return 0;
	return complain(-EIO, "command failed (status %#x): %s: %s", ret, cmd,
			line);
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Number of packets of the longer tests, from the environment */
__u32 env_frames(const char *name)
{
	const char *frames = getenv(name);

	return frames ? atoi(frames) : 4096;
}

/* Print warnings as TAP comments */
int tap_print_libbpf(enum libbpf_print_level level, const char *fmt,
		     va_list args)
{
	if (level != LIBBPF_WARN)
		return 0;
	fputs("# ", stderr);
	return vfprintf(stderr, fmt, args);
}

/* Helper processes */

bool helper_tell(const int *pipe)
{
	return write(pipe[1], "", 1) == 1;
}

bool helper_wait(const int *pipe)
{
	char byte;

	return read(pipe[0], &byte, 1) == 1;
}

/* Return: like fork(). If one side exits, helper_wait() of the other one fails. */
pid_t helper_fork(struct helper *h)
{
	if (pipe2(h->to, O_CLOEXEC) || pipe2(h->from, O_CLOEXEC))
		return -1;

	h->pid = fork();
	if (h->pid) {
		close(h->to[0]);
		close(h->from[1]);
	} else {
		/* Also if an assertion aborts the test */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(h->to[1]);
		close(h->from[0]);
	}
	return h->pid;
}

void helper_kill(struct helper *h)
{
	kill(h->pid, SIGKILL);
	waitpid(h->pid, NULL, 0);
}

/* File descriptors over a UNIX socket */

#define FDS_MAX	2

union fds_control {
	struct cmsghdr hdr;
	char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

static void fds_msg(struct msghdr *msg, struct iovec *byte,
		    union fds_control *control, int n)
{
	memset(control, 0, sizeof(*control));
	control->hdr.cmsg_level = SOL_SOCKET;
	control->hdr.cmsg_type = SCM_RIGHTS;
	control->hdr.cmsg_len = CMSG_LEN(n * sizeof(int));
	*msg = (struct msghdr){
		.msg_iov = byte,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(n * sizeof(int)),
	};
}

/* Up to FDS_MAX */
bool fds_send(int sock, const int *fds, int n, int flags)
{
	struct iovec byte = { .iov_base = "", .iov_len = 1 };
	union fds_control control;
	struct msghdr msg;

	fds_msg(&msg, &byte, &control, n);
	memcpy(CMSG_DATA(&control.hdr), fds, n * sizeof(int));
	return sendmsg(sock, &msg, flags) == 1;
}

bool fds_recv(int sock, int *fds, int n, int flags)
{
	char data;
	struct iovec byte = { .iov_base = &data, .iov_len = 1 };
	union fds_control control;
	struct msghdr msg;

	fds_msg(&msg, &byte, &control, n);
	if (recvmsg(sock, &msg, flags) != 1 ||
	    msg.msg_controllen < CMSG_LEN(n * sizeof(int)) ||
	    control.hdr.cmsg_len != CMSG_LEN(n * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(&control.hdr), n * sizeof(int));
	return true;
}

/* Users and namespaces */

#define NOBODY	65534

bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(NOBODY, NOBODY, NOBODY);
}

/* Map the user of the caller to root of a new user and network namespace */
bool user_ns_enter(void)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	/* After a change of the user, root owns /proc/self */
	return !prctl(PR_SET_DUMPABLE, 1) &&
	       !unshare(CLONE_NEWUSER | CLONE_NEWNET) &&
	       !write_file("/proc/self/uid_map", map);
}

bool root_of_new_user_ns(void)
{
	if (!user_ns_enter())
		return false;
	ipv6_disable();
	return true;
}
