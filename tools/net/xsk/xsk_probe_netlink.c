// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* xsk-probe: what netlink knows about a device and the sockets on its queue */
#include <stdlib.h>
#include <unistd.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/netdev.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>

#include "xsk_probe.h"

struct request {
	struct nlmsghdr nlh;
	union {
		struct genlmsghdr genl;
		struct ifinfomsg link;
		struct xdp_diag_req diag;
	};
	char attrs[64];
};

typedef void (*handler_t)(struct xsk_probe_dev *dev,
			  const struct nlmsghdr *nlh);

/* The first attribute of a type, or NULL */
static const struct nlattr *find_attr(const void *data, size_t len, int type)
{
	const struct nlattr *attr = data;

	while (len >= sizeof(*attr) && attr->nla_len >= sizeof(*attr) &&
	       attr->nla_len <= len) {
		size_t step = NLA_ALIGN(attr->nla_len);

		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		if (step >= len)
			return NULL;
		len -= step;
		attr = (const void *)((const char *)attr + step);
	}
	return NULL;
}

static const struct nlattr *msg_attr(const struct nlmsghdr *nlh, size_t hdr_len,
				     int type)
{
	size_t offset = NLMSG_HDRLEN + NLMSG_ALIGN(hdr_len);

	if (nlh->nlmsg_len < offset)
		return NULL;
	return find_attr((const char *)nlh + offset, nlh->nlmsg_len - offset,
			 type);
}

static const struct nlattr *nested_attr(const struct nlattr *nest, int type)
{
	return nest ? find_attr(nest + 1, nest->nla_len - sizeof(*nest), type) :
		      NULL;
}

/* Unsigned integer of 2, 4 or 8 bytes; 0 without the attribute */
static __u64 attr_uint(const struct nlattr *attr)
{
	__u64 value64;
	__u32 value32;
	__u16 value16;

	switch (attr ? attr->nla_len - sizeof(*attr) : 0) {
	case sizeof(value16):
		memcpy(&value16, attr + 1, sizeof(value16));
		return value16;
	case sizeof(value32):
		memcpy(&value32, attr + 1, sizeof(value32));
		return value32;
	case sizeof(value64):
		memcpy(&value64, attr + 1, sizeof(value64));
		return value64;
	}
	return 0;
}

static void add_attr(struct request *request, int type, const void *data,
		     size_t len)
{
	struct nlattr *attr = (void *)((char *)request +
				       NLMSG_ALIGN(request->nlh.nlmsg_len));

	attr->nla_type = type;
	attr->nla_len = sizeof(*attr) + len;
	memcpy(attr + 1, data, len);
	request->nlh.nlmsg_len = NLMSG_ALIGN(request->nlh.nlmsg_len) +
				 NLA_ALIGN(attr->nla_len);
}

/* Pass the messages in @buf to @handle. Return 1 if more will follow. */
static int handle_messages(struct xsk_probe_dev *dev, const void *buf,
			   ssize_t len, handler_t handle)
{
	const struct nlmsghdr *nlh = buf;
	int more = 0;

	for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
		if (nlh->nlmsg_type == NLMSG_DONE)
			return 0;
		if (nlh->nlmsg_type == NLMSG_ERROR)
			return ((const struct nlmsgerr *)NLMSG_DATA(nlh))->error;
		handle(dev, nlh);
		more = !!(nlh->nlmsg_flags & NLM_F_MULTI);
	}
	return more;
}

static int receive(struct xsk_probe_dev *dev, int fd, handler_t handle)
{
	static char buf[1 << 16];
	ssize_t len;
	int ret;

	do {
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			return -errno;
		ret = handle_messages(dev, buf, len, handle);
	} while (ret > 0);
	return ret;
}

static int ask(struct xsk_probe_dev *dev, int protocol, struct request *request,
	       handler_t handle)
{
	int fd, ret;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		return -errno;
	request->nlh.nlmsg_flags |= NLM_F_REQUEST;
	if (send(fd, request, request->nlh.nlmsg_len, 0) < 0)
		ret = -errno;
	else
		ret = receive(dev, fd, handle);
	close(fd);
	return ret;
}

static __u16 family_id;

static void handle_family(struct xsk_probe_dev *dev, const struct nlmsghdr *nlh)
{
	(void)dev;
	family_id = attr_uint(msg_attr(nlh, GENL_HDRLEN,
				       CTRL_ATTR_FAMILY_ID));
}

