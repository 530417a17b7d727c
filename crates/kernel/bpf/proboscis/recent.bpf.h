/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recent estimates: connections that open soon after a train of probes to the same host use its result and send no probes. The daemon stores the
 * estimates (crates/hosts/src/helper/estimates.rs); without it every SYN has its own train. Our reading: the publication sends a train "before
 * each SYN packet" and gives no lifetime, so `recent` is 0 by default.
 *
 * The shim of the acceptor reports the result of a train to its daemon, and in the SYN-ACK its lifetime to the opener. An opener that uses an
 * estimate marks its SYN. Both values are in the field of the urgent pointer, which a SYN does not use. The shims clear them before delivery.
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
