/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recent estimates: what the newest train between two hosts said holds for the connections that open soon after it, which send no probes. The
 * process beside the shim keeps them (crates/hosts/src/helper/recent.rs), and without it every SYN has its train. Our reading: the publication
 * sends a train "before each SYN packet", so that `recent` is 0 unless it is set, and says nothing of how long one counts.
 *
 * The acceptor's shim tells its process what a train allowed, and the opener's in the SYN-ACK for how long that is kept. An opener that relies
 * on it says so in its SYN. Both words stand where the urgent pointer is, which a SYN does not use, and are taken out before a guest sees them.
 */
#ifndef FOREBAY_PROBOSCIS_RECENT_H
#define FOREBAY_PROBOSCIS_RECENT_H

#include "helper.bpf.h"

/* From the host that opens connections to the one that accepts them. */
struct path {
	__be32 opener, acceptor;
};
struct estimate {
	/* By bpf_ktime_get_ns. */
	u64 until;
	/* Window of a SYN-ACK; not used at the opener, which only needs the existence of an estimate. */
	u32 segments, unused;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct path);
	__type(value, struct estimate);
} recent SEC(".maps");

/* In a SYN: there are no probes, because there was a train lately. */
enum { RELIES = 1 };

static __always_inline bool recent_estimate(const struct flow *flow, const struct params *p, u32 *segments)
{
	struct path path = { flow->source, flow->destination };
	struct estimate *e;

	if (!p->recent || !helper_lives())
		return false;
	e = bpf_map_lookup_elem(&recent, &path);
	if (!e || bpf_ktime_get_ns() > e->until)
		return false;
	*segments = e->segments;
	return true;
}

/* A SYN that relies on an estimate: its SYN-ACK is to have it. */
static __always_inline void note_reliance(struct __sk_buff *skb, const struct packet *packet, const struct flow *flow)
{
	struct receiving fresh = { .syn = packet->tcp->seq, .relies = 1 }, *r = bpf_map_lookup_elem(&receiving, flow);

	/* Copies of it say nothing new once a train has come after all. */
	if (!r || r->syn != fresh.syn || !r->size)
		bpf_map_update_elem(&receiving, flow, &fresh, BPF_ANY);
	set_tcp16(skb, AT_URGENT, packet->tcp->urgent, 0);
}

#endif
