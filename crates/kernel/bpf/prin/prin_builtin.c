// SPDX-License-Identifier: GPL-2.0
/* PRIN's halving at the start of blocks, in the kernel. A block is a message of the application. */
#include "../builtin.h"
#include "prin_core.h"

struct prin_all {
	struct cc_common common;
	struct prin_params cc;
};

struct prin_private {
	const struct prin_all *params;
	struct cc_stream stream;
	struct prin state;
};

static void prin_read_all(void *params, const u64 *number)
{
	prin_read(&((struct prin_all *)params)->cc, number);
}

static const struct prin_all *prin_params_of(struct sock *sk)
{
	return cc_params(sk, &cc_prin);
}

/* Blocks that were written before the handshake was over stay known. */
static void prin_init(struct sock *sk)
{
	BUILD_BUG_ON(sizeof(struct prin_private) > ICSK_CA_PRIV_SIZE);
	prin_params_of(sk);
}

static void prin_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_window w = cc_window_of(tp);

	if (!cc_may_grow(sk, &prin_params_of(sk)->common))
		return;
	cc_reno(&w, acked);
	cc_window_set(tp, &w);
}

/* Asked immediately before new data leaves (tcp_write_xmit). */
static u32 prin_min_tso_segs(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prin_private *c = inet_csk_ca(sk);
	struct cc_window w = cc_window_of(tp);

	prin_send(&c->state, &prin_params_of(sk)->cc, &w, tp->snd_nxt, !tp->data_segs_out);
	cc_window_set(tp, &w);
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

static void prin_written(struct sock *sk, u32 begin, u32 end, u64 deadline)
{
	struct prin_private *c = inet_csk_ca(sk);

	prin_block(&c->state, begin);
}

struct cc_builtin cc_prin = {
	.ops = {
		.name = "forebay_prin",
		.flags = TCP_CONG_NON_RESTRICTED,
		.init = prin_init,
		.cong_avoid = prin_cong_avoid,
		.ssthresh = tcp_reno_ssthresh,
		.undo_cwnd = tcp_reno_undo_cwnd,
		.min_tso_segs = prin_min_tso_segs,
	},
	.params = sizeof(struct prin_all),
	.read = prin_read_all,
	.message = prin_written,
};
