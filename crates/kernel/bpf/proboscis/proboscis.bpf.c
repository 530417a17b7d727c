// SPDX-License-Identifier: GPL-2.0
/* ProBoSCIS: a shim below any TCP, at the interface of both ends (of a host, or of a bridge with guests behind it). A train of small probes
 * goes ahead of the SYN, and the window in the SYN-ACK follows from how many of them were marked. Later the shim keeps DCTCP's window for the
 * connection and writes it into the ACKs. The guest sees no ECN. Its data is made ECN-capable on the way out, marks are removed on the way
 * in, and the echo travels in the ECE bit of ACKs from shim to shim. All state is in tables of least recently used flows. The shim ignores
 * flows that are not in them (evicted, or opened before the shim).
 *
 * The timers of the publication are those of a process beside it (`forebay attach --daemon`, helper.bpf.h). Without it a SYN that is sent again has fresh
 * probes, and a SYN-ACK is never held: probes are ahead of the SYN in every FIFO and have been counted when it arrives. */
#include "../include/packet.h"
#include "window_core.bpf.h"

/* The protocol number of probes: for experimentation (RFC 3692). The rest of a probe is the SYN. */
#define PROBE 253

struct params {
	/* Probes ahead of a SYN. */
	u32 probes;
	/* Window of the SYN-ACK if no probe was marked, and the smallest window, in segments: two, because Linux's receiver delays the ACK of a
	 * single segment by 40 ms. */
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
	/* A larger share of marked probes, in percent, allows no more than the least window. */
	u32 severe;
	/* Connections to this port of the end that accepts them alone; 0: to any. */
	u32 port;
	/* Data after a pause of so many ms has a train ahead of it; 0: never. */
	u32 restart;
	/* Data of the end that accepts is protected, too. */
	u32 answers;
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
	/* Trains ahead of data after a pause; first ACKs of such data, and those whose window was lowered. */
	u64 restarts;
	u64 restarts_answered;
	u64 restarts_limited;
	/* Trains ahead of SYN-ACKs, and packets of openers with a lower window because of them. */
	u64 answer_trains;
	u64 answers_limited;
};
COUNTERS_MAP
PREFIXES_MAP

/* Results of a connection (crates/hosts/src/shim.rs). Sender's shim: the probes sent, and ACKs whose window was lowered. Receiver's shim: the verdict
 * at the first SYN-ACK (enum verdict), a flag that it has left, its window, and the time for which it was held, ns. */
struct sender_row {
	u32 probes, limited;
};
struct receiver_row {
	u64 held;
	u32 verdict, answered, answer, unused;
};

/* At the sender of data. */
struct sending {
	struct sender_row row;
	struct shim_window window;
	/* Time of the last data, and sequence number of the SYN or SYN-ACK. */
	u64 last_data;
	__be32 syn;
	/* The newest train of probes has this number. */
	u8 scale, known, train;
	/* Scale of the windows that this end announces; it has accepted the connection. */
	u8 own_scale, answers;
};
FLOWS_MAP(sending, struct sending)

/* At the receiver: what became of the newest train of probes, and whether a mark is to be echoed. */
struct receiving {
	struct receiver_row row;
	u32 probes, marked;
	u32 echo;
	/* Sequence number of the SYN; number and size of the train. */
	__be32 syn;
	u8 train, size;
	/* The SYN had no train, because one was sent recently; the estimate of this train has been reported. */
	u8 relies, told;
	/* Time at which the first SYN-ACK was held, and at which the last one left. */
	u64 held_since, answered_at;
	/* Data has arrived; a restart; scale of the windows that this end announces; the window of the third packet holds. */
	u8 open, restart, scale, first;
};
FLOWS_MAP(receiving, struct receiving)

enum { AT_SEQUENCE = 4, AT_FLAGS = 12, AT_WINDOW = 14, AT_URGENT = 18 };
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

/* The connection is one that the shim is for, as its port says at the end that accepts it. */
static __always_inline bool is_port(const struct params *p, __be16 port)
{
	return !p->port || port == bpf_htons((u16)p->port);
}

