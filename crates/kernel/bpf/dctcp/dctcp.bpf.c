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

MARKS_OF_PARAMS

SEC("struct_ops")
void BPF_PROG(dctcp_init_sock, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	struct dctcp_params p = marks_of(parameters());
	struct cc_ack a = cc_ack_of(tcp_sk(sk));
	dctcp_init(&s->marks, &p, a.nxt, a.delivered, a.delivered_ce);
	dctcp_echo_init(tcp_sk(sk), &s->echo);
}

DCTCP_ACK_HOOKS(dctcp)

SEC("struct_ops")
u32 BPF_PROG(dctcp_recalc_ssthresh, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	struct dctcp_params p = marks_of(parameters());
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	s->echo.loss_cwnd = cwnd;
	COUNT(cuts, 1);
	return GIVEN(dctcp_ssthresh(&s->marks, &p, cwnd, CC_MARK));
}

DCTCP_HOOKS(dctcp)
