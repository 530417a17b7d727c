// SPDX-License-Identifier: GPL-2.0
/* Interfaces: one netdev in a network namespace of its own for every interface of a host. */
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#include "clock.h"
#include "control.h"
#include "device.h"
#include "setup.h"
#include "transmit.h"

/* Of a netdev. */
struct private {
	const struct fb_interface *interface;
	void (*leaves)(struct sk_buff *skb, u32 node);
	struct napi_struct napi; /* that joins segments (GRO), if the profile has it */
	bool joins;
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

/*
 * Memory that a packet occupies at its receiver. It decides how much of a receive buffer becomes window (tcp_input.c, tcp_measure_rcv_mss). It is
 * the allotment of drivers with one power-of-two buffer a packet (build_skb; igb, ixgbe, mlx5), with 64 bytes of headroom.
 */
static u32 buffer_at_receiver(u32 len)
{
	u32 buffer = roundup_pow_of_two(SKB_DATA_ALIGN(NET_SKB_PAD + len) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info)));

	return max(buffer, 2048u);
}

u32 fb_memory_at_receiver(u32 len)
{
	return buffer_at_receiver(len) + SKB_DATA_ALIGN(sizeof(struct sk_buff));
}

/* The time that the card waits for more is over (napi_watchdog): what it holds is handed over. */
static int flush(struct napi_struct *napi, int budget)
{
	napi_complete_done(napi, 0);
	return 0;
}

/*
 * The packet in a receive buffer of the card, as build_skb() makes one of it. In the sender's memory it would share its buffer with the copy that
 * waits for an ACK, and TCP coalesces no shared buffers (skb_try_coalesce, skb_cloned). GRO charges a merged packet with the buffers of all, but only
 * one struct sk_buff for as many as fit into its fragments (skb_gro_receive). NULL: no memory.
 */
static struct sk_buff *in_receive_buffer(struct sk_buff *skb)
{
	u32 size = buffer_at_receiver(skb->len);
	/* Fragments of pages are that long at most; a longer packet keeps the sender's memory. */
	void *buffer = size <= PAGE_FRAG_CACHE_MAX_SIZE ? netdev_alloc_frag(size) : NULL;
	struct sk_buff *own = buffer ? build_skb(buffer, size) : NULL;

	if (!own) {
		if (buffer)
			skb_free_frag(buffer);
		/* The sender still has the data and the list of its pieces, which are about to be added to. */
		return skb_unclone(skb, GFP_ATOMIC) ? NULL : skb;
	}
	skb_reserve(own, NET_SKB_PAD);
	if (skb_copy_bits(skb, 0, skb_put(own, skb->len), skb->len)) {
		kfree_skb(own);
		return NULL;
	}
	own->dev = skb->dev;
	own->mark = skb->mark;
	own->protocol = skb->protocol;
	own->ip_summed = CHECKSUM_UNNECESSARY;
	skb_copy_hash(own, skb);
	skb_reset_mac_header(own);
	skb_reset_network_header(own);
	consume_skb(skb);
	return own;
}

/* As a driver's poll that finds one packet. A packet that is joined to others is handed over with them, when the card waits no longer. */
static void join(struct napi_struct *napi, struct sk_buff *skb)
{
	struct sk_buff *own = in_receive_buffer(skb);

	if (!own || !napi_schedule_prep(napi)) {
		kfree_skb(own ?: skb);
		return;
	}
	own->truesize = fb_memory_at_receiver(own->len);
	napi_gro_receive(napi, own);
	napi_complete_done(napi, 1);
}

void fb_device_receives(u32 number, struct sk_buff *skb)
{
	struct net_device *dev = devices[number];
	struct sk_buff *own;

	skb_orphan(skb);
	skb_dst_drop(skb);
	skb->dev = dev;
	skb->protocol = htons(ETH_P_IP);
	skb->pkt_type = PACKET_HOST;
	skb->tstamp = 0;
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	if (private_of(dev)->joins) {
		join(&private_of(dev)->napi, skb);
		return;
	}
	own = skb->data_len ? in_receive_buffer(skb) : skb;
	if (!own) {
		kfree_skb(skb);
		return;
	}
	own->truesize = fb_memory_at_receiver(own->len);
	netif_receive_skb(own);
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

/* Segmentation and receive offload, as far as the profile has them. */
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
	if (!profile->hold_ns)
		return;
	dev->features |= NETIF_F_GRO;
	dev->gro_flush_timeout = profile->hold_ns;
	netif_napi_add(dev, &private_of(dev)->napi, flush);
	napi_enable(&private_of(dev)->napi);
	private_of(dev)->joins = true;
}

int fb_attach(u32 number, void (*leaves)(struct sk_buff *skb, u32 node))
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
	get_net(net); /* for as long as the guest lives */
	/* The connection of a packet is its mark, also where no socket stands behind it. */
	net->ipv4.sysctl_fwmark_reflect = 1;
	net->ipv4.sysctl_tcp_fwmark_accept = 1;
	net->core.sysctl_somaxconn = 65535;
	/* Derived from the size of memory otherwise (tcp_ipv4.c, tcp_sk_init). */
	net->ipv4.sysctl_max_syn_backlog = 65535;
	net->ipv4.tcp_death_row.sysctl_max_tw_buckets = 1 << 18;
	return 0;
}
