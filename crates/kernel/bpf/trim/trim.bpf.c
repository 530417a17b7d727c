// SPDX-License-Identifier: GPL-2.0
/* TCP-TRIM as a BPF program; the arithmetic is trim_core.h and trim_probe.h. Gaps are found where new data is about to leave:
 * tcp_write_xmit asks for min_tso_segs before it looks at the window. That a probe is late is seen when the next ACK comes: until then the
 * window lets nothing leave anyway. A program cannot hold a packet back: the random waits AD and AS need an egress that does (trim_hold.bpf.h). */
#include "../include/cc.bpf.h"
#include "trim_probe.h"

struct params {
	/* Time of a full packet at the bottleneck in ps, for K by Eq. 26; 0: unknown, then only an explicit K cuts. */
	u64 packet_ps;
	/* K in us; 0: by Eq. 26. */
	u32 k;
	/* K is at least this much above the shortest RTT, us. */
	u32 guard;
	u32 min_cwnd;
	/* Time that the bottleneck's full buffer takes to drain, us; 0: without limit. */
	u32 buffer;
};
PARAMS_MAP

struct counters {
	u64 sockets_opened;
	u64 sockets_closed;
	u64 acks;
	/* Episodes of probing, probes sent, and episodes in which one was late. */
	u64 episodes;
	u64 probes;
	u64 late;
	/* Random waits (AD, AS), and their lengths together. */
	u64 waits;
	u64 waited_us;
	/* Cuts because an RTT was above K, reductions for losses, timeouts. */
	u64 cuts_by_rtt;
	u64 cuts_by_loss;
	u64 timeouts;
	CC_COUNTERS
	/* The sum of K, us, over ACKs that knew it, and their number. */
	u64 k_sum;
	u64 k_known;
};
COUNTERS_MAP

struct state {
	struct trim cc;
	u64 asked; /* when data could be sent last, us */
	u32 from;  /* snd_nxt then */
};
_Static_assert(sizeof(struct state) <= 104, "what the kernel keeps for a congestion control (ICSK_CA_PRIV_SIZE)");

#include "trim_hold.bpf.h"

static __always_inline struct trim_params cc_of(const struct params *p, u32 mark)
{
	return (struct trim_params){
		.packet_ps = p ? p->packet_ps : 0,
		.weight = CC_ONE / 4,
		.min_cwnd = p ? p->min_cwnd : 2,
		.buffer = p && p->buffer ? p->buffer : CC_NONE,
		.policy = p && p->k ? TRIM_K_EXPLICIT : TRIM_K_LOWER,
		.k = p ? p->k : 0,
		.guard = p ? p->guard : 0,
		.cuts = TRIM_EVERY_ACK,
		.gap_in_flight = 1,
		.sets = TRIM_SETS_ALL,
		.handshake = 0,
		.wait_before = hold_asks(mark, HOLD_BEFORE),
		.wait_after = hold_asks(mark, HOLD_AFTER),
		.wait_at_start = hold_asks(mark, HOLD_AT_START),
	};
}

SEC("struct_ops")
void BPF_PROG(trim_init_sock, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct state *s = inet_csk_ca(sk);
	struct trim_params p = cc_of(parameters(), hold_mark(sk));
	u32 srtt = tp->srtt_us >> 3;
	trim_init(&s->cc, &p);
	trim_established(&s->cc, &p, srtt ? srtt : CC_NONE);
	s->asked = 0;
	s->from = tp->snd_nxt;
	COUNT(sockets_opened, 1);
}

SEC("struct_ops")
void BPF_PROG(trim_release, struct sock *sk)
{
	COUNT(sockets_closed, 1);
}

/* Segments sent since data could be sent last. */
static __always_inline void note_sent(const struct tcp_sock *tp, struct state *s)
{
	u32 nxt = tp->snd_nxt;
	u8 probes = s->cc.count;
	if (nxt != s->from) {
		struct trim_opportunity at = { .now = s->asked, .mss = tp->mss_cache };
		trim_sent(&s->cc, s->from, nxt, &at);
		if (s->cc.count > probes)
			COUNT(probes, s->cc.count - probes);
	}
	s->from = nxt;
}

