// SPDX-License-Identifier: GPL-2.0
/* L2DCT as a BPF program; the arithmetic is l2dct_core.h. */
#include "../include/dctcp.bpf.h"
#include "l2dct_core.h"

struct params {
	u32 shift_g;
	u32 alpha_on_init;
	u32 min_cwnd;
	/* Weights in 1/1000, and the bytes sent up to which and from which they hold. */
	u32 w_max;
	u32 w_min;
	u32 light;
	u32 heavy;
};
PARAMS_MAP

struct state {
	struct dctcp_echo echo;
	struct l2dct cc;
};

MARKS_OF_PARAMS

static __always_inline struct l2dct_params cc_of(const struct params *p)
{
	return (struct l2dct_params){
		.marks = marks_of(p),
		.w_max = (p ? p->w_max : 2500) * (u64)CC_ONE / 1000,
		.w_min = (p ? p->w_min : 125) * (u64)CC_ONE / 1000,
		.light = p ? p->light : 200000,
		.heavy = p ? p->heavy : 1000000,
	};
}

SEC("struct_ops")
void BPF_PROG(l2dct_init_sock, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	struct l2dct_params p = cc_of(parameters());
	struct cc_ack a = cc_ack_of(tcp_sk(sk));
	l2dct_init(&s->cc, &p, a.nxt, a.delivered, a.delivered_ce);
	dctcp_echo_init(tcp_sk(sk), &s->echo);
}

SEC("struct_ops")
void BPF_PROG(l2dct_in_ack_event, struct sock *sk, u32 flags)
{
	struct state *s = inet_csk_ca(sk);
	struct l2dct_params p = cc_of(parameters());
	struct cc_ack a = cc_ack_of(tcp_sk(sk));
	struct dctcp before = s->cc.marks;
	if (!cc_begun(tcp_sk(sk)))
		return;
	SANITIZE(tcp_sk(sk));
	l2dct_ack(&s->cc, &p, &a);
	dctcp_count(&before, &s->cc.marks, a.una);
}

SEC("struct_ops")
void BPF_PROG(l2dct_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct state *s = inet_csk_ca(sk);
	struct l2dct_params p = cc_of(parameters());
	struct cc_window w;

	SANITIZE(tp);
	w = cc_window_of(tp);
	if (!cc_may_grow(tp))
		return;
	l2dct_grow(&s->cc, &p, &w, acked);
	cc_window_set(tp, &w);
}

SEC("struct_ops")
u32 BPF_PROG(l2dct_recalc_ssthresh, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	struct l2dct_params p = cc_of(parameters());
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	s->echo.loss_cwnd = cwnd;
	COUNT(cuts, 1);
	return GIVEN(l2dct_ssthresh(&s->cc, &p, cwnd, CC_MARK));
}

DCTCP_HOOKS(l2dct)