/* Probes that count: those that arrived, and the lost ones where these are taken for marked. */
static __always_inline u32 train_counts(const struct receiving *r, const struct params *p)
{
	return p->lost_as_marked && r->size > r->probes ? r->size : r->probes;
}

/* Verdict on a train. */
enum verdict { PROPORTIONAL = 1, SEVERE = 2, INSUFFICIENT = 3, UNPROBED = 4 };

static __always_inline u8 verdict_of(const struct receiving *r, const struct params *p)
{
	u32 all = train_counts(r, p);

	if (!r->size && !p->everywhere)
		return UNPROBED;
	if (!sufficient(r, p))
		return INSUFFICIENT;
	return (all - (r->probes - r->marked)) * 100 > p->severe * all ? SEVERE : PROPORTIONAL;
}

/* The first window of the other end: the initial one times the unmarked share of the probes that count, nothing where nearly all are marked or the
 * train is not sufficient. The window of a SYN-ACK is never scaled (RFC 7323, section 2.2). */
static __always_inline u32 allowed_by(const struct receiving *r, const struct params *p)
{
	if (verdict_of(r, p) != PROPORTIONAL)
		return 0;
	return p->initial * (r->probes - r->marked) / cc_max(train_counts(r, p), 1);
}

#include "restart.bpf.h"
#include "answers.bpf.h"

/* The train of the connection of this SYN-ACK; NULL: there was none. A train of an earlier connection between the same ports does not count. If every
 * peer has the shim, a connection whose probes were all lost has an entry too, so that its marks are echoed. */
static __always_inline struct receiving *answered_by(const struct packet *packet, const struct flow *opened, const struct params *p)
{
	struct receiving *r = bpf_map_lookup_elem(&receiving, opened), fresh = {};

	fresh.syn = bpf_htonl(bpf_ntohl(packet->tcp->ack) - 1);
	if (r ? r->syn == fresh.syn : !p->everywhere)
		return r;
	bpf_map_update_elem(&receiving, opened, &fresh, BPF_ANY);
	return bpf_map_lookup_elem(&receiving, opened);
}

