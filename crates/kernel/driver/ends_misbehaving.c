// SPDX-License-Identifier: GPL-2.0
/* A receiver that acknowledges against the rules: ACKs that leave a host, as crates/sim/src/shim/misbehaving_receiver.rs changes them. */
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include "ends.h"
#include "transmit.h"
#include "wire.h"

/* Sends a copy of the ACK `skb` with another number. */
static void send_copy(u32 node, const struct sk_buff *skb, u32 number)
{
	struct sk_buff *copy = fb_copy(skb);
	struct tcphdr *tcp;

	if (!copy)
		return;
	tcp = tcp_hdr(copy);
	inet_proto_csum_replace4(&tcp->check, copy, tcp->ack_seq, htonl(number), false);
	tcp->ack_seq = htonl(number);
	tcp->fin = 0;
	fb_wire_send(node, copy);
}

void fb_misbehave(struct fb_conn *conn, u32 node, struct sk_buff *skb)
{
	const u64 *shim = fb_setup.groups[conn->group].shim;
	const struct tcphdr *tcp = tcp_hdr(skb);
	u32 number, before, last, advance;
	bool sacked = conn->sacked;

	if (node != fb_setup.interfaces[conn->dst].node || ip_hdr(skb)->protocol != IPPROTO_TCP || tcp->rst || !tcp->ack) {
		fb_wire_send(node, skb);
		return;
	}
	number = ntohl(tcp->ack_seq);
	before = last = conn->acked_number;
	advance = number - before;
	if (tcp->syn || (s32)advance >= 0)
		conn->acked_number = number;
	if (!tcp->syn && (s32)advance >= 0)
		conn->sacked = fb_sack_bytes(tcp) > 0;
	if (tcp->syn || (s32)advance <= 0 || sacked) {
		fb_wire_send(node, skb);
		return;
	}
	for (u64 part = 1; part < shim[FB_MR_PARTS]; part++) {
		u32 between = before + (u32)(advance * part / shim[FB_MR_PARTS]);

		if (between != last)
			send_copy(node, skb, between);
		last = between;
	}
	fb_wire_send(node, skb);
}
