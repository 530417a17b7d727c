// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit ring of an interface, as a driver of a network card has it. The stack and the queue discipline see whole GSO packets; the card cuts them
 * (TSO). The bytes of a packet are in the ring until the last bit of its last segment has left, and byte queue limits (lib/dynamic_queue_limits.c)
 * stop the queue when there are enough.
 */
#include <linux/skbuff.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif
#include "transmit.h"

/* The driver's part of a packet in the ring. */
struct ring_cb {
	u32 bytes;	       /* that leave the ring with it */
	struct sk_buff *whole; /* GSO packet whose last segment it is */
};

static struct ring_cb *ring_cb(struct sk_buff *skb)
{
	return (struct ring_cb *)skb->cb;
}

/* An interface without a queue has no ring either: the link behind it is an unlimited FIFO. */
static bool has_ring(const struct net_device *dev)
{
	return !(dev->priv_flags & IFF_NO_QUEUE);
}

/*
 * Divides a GSO packet into segments, as a network card does (TSO). The card frees the whole packet when all of it has left. Until then TCP small
 * queues and the send buffer count its memory, and no tail loss probe repeats it (skb_still_in_host_queue). tcp_gso_segment would charge the memory
 * of each segment instead. NULL: no memory.
 */
static struct sk_buff *cut(struct sk_buff *skb, const struct net_device *dev)
{
	void (*release)(struct sk_buff *skb) = skb->destructor;
	struct sk_buff *segments;

	if (!skb_is_gso(skb))
		return skb;
	skb->destructor = NULL;
	segments = skb_gso_segment(skb, dev->features & ~NETIF_F_GSO_MASK);
	skb->destructor = release;
	if (IS_ERR_OR_NULL(segments)) {
		kfree_skb(skb);
		return NULL;
	}
	return segments;
}

/* Charges the packets of `list`, the segments of `whole` if that is not NULL, to the ring; all of it is released with the last one. */
static void charge(struct sk_buff *list, struct sk_buff *whole, struct net_device *dev)
{
	struct sk_buff *skb, *last = list;
	u32 bytes = 0;

	for (skb = list; skb; skb = skb->next) {
		bytes += skb->len;
		*ring_cb(skb) = (struct ring_cb){ .bytes = 0 };
		last = skb;
	}
	ring_cb(last)->whole = whole;
	if (!has_ring(dev))
		return;
	ring_cb(last)->bytes = bytes;
	netdev_sent_queue(dev, bytes);
}

netdev_tx_t fb_transmit(struct sk_buff *skb, struct net_device *dev, void (*leaves)(struct sk_buff *skb, u32 node), u32 node)
{
	struct sk_buff *segments = cut(skb, dev), *next;

	if (segments)
		charge(segments, segments == skb ? NULL : skb, dev);
	for (; segments; segments = next) {
		next = segments->next;
		skb_mark_not_on_list(segments);
		leaves(segments, node);
	}
	return NETDEV_TX_OK;
}

struct sk_buff *fb_copy(const struct sk_buff *skb)
{
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);

	if (copy)
		*ring_cb(copy) = (struct ring_cb){ .bytes = 0 };
	return copy;
}

void fb_transmitted(struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	struct ring_cb cb;

	if (!dev)
		return;
	cb = *ring_cb(skb);
	*ring_cb(skb) = (struct ring_cb){ .bytes = 0 };
	if (cb.bytes)
		netdev_completed_queue(dev, 1, cb.bytes);
	if (cb.whole)
		consume_skb(cb.whole);
}
