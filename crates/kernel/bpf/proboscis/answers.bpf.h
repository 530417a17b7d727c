/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Data of the end that accepts the connection, such as answers of a server (extension for pull traffic, section 4, item 24 of the specification).
 * Its shim sends a train before the SYN-ACK. The opener's shim writes the window into the third packet of the handshake, and into later packets
 * that acknowledge no data. After that, both ends have the roles of a connection in the other direction. The readings are those of the simulator
 * (crates/shims/src/proboscis).
 */
#ifndef FOREBAY_PROBOSCIS_ANSWERS_H
#define FOREBAY_PROBOSCIS_ANSWERS_H

/* A SYN has arrived: the scale of its sender's windows is only there. */
static __always_inline void note_opener(struct __sk_buff *skb, const struct packet *packet)
{
	struct flow back = flow_acked(packet);
	struct sending s = { .answers = 1 }, *old = bpf_map_lookup_elem(&sending, &back);

	/* The peer sends its SYN again. */
	if (old && old->answers && !old->known)
		return;
	s.scale = scale_of(skb, packet->tcp);
	bpf_map_update_elem(&sending, &back, &s, BPF_ANY);
}

/* A SYN-ACK leaves behind a train. Without a scale in it windows have none in either direction (RFC 7323, section 1.3). */
static __always_inline void send_answer_train(struct __sk_buff *skb, struct packet *packet, const struct params *p)
{
	struct flow flow = flow_of(packet);
	struct sending *s = bpf_map_lookup_elem(&sending, &flow);
	u32 high = bpf_ntohl(packet->tcp->seq) + 1;

	if (!s || !s->answers || s->known)
		return;
	if (s->syn == packet->tcp->seq)
		s->train++;
	s->syn = packet->tcp->seq;
	s->window.high = high;
	s->row.probes += p->probes;
	COUNT(answer_trains, 1);
	if (!has_scale(skb, packet->tcp))
		s->scale = 0;
	send_probes(skb, packet->ip, s->train, cc_min(p->probes, TRAIN_MOST));
}

/* A SYN-ACK has arrived. If every peer has the shim, its train was lost unless it has been counted. */
static __always_inline void expect_train(const struct flow *flow, __be32 syn)
{
	struct receiving fresh = { .syn = syn }, *r = bpf_map_lookup_elem(&receiving, flow);

	if (!r || r->syn != syn)
		bpf_map_update_elem(&receiving, flow, &fresh, BPF_ANY);
}

/* The third packet of the handshake leaves, at the end that opened the connection: the verdict on the train of the SYN-ACK. */
static __always_inline void judge_answer_train(struct receiving *r, const struct packet *packet, const struct params *p)
{
	struct flow flow = flow_of(packet);
	struct sending *s = bpf_map_lookup_elem(&sending, &flow);

	if (r->row.answered || !s || s->answers || (!r->size && !p->everywhere))
		return;
	r->first = 1;
	r->scale = s->own_scale;
	r->answered_at = bpf_ktime_get_ns();
	r->row.answered = 1;
	r->row.verdict = verdict_of(r, p);
}

/* Window field of the third packet, and of later packets until one acknowledges data. A request follows the third packet at once, and its own window
 * would replace that of the third packet (RFC 9293, section 3.10.7.4). */
static __always_inline __be16 first_window(struct receiving *r, const struct packet *packet, const struct params *p, __be16 field)
{
	__be16 lower;

	if (!r->row.answered && r->syn == bpf_htonl(bpf_ntohl(packet->tcp->ack) - 1))
		judge_answer_train(r, packet, p);
	if (!r->first)
		return field;
	if (r->syn != bpf_htonl(bpf_ntohl(packet->tcp->ack) - 1)) {
		r->first = 0;
		return field;
	}
	lower = lowered(cc_max(allowed_by(r, p), p->floor) * p->mss, r->scale, field);
	if (!r->row.answer)
		r->row.answer = (u32)bpf_ntohs(lower) << (r->scale & 15);
	return lower;
}

#endif
