/* SPDX-License-Identifier: GPL-2.0 */
/* transmit.c: the transmit ring of an interface: segmentation (TSO) and byte queue limits (BQL). */
#ifndef FOREBAY_TRANSMIT_H
#define FOREBAY_TRANSMIT_H

#include <linux/netdevice.h>

/* ndo_start_xmit: cuts `skb` into packets of the wire, in order, and gives each to `leaves` with `node`. Takes the skb over. */
netdev_tx_t fb_transmit(struct sk_buff *skb, struct net_device *dev, void (*leaves)(struct sk_buff *skb, u32 node), u32 node);
/* The packet has left its interface, or was dropped before: its bytes are no longer in the ring. A second call for a packet does nothing. */
void fb_transmitted(struct sk_buff *skb);
/* A copy of a packet that the ring does not hold. NULL: no memory. */
struct sk_buff *fb_copy(const struct sk_buff *skb);

#endif
