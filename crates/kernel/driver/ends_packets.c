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

/*
 * Marks a packet of a connection with data in both directions as one of the direction that it belongs to: data belongs to the direction of its
 * sender, an ACK without data to the other. The handshake belongs to the direction that opens; its last ACK leaves before data has come.
 */
static void set_direction(const struct fb_conn *conn, u32 node, struct sk_buff *skb)
{
	const struct fb_conn *opener = conn->passive ? conn->reverse : conn, *back = opener->reverse;
	const struct tcphdr *tcp = tcp_hdr(skb);
	bool data = ntohs(ip_hdr(skb)->tot_len) > ip_hdrlen(skb) + tcp->doff * 4 || tcp->fin;
	bool opens = tcp->syn || (!data && !tcp_sk(opener->sender->sk)->data_segs_in);

	if (node == fb_setup.interfaces[opener->src].node)
		skb->mark = (opens || data ? opener : back)->number + 1;
	else
		skb->mark = (tcp->syn || !data ? opener : back)->number + 1;
}

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
	if (fb_conn(skb->mark - 1)->reverse && ip_hdr(skb)->protocol == IPPROTO_TCP)
		set_direction(fb_conn(skb->mark - 1), node, skb);
	fb_shim_send(fb_conn(skb->mark - 1), node, skb);
}

void fb_deliver(u32 number, bool back, struct sk_buff *skb, u64 time)
{
	struct fb_conn *conn = fb_conn(number);
	struct fb_before before;
	/* The direction of data that it acknowledges. Data acknowledges the other direction of its connection. */
	struct fb_conn *acked = back ? conn : conn->reverse;
	bool tcp = ip_hdr(skb)->protocol == IPPROTO_TCP, ece;

	if (conn->shim && !fb_shim_arrives(conn, back, skb)) {
		consume_skb(skb);
		return;
	}
	ece = tcp && ((const struct tcphdr *)(skb->data + ip_hdrlen(skb)))->ece;
	if (tcp && acked)
		fb_watch_before(acked, &before);
	delivering = true;
	fb_device_receives(back ? conn->src : conn->dst, skb);
	delivering = false;
	if (tcp && acked && (back || fb_watch_is_news(acked, &before, ece))) {
		fb_watch_ack(acked, &before, ece);
		fb_tcp_report(acked);
	}
	if (!tcp)
		fb_event(number, FB_DATAGRAM_IN, 0);
}