/* A SYN-ACK leaves, or waits for probes. It reports on this train in the field of the urgent pointer. */
static __always_inline int send_syn_ack(struct __sk_buff *skb, const struct packet *packet, const struct params *p)
{
	struct flow opened = flow_acked(packet);
	struct receiving *r = answered_by(packet, &opened, p);
	bool released = order_of(skb) == RELEASE, relies = r && r->relies && !r->size, limited = true;
	__be16 old = packet->tcp->window, urgent = packet->tcp->urgent, keeps = urgent;
	u32 allowed = 0;

	if (r && !r->row.verdict && !relies)
		r->row.verdict = verdict_of(r, p);
	if (relies && recent_estimate(&opened, p, &allowed)) {
		COUNT(estimates_used, 1);
	} else {
		/* The opener's process sends a train if no answer comes (beta1). */
		if (!released && (relies || may_hold(r, p)) && ask_helper(skb, HELD, &opened, 0)) {
			COUNT(syn_acks_held, 1);
			if (r && !r->held_since)
				r->held_since = bpf_ktime_get_ns();
			/* Not lost, for the guest: it would count an error. */
			return TC_ACT_STOLEN;
		}
		if (relies)
			COUNT(estimates_missed, 1);
		/* A train that is not sufficient is as good as severe congestion when the SYN-ACK leaves (section 3.4 of the publication's algorithm
		 * 2): after its time, or at once where nothing holds it. */
		if (r && r->probes)
			allowed = allowed_by(r, p);
		else
			limited = released || relies || p->everywhere;
		if (r && !r->told && sufficient(r, p) && p->recent && ask_helper(skb, ESTIMATE, &opened, allowed)) {
			r->told = 1;
			keeps = bpf_htons(p->recent);
			COUNT(estimates, 1);
		}
	}
	if (released) {
		COUNT(syn_acks_released, 1);
		clear_order(skb);
	}
	COUNT(syn_acks, 1);
	allowed = cc_max(allowed, p->floor) * p->mss;
	limited = limited && allowed < bpf_ntohs(old);
	if (r) {
		r->scale = scale_of(skb, packet->tcp);
		r->answered_at = bpf_ktime_get_ns();
	}
	if (r && !r->row.answered) {
		r->row.answered = 1;
		r->row.answer = limited ? allowed : bpf_ntohs(old);
		if (r->held_since)
			r->row.held = bpf_ktime_get_ns() - r->held_since;
	}
	if (limited) {
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
	struct sending s = { .window.high = high, .syn = packet->tcp->seq }, *old = bpf_map_lookup_elem(&sending, &flow);
	bool again = old && !old->known && old->window.high == high, spared;

	/* Answered in the meantime. */
	if (order && !again)
		return TC_ACT_SHOT;
	if (order)
		probes = cc_min(order_size(skb), TRAIN_MOST);
	spared = !order && !again && recent_estimate(&flow, p, &unused);
	/* In place: another processor may handle the SYN-ACK at this moment, and a new entry would lose that. */
	if (again) {
		s.train = ++old->train;
		old->row.probes += probes;
	} else {
		s.row.probes = spared ? 0 : probes;
		s.own_scale = scale_of(skb, packet->tcp);
		bpf_map_update_elem(&sending, &flow, &s, BPF_ANY);
	}
	if (order) {
		COUNT(trains_again, 1);
		clear_order(skb);
	} else {
		ask_helper(skb, OPENS, &flow, 0);
	}
	if (spared) {
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
	if (order_of(skb) == RESTART)
		return send_restart_train(skb, &packet);
	if (flags & SYN) {
		if (!is_port(p, flags & ACK ? packet.tcp->source : packet.tcp->destination))
			return TC_ACT_UNSPEC;
		/* The guests do not negotiate ECN: it is the shims'. */
		__be16 word = *(__be16 *)&packet.tcp->offset, plain = with_flags(packet.tcp, 0, ECE | CWR);
		int verdict = flags & ACK ? send_syn_ack(skb, &packet, p) : send_syn(skb, &packet, p);
		if (verdict != TC_ACT_UNSPEC)
			return verdict;
		set_tcp16(skb, AT_FLAGS, word, plain);
		if (p->answers && flags & ACK && parse(skb, &packet))
			send_answer_train(skb, &packet, p);
		return verdict;
	}
	if (packet.payload || (flags & FIN)) {
		struct sending *s = bpf_map_lookup_elem(&sending, &flow);
		struct shim_params limits = limits_of(p);
		if (s && packet.payload) {
			u32 seq = bpf_ntohl(packet.tcp->seq);
			if (s->known && s->window.una == s->window.high && seq == s->window.high && idle_for(s->last_data, p) &&
			    !shim_excluded(&s->window, &limits)) {
				restart(skb, s, p);
				if (!parse(skb, &packet))
					return TC_ACT_UNSPEC;
			}
			s->last_data = bpf_ktime_get_ns();
		}
		if (s) {
			u32 end = bpf_ntohl(packet.tcp->seq) + packet.payload + !!(flags & FIN);
			if (cc_before(s->window.high, end))
				s->window.high = end;
		}
		if (s && packet.payload && !shim_excluded(&s->window, &limits)) {
			COUNT(data_made_capable, 1);
			set_tos(skb, packet.ip, (packet.ip->tos & ~CE) | ECT0);
			if (!parse(skb, &packet))
				return TC_ACT_UNSPEC;
		}
	}
	if (flags & ACK) {
		struct flow acked = flow_acked(&packet);
		struct receiving *r = bpf_map_lookup_elem(&receiving, &acked);
		if (r) {
			__be16 old = packet.tcp->window, lower = old;

			if (p->answers)
				lower = first_window(r, &packet, p, old);
			if (lower != old)
				COUNT(answers_limited, 1);
			if (r->restart == RESTART_RECEIVED) {
				COUNT(restarts_answered, 1);
				r->restart = 0;
				lower = restart_window(r, p, lower);
				if (lower != old)
					COUNT(restarts_limited, 1);
			}
			if (lower != old) {
				set_tcp16(skb, AT_WINDOW, old, lower);
				if (!parse(skb, &packet))
					return TC_ACT_UNSPEC;
			}
		}
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
		if (r->syn != packet->tcp->seq)
			*r = fresh;
		r->probes = r->marked = r->relies = r->told = 0;
		r->syn = packet->tcp->seq;
		r->train = train;
		r->size = size;
		/* Repeated trains of a handshake can come behind its SYN-ACK, but not behind data, and no RTO later. */
		if (r->open || (r->answered_at && idle_for(r->answered_at, p)))
			r->restart = RESTART_PROBED;
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
		if (!is_port(p, packet.tcp->destination) && !is_port(p, packet.tcp->source))
			return TC_ACT_UNSPEC;
		count_probe(skb, &packet, p);
		return TC_ACT_SHOT;
	}
	if (packet.ip->protocol != IPPROTO_TCP)
		return TC_ACT_UNSPEC;
	if ((flags & (SYN | ACK)) == SYN && packet.tcp->urgent == bpf_htons(RELIES)) {
		note_reliance(skb, &packet, &flow);
		return TC_ACT_UNSPEC;
	}
	if ((flags & (SYN | ACK)) == SYN && p->answers && is_port(p, packet.tcp->destination))
		note_opener(skb, &packet);
	if (packet.payload && (tos & CE)) {
		struct receiving *r = bpf_map_lookup_elem(&receiving, &flow);
		if (r) {
			note_data(r);
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
	if (!s->known && s->answers && !(flags & SYN)) {
		/* The third packet of a handshake that this end accepted. */
		shim_open(&s->window, bpf_ntohl(packet.tcp->ack));
		s->last_data = bpf_ktime_get_ns();
		s->known = 1;
		return TC_ACT_UNSPEC;
	}
	if (flags & SYN) {
		u32 keeps = bpf_ntohs(packet.tcp->urgent);
		bool first = !s->known;

		s->scale = scale_of(skb, packet.tcp);
		/* A copy of the SYN-ACK has no new information. */
		if (first)
			shim_open(&s->window, bpf_ntohl(packet.tcp->ack));
		s->last_data = bpf_ktime_get_ns();
		/* Before the helper wakes: a train that it repeats now would find the connection unanswered. */
		s->known = 1;
		if (first)
			ask_helper(skb, ANSWERED, &acked, keeps);
		if (p->answers && p->everywhere)
			expect_train(&flow, packet.tcp->seq);
		set_tcp16(skb, AT_URGENT, packet.tcp->urgent, 0);
		return TC_ACT_UNSPEC;
	}
	if (!s->known && (flags & RST))
		ask_helper(skb, ANSWERED, &acked, 0);
	if (!s->known || (flags & RST))
		return TC_ACT_UNSPEC;
	struct shim_params limits = limits_of(p);
	if (shim_excluded(&s->window, &limits))
		return TC_ACT_UNSPEC;
	__be16 old = packet.tcp->window;
	acknowledged(s, p, bpf_ntohl(packet.tcp->ack), flags & ECE, bpf_ntohs(old));
	if (flags & ECE) {
		set_tcp16(skb, AT_FLAGS, *(__be16 *)&packet.tcp->offset, with_flags(packet.tcp, 0, ECE));
		if (!parse(skb, &packet))
			return TC_ACT_UNSPEC;
	}
	__be16 lower = bpf_htons(shim_limited(&s->window, bpf_ntohs(old), s->scale));
	if (lower != old) {
		COUNT(acks_limited, 1);
		s->row.limited++;
		set_tcp16(skb, AT_WINDOW, old, lower);
	}
	return TC_ACT_UNSPEC;
}
