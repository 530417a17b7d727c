// SPDX-License-Identifier: GPL-2.0
/* DCTCP in the kernel. */
#include "../dctcp/dctcp_builtin.h"

struct dctcp_all {
	struct cc_common common;
	struct dctcp_params cc;
};

struct dctcp_private {
	const struct dctcp_all *params;
	struct dctcp state;
	struct dctcp_echo echo;
	bool ece; /* of the ACK being worked on */
};

static void dctcp_read_all(void *params, const u64 *number)
{
	dctcp_read(&((struct dctcp_all *)params)->cc, number);
}

static const struct dctcp_all *dctcp_params_of(struct sock *sk)
{
	return cc_params(sk, &cc_dctcp);
}

static void dctcp_start(struct sock *sk)
{
	const struct dctcp_all *p = dctcp_params_of(sk);
	struct dctcp_private *c = inet_csk_ca(sk);
	struct cc_ack a = cc_ack_of(tcp_sk(sk));

	BUILD_BUG_ON(sizeof(*c) > ICSK_CA_PRIV_SIZE);
	dctcp_init(&c->state, &p->cc, a.nxt, a.delivered, a.delivered_ce);
	dctcp_echo_init(sk, &c->echo);
}

static void dctcp_in_ack_event(struct sock *sk, u32 flags)
{
	struct dctcp_private *c = inet_csk_ca(sk);
	struct cc_ack a = cc_ack_of(tcp_sk(sk));

	c->ece = flags & CA_ACK_ECE;
	dctcp_ack(&c->state, &dctcp_params_of(sk)->cc, &a);
}

static void dctcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_private *c = inet_csk_ca(sk);
	struct cc_window w = cc_window_of(tp);
	struct cc_ack a = { .acked = acked, .ece = c->ece };

	if (!cc_may_grow(sk, &dctcp_params_of(sk)->common))
		return;
	dctcp_grow(&dctcp_params_of(sk)->cc, &w, &a);
	cc_window_set(tp, &w);
}

static u32 dctcp_recalc_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_private *c = inet_csk_ca(sk);

	c->echo.loss_cwnd = tcp_snd_cwnd(tp);
	return dctcp_ssthresh(&c->state, &dctcp_params_of(sk)->cc, tcp_snd_cwnd(tp), CC_MARK);
}

static void dctcp_set_state(struct sock *sk, u8 state)
{
	struct dctcp_private *c = inet_csk_ca(sk);

	if (state == TCP_CA_Recovery && state != inet_csk(sk)->icsk_ca_state)
		dctcp_react_to_loss(sk, &c->echo, &dctcp_params_of(sk)->cc);
}

static void dctcp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct dctcp_private *c = inet_csk_ca(sk);

	if (event == CA_EVENT_LOSS)
		dctcp_react_to_loss(sk, &c->echo, &dctcp_params_of(sk)->cc);
	else
		dctcp_echo_event(sk, &c->echo, event);
}

static u32 dctcp_undo_cwnd(struct sock *sk)
{
	struct dctcp_private *c = inet_csk_ca(sk);

	return max(tcp_snd_cwnd(tcp_sk(sk)), c->echo.loss_cwnd);
}

static size_t dctcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct dctcp_private *c = inet_csk_ca(sk);

	return dctcp_info(&c->state, &c->echo, ext, attr, info);
}

struct cc_builtin cc_dctcp = {
	.ops = {
		.name = "forebay_dctcp",
		.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
		.init = dctcp_start,
		.in_ack_event = dctcp_in_ack_event,
		.cong_avoid = dctcp_cong_avoid,
		.ssthresh = dctcp_recalc_ssthresh,
		.set_state = dctcp_set_state,
		.cwnd_event = dctcp_cwnd_event,
		.undo_cwnd = dctcp_undo_cwnd,
		.get_info = dctcp_get_info,
	},
	.params = sizeof(struct dctcp_all),
	.read = dctcp_read_all,
};
