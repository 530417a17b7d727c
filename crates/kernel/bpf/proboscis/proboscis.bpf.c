// SPDX-License-Identifier: GPL-2.0
/* ProBoSCIS: a shim below any TCP, at the interface of both ends (of a host, or of a bridge with guests behind it). A train of small probes
 * goes ahead of the SYN, and the window in the SYN-ACK follows from how many of them were marked. Later the shim keeps DCTCP's window for the
 * connection and writes it into the ACKs. The guest sees no ECN: its data is made ECN-capable on the way out, marks are taken off on the way
 * in, and the echo travels in the ECE bit of ACKs from shim to shim. All state is in tables of least recently used flows: a flow that was
 * forgotten, or never seen (its SYN came before the shim), is left alone.
 *
 * The timers of the publication are those of a process beside it (`forebay helper`, helper.bpf.h). Without it a SYN that is sent again has fresh
 * probes, and a SYN-ACK is never held: probes are ahead of the SYN in every FIFO and have been counted when it arrives. */
#include "../include/packet.h"
#include "../dctcp/dctcp_core.h"

/* The protocol number of probes: for experimentation (RFC 3692). The rest of a probe is the SYN. */
#define PROBE 253

struct params {
	/* Probes ahead of a SYN. */
	u32 probes;
	/* What the SYN-ACK allows if no probe was marked, and the least that any window allows, in segments. Linux' receiver delays the ACK of a
	 * single segment by 40 ms, so that the least is two. */
	u32 initial;
	u32 floor;
	/* Bytes of a full segment. */
	u32 mss;
	/* DCTCP's weight of the newest marked fraction, 2^-shift_g. */
	u32 shift_g;
	/* The share of a train that has to arrive before its SYN-ACK may leave, in percent; for the helper. */
	u32 sufficient;
	/* Every peer has the shim: a SYN without a single probe has lost them all. */
	u32 everywhere;
	/* So long, in ms, connections open on what the newest train to their peer said; for the helper. */
	u32 recent;
	/* Connections with more bytes acknowledged are left alone; 0: none is. */
	u32 elephant;
	/* Probes that were lost count as marked ones. */
	u32 lost_as_marked;
};
PARAMS_MAP

struct counters {
	u64 probes_sent;
	u64 probes_received;
	u64 probes_marked;
	u64 syn_acks;
	u64 syn_acks_limited;
	u64 data_made_capable;
	u64 marks_hidden;
	u64 echoes_sent;
	u64 echoes_received;
	u64 windows;
	u64 alpha_sum;
	u64 cuts;
	u64 acks_limited;
	/* With the helper: SYN-ACKs held and let go, trains of probes and SYNs sent again. */
	u64 syn_acks_held;
	u64 syn_acks_released;
	u64 trains_again;
	u64 syns_again;
	/* And trains whose estimate was kept, SYNs that relied on one and had no probes, SYN-ACKs that followed one, and those that found none. */
	u64 estimates;
	u64 trains_spared;
	u64 estimates_used;
	u64 estimates_missed;
};
COUNTERS_MAP
PREFIXES_MAP

/* At the sender of data: its window as DCTCP has it. */
struct sending {
	struct dctcp marks;
	/* In segments. */
	struct law_window window;
	/* Behind the last byte sent; acknowledged up to; and up to here a cut has been answered. */
	u32 high, una, cut_end;
	/* Bytes acknowledged, of those the ones with an echo, and the rest of a segment that growth has not seen yet. */
	u32 acked, acked_marked, rest;
	/* All bytes acknowledged. */
	u64 bytes;
	/* The newest train of probes has this number. */
	u8 scale, known, train, unused;
};
FLOWS_MAP(sending, struct sending)

/* At the receiver: what became of the newest train of probes, and whether a mark is to be echoed. */
struct receiving {
	u32 probes, marked;
	u32 echo;
	/* Sequence number of the SYN; number and size of the train. */
	__be32 syn;
	u8 train, size;
	/* The SYN had none, because there was a train lately; the estimate of this train has been told. */
	u8 relies, told;
};
FLOWS_MAP(receiving, struct receiving)

enum { AT_FLAGS = 12, AT_WINDOW = 14, AT_URGENT = 18 };
#include "recent.bpf.h"
#include "window.bpf.h"
/* Probes of a train, at most: four times the parameter's greatest value. */
enum { TRAIN_MOST = 128 };

