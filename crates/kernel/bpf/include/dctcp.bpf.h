/* SPDX-License-Identifier: GPL-2.0 */
/* Common parts of the congestion controls built on DCTCP's estimate: the receiver's echo (RFC 8257, section 3.2), and the reaction to a loss. */
#ifndef FOREBAY_DCTCP_BPF_H
#define FOREBAY_DCTCP_BPF_H

#include "cc.bpf.h"
#include "../dctcp/dctcp_core.h"

/* Additional counters of a congestion control. */
#ifndef OWN_COUNTERS
#define OWN_COUNTERS
#endif
/* Additional work when a socket leaves its congestion control. */
#ifndef OWN_RELEASE
#define OWN_RELEASE(SK)
#endif

/* Counters, the same for all of them but OWN_COUNTERS. */
struct counters {
	u64 sockets_opened;
	u64 sockets_closed;
	/* Connections whose peer or path did not negotiate ECN: nothing is marked, and losses halve. */
	u64 sockets_without_ecn;
	u64 acks;
	/* Observation windows that ended, how many had marks, and the sum of alpha after each, in 1/1024. */
	u64 windows;
	u64 windows_marked;
	u64 alpha_sum;
	/* Reductions, and of those the ones for losses and for timeouts. */
	u64 cuts;
	u64 cuts_by_loss;
	u64 timeouts;
	CC_COUNTERS
	/* The receiver's half: changes of the CE state, and ACKs sent at once because of them. */
	u64 ce_changes;
	u64 acks_at_once;
	OWN_COUNTERS
};
COUNTERS_MAP

struct dctcp_echo {
	u32 prior_rcv_nxt;
	u32 ce_state;
	u32 loss_cwnd;
};

static __always_inline void dctcp_echo_init(const struct tcp_sock *tp, struct dctcp_echo *echo)
{
	*echo = (struct dctcp_echo){ .prior_rcv_nxt = tp->rcv_nxt };
	COUNT(sockets_opened, 1);
	if (!ecn_negotiated(tp))
		COUNT(sockets_without_ecn, 1);
}

/* Counts an ACK up to `una`, and an observation window if the ACK ended one. */
static __always_inline void dctcp_count(const struct dctcp *before, const struct dctcp *now, u32 una)
{
	COUNT(acks, 1);
	if (cc_before(una, before->window_end))
		return;
	COUNT(windows, 1);
	COUNT(alpha_sum, now->alpha);
	if (before->delivered_ce != now->delivered_ce)
		COUNT(windows_marked, 1);
}

