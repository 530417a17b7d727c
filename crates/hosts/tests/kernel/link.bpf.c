// SPDX-License-Identifier: GPL-2.0
/* A link that marks and loses packets by a script. Every nth packet with payload is marked CE if it is ECN-capable, or lost. A given number of
 * ProBoSCIS probes is marked, from the first on. */
#include "../../../kernel/bpf/include/packet.h"

struct params {
	u32 mark_every;
	u32 lose_every;
	u32 mark_probes;
	/* A packet is sent twice, and goes the slow way of two (the class of its queue), so that later ones overtake it. */
	u32 double_every;
	u32 delay_every;
	/* Of losses, doubling and delays: by chance, with that many packets between them in the mean. */
	u32 by_chance;
	/* So many of the first probes are lost, and so many of the first SYNs. */
	u32 lose_probes;
	u32 lose_syns;
};
/* Class 1:2 of an HTB qdisc (the tests' laboratory makes it). */
#define SLOW 0x10002
PARAMS_MAP
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, u32);
	__type(value, u32);
} seen SEC(".maps");

static __always_inline u32 number(u32 which)
{
	u32 *n = bpf_map_lookup_elem(&seen, &which);
	return n ? __sync_fetch_and_add(n, 1) : 0;
}

SEC("tc")
int egress(struct __sk_buff *skb)
{
	const struct params *p = parameters();
	struct packet packet;
	u32 n;

	if (!p || !parse(skb, &packet))
		return TC_ACT_UNSPEC;
	if (packet.ip->protocol == 253) {
		u32 probe = number(1);
		if (probe < p->lose_probes)
			return TC_ACT_SHOT;
		if (probe < p->mark_probes)
			bpf_skb_ecn_set_ce(skb);
		return TC_ACT_UNSPEC;
	}
	if (packet.ip->protocol != IPPROTO_TCP)
		return TC_ACT_UNSPEC;
	if ((packet.tcp->flags & (SYN | ACK)) == SYN && number(2) < p->lose_syns)
		return TC_ACT_SHOT;
	if (!packet.payload)
		return TC_ACT_UNSPEC;
	n = number(0);
	if (p->by_chance) {
		if (p->lose_every && bpf_get_prandom_u32() % p->lose_every == 0)
			return TC_ACT_SHOT;
		if (p->double_every && bpf_get_prandom_u32() % p->double_every == 0)
			bpf_clone_redirect(skb, skb->ifindex, 0);
		if (p->delay_every && bpf_get_prandom_u32() % p->delay_every == 0)
			skb->priority = SLOW;
		if (p->mark_every && bpf_get_prandom_u32() % p->mark_every == 0)
			bpf_skb_ecn_set_ce(skb);
		return TC_ACT_UNSPEC;
	}
	if (p->lose_every && n % p->lose_every == p->lose_every - 1)
		return TC_ACT_SHOT;
	if (p->mark_every && n % p->mark_every == p->mark_every - 1)
		bpf_skb_ecn_set_ce(skb);
	return TC_ACT_UNSPEC;
}