static void handle_dev(struct xsk_probe_dev *dev, const struct nlmsghdr *nlh)
{
	dev->xdp_features = attr_uint(msg_attr(nlh, GENL_HDRLEN,
					       NETDEV_A_DEV_XDP_FEATURES));
	dev->xsk_features = attr_uint(msg_attr(nlh, GENL_HDRLEN,
					       NETDEV_A_DEV_XSK_FEATURES));
	dev->zc_max_segs = attr_uint(msg_attr(nlh, GENL_HDRLEN,
					      NETDEV_A_DEV_XDP_ZC_MAX_SEGS));
}

static int ask_netdev(struct xsk_probe_dev *dev)
{
	struct request family = {
		.nlh = { .nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
			 .nlmsg_type = GENL_ID_CTRL },
		.genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
	};
	struct request request = {
		.nlh = { .nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN) },
		.genl = { .cmd = NETDEV_CMD_DEV_GET, .version = 1 },
	};
	int err;

	add_attr(&family, CTRL_ATTR_FAMILY_NAME, NETDEV_FAMILY_NAME,
		 sizeof(NETDEV_FAMILY_NAME));
	err = ask(dev, NETLINK_GENERIC, &family, handle_family);
	if (err)
		return err;
	request.nlh.nlmsg_type = family_id;
	add_attr(&request, NETDEV_A_DEV_IFINDEX, &dev->ifindex,
		 sizeof(dev->ifindex));
	return ask(dev, NETLINK_GENERIC, &request, handle_dev);
}

/* The attributes of one mode contain regular programs only */
static void handle_link(struct xsk_probe_dev *dev, const struct nlmsghdr *nlh)
{
	const struct nlattr *xdp = msg_attr(nlh, sizeof(struct ifinfomsg),
					    IFLA_XDP);

	dev->mtu = attr_uint(msg_attr(nlh, sizeof(struct ifinfomsg), IFLA_MTU));
	dev->drv_prog = attr_uint(nested_attr(xdp, IFLA_XDP_DRV_PROG_ID));
	dev->skb_prog = attr_uint(nested_attr(xdp, IFLA_XDP_SKB_PROG_ID));
}

static int ask_link(struct xsk_probe_dev *dev)
{
	struct request request = {
		.nlh = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
			 .nlmsg_type = RTM_GETLINK },
		.link = { .ifi_index = dev->ifindex },
	};

	return ask(dev, NETLINK_ROUTE, &request, handle_link);
}

static void handle_socket(struct xsk_probe_dev *dev, const struct nlmsghdr *nlh)
{
	const size_t hdr_len = sizeof(struct xdp_diag_msg);
	const struct nlattr *info = msg_attr(nlh, hdr_len, XDP_DIAG_INFO);
	const struct nlattr *state = msg_attr(nlh, hdr_len, XDP_DIAG_ATTACH);
	struct xdp_attach attach = {};
	struct xdp_diag_info where;

	if (!info || info->nla_len < sizeof(*info) + sizeof(where))
		return;
	memcpy(&where, info + 1, sizeof(where));
	if (where.ifindex != dev->ifindex || where.queue_id != dev->queue)
		return;
	dev->sockets++;
	if (state && state->nla_len >= sizeof(*state) + sizeof(attach))
		memcpy(&attach, state + 1, sizeof(attach));
	dev->attached |= attach.state > XDP_ATTACH_S_REQUESTED;
}

static int ask_sockets(struct xsk_probe_dev *dev)
{
	struct request request = {
		.nlh = { .nlmsg_len = NLMSG_LENGTH(sizeof(request.diag)),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_DUMP },
		.diag = { .sdiag_family = AF_XDP,
			  .xdiag_show = XDP_SHOW_INFO | XDP_SHOW_ATTACH },
	};

	return ask(dev, NETLINK_SOCK_DIAG, &request, handle_socket);
}

/**
 * xsk_probe_netlink() - ask netlink about the device and its sockets
 * @dev: its ifindex and queue are set; receives the answers
 *
 * Without CONFIG_XDP_SOCKETS_DIAG the sockets remain unknown, and a kernel
 * before 6.3 knows no features.
 *
 * Return: 0, or a negative errno
 */
int xsk_probe_netlink(struct xsk_probe_dev *dev)
{
	int err = ask_link(dev);

	if (err)
		return err;
	ask_netdev(dev);
	dev->no_diag = ask_sockets(dev) < 0;
	return 0;
}