static __always_inline void demand_cwr(struct tcp_sock *tp, bool ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* At every change of CE, an ACK with the previous state is sent first, and later ACKs have the new state. */
static __always_inline void dctcp_ce(struct sock *sk, struct dctcp_echo *echo, u32 ce)
{
	struct tcp_sock *tp = tcp_sk(sk);
	if (echo->ce_state != ce) {
		COUNT(ce_changes, 1);
		/* A delayed ACK that is waiting covers segments of the old state only. */
		if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
			demand_cwr(tp, echo->ce_state);
			bpf_tcp_send_ack(tp, echo->prior_rcv_nxt);
			COUNT(acks_at_once, 1);
		}
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	echo->prior_rcv_nxt = tp->rcv_nxt;
	echo->ce_state = ce;
	demand_cwr(tp, ce);
}

/* A loss halves, whatever marks have cut before (RFC 8257, section 3.5). */
static __always_inline void dctcp_react_to_loss(struct sock *sk, struct dctcp_echo *echo, const struct dctcp_params *p)
{
	struct tcp_sock *tp = tcp_sk(sk);
	echo->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = GIVEN(dctcp_loss(p, tp->snd_cwnd));
	COUNT(cuts_by_loss, 1);
}

static __always_inline void dctcp_event(struct sock *sk, struct dctcp_echo *echo, const struct dctcp_params *p, enum tcp_ca_event ev)
{
	if (ev == CA_EVENT_ECN_IS_CE) {
		dctcp_ce(sk, echo, 1);
	} else if (ev == CA_EVENT_ECN_NO_CE) {
		dctcp_ce(sk, echo, 0);
	} else if (ev == CA_EVENT_LOSS) {
		COUNT(timeouts, 1);
		dctcp_react_to_loss(sk, echo, p);
	}
}

static __always_inline u32 dctcp_undo(const struct tcp_sock *tp, const struct dctcp_echo *echo)
{
	return cc_max(tp->snd_cwnd, echo->loss_cwnd);
}

/* marks_of(): the congestion control's numbers for DCTCP's estimate, or those of tcp_dctcp.c where there are none (`p` is NULL). Behind `struct params`. */
#define MARKS_OF_PARAMS                                                                                                        \
	static __always_inline struct dctcp_params marks_of(const struct params *p)                                            \
	{                                                                                                                      \
		return (struct dctcp_params){                                                                                  \
			.shift_g = p ? p->shift_g : 4,                                                                         \
			.alpha = p ? p->alpha_on_init : CC_ALPHA_ONE,                                                          \
			.min_cwnd = p ? p->min_cwnd : 2,                                                                       \
		};                                                                                                             \
	}

/* ACK processing of a congestion control that grows as DCTCP and has `struct state { struct dctcp_echo echo; struct dctcp marks; }`. */
#define DCTCP_ACK_HOOKS(NAME)                                                                                                  \
	SEC("struct_ops")                                                                                                      \
	void BPF_PROG(NAME##_in_ack_event, struct sock *sk, u32 flags)                                                         \
	{                                                                                                                      \
		struct state *s = inet_csk_ca(sk);                                                                             \
		struct dctcp_params p = marks_of(parameters());                                                                \
		struct cc_ack a = cc_ack_of(tcp_sk(sk));                                                                       \
		struct dctcp before = s->marks;                                                                                \
		if (!cc_begun(tcp_sk(sk)))                                                                                     \
			return;                                                                                                \
		SANITIZE(tcp_sk(sk));                                                                                          \
		dctcp_ack(&s->marks, &p, &a);                                                                                  \
		dctcp_count(&before, &s->marks, a.una);                                                                        \
	}                                                                                                                      \
	SEC("struct_ops")                                                                                                      \
	void BPF_PROG(NAME##_cong_avoid, struct sock *sk, u32 ack, u32 acked)                                                  \
	{                                                                                                                      \
		struct tcp_sock *tp = tcp_sk(sk);                                                                              \
		struct dctcp_params p = marks_of(parameters());                                                                \
		struct cc_window w;                                                                                            \
		struct cc_ack a = { .acked = acked };                                                                          \
		SANITIZE(tp);                                                                                                  \
		w = cc_window_of(tp);                                                                                          \
		if (!cc_may_grow(tp))                                                                                          \
			return;                                                                                                \
		dctcp_grow(&p, &w, &a);                                                                                        \
		cc_window_set(tp, &w);                                                                                         \
	}

/* The hooks of such a congestion control, which has `struct state { struct dctcp_echo echo; ... }`, marks_of() and hooks of its own for the rest. */
#define DCTCP_HOOKS(NAME)                                                                                                      \
	SEC("struct_ops")                                                                                                      \
	void BPF_PROG(NAME##_release, struct sock *sk)                                                                         \
	{                                                                                                                      \
		COUNT(sockets_closed, 1);                                                                                      \
		OWN_RELEASE(sk);                                                                                               \
	}                                                                                                                      \
	SEC("struct_ops")                                                                                                      \
	void BPF_PROG(NAME##_set_state, struct sock *sk, u8 new_state)                                                         \
	{                                                                                                                      \
		struct state *s = inet_csk_ca(sk);                                                                             \
		struct dctcp_params p = marks_of(parameters());                                                                \
		SANITIZE(tcp_sk(sk));                                                                                          \
		if (new_state == TCP_CA_Recovery && new_state != inet_csk(sk)->icsk_ca_state)                                  \
			dctcp_react_to_loss(sk, &s->echo, &p);                                                                 \
	}                                                                                                                      \
	SEC("struct_ops")                                                                                                      \
	void BPF_PROG(NAME##_cwnd_event, struct sock *sk, enum tcp_ca_event ev)                                                \
	{                                                                                                                      \
		struct state *s = inet_csk_ca(sk);                                                                             \
		struct dctcp_params p = marks_of(parameters());                                                                \
		dctcp_event(sk, &s->echo, &p, ev);                                                                             \
	}                                                                                                                      \
	SEC("struct_ops")                                                                                                      \
	u32 BPF_PROG(NAME##_undo_cwnd, struct sock *sk)                                                                        \
	{                                                                                                                      \
		struct state *s = inet_csk_ca(sk);                                                                             \
		return dctcp_undo(tcp_sk(sk), &s->echo);                                                                       \
	}                                                                                                                      \
	CC_SANITIZES_BEFORE_SENDING(NAME)                                                                                      \
	SEC(".struct_ops.link")                                                                                                \
	struct tcp_congestion_ops cc = {                                                                                       \
		.init = (void *)NAME##_init_sock,                                                                              \
		.release = (void *)NAME##_release,                                                                             \
		.in_ack_event = (void *)NAME##_in_ack_event,                                                                   \
		.ssthresh = (void *)NAME##_recalc_ssthresh,                                                                    \
		.cong_avoid = (void *)NAME##_cong_avoid,                                                                       \
		.min_tso_segs = (void *)NAME##_min_tso_segs,                                                                   \
		.set_state = (void *)NAME##_set_state,                                                                         \
		.cwnd_event = (void *)NAME##_cwnd_event,                                                                       \
		.undo_cwnd = (void *)NAME##_undo_cwnd,                                                                         \
		.flags = TCP_CONG_NEEDS_ECN,                                                                                   \
		.name = "fb_" #NAME,                                                                                           \
	};

#endif
