/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Restart of a persistent connection ("restarting afresh", section II of the publication). If nothing is outstanding, the shim sends a train before
 * data that follows a pause of more than `restart` ms. The shim of the other end writes its verdict into the first ACK of that data, as into a
 * SYN-ACK. The readings are those of the simulator (crates/shims/src/proboscis).
 */
#ifndef FOREBAY_PROBOSCIS_RESTART_H
#define FOREBAY_PROBOSCIS_RESTART_H

/* Of struct receiving: a train has arrived behind data, and then data behind the train. */
enum { RESTART_PROBED = 1, RESTART_RECEIVED = 2 };
/* Data packets are copied for their headers; the copy has this order. */
enum { RESTART = 4 };

static __always_inline bool idle_for(u64 since, const struct params *p)
{
	return p->restart && bpf_ktime_get_ns() - since > (u64)p->restart * 1000000;
}

/* Sends a train ahead of this data, by way of a copy that comes through this program again. */
static __always_inline void restart(struct __sk_buff *skb, struct sending *s, const struct params *p)
{
	u32 mark = skb->mark;

	shim_restart(&s->window);
	s->train++;
	s->row.probes += p->probes;
	COUNT(restarts, 1);
	skb->mark = ORDER | RESTART << 8 | cc_min(p->probes, TRAIN_MOST);
	bpf_clone_redirect(skb, skb->ifindex, 0);
	skb->mark = mark;
}

/* The copy: its headers become the probes. */
static __always_inline int send_restart_train(struct __sk_buff *skb, struct packet *packet)
{
	struct flow flow = flow_of(packet);
	struct sending *s = bpf_map_lookup_elem(&sending, &flow);
	u32 headers = IPV4 + (packet->tcp->offset >> 4) * 4, probes = cc_min(order_size(skb), TRAIN_MOST);
	__be16 old = packet->ip->length, length = bpf_htons(headers);

	if (!s || bpf_skb_change_tail(skb, ETHERNET + headers, 0))
		return TC_ACT_SHOT;
	bpf_l3_csum_replace(skb, ETHERNET + 10, old, length, 2);
	bpf_skb_store_bytes(skb, ETHERNET + 2, &length, 2, 0);
	bpf_skb_store_bytes(skb, ETHERNET + IPV4 + AT_SEQUENCE, &s->syn, 4, 0);
	clear_order(skb);
	if (parse(skb, packet))
		send_probes(skb, packet->ip, s->train, probes);
	return TC_ACT_SHOT;
}

/* Of data that arrives: the next ACK brings the window of a restart. */
static __always_inline void note_data(struct receiving *r)
{
	r->open = 1;
	if (r->restart == RESTART_PROBED)
		r->restart = RESTART_RECEIVED;
}

/* A window of so many bytes in the unit of the scale: never more than `field`, never 0, rounded up. */
static __always_inline __be16 lowered(u32 bytes, u32 scale, __be16 field)
{
	u64 units = ((u64)bytes + (1U << (scale & 15)) - 1) >> (scale & 15);

	return units < bpf_ntohs(field) ? bpf_htons((u16)cc_max((u32)units, 1)) : field;
}

/* The window field of the first ACK of a restart, of `field`. A train without a mark or loss limits nothing. */
static __always_inline __be16 restart_window(const struct receiving *r, const struct params *p, __be16 field)
{
	u32 bad = train_counts(r, p) - (r->probes - r->marked);

	if (sufficient(r, p) && !bad)
		return field;
	return lowered(cc_max(allowed_by(r, p), p->floor) * p->mss, r->scale, field);
}

#endif
