// SPDX-License-Identifier: GPL-2.0
/* Interfaces: one netdev in a network namespace of its own for every interface of a host. */
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#include "card.h"
#include "clock.h"
#include "control.h"
#include "device.h"
#include "setup.h"
#include "transmit.h"

/* Of a netdev. */
struct private {
	const struct fb_interface *interface;
	void (*leaves)(struct sk_buff *skb, u32 node);
	void (*receives)(struct sk_buff *skb); /* NULL: the stack receives packets itself */
	u32 drops; /* of the queue discipline that have been reported */
};

static struct net_device **devices;

struct net_device *fb_device(u32 interface)
{
	return devices ? devices[interface] : NULL;
}

struct net *fb_net(u32 interface)
{
	return dev_net(devices[interface]);
}

static struct private *private_of(struct net_device *dev)
{
	return netdev_priv(dev);
}

/* Packets that the queue discipline has dropped since the last report. */
static void report_queue(struct net_device *dev)
{
	const struct Qdisc *queue = rcu_access_pointer(netdev_get_tx_queue(dev, 0)->qdisc);
	struct private *own = private_of(dev);
	struct fb_host_drops row = { .time = fb_now(), .node = own->interface->node };

	if (dev->priv_flags & IFF_NO_QUEUE || queue->qstats.drops == own->drops)
		return;
	row.drops = queue->qstats.drops - own->drops;
	own->drops = queue->qstats.drops;
	fb_record(FB_HOST_DROPS, &row, sizeof(row));
}

void fb_device_start(void)
{
	u32 i;

	for (i = 0; devices && i < fb_setup.world.interfaces; i++)
		if (devices[i])
			netdev_reset_queue(devices[i]);
}

void fb_device_restart(u32 node)
{
	u32 i;

	rtnl_lock();
	for (i = 0; devices && i < fb_setup.world.interfaces; i++) {
		struct Qdisc *queue;

		if (fb_setup.interfaces[i].node != node || !devices[i] || devices[i]->priv_flags & IFF_NO_QUEUE)
			continue;
		queue = rtnl_dereference(netdev_get_tx_queue(devices[i], 0)->qdisc);
		spin_lock_bh(qdisc_lock(queue));
		qdisc_reset(queue);
		spin_unlock_bh(qdisc_lock(queue));
	}
	rtnl_unlock();
}

void fb_device_report(void)
{
	u32 i;

	for (i = 0; devices && i < fb_setup.world.interfaces; i++)
		if (devices[i])
			report_queue(devices[i]);
}

static netdev_tx_t start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	report_queue(dev);
	return fb_transmit(skb, dev, private_of(dev)->leaves, private_of(dev)->interface->node);
}

/* Runs for each packet of the stack, so that `receives` sees the effects of one at a time. */
static rx_handler_result_t receive(struct sk_buff **skb)
{
	private_of((*skb)->dev)->receives(*skb);
	return RX_HANDLER_CONSUMED;
}

static const struct net_device_ops device_ops = { .ndo_start_xmit = start_xmit };

static void setup(struct net_device *dev)
{
	dev->netdev_ops = &device_ops;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_NOARP | IFF_POINTOPOINT;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->hw_features = dev->features;
	dev->max_mtu = 65535;
}

/* An interface with a queue discipline, which init attaches, has a transmit queue as long as an Ethernet device's. */
static void set_queue(struct net_device *dev, u32 number)
{
	u32 i;

	for (i = 0; i < fb_setup.nqdiscs; i++) {
		if (fb_setup.qdiscs[i].interface != number)
			continue;
		dev->priv_flags &= ~IFF_NO_QUEUE;
		if (!(fb_setup.qdiscs[i].flags & FB_QDISC_BQL))
			netdev_get_tx_queue(dev, 0)->dql.max_limit = 0;
	}
}

/* Segmentation offload, as far as the profile has it. */
static void set_offloads(struct net_device *dev, const struct fb_profile *profile)
{
	if (!profile->burst) {
		dev->gso_max_segs = 1;
	} else {
		dev->features |= NETIF_F_TSO | NETIF_F_TSO_ECN;
		dev->hw_features |= NETIF_F_TSO | NETIF_F_TSO_ECN;
		/* sockets leave so much of it for headers (sk_dst_gso_max_size) */
		dev->gso_max_size = clamp(profile->burst, dev->mtu, GSO_LEGACY_MAX_SIZE - MAX_TCP_HEADER - 1) + MAX_TCP_HEADER + 1;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
		dev->gso_ipv4_max_size = dev->gso_max_size;
#endif
	}
}

/* Lets `receives` see every packet before the stack. */
static int set_receiver(struct net_device *dev, void (*receives)(struct sk_buff *skb))
{
	int error = 0;

	private_of(dev)->receives = receives;
	if (receives) {
		rtnl_lock();
		error = netdev_rx_handler_register(dev, receive, NULL);
		rtnl_unlock();
	}
	return error;
}

int fb_attach(u32 number, void (*leaves)(struct sk_buff *skb, u32 node), void (*receives)(struct sk_buff *skb))
{
	const struct fb_interface *interface = &fb_setup.interfaces[number];
	struct net *net = current->nsproxy->net_ns;
	struct net_device *dev;
	char name[IFNAMSIZ];
	int error;

	if (!devices)
		devices = kvcalloc(fb_setup.world.interfaces, sizeof(*devices), GFP_KERNEL);
	if (!devices)
		return -ENOMEM;
	if (devices[number] || net_eq(net, &init_net))
		return -EBUSY;
	snprintf(name, sizeof(name), "fb%u", number);
	dev = alloc_netdev(sizeof(struct private), name, NET_NAME_PREDICTABLE, setup);
	if (!dev)
		return -ENOMEM;
	private_of(dev)->interface = interface;
	private_of(dev)->leaves = leaves;
	dev->mtu = interface->mtu;
	dev_net_set(dev, net);
	set_queue(dev, number);
	set_offloads(dev, &fb_setup.profiles[interface->profile]);
	error = register_netdev(dev);
	if (error) {
		free_netdev(dev);
		return error;
	}
	devices[number] = dev;
	error = set_receiver(dev, receives);
	if (!error)
		error = fb_card_attach(interface->node, dev, &fb_setup.profiles[interface->profile]);
	if (error)
		return error;
	get_net(net); /* for as long as the guest lives */
	/* The connection of a packet is its mark, also where no socket stands behind it. */
	net->ipv4.sysctl_fwmark_reflect = 1;
	net->ipv4.sysctl_tcp_fwmark_accept = 1;
	net->core.sysctl_somaxconn = 65535;
	/* A flow keeps its hash after a timeout, as it keeps its path, unless a setting of the profile changes this. */
	net->core.sysctl_txrehash = SOCK_TXREHASH_DISABLED;
	/* Derived from the size of memory otherwise (tcp_ipv4.c, tcp_sk_init). */
	net->ipv4.sysctl_max_syn_backlog = 65535;
	net->ipv4.tcp_death_row.sysctl_max_tw_buckets = 1 << 18;
	return 0;
}
