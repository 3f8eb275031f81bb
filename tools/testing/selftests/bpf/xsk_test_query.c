// SPDX-License-Identifier: GPL-2.0
/* AF_XDP test library: queries of the kernel's state */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "xsk_test.h"
#include "xsk_fastpath.h"

bool kernel_has(__u64 feature)
{
	int fd = socket(AF_XDP, SOCK_RAW, 0);
	__u64 features = 0;

	xsk_fastpath__features(fd, &features);
	close(fd);
	return features & feature;
}

/* sock_diag */

int diag_ask(int fd, __u32 show)
{
	struct {
		struct nlmsghdr nlh;
		struct xdp_diag_req req;
	} msg = {
		.nlh.nlmsg_len = sizeof(msg),
		.nlh.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.req.sdiag_family = AF_XDP,
		.req.xdiag_show = show,
	};

	return send(fd, &msg, sizeof(msg), 0) < 0 ? -errno : 0;
}

/* Return: size of the attribute; -ENOENT if the socket has none */
static int diag_attr(const struct nlmsghdr *nlh, int type, void *value,
		     int size)
{
	const struct xdp_diag_msg *msg = NLMSG_DATA(nlh);
	int left = nlh->nlmsg_len - NLMSG_SPACE(sizeof(*msg));
	const struct nlattr *attr = (void *)msg + NLMSG_ALIGN(sizeof(*msg));

	while (left >= (int)sizeof(*attr) && attr->nla_len >= sizeof(*attr)) {
		int len = attr->nla_len - NLA_HDRLEN;

		if (attr->nla_type == type) {
			memcpy(value, (void *)attr + NLA_HDRLEN,
			       len < size ? len : size);
			return len;
		}
		left -= NLA_ALIGN(attr->nla_len);
		attr = (void *)attr + NLA_ALIGN(attr->nla_len);
	}
	return -ENOENT;
}

static void diag_add(struct diag *d, const struct nlmsghdr *nlh)
{
	const struct xdp_diag_msg *msg = NLMSG_DATA(nlh);
	struct diag_socket *s = &d->sockets[d->count];
	struct xdp_diag_info info;

	if (d->count == DIAG_SOCKETS)
		return;
	d->count++;
	memset(s, 0, sizeof(*s));
	s->ino = msg->xdiag_ino;
	s->has_info = diag_attr(nlh, XDP_DIAG_INFO, &info, sizeof(info)) > 0;
	s->ifindex = s->has_info ? info.ifindex : 0;
	s->has_attach = diag_attr(nlh, XDP_DIAG_ATTACH, &s->attach,
				  sizeof(s->attach)) > 0;
	s->has_recycle = diag_attr(nlh, XDP_DIAG_RECYCLE, &s->recycle,
				   sizeof(s->recycle)) > 0;
	s->has_drops = diag_attr(nlh, XDP_DIAG_DROPS, &s->drops,
				 sizeof(s->drops)) > 0;
	s->has_inorder = diag_attr(nlh, XDP_DIAG_INORDER, &s->inorder,
				   sizeof(s->inorder)) > 0;
	s->has_pair = diag_attr(nlh, XDP_DIAG_PAIR, &s->pair,
				sizeof(s->pair)) > 0;
}

static int diag_read(int fd, struct diag *d)
{
	static __u64 buf[8192];

	for (;;) {
		int len = recv(fd, buf, sizeof(buf), 0);
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

		if (len <= 0)
			return -EIO;
		for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
			/* Both begin with an errno, 0 on success */
			if (nlh->nlmsg_type == NLMSG_DONE ||
			    nlh->nlmsg_type == NLMSG_ERROR)
				return *(int *)NLMSG_DATA(nlh);
			diag_add(d, nlh);
		}
	}
}

/* Dump all AF_XDP sockets of the network namespace */
int diag_dump(struct diag *d, __u32 show)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
	int err;

	d->count = 0;
	if (fd < 0)
		return complain(-errno, "NETLINK_SOCK_DIAG");
	err = diag_ask(fd, show);
	if (!err)
		err = diag_read(fd, d);
	close(fd);
	return err ? complain(err, "dump of sock_diag") : 0;
}

/* Return: the entry of the socket; NULL unless there is exactly one */
const struct diag_socket *diag_find(const struct diag *d, int fd)
{
	const struct diag_socket *found = NULL;
	struct stat st;
	__u32 i;

	if (fstat(fd, &st))
		return NULL;
	for (i = 0; i < d->count; i++) {
		if (d->sockets[i].ino != st.st_ino)
			continue;
		if (found)
			return NULL;
		found = &d->sockets[i];
	}
	return found;
}

/*
 * Find a socket in a dump of sock_diag
 * Return: 1 with XDP_DIAG_ATTACH, 0 without it; negative if there is no socket
 */
int xsk_diag(const struct xsk *x, __u32 show, struct xdp_attach *attach)
{
	const struct diag_socket *s;
	static struct diag d;
	int err;

	err = diag_dump(&d, show);
	if (err)
		return err;
	s = diag_find(&d, x->fd);
	if (!s)
		return -ENOENT;
	if (s->has_attach)
		*attach = s->attach;
	return s->has_attach;
}

/* BPF programs and maps, the kernel log */

int prog_id(int prog_fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_prog_get_info_by_fd(prog_fd, &info, &len))
		return complain(-errno, "program info");
	return info.id;
}

static int count_prog(struct bpf_census *census, __u32 id)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!bpf_prog_get_info_by_fd(fd, &info, &len)) {
		census->progs++;
		census->xdp_progs += info.type == BPF_PROG_TYPE_XDP;
		census->builtins += !strcmp(info.name, "xsk_builtin");
	}
	close(fd);
	return 0;
}

static int count_map(struct bpf_census *census, __u32 id)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!bpf_map_get_info_by_fd(fd, &info, &len)) {
		census->maps++;
		census->xskmaps += info.type == BPF_MAP_TYPE_XSKMAP;
	}
	close(fd);
	return 0;
}

/* Count all programs and maps of the system */
int bpf_count(struct bpf_census *census)
{
	__u32 id = 0;
	int err = 0;

	memset(census, 0, sizeof(*census));
	while (!err && !bpf_prog_get_next_id(id, &id))
		err = count_prog(census, id);
	id = 0;
	while (!err && !bpf_map_get_next_id(id, &id))
		err = count_map(census, id);
	return err ? complain(err, "list of programs and maps") : 0;
}

/* Open the kernel log at its end */
int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return complain(-errno, "/dev/kmsg");
	lseek(fd, 0, SEEK_END);
	return fd;
}

bool kmsg_find(int fd, const char *text)
{
	char record[1024];
	ssize_t len;

	while ((len = read(fd, record, sizeof(record) - 1)) > 0) {
		record[len] = 0;
		if (strstr(record, text))
			return true;
	}
	return false;
}
