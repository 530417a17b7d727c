/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Data of the end that accepts the connection, such as answers of a server. Its shim sends a train ahead of the SYN-ACK, and the opener's shim writes the
 * window into the third packet of the handshake (extension for pull traffic, section 4, item 24 of the specification). From then on both ends have the
 * roles of a connection in the other direction.
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

/* The third packet of the handshake leaves: the verdict on the train of the SYN-ACK goes into its window. */
static __always_inline bool is_third(const struct packet *packet, const struct receiving *r)
{
	return r->size && !r->row.answered && r->syn == bpf_htonl(bpf_ntohl(packet->tcp->ack) - 1);
}

static __always_inline void answer_train(struct receiving *r, const struct packet *packet, const struct params *p)
{
	struct flow flow = flow_of(packet);
	struct sending *s = bpf_map_lookup_elem(&sending, &flow);

	r->row.answered = 1;
	r->row.verdict = verdict_of(r, p);
	r->answered_at = bpf_ktime_get_ns();
	if (s)
		r->scale = s->own_scale;
	r->row.answer = bpf_ntohs(restart_window(r, p, packet->tcp->window)) << (r->scale & 15);
}

#endif
