// SPDX-License-Identifier: GPL-2.0
/* Packets between the TCP of a connection and the network: they pass the shim and are recorded. */
#include <linux/tcp.h>
#include <net/ip.h>
#include "card.h"
#include "control.h"
#include "device.h"
#include "ends.h"
#include "flow_hash.h"
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

/* Identity of a frame that the card holds. */
struct frame_cb {
	u32 conn;
	bool back;
};

static struct frame_cb *frame_cb(struct sk_buff *skb)
{
	return (struct frame_cb *)skb->cb;
}

void fb_stack_receives(struct sk_buff *skb)
{
	struct fb_conn *conn = fb_conn(skb->mark - 1);
	bool back = skb->dev == fb_device(conn->src);
	/* The direction of data that it acknowledges. Data acknowledges the other direction of its connection. */
	struct fb_conn *acked = back ? conn : conn->reverse;
	bool tcp = ip_hdr(skb)->protocol == IPPROTO_TCP, ece;
	struct fb_before before;

	ece = tcp && ((const struct tcphdr *)(skb->data + ip_hdrlen(skb)))->ece;
	if (tcp && acked)
		fb_watch_before(acked, &before);
	fb_flow_hash_for(conn->number, !back);
	delivering = true;
	ip_rcv(skb, skb->dev, NULL, skb->dev);
	delivering = false;
	if (tcp && acked && (back || fb_watch_is_news(acked, &before, ece))) {
		fb_watch_ack(acked, &before, ece);
		fb_tcp_report(acked);
	}
	if (tcp && fb_setup.world.records & FB_RECORD_STATES) {
		struct socket *end = back ? conn->sender : conn->receiver;

		if (end)
			fb_state_record(conn->number, !back, end->sk, FB_STATE_PACKET);
	}
	if (!tcp)
		fb_event(conn->number, FB_DATAGRAM_IN, 0);
}

/* Passes a packet to its end of connection `number`, through the shim. */
static void pass_up(u32 number, bool back, struct sk_buff *skb)
{
	struct fb_conn *conn = fb_conn(number);
	u32 interface = back ? conn->src : conn->dst;

	if (conn->shim && !fb_shim_arrives(conn, back, skb)) {
		consume_skb(skb);
		return;
	}
	/* The card's hash of the flow (RSS) selects its bucket in GRO. */
	skb_set_hash(skb, conn->rss[back], PKT_HASH_TYPE_L4);
	fb_card_receives(fb_setup.interfaces[interface].node, fb_device(interface), skb);
}

static void pass_frame_up(struct sk_buff *skb)
{
	pass_up(frame_cb(skb)->conn, frame_cb(skb)->back, skb);
}

void fb_deliver(u32 number, bool back, struct sk_buff *skb, u64 time)
{
	const struct fb_conn *conn = fb_conn(number);

	*frame_cb(skb) = (struct frame_cb){ .conn = number, .back = back };
	if (!fb_card_holds(fb_setup.interfaces[back ? conn->src : conn->dst].node, skb, time))
		pass_up(number, back, skb);
}

void fb_tick(u64 now)
{
	/* Packets before timers, as in the simulator. */
	fb_card_tick(now, pass_frame_up);
	fb_shim_tick(now);
}
