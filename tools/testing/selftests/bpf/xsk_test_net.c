// SPDX-License-Identifier: GPL-2.0
/* AF_XDP test library: network namespaces and devices */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "xsk_test.h"

/* The kernel has less than 64 features */
#define FEATURES_MAX	128

/* On new devices of this network namespace: its packets would disturb the tests */
void ipv6_disable(void)
{
	write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

int netns_enter(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL) ||
	    mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL))
		return complain(-errno, "new namespaces with /sys");

	ipv6_disable();
	return run("ip link set lo up");
}

static int rx_busy_poll(bool on)
{
	int err;

	err = write_file("/sys/class/net/" RX_DEV "/napi_defer_hard_irqs",
			 on ? "2" : "0");
	if (!err)
		err = write_file("/sys/class/net/" RX_DEV "/gro_flush_timeout",
				 on ? "200000" : "0");
	if (err)
		complain(err, "busy poll settings of " RX_DEV);
	return err;
}

int veth_create(const struct veth_opts *opts)
{
	char props[64];
	int err;

	snprintf(props, sizeof(props), "mtu %u numrxqueues %u numtxqueues %u",
		 opts->mtu ?: ETH_DATA_LEN, QUEUES, QUEUES);
	err = run("ip link add %s %s type veth peer name %s %s", RX_DEV, props,
		  TX_DEV, props);
	if (!err)
		err = run("ip link set " RX_DEV " up");
	if (!err)
		err = run("ip link set " TX_DEV " up");
	if (!err && opts->busy_poll)
		err = rx_busy_poll(true);
	return err;
}

/*
 * Ports of a NIC, from RX_PORT and TX_PORT in the environment. A port is
 * identified by its bus address, since a test gives it the name of the veth
 * device. It returns to the initial network namespace when that of the test is
 * deleted.
 */
#define RX_PORT	"XSK_ATTACH_RX"
#define TX_PORT	"XSK_ATTACH_TX"

static struct port {
	char path[PATH_MAX];
	char name[NAME_MAX + 1];
} ports[2];

static int port_find(struct port *p, const char *name)
{
	char link[PATH_MAX];

	snprintf(link, sizeof(link), "/sys/class/net/%s/device", name);
	return realpath(link, p->path) ? 0 : complain(-errno, "%s", link);
}

bool with_ports(void)
{
	return getenv(RX_PORT) && getenv(TX_PORT);
}

int ports_find(void)
{
	int err = port_find(&ports[0], getenv(RX_PORT));

	return err ?: port_find(&ports[1], getenv(TX_PORT));
}

static bool port_is_back(struct port *p)
{
	char path[PATH_MAX + 4];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/net", p->path);
	dir = opendir(path);
	if (!dir) {
		/* Removed by a test */
		write_file("/sys/bus/pci/rescan", "1");
		return false;
	}
	do
		entry = readdir(dir);
	while (entry && entry->d_name[0] == '.');
	if (entry)
		snprintf(p->name, sizeof(p->name), "%s", entry->d_name);
	closedir(dir);
	return entry;
}

static int port_wait(struct port *p)
{
	long long deadline = now_ms() + STALL_MS;

	while (!port_is_back(p)) {
		if (now_ms() > deadline && !port_is_back(p))
			return complain(-ENODEV, "port %s", p->path);
		nap(20);
	}
	return 0;
}

static int ports_wait(void)
{
	int err = port_wait(&ports[0]);

	return err ?: port_wait(&ports[1]);
}

int dev_ioctl(const char *dev, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", dev);
	if (fd < 0 || ioctl(fd, request, ifr))
		err = -errno;
	close(fd);
	return err;
}

int dev_ethtool(const char *dev, void *arg)
{
	struct ifreq ifr = { .ifr_data = arg };

	return dev_ioctl(dev, SIOCETHTOOL, &ifr);
}

/* Switch the feature xsk-capture. Return: as usual; -ENODEV if there is none */
int dev_capture(const char *dev, bool on)
{
	static const char feature[] = "xsk-capture";
	struct {
		struct ethtool_gstrings set;
		char names[FEATURES_MAX][ETH_GSTRING_LEN];
	} strings = {
		.set.cmd = ETHTOOL_GSTRINGS,
		.set.string_set = ETH_SS_FEATURES,
	};
	struct {
		struct ethtool_sfeatures set;
		struct ethtool_set_features_block block[FEATURES_MAX / 32];
	} features = { .set.cmd = ETHTOOL_SFEATURES };
	int err = dev_ethtool(dev, &strings);
	__u32 i;

	if (err)
		return err;
	features.set.size = (strings.set.len + 31) / 32;
	for (i = 0; strcmp(strings.names[i], feature); i++) {
		if (i + 1 == strings.set.len)
			return -ENODEV;
	}
	features.block[i / 32].valid = 1U << i % 32;
	features.block[i / 32].requested = (__u32)on << i % 32;
	return dev_ethtool(dev, &features);
}

/* Reset the configuration, which a failed test may have left changed */
static int port_clean(const char *dev)
{
	struct ethtool_channels queues = { .cmd = ETHTOOL_GCHANNELS };
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
	int err;

	bpf_xdp_detach(if_nametoindex(dev), XDP_FLAGS_SKB_MODE, NULL);
	bpf_xdp_detach(if_nametoindex(dev), XDP_FLAGS_DRV_MODE, NULL);

	err = dev_ethtool(dev, &queues);
	if (!err && queues.combined_count != PORT_QUEUES) {
		queues.cmd = ETHTOOL_SCHANNELS;
		queues.combined_count = PORT_QUEUES;
		err = dev_ethtool(dev, &queues);
	}

	err = err ?: dev_ethtool(dev, &flags);
	if (!err && !(flags.data & ETH_FLAG_NTUPLE)) {
		flags.cmd = ETHTOOL_SFLAGS;
		flags.data |= ETH_FLAG_NTUPLE;
		err = dev_ethtool(dev, &flags);
	}
	return err;
}

int ports_up(void)
{
	int err = port_clean(RX_DEV);

	if (!err)
		err = port_clean(TX_DEV);
	if (err)
		return complain(err, "queues and filters of a port");
	return run("printf 'link set %%s mtu %u up\\n' %s %s | ip -batch -",
		   ETH_DATA_LEN, RX_DEV, TX_DEV);
}

/* From the network namespace of the parent to that of the caller */
static int ports_move(void)
{
	char line[64];

	snprintf(line, sizeof(line), "link set %%s netns %d name %%s\\n",
		 getpid());
	return run("printf '%s' %s %s %s %s | nsenter -t %d -n ip -batch -",
		   line, ports[0].name, RX_DEV, ports[1].name, TX_DEV,
		   getppid());
}

/* Enter a new network namespace with the ports */
int ports_take(bool busy_poll)
{
	int err = ports_wait();

	if (!err)
		err = netns_enter();
	if (!err)
		err = ports_move();
	if (!err)
		err = ports_up();
	return err ?: rx_busy_poll(busy_poll);
}

static int port_rename(const struct port *p, const char *name)
{
	return run("ip link set %s down name %s", p->name, name);
}

void ports_give_back(void)
{
	if (!ports_wait() && !port_rename(&ports[0], getenv(RX_PORT)))
		port_rename(&ports[1], getenv(TX_PORT));
}
