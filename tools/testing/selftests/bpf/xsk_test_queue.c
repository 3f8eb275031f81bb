// SPDX-License-Identifier: GPL-2.0
/* AF_XDP test library: queues in the netdev netlink family */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netdev.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xsk_test.h"

struct request {
	struct nlmsghdr nlh;
	struct genlmsghdr genl;
	char attrs[64];
};

static void request_init(struct request *r, __u16 family, __u8 cmd)
{
	memset(r, 0, sizeof(*r));
	r->nlh.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	r->nlh.nlmsg_type = family;
	r->nlh.nlmsg_flags = NLM_F_REQUEST;
	r->genl.cmd = cmd;
	r->genl.version = 1;
}

static void request_put(struct request *r, __u16 type, const void *value,
			__u16 len)
{
	struct nlattr *attr = (void *)r + r->nlh.nlmsg_len;

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memcpy((void *)attr + NLA_HDRLEN, value, len);
	r->nlh.nlmsg_len += NLA_ALIGN(attr->nla_len);
}

/* Return: length of the attributes of the reply in @buf, or an errno */
static int request_send(int fd, const struct request *r, void *buf, int size)
{
	const struct nlmsghdr *nlh = buf;
	int len;

	if (send(fd, r, r->nlh.nlmsg_len, 0) < 0)
		return -errno;
	len = recv(fd, buf, size, 0);
	if (len < 0)
		return -errno;
	if (!NLMSG_OK(nlh, len))
		return -EIO;
	if (nlh->nlmsg_type == NLMSG_ERROR)
		return *(int *)NLMSG_DATA(nlh);
	return nlh->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
}

static const struct nlattr *attrs_of(const void *buf)
{
	return buf + NLMSG_LENGTH(GENL_HDRLEN);
}

static const void *value_of(const struct nlattr *attr)
{
	return (const void *)attr + NLA_HDRLEN;
}

/* Return: the next attribute; NULL after the last one */
static const struct nlattr *attr_next(const struct nlattr *attr, int *left)
{
	int len = NLA_ALIGN(attr->nla_len);

	*left -= len;
	attr = (const void *)attr + len;
	return *left >= NLA_HDRLEN && attr->nla_len >= NLA_HDRLEN ? attr : NULL;
}

static const struct nlattr *attr_find(const struct nlattr *attr, int left,
				      __u16 type)
{
	if (left < NLA_HDRLEN)
		return NULL;
	while (attr && (attr->nla_type & NLA_TYPE_MASK) != type)
		attr = attr_next(attr, &left);
	return attr;
}

/* Return: number of the family, or an errno */
static int netdev_family(int fd)
{
	__u64 buf[512];
	const struct nlattr *id;
	struct request r;
	int len;

	request_init(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	request_put(&r, CTRL_ATTR_FAMILY_NAME, NETDEV_FAMILY_NAME,
		    sizeof(NETDEV_FAMILY_NAME));
	len = request_send(fd, &r, buf, sizeof(buf));
	if (len < 0)
		return len;
	id = attr_find(attrs_of(buf), len, CTRL_ATTR_FAMILY_ID);
	return id ? *(const __u16 *)value_of(id) : -EIO;
}

static void queue_add(struct queue_info *q, const struct nlattr *nest)
{
	int left = nest->nla_len - NLA_HDRLEN;
	const struct nlattr *attr = value_of(nest);

	q->used = true;
	if (left < NLA_HDRLEN)
		return;
	for (; attr; attr = attr_next(attr, &left)) {
		__u32 n = attr->nla_type - QUEUE_INFO_FIRST;

		if (n >= QUEUE_INFO_ATTRS)
			continue;
		q->has[n] = true;
		if (attr->nla_len == NLA_HDRLEN + sizeof(q->value[n]))
			memcpy(&q->value[n], value_of(attr),
			       sizeof(q->value[n]));
	}
}

static int queue_read(int fd, struct queue_info *q, __u32 ifindex,
		      __u32 queue, __u32 type)
{
	__u64 buf[512];
	const struct nlattr *nest;
	int family, len;
	struct request r;

	family = netdev_family(fd);
	if (family < 0)
		return family;
	request_init(&r, family, NETDEV_CMD_QUEUE_GET);
	request_put(&r, NETDEV_A_QUEUE_IFINDEX, &ifindex, sizeof(ifindex));
	request_put(&r, NETDEV_A_QUEUE_ID, &queue, sizeof(queue));
	request_put(&r, NETDEV_A_QUEUE_TYPE, &type, sizeof(type));
	len = request_send(fd, &r, buf, sizeof(buf));
	if (len < 0)
		return len;
	nest = attr_find(attrs_of(buf), len, NETDEV_A_QUEUE_XSK);
	if (nest)
		queue_add(q, nest);
	return 0;
}

/*
 * Query what the netdev family reports about AF_XDP on a queue; silent, because
 * the device may be down or gone
 */
int queue_get(struct queue_info *q, const char *dev, __u32 queue, bool tx)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int err;

	memset(q, 0, sizeof(*q));
	if (fd < 0)
		return -errno;
	err = queue_read(fd, q, if_nametoindex(dev), queue,
			 tx ? NETDEV_QUEUE_TYPE_TX : NETDEV_QUEUE_TYPE_RX);
	close(fd);
	return err;
}