static long send_probe(u32 i, struct __sk_buff **skb)
{
	if (!bpf_clone_redirect(*skb, (*skb)->ifindex, 0))
		COUNT(probes_sent, 1);
	return 0;
}

/* A train of copies of the SYN under another protocol number, as small as it is. The place of the urgent pointer, which a SYN does not use,
 * says which train it is and how many there are. */
static __always_inline void send_probes(struct __sk_buff *skb, const struct ipv4 *ip, u8 train, u32 probes)
{
	__be16 tos = *(__be16 *)ip, protocol = *(__be16 *)&ip->ttl;
	__be16 capable = tos, probe = protocol, number = bpf_htons((u16)train << 8 | (u8)probes), none = 0;

	((u8 *)&capable)[1] = (((u8 *)&tos)[1] & ~CE) | ECT0;
	((u8 *)&probe)[1] = PROBE;
	bpf_l3_csum_replace(skb, ETHERNET + 10, tos, capable, 2);
	bpf_l3_csum_replace(skb, ETHERNET + 10, protocol, probe, 2);
	bpf_skb_store_bytes(skb, ETHERNET, &capable, 2, 0);
	bpf_skb_store_bytes(skb, ETHERNET + 8, &probe, 2, 0);
	bpf_skb_store_bytes(skb, ETHERNET + IPV4 + AT_URGENT, &number, 2, 0);
	bpf_loop(probes, send_probe, &skb, 0);
	bpf_l3_csum_replace(skb, ETHERNET + 10, capable, tos, 2);
	bpf_l3_csum_replace(skb, ETHERNET + 10, probe, protocol, 2);
	bpf_skb_store_bytes(skb, ETHERNET, &tos, 2, 0);
	bpf_skb_store_bytes(skb, ETHERNET + 8, &protocol, 2, 0);
	bpf_skb_store_bytes(skb, ETHERNET + IPV4 + AT_URGENT, &none, 2, 0);
}

static __always_inline __be16 with_flags(const struct tcp_header *tcp, u8 set, u8 clear)
{
	__be16 word = *(__be16 *)&tcp->offset;
	((u8 *)&word)[1] = (tcp->flags | set) & ~clear;
	return word;
}

/* The first window of the other end: the initial one times the unmarked share of the probes that arrived; lost ones say that the train is not
 * sufficient, and nothing more. The window of a SYN-ACK is never scaled (RFC 7323, section 2.2). */
static __always_inline u32 allowed_by(const struct receiving *r, const struct params *p)
{
	u32 lost = p->lost_as_marked && r->size > r->probes ? r->size - r->probes : 0;

	return p->initial * (r->probes - r->marked) / law_max(r->probes + lost, 1);
}

/* A SYN-ACK leaves, or waits for probes. What it is to say of this train stands where the urgent pointer is. */
static __always_inline int send_syn_ack(struct __sk_buff *skb, const struct packet *packet, const struct params *p)
{
	struct flow opened = flow_acked(packet);
	struct receiving *r = bpf_map_lookup_elem(&receiving, &opened);
	bool released = order_of(skb) == RELEASE, relies = r && r->relies && !r->size, limited = true;
	__be16 old = packet->tcp->window, urgent = packet->tcp->urgent, keeps = urgent;
	u32 allowed = 0;

	if (relies && recent_estimate(&opened, p, &allowed)) {
		COUNT(estimates_used, 1);
	} else {
		/* The opener's process sends a train when nobody answers (beta1). */
		if (!released && (relies || may_hold(r, p)) && ask_helper(skb, HELD, &opened, 0)) {
			COUNT(syn_acks_held, 1);
			/* Not lost, for the guest: it would count an error. */
			return TC_ACT_STOLEN;
		}
		if (relies)
			COUNT(estimates_missed, 1);
		/* A train that is not sufficient is as good as severe congestion when the SYN-ACK leaves (section 3.4 of the publication's algorithm
		 * 2): after its time, or at once where nothing holds it. */
		if (r && r->probes)
			allowed = sufficient(r, p) ? allowed_by(r, p) : 0;
		else
			limited = released || relies;
		if (r && !r->told && sufficient(r, p) && p->recent && ask_helper(skb, ESTIMATE, &opened, allowed)) {
			r->told = 1;
			keeps = bpf_htons(p->recent);
			COUNT(estimates, 1);
		}
	}
	if (released) {
		COUNT(syn_acks_released, 1);
		skb->mark = 0;
	}
	COUNT(syn_acks, 1);
	allowed = law_max(allowed, p->floor) * p->mss;
	if (limited && allowed < bpf_ntohs(old)) {
		COUNT(syn_acks_limited, 1);
		set_tcp16(skb, AT_WINDOW, old, bpf_htons(allowed));
	}
	set_tcp16(skb, AT_URGENT, urgent, keeps);
	return TC_ACT_UNSPEC;
}

