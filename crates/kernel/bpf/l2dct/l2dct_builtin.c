// SPDX-License-Identifier: GPL-2.0
/* L2DCT in the kernel. */
#include "../dctcp/dctcp_builtin.h"
#include "l2dct_core.h"

struct l2dct_all {
	struct cc_common common;
	struct l2dct_params cc;
};

struct l2dct_private {
	const struct l2dct_all *params;
	struct l2dct state;
	struct dctcp_echo echo;
};

static void l2dct_read_all(void *params, const u64 *number)
{
	l2dct_read(&((struct l2dct_all *)params)->cc, number);
}

static const struct l2dct_all *l2dct_params_of(struct sock *sk)
{
	return cc_params(sk, &cc_l2dct);
}

static void l2dct_start(struct sock *sk)
{
	const struct l2dct_all *p = l2dct_params_of(sk);
	struct l2dct_private *c = inet_csk_ca(sk);
	struct cc_ack a = cc_ack_of(tcp_sk(sk));

	BUILD_BUG_ON(sizeof(*c) > ICSK_CA_PRIV_SIZE);
	l2dct_init(&c->state, &p->cc, a.nxt, a.delivered, a.delivered_ce);
	dctcp_echo_init(sk, &c->echo);
}

static void l2dct_in_ack_event(struct sock *sk, u32 flags)
{
	struct l2dct_private *c = inet_csk_ca(sk);
	struct cc_ack a = cc_ack_of(tcp_sk(sk));

	l2dct_ack(&c->state, &l2dct_params_of(sk)->cc, &a);
}

static void l2dct_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct l2dct_private *c = inet_csk_ca(sk);
	struct cc_window w = cc_window_of(tp);

	if (!cc_may_grow(sk, &l2dct_params_of(sk)->common))
		return;
	l2dct_grow(&c->state, &l2dct_params_of(sk)->cc, &w, acked);
	cc_window_set(tp, &w);
}

static u32 l2dct_recalc_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct l2dct_private *c = inet_csk_ca(sk);

	c->echo.loss_cwnd = tcp_snd_cwnd(tp);
	return l2dct_ssthresh(&c->state, &l2dct_params_of(sk)->cc, tcp_snd_cwnd(tp), CC_MARK);
}

static void l2dct_set_state(struct sock *sk, u8 state)
{
	struct l2dct_private *c = inet_csk_ca(sk);

	if (state == TCP_CA_Recovery && state != inet_csk(sk)->icsk_ca_state)
		dctcp_react_to_loss(sk, &c->echo, &l2dct_params_of(sk)->cc.marks);
}

static void l2dct_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct l2dct_private *c = inet_csk_ca(sk);

	if (event == CA_EVENT_LOSS)
		dctcp_react_to_loss(sk, &c->echo, &l2dct_params_of(sk)->cc.marks);
	else
		dctcp_echo_event(sk, &c->echo, event);
}

static u32 l2dct_undo_cwnd(struct sock *sk)
{
	struct l2dct_private *c = inet_csk_ca(sk);

	return max(tcp_snd_cwnd(tcp_sk(sk)), c->echo.loss_cwnd);
}

static size_t l2dct_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct l2dct_private *c = inet_csk_ca(sk);

	return dctcp_info(&c->state.marks, &c->echo, ext, attr, info);
}

struct cc_builtin cc_l2dct = {
	.ops = {
		.name = "forebay_l2dct",
		.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
		.init = l2dct_start,
		.in_ack_event = l2dct_in_ack_event,
		.cong_avoid = l2dct_cong_avoid,
		.ssthresh = l2dct_recalc_ssthresh,
		.set_state = l2dct_set_state,
		.cwnd_event = l2dct_cwnd_event,
		.undo_cwnd = l2dct_undo_cwnd,
		.get_info = l2dct_get_info,
	},
	.params = sizeof(struct l2dct_all),
	.read = l2dct_read_all,
};
