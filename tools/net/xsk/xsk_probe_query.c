// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* xsk-probe: what an unbound socket and ethtool know */
#include <stdlib.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "xsk_probe.h"

#define CHUNK_SIZE 2048

static bool takes_unaligned(int fd)
{
	size_t size = sysconf(_SC_PAGESIZE);
	struct xdp_umem_reg umem = {
		.len = size,
		.chunk_size = CHUNK_SIZE,
		.flags = XDP_UMEM_UNALIGNED_CHUNK_FLAG,
	};
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (area == MAP_FAILED)
		return false;
	umem.addr = (unsigned long)area;
	err = setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem));
	munmap(area, size);
	return !err;
}

/**
 * xsk_probe_kernel() - ask the kernel by a socket that is not bound
 * @dev: receives the answers
 *
 * Return: 0, or a negative errno: no AF_XDP, or no permission
 */
int xsk_probe_kernel(struct xsk_probe_dev *dev)
{
	int fd, err;

	fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = xsk_fastpath__features(fd, &dev->kernel);
	dev->unaligned = takes_unaligned(fd);
	close(fd);
	return err;
}

static int ethtool(const struct xsk_probe_dev *dev, int fd, void *command)
{
	struct ifreq request = { .ifr_data = command };

	memcpy(request.ifr_name, dev->name, sizeof(dev->name));
	return ioctl(fd, SIOCETHTOOL, &request) ? -errno : 0;
}

/* Index of a string, -1 if it is not in the set */
static int string_index(const struct xsk_probe_dev *dev, int fd, __u32 set,
			const char *name)
{
	struct {
		struct ethtool_sset_info info;
		__u32 count;
	} size = { .info = { .cmd = ETHTOOL_GSSET_INFO,
			     .sset_mask = 1ULL << set } };
	struct ethtool_gstrings *strings;
	int found = -1;

	if (ethtool(dev, fd, &size) || !size.info.sset_mask)
		return -1;
	strings = calloc(1, sizeof(*strings) + size.count * ETH_GSTRING_LEN);
	if (!strings)
		return -1;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = set;
	strings->len = size.count;
	if (!ethtool(dev, fd, strings)) {
		for (__u32 i = 0; i < strings->len && found < 0; i++) {
			if (!strncmp((char *)strings->data +
				     i * ETH_GSTRING_LEN, name,
				     ETH_GSTRING_LEN))
				found = i;
		}
	}
	free(strings);
	return found;
}

static enum xsk_probe_switch feature(const struct xsk_probe_dev *dev, int fd,
				     const char *name)
{
	int i = string_index(dev, fd, ETH_SS_FEATURES, name);
	struct {
		struct ethtool_gfeatures head;
		struct ethtool_get_features_block blocks[8];
	} features = { .head = { .cmd = ETHTOOL_GFEATURES, .size = 8 } };

	if (i < 0 || i >= 8 * 32 || ethtool(dev, fd, &features))
		return SWITCH_NONE;
	return features.blocks[i / 32].active & 1U << i % 32 ? SWITCH_ON :
							       SWITCH_OFF;
}

static enum xsk_probe_switch priv_flag(const struct xsk_probe_dev *dev, int fd,
				       const char *name)
{
	int i = string_index(dev, fd, ETH_SS_PRIV_FLAGS, name);
	struct ethtool_value flags = { .cmd = ETHTOOL_GPFLAGS };

	if (i < 0 || i >= 32 || ethtool(dev, fd, &flags))
		return SWITCH_NONE;
	return flags.data & 1U << i ? SWITCH_ON : SWITCH_OFF;
}

/* 0 if the driver does not say */
static __u32 count_rx_queues(const struct xsk_probe_dev *dev, int fd)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };

	if (ethtool(dev, fd, &channels))
		return 0;
	return channels.rx_count + channels.combined_count;
}

/**
 * xsk_probe_ethtool() - ask ethtool about the device
 * @dev: its name is set; receives the answers
 *
 * Return: 0, or a negative errno
 */
int xsk_probe_ethtool(struct xsk_probe_dev *dev)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	int fd;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!ethtool(dev, fd, &info))
		memcpy(dev->driver, info.driver, sizeof(dev->driver) - 1);
	dev->capture = feature(dev, fd, "xsk-capture");
	dev->tx_rings = priv_flag(dev, fd, "xdp-tx-rings");
	dev->rx_queues = count_rx_queues(dev, fd);
	close(fd);
	return 0;
}