SEC("struct_ops")
u32 BPF_PROG(trim_min_tso_segs, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct state *s = inet_csk_ca(sk);
	struct trim_params p = cc_of(parameters(), hold_mark(sk));
	struct cc_window w;
	struct trim_opportunity at;
	u32 allowed;
	u8 was = s->cc.state;

	SANITIZE(tp);
	note_sent(tp, s);
	w = cc_window_of(tp);
	at = (struct trim_opportunity){
		.now = hold_time(sk, tp->tcp_mstamp),
		.last_tx = tp->data_segs_out ? hold_time(sk, tp->tcp_wstamp_ns / 1000) : TRIM_NEVER,
		.flight = tp->snd_nxt - tp->snd_una,
		.unsent = tp->write_seq - tp->snd_nxt,
		.recovering = inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery,
		.mss = tp->mss_cache,
		.random = bpf_get_prandom_u32(),
	};
	if (was == TRIM_PROBING && s->cc.acked < s->cc.count && at.now >= s->cc.due)
		COUNT(late, 1);
	allowed = trim_gate(&s->cc, &p, &w, &at);
	if (!allowed && at.unsent && (s->cc.state == TRIM_AD_WAIT || s->cc.state == TRIM_AS_WAIT)) {
		/* A wait begins: what leaves now is held until its end, and for the congestion control it is then already. */
		hold_until(sk, tp->tcp_mstamp, s->cc.due);
		COUNT(waits, 1);
		COUNT(waited_us, s->cc.due - at.now);
		at.now = s->cc.due;
		allowed = hold_waited(&s->cc, at.now);
	}
	if (s->cc.state == TRIM_PROBING) {
		if (was != TRIM_PROBING)
			COUNT(episodes, 1);
		/* A window that has no room keeps further probes back. */
		w.cwnd = cc_min(w.cwnd, cc_max(cc_flight_of(tp) + allowed, 1));
	}
	cc_window_set(tp, &w);
	s->asked = at.now;
	/* While probing a packet is one segment. */
	return s->cc.state == TRIM_PROBING ? 1 : CC_MIN_TSO_SEGS;
}

SEC("struct_ops")
void BPF_PROG(trim_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct state *s = inet_csk_ca(sk);
	struct trim_params p = cc_of(parameters(), hold_mark(sk));
	struct cc_ack a = cc_ack_of(tp);
	struct cc_window w;
	u32 cwnd;

	if (!cc_begun(tp))
		return;
	SANITIZE(tp);
	w = cc_window_of(tp);
	cwnd = w.cwnd;
	note_sent(tp, s);
	if (sample->rtt_us >= 0)
		a.rtt = hold_rtt(sk, a.now, sample->rtt_us);
	trim_sample(&s->cc, &p, &a, 1);
	COUNT(acks, 1);
	if (s->cc.k != CC_NONE) {
		COUNT(k_sum, s->cc.k);
		COUNT(k_known, 1);
	}
	if (!sample->pkts_acked)
		return;
	trim_acked(&s->cc, &p, &w, &a);
	if (w.cwnd < cwnd)
		COUNT(cuts_by_rtt, 1);
	cc_window_set(tp, &w);
}

SEC("struct_ops")
void BPF_PROG(trim_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct state *s = inet_csk_ca(sk);
	struct trim_params p = cc_of(parameters(), hold_mark(sk));
	struct cc_window w;

	SANITIZE(tp);
	w = cc_window_of(tp);
	if (!cc_may_grow(tp))
		return;
	trim_grow(&s->cc, &p, &w, acked);
	cc_window_set(tp, &w);
}

SEC("struct_ops")
u32 BPF_PROG(trim_recalc_ssthresh, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	COUNT(cuts_by_loss, 1);
	return GIVEN(trim_ssthresh(&s->cc, tcp_sk(sk)->snd_cwnd, CC_MARK));
}

SEC("struct_ops")
void BPF_PROG(trim_set_state, struct sock *sk, u8 new_state)
{
	struct state *s = inet_csk_ca(sk);
	SANITIZE(tcp_sk(sk));
	/* Lost segments are retransmitted immediately. */
	if (new_state >= TCP_CA_Recovery)
		hold_end(sk, tcp_sk(sk)->tcp_mstamp);
	if (new_state == TCP_CA_Recovery) {
		trim_recovery(&s->cc);
	} else if (new_state == TCP_CA_Loss) {
		COUNT(timeouts, 1);
		trim_timeout(&s->cc);
	} else {
		trim_recovered(&s->cc);
	}
}

SEC("struct_ops")
u32 BPF_PROG(trim_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops cc = {
	.init = (void *)trim_init_sock,
	.release = (void *)trim_release,
	.min_tso_segs = (void *)trim_min_tso_segs,
	.pkts_acked = (void *)trim_pkts_acked,
	.cong_avoid = (void *)trim_cong_avoid,
	.ssthresh = (void *)trim_recalc_ssthresh,
	.set_state = (void *)trim_set_state,
	.undo_cwnd = (void *)trim_undo_cwnd,
	.name = "fb_trim",
};
