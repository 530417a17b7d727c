// SPDX-License-Identifier: GPL-2.0
/*
 * TCP-TRIM in the kernel. Gaps are found where new data is about to leave: tcp_write_xmit asks for min_tso_segs before it looks at the window.
 * Waits, and the timer of probes, are the kernel's own pacing: no data leaves before tcp_wstamp_ns, and then the sender is woken.
 */
#include "../builtin.h"
#include "trim_probe.h"

struct trim_all {
	struct cc_common common;
	struct trim_params cc;
};

struct trim_private {
	const struct trim_all *params;
	struct trim state;
	u64 asked;    /* when data could be sent last, us */
	u32 from;     /* snd_nxt then */
	u8 held : 1;  /* pacing is ours now */
};

static void trim_read_all(void *params, const u64 *number)
{
	trim_read(&((struct trim_all *)params)->cc, number);
}

static const struct trim_all *trim_params_of(struct sock *sk)
{
	return cc_params(sk, &cc_trim);
}

static void trim_start(struct sock *sk)
{
	const struct trim_all *p = trim_params_of(sk);
	struct trim_private *c = inet_csk_ca(sk);
	u32 srtt = tcp_sk(sk)->srtt_us >> 3;

	BUILD_BUG_ON(sizeof(*c) > ICSK_CA_PRIV_SIZE);
	trim_init(&c->state, &p->cc);
	trim_established(&c->state, &p->cc, srtt ? srtt : CC_NONE);
	c->from = tcp_sk(sk)->snd_nxt;
}

static void trim_hold(struct sock *sk, struct trim_private *c, u64 until)
{
	c->held = 1;
	sk->sk_pacing_status = SK_PACING_NEEDED;
	tcp_sk(sk)->tcp_wstamp_ns = until * NSEC_PER_USEC;
}

static void trim_release(struct sock *sk, struct trim_private *c)
{
	if (!c->held)
		return;
	c->held = 0;
	sk->sk_pacing_status = SK_PACING_NONE;
	tcp_sk(sk)->tcp_wstamp_ns = tcp_sk(sk)->tcp_clock_cache;
}

/* Has data looked at again then, as tcp_pacing_check() does; too early or in vain does no harm. */
static void trim_wake(struct sock *sk, u64 at)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (hrtimer_is_queued(&tp->pacing_timer))
		return;
	hrtimer_start(&tp->pacing_timer, ns_to_ktime(at * NSEC_PER_USEC), HRTIMER_MODE_ABS_PINNED_SOFT);
	sock_hold(sk);
}

static struct trim_opportunity trim_opportunity_of(struct sock *sk, const struct trim_private *c)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return (struct trim_opportunity){
		.now = tp->tcp_mstamp,
		.last_tx = tp->data_segs_out ? tp->tcp_wstamp_ns / NSEC_PER_USEC : TRIM_NEVER,
		.flight = tp->snd_nxt - tp->snd_una,
		.unsent = tp->write_seq - tp->snd_nxt,
		.recovering = inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery,
		.mss = tp->mss_cache,
	};
}

/* Segments sent since data could be sent last. */
static void trim_note_sent(struct sock *sk, struct trim_private *c)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_nxt != c->from) {
		struct trim_opportunity at = { .now = c->asked, .mss = tp->mss_cache };

		trim_sent(&c->state, c->from, tp->snd_nxt, &at);
	}
	c->from = tp->snd_nxt;
}

static u32 trim_min_tso_segs(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct trim_private *c = inet_csk_ca(sk);
	const struct trim_params *p = &trim_params_of(sk)->cc;
	struct cc_window w = cc_window_of(tp);
	struct trim_opportunity at;
	u32 allowed;

	trim_note_sent(sk, c);
	if (c->held)
		trim_release(sk, c);
	at = trim_opportunity_of(sk, c);
	at.random = p->wait_before || p->wait_after ? get_random_u32() : 0;
	allowed = trim_gate(&c->state, p, &w, &at);
	/* A window that has no room keeps further probes back; waits keep the window as it is. */
	if (c->state.state == TRIM_PROBING)
		w.cwnd = cc_min(w.cwnd, cc_max(tcp_packets_in_flight(tp) + allowed, 1));
	cc_window_set(tp, &w);
	if (!allowed && at.unsent && c->state.due != TRIM_NEVER)
		trim_hold(sk, c, c->state.due);
	/* The probes leave now, and no call follows before an ACK. The timer that they start when they are sent (trim_sent). */
	if (allowed && at.unsent && c->state.state == TRIM_PROBING)
		trim_wake(sk, at.now + (c->state.smooth >> 4));
	c->asked = at.now;
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

static void trim_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct trim_private *c = inet_csk_ca(sk);
	struct cc_window w = cc_window_of(tp);
	struct cc_ack a = cc_ack_of(tp);

	/* The SYN is acknowledged before the congestion control begins. */
	if (!inet_csk(sk)->icsk_ca_initialized)
		return;
	trim_note_sent(sk, c);
	if (sample->rtt_us >= 0)
		a.rtt = sample->rtt_us;
	trim_sample(&c->state, &trim_params_of(sk)->cc, &a, 1);
	if (!sample->pkts_acked)
		return;
	trim_acked(&c->state, &trim_params_of(sk)->cc, &w, &a);
	cc_window_set(tp, &w);
}

static void trim_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct trim_private *c = inet_csk_ca(sk);
	struct cc_window w = cc_window_of(tp);

	if (!cc_may_grow(sk, &trim_params_of(sk)->common))
		return;
	trim_grow(&c->state, &trim_params_of(sk)->cc, &w, acked);
	cc_window_set(tp, &w);
}

static u32 trim_recalc_ssthresh(struct sock *sk)
{
	struct trim_private *c = inet_csk_ca(sk);

	return trim_ssthresh(&c->state, tcp_snd_cwnd(tcp_sk(sk)), CC_MARK);
}

static void trim_set_state(struct sock *sk, u8 state)
{
	struct trim_private *c = inet_csk_ca(sk);

	if (state == TCP_CA_Recovery)
		trim_recovery(&c->state);
	else if (state == TCP_CA_Loss)
		trim_timeout(&c->state);
	else
		trim_recovered(&c->state);
	/* Pacing would hold retransmissions, too. */
	if (state >= TCP_CA_Recovery)
		trim_release(sk, c);
}

struct cc_builtin cc_trim = {
	.ops = {
		.name = "forebay_trim",
		.flags = TCP_CONG_NON_RESTRICTED,
		.init = trim_start,
		.pkts_acked = trim_pkts_acked,
		.cong_avoid = trim_cong_avoid,
		.ssthresh = trim_recalc_ssthresh,
		.set_state = trim_set_state,
		.undo_cwnd = tcp_reno_undo_cwnd,
		.min_tso_segs = trim_min_tso_segs,
	},
	.params = sizeof(struct trim_all),
	.read = trim_read_all,
};
