// SPDX-License-Identifier: GPL-2.0
/* DCTCP (RFC 8257) as a BPF program; the arithmetic is dctcp_core.h. */
#include "../include/dctcp.bpf.h"

struct params {
	u32 shift_g;
	u32 alpha_on_init;
	u32 min_cwnd;
};
PARAMS_MAP

struct state {
	struct dctcp_echo echo;
	struct dctcp marks;
};

static __always_inline struct dctcp_params marks_of(const struct params *p)
{
	return (struct dctcp_params){
		.shift_g = p ? p->shift_g : 4,
		.alpha = p ? p->alpha_on_init : LAW_ALPHA_ONE,
		.min_cwnd = p ? p->min_cwnd : 2,
	};
}

SEC("struct_ops")
void BPF_PROG(dctcp_init_sock, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	struct dctcp_params p = marks_of(parameters());
	struct law_ack a = law_ack_of(tcp_sk(sk));
	dctcp_init(&s->marks, &p, a.nxt, a.delivered, a.delivered_ce);
	dctcp_echo_init(tcp_sk(sk), &s->echo);
}

SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	struct state *s = inet_csk_ca(sk);
	struct dctcp_params p = marks_of(parameters());
	struct law_ack a = law_ack_of(tcp_sk(sk));
	struct dctcp before = s->marks;
	if (!law_begun(tcp_sk(sk)))
		return;
	dctcp_ack(&s->marks, &p, &a);
	dctcp_count(&before, &s->marks, a.una);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_params p = marks_of(parameters());
	struct law_window w = law_window_of(tp);
	struct law_ack a = { .acked = acked };
	if (!law_may_grow(tp))
		return;
	dctcp_grow(&p, &w, &a);
	law_window_set(tp, &w);
}

SEC("struct_ops")
u32 BPF_PROG(dctcp_recalc_ssthresh, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	struct dctcp_params p = marks_of(parameters());
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	s->echo.loss_cwnd = cwnd;
	COUNT(cuts, 1);
	return dctcp_ssthresh(&s->marks, &p, cwnd, LAW_MARK);
}

DCTCP_HOOKS(dctcp)