/* A SYN leaves behind its probes, unless it relies on those of an earlier one. */
static __always_inline int send_syn(struct __sk_buff *skb, const struct packet *packet, const struct params *p)
{
	struct flow flow = flow_of(packet);
	u32 high = bpf_ntohl(packet->tcp->seq) + 1, order = order_of(skb), probes = p->probes, unused;
	struct sending s = { .high = high }, *old = bpf_map_lookup_elem(&sending, &flow);
	bool again = old && !old->known && old->high == high;

	/* Answered in the meantime. */
	if (order && !again)
		return TC_ACT_SHOT;
	if (again)
		s.train = old->train + 1;
	bpf_map_update_elem(&sending, &flow, &s, BPF_ANY);
	if (order) {
		probes = law_min(order_size(skb), TRAIN_MOST);
		COUNT(trains_again, 1);
		skb->mark = 0;
	} else {
		ask_helper(skb, OPENS, &flow, 0);
	}
	if (!order && !again && recent_estimate(&flow, p, &unused)) {
		set_tcp16(skb, AT_URGENT, packet->tcp->urgent, bpf_htons(RELIES));
		COUNT(trains_spared, 1);
		return TC_ACT_UNSPEC;
	}
	send_probes(skb, packet->ip, s.train, probes);
	if (order == TRAIN)
		return TC_ACT_SHOT;
	if (order)
		COUNT(syns_again, 1);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int egress(struct __sk_buff *skb)
{
	const struct params *p = parameters();
	struct packet packet;
	struct flow flow;
	u8 flags;

	if (!p || !parse(skb, &packet) || packet.ip->protocol != IPPROTO_TCP || !is_inside(packet.ip->destination))
		return TC_ACT_UNSPEC;
	flags = packet.tcp->flags;
	flow = flow_of(&packet);
	if (flags & SYN) {
		/* The guests do not negotiate ECN: it is the shims'. */
		__be16 word = *(__be16 *)&packet.tcp->offset, plain = with_flags(packet.tcp, 0, ECE | CWR);
		int verdict = flags & ACK ? send_syn_ack(skb, &packet, p) : send_syn(skb, &packet, p);
		if (verdict == TC_ACT_UNSPEC)
			set_tcp16(skb, AT_FLAGS, word, plain);
		return verdict;
	}
	if (packet.payload) {
		struct sending *s = bpf_map_lookup_elem(&sending, &flow);
		if (s) {
			u32 end = bpf_ntohl(packet.tcp->seq) + packet.payload;
			if (law_before(s->high, end))
				s->high = end;
			COUNT(data_made_capable, 1);
			set_tos(skb, packet.ip, (packet.ip->tos & ~CE) | ECT0);
			if (!parse(skb, &packet))
				return TC_ACT_UNSPEC;
		}
	}
	if (flags & ACK) {
		struct flow acked = flow_acked(&packet);
		struct receiving *r = bpf_map_lookup_elem(&receiving, &acked);
		if (r && r->echo) {
			r->echo = 0;
			COUNT(echoes_sent, 1);
			set_tcp16(skb, AT_FLAGS, *(__be16 *)&packet.tcp->offset, with_flags(packet.tcp, ECE, 0));
		}
	}
	return TC_ACT_UNSPEC;
}

/* A probe of the newest train, or the first of a newer one. */
static __always_inline void count_probe(struct __sk_buff *skb, const struct packet *packet, const struct params *p)
{
	struct flow flow = flow_of(packet);
	struct receiving *r = bpf_map_lookup_elem(&receiving, &flow), fresh = {};
	u16 number = bpf_ntohs(packet->tcp->urgent);
	u8 train = number >> 8, size = (u8)number;
	bool enough;

	if (!r) {
		bpf_map_update_elem(&receiving, &flow, &fresh, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&receiving, &flow);
		if (!r)
			return;
	}
	if (r->syn != packet->tcp->seq || r->size == 0 || (s8)(train - r->train) > 0) {
		r->probes = r->marked = r->relies = r->told = 0;
		r->syn = packet->tcp->seq;
		r->train = train;
		r->size = size;
	}
	if (r->train != train)
		return;
	enough = sufficient(r, p);
	r->probes++;
	COUNT(probes_received, 1);
	if ((packet->ip->tos & CE) == CE) {
		r->marked++;
		COUNT(probes_marked, 1);
	}
	/* A SYN-ACK may be waiting for this one. */
	if (!enough && sufficient(r, p))
		ask_helper(skb, ENOUGH, &flow, 0);
}

SEC("tc")
int ingress(struct __sk_buff *skb)
{
	const struct params *p = parameters();
	struct packet packet;
	struct flow flow, acked;
	struct sending *s;
	u8 flags, tos;

	if (!p || !parse(skb, &packet) || !is_inside(packet.ip->source))
		return TC_ACT_UNSPEC;
	flow = flow_of(&packet);
	flags = packet.tcp->flags;
	tos = packet.ip->tos;
	if (packet.ip->protocol == PROBE) {
		count_probe(skb, &packet, p);
		return TC_ACT_SHOT;
	}
	if (packet.ip->protocol != IPPROTO_TCP)
		return TC_ACT_UNSPEC;
	if ((flags & (SYN | ACK)) == SYN && packet.tcp->urgent == bpf_htons(RELIES)) {
		note_reliance(skb, &packet, &flow);
		return TC_ACT_UNSPEC;
	}
	if (packet.payload && (tos & CE)) {
		struct receiving *r = bpf_map_lookup_elem(&receiving, &flow);
		if (r) {
			if ((tos & CE) == CE) {
				r->echo = 1;
				COUNT(marks_hidden, 1);
			}
			set_tos(skb, packet.ip, tos & ~CE);
			if (!parse(skb, &packet))
				return TC_ACT_UNSPEC;
		}
	}
	acked = flow_acked(&packet);
	s = bpf_map_lookup_elem(&sending, &acked);
	if (!s || !(flags & ACK))
		return TC_ACT_UNSPEC;
	if (!s->known && (flags & (SYN | RST)))
		ask_helper(skb, ANSWERED, &acked, flags & SYN ? bpf_ntohs(packet.tcp->urgent) : 0);
	if (flags & SYN) {
		struct dctcp_params marks = marks_of(p);
		s->scale = scale_of(skb, packet.tcp);
		s->una = bpf_ntohl(packet.tcp->ack);
		s->cut_end = s->una;
		s->window.cwnd = law_max(p->initial, 1);
		s->window.ssthresh = LAW_NO_THRESHOLD;
		dctcp_init(&s->marks, &marks, s->una, 0, 0);
		s->known = 1;
		set_tcp16(skb, AT_URGENT, packet.tcp->urgent, 0);
		return TC_ACT_UNSPEC;
	}
	if (!s->known || (flags & RST))
		return TC_ACT_UNSPEC;
	acknowledged(s, p, bpf_ntohl(packet.tcp->ack), flags & ECE);
	if (flags & ECE) {
		set_tcp16(skb, AT_FLAGS, *(__be16 *)&packet.tcp->offset, with_flags(packet.tcp, 0, ECE));
		if (!parse(skb, &packet))
			return TC_ACT_UNSPEC;
	}
	if (p->elephant && s->bytes > p->elephant)
		return TC_ACT_UNSPEC;
	__be16 old = packet.tcp->window;
	u64 allowed = (u64)law_max(s->window.cwnd, p->floor) * p->mss;
	u64 units = (allowed + (1U << (s->scale & 15)) - 1) >> (s->scale & 15);
	if (units < bpf_ntohs(old)) {
		COUNT(acks_limited, 1);
		set_tcp16(skb, AT_WINDOW, old, bpf_htons((u16)units));
	}
	return TC_ACT_UNSPEC;
}
