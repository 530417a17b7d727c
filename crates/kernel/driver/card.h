/* SPDX-License-Identifier: GPL-2.0 */
/* card.c: receive side of the network cards of hosts. Softirqs are off unless stated otherwise. */
#ifndef FOREBAY_CARD_H
#define FOREBAY_CARD_H

#include <linux/netdevice.h>
#include "protocol.h"

/* Adds an interface to the card of host `node`. In process context. */
int fb_card_attach(u32 node, struct net_device *dev, const struct fb_profile *profile);
/* A frame arrives. True: the card holds it until its interrupt, and owns it. False: it is for the stack now. */
bool fb_card_holds(u32 node, struct sk_buff *skb, u64 now);
/* Raises the interrupts that are due. `frame` takes every frame over, and passes it to fb_card_receives(). */
void fb_card_tick(u64 now, void (*frame)(struct sk_buff *skb));
/* Passes a frame to the stack of `dev`, through GRO if the card has interrupt moderation. Takes the skb over. */
void fb_card_receives(u32 node, struct net_device *dev, struct sk_buff *skb);
/* Memory that a packet of `len` bytes occupies at its receiver. */
u32 fb_memory_at_receiver(u32 len);

#endif
