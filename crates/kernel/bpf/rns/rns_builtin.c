// SPDX-License-Identifier: GPL-2.0
/* Reno that grows while the application is the limit, in the kernel. */
#include "../builtin.h"
#include "rns_core.h"

static void rns_read_all(void *params, const u64 *number)
{
}

static void rns_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_window w = cc_window_of(tp);

	rns_grow(&w, acked);
	cc_window_set(tp, &w);
}

static u32 rns_recalc_ssthresh(struct sock *sk)
{
	return rns_ssthresh(tcp_snd_cwnd(tcp_sk(sk)));
}

struct cc_builtin cc_rns = {
	.ops = {
		.name = "forebay_rns",
		.flags = TCP_CONG_NON_RESTRICTED,
		.ssthresh = rns_recalc_ssthresh,
		.cong_avoid = rns_cong_avoid,
		.undo_cwnd = tcp_reno_undo_cwnd,
	},
	.params = sizeof(struct cc_common),
	.read = rns_read_all,
};
