// SPDX-License-Identifier: GPL-2.0
/* D2TCP as a BPF program; the arithmetic is d2tcp_core.h. Messages and their deadlines come by socket option (include/messages.bpf.h) and are kept
 * in a socket storage. Only reductions read them, so that any other ACK costs as much as with DCTCP. */
#define OWN_COUNTERS                                                                                                           \
	/* Messages that were announced, and of those the ones with a deadline. */                                             \
	u64 messages;                                                                                                          \
	u64 deadlines;                                                                                                         \
	/* Cuts for marks with an exponent above and below 1, and after the deadline. Of all of them windows before and after, */ \
	/* and alpha, in 1/1024. */                                                                                            \
	u64 cuts_urgent;                                                                                                       \
	u64 cuts_relaxed;                                                                                                      \
	u64 cuts_late;                                                                                                         \
	u64 cut_from;                                                                                                          \
	u64 cut_to;                                                                                                            \
	u64 cut_alpha;
#define OWN_RELEASE(SK) bpf_sk_storage_delete(&messages, SK)
#include "../include/dctcp.bpf.h"
#include "../include/messages.bpf.h"
#include "d2tcp_core.h"

struct params {
	u32 shift_g;
	u32 alpha_on_init;
	u32 min_cwnd;
	/* Bounds of the exponent, and what it is once the deadline has passed, in 1/1000. */
	u32 d_min;
	u32 d_max;
	u32 missed;
};
PARAMS_MAP

struct state {
	struct dctcp_echo echo;
	struct dctcp marks;
};

struct talk {
	struct cc_stream stream;
	/* Its estimate of marks is not used: the socket's is. */
	struct d2tcp cc;
};
TALK_MAP

MARKS_OF_PARAMS

static __always_inline struct d2tcp_params cc_of(const struct params *p)
{
	return (struct d2tcp_params){
		.marks = marks_of(p),
		.d_min = (p ? p->d_min : 500) * (u64)CC_ONE / 1000,
		.d_max = (p ? p->d_max : 2000) * (u64)CC_ONE / 1000,
		.missed = (p ? p->missed : 2000) * (u64)CC_ONE / 1000,
	};
}

SEC("struct_ops")
void BPF_PROG(d2tcp_init_sock, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	struct dctcp_params p = marks_of(parameters());
	struct cc_ack a = cc_ack_of(tcp_sk(sk));
	dctcp_init(&s->marks, &p, a.nxt, a.delivered, a.delivered_ce);
	dctcp_echo_init(tcp_sk(sk), &s->echo);
	/* Without memory for it the connection uses DCTCP. */
	bpf_sk_storage_get(&messages, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

/* The application announces its next message. */
SEC("cgroup/setsockopt")
int option(struct bpf_sockopt *ctx)
{
	struct talk *t;
	struct written w;

	if (!is_message(ctx))
		return OPTION_PASSES;
	t = bpf_sk_storage_get(&messages, ctx->sk, 0, 0);
	if (!t)
		return OPTION_PASSES;
	if (!read_message(ctx, &t->stream, &w)) {
		bpf_set_retval(-EINVAL);
		return OPTION_REFUSED;
	}
	d2tcp_retire(&t->cc, w.una);
	d2tcp_message(&t->cc, w.end, w.deadline);
	COUNT(messages, 1);
	if (w.deadline != D2TCP_NEVER)
		COUNT(deadlines, 1);
	return OPTION_PASSES;
}

DCTCP_ACK_HOOKS(d2tcp)

SEC("struct_ops")
u32 BPF_PROG(d2tcp_recalc_ssthresh, struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);
	struct talk *t = bpf_sk_storage_get(&messages, sk, 0, 0);
	struct d2tcp_params p = cc_of(parameters());
	struct cc_ack a = cc_ack_of(tcp_sk(sk));
	u32 cwnd = tcp_sk(sk)->snd_cwnd, d = CC_ONE, to;

	s->echo.loss_cwnd = cwnd;
	if (t) {
		d2tcp_retire(&t->cc, a.una);
		d = d2tcp_imminence(&t->cc, &p, cwnd, &a);
		if (t->cc.count && t->cc.deadline[0] <= a.now)
			COUNT(cuts_late, 1);
		else if (d > CC_ONE)
			COUNT(cuts_urgent, 1);
		else if (d < CC_ONE)
			COUNT(cuts_relaxed, 1);
	}
	to = d2tcp_cut(&s->marks, &p, cwnd, d);
	COUNT(cuts, 1);
	COUNT(cut_from, cwnd);
	COUNT(cut_to, to);
	COUNT(cut_alpha, s->marks.alpha);
	return GIVEN(to);
}

DCTCP_HOOKS(d2tcp)
