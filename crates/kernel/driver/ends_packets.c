// SPDX-License-Identifier: GPL-2.0
/* Packets between connections' stacks and the network: through the shim, and watched. */
#include <linux/tcp.h>
#include <net/ip.h>
#include "control.h"
#include "device.h"
#include "ends.h"
#include "transmit.h"

/* A packet is being handed to the stack: what leaves now answers it. */
static bool delivering;

void fb_leaves(struct sk_buff *skb, u32 node)
{
	const struct tcphdr *tcp;

	if (!skb->mark || !fb_conn(skb->mark - 1)) {
		fb_log("interface %s: a packet of no connection was dropped", skb->dev->name);
		fb_transmitted(skb);
		kfree_skb(skb);
		return;
	}
	if (!delivering && ip_hdr(skb)->protocol == IPPROTO_TCP) {
		tcp = tcp_hdr(skb);
		if (tcp->syn && tcp->ack)
			fb_watch_synack(skb->mark - 1, skb);
	}
	fb_shim_send(fb_conn(skb->mark - 1), node, skb);
}

void fb_deliver(u32 number, bool back, struct sk_buff *skb, u64 time)
{
	struct fb_conn *conn = fb_conn(number);
	struct fb_before before;
	bool tcp = ip_hdr(skb)->protocol == IPPROTO_TCP, ece;

	if (conn->shim && !fb_shim_arrives(conn, back, skb)) {
		consume_skb(skb);
		return;
	}
	ece = tcp && ((const struct tcphdr *)(skb->data + ip_hdrlen(skb)))->ece;
	if (tcp && back)
		fb_watch_before(conn, &before);
	delivering = true;
	fb_device_receives(back ? conn->src : conn->dst, skb);
	delivering = false;
	if (tcp && back) {
		fb_watch_ack(conn, &before, ece);
		fb_tcp_report(conn);
	}
	if (!tcp)
		fb_event(number, FB_DATAGRAM_IN, 0);
}
