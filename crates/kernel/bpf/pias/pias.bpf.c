// SPDX-License-Identifier: GPL-2.0
/* PIAS (Bai et al., NSDI 2015): packets of a connection begin in the highest class and sink as it sends more. The class is written as DSCP,
 * which switches map to their priority queues. Bytes are counted by sequence number: a retransmission has the class of the bytes sent by now and
 * is not counted again, as in the simulator. After an idle time a connection starts again with a new message. */
#include "../include/packet.h"

struct params {
	/* Bytes of the message from which on its packets are in the second, third, fourth class. */
	u32 threshold1;
	u32 threshold2;
	u32 threshold3;
	/* DSCP of the four classes. */
	u32 dscp0;
	u32 dscp1;
	u32 dscp2;
	u32 dscp3;
	/* A silence of so many us ends a message; 0: a connection is one message. */
	u32 silence;
};
PARAMS_MAP

struct counters {
	u64 packets;
	u64 class0;
	u64 class1;
	u64 class2;
	u64 class3;
	u64 messages;
};
COUNTERS_MAP
PREFIXES_MAP

struct message {
	u64 last_ns;
	/* Sequence numbers: of its first byte, and behind the last that was sent. */
	u32 begin;
	u32 high;
	/* It has sent so much (2^30 bytes) that it stays in the lowest class. */
	u32 sunk;
	u32 unused;
};
FLOWS_MAP(messages, struct message)

SEC("tc")
int egress(struct __sk_buff *skb)
{
	const struct params *p = parameters();
	struct packet packet;
	struct message *m, first = {};
	struct flow flow;
	u64 now;
	u32 sent, seq;
	u8 dscp;

	if (!p || !parse(skb, &packet) || packet.ip->protocol != IPPROTO_TCP || !packet.payload || !is_inside(packet.ip->destination))
		return TC_ACT_UNSPEC;
	flow = flow_of(&packet);
	now = bpf_ktime_get_ns();
	seq = bpf_ntohl(packet.tcp->seq);
	m = bpf_map_lookup_elem(&messages, &flow);
	if (!m || (p->silence && now - m->last_ns > p->silence * 1000ULL)) {
		first.begin = seq;
		first.high = seq + packet.payload;
		first.last_ns = now;
		bpf_map_update_elem(&messages, &flow, &first, BPF_ANY);
		COUNT(messages, 1);
		sent = 0;
	} else {
		m->last_ns = now;
		sent = m->high - m->begin;
		if (sent >> 30)
			m->sunk = 1;
		if (m->sunk)
			sent = ~0U;
		if ((s32)(seq + packet.payload - m->high) > 0)
			m->high = seq + packet.payload;
	}
	COUNT(packets, 1);
	if (sent < p->threshold1) {
		dscp = p->dscp0;
		COUNT(class0, 1);
	} else if (sent < p->threshold2) {
		dscp = p->dscp1;
		COUNT(class1, 1);
	} else if (sent < p->threshold3) {
		dscp = p->dscp2;
		COUNT(class2, 1);
	} else {
		dscp = p->dscp3;
		COUNT(class3, 1);
	}
	set_tos(skb, packet.ip, (dscp << 2) | (packet.ip->tos & 3));
	return TC_ACT_UNSPEC;
}
