// SPDX-License-Identifier: GPL-2.0
/* D2TCP in the kernel. */
#include "../dctcp/dctcp_builtin.h"
#include "d2tcp_core.h"

struct d2tcp_all {
	struct cc_common common;
	struct d2tcp_params cc;
};

struct d2tcp_private {
	const struct d2tcp_all *params;
	struct cc_stream stream;
	struct d2tcp state;
	struct dctcp_echo echo;
};

static void d2tcp_read_all(void *params, const u64 *number)
{
	d2tcp_read(&((struct d2tcp_all *)params)->cc, number);
}

static const struct d2tcp_all *d2tcp_params_of(struct sock *sk)
{
	return cc_params(sk, &cc_d2tcp);
}

static void d2tcp_start(struct sock *sk)
{
	const struct d2tcp_all *p = d2tcp_params_of(sk);
	struct d2tcp_private *c = inet_csk_ca(sk);
	struct cc_ack a = cc_ack_of(tcp_sk(sk));

	BUILD_BUG_ON(sizeof(*c) > ICSK_CA_PRIV_SIZE);
	d2tcp_init(&c->state, &p->cc, a.nxt, a.delivered, a.delivered_ce);
	dctcp_echo_init(sk, &c->echo);
}

static void d2tcp_in_ack_event(struct sock *sk, u32 flags)
{
	struct d2tcp_private *c = inet_csk_ca(sk);
	struct cc_ack a = cc_ack_of(tcp_sk(sk));

	d2tcp_ack(&c->state, &d2tcp_params_of(sk)->cc, &a);
}

static void d2tcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_window w = cc_window_of(tp);
	struct cc_ack a = { .acked = acked };

	if (!cc_may_grow(sk, &d2tcp_params_of(sk)->common))
		return;
	dctcp_grow(&d2tcp_params_of(sk)->cc.marks, &w, &a);
	cc_window_set(tp, &w);
}

static u32 d2tcp_recalc_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct d2tcp_private *c = inet_csk_ca(sk);
	struct cc_ack a = cc_ack_of(tp);

	c->echo.loss_cwnd = tcp_snd_cwnd(tp);
	return d2tcp_ssthresh(&c->state, &d2tcp_params_of(sk)->cc, tcp_snd_cwnd(tp), CC_MARK, &a);
}

static void d2tcp_set_state(struct sock *sk, u8 state)
{
	struct d2tcp_private *c = inet_csk_ca(sk);

	if (state == TCP_CA_Recovery && state != inet_csk(sk)->icsk_ca_state)
		dctcp_react_to_loss(sk, &c->echo, &d2tcp_params_of(sk)->cc.marks);
}

static void d2tcp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct d2tcp_private *c = inet_csk_ca(sk);

	if (event == CA_EVENT_LOSS)
		dctcp_react_to_loss(sk, &c->echo, &d2tcp_params_of(sk)->cc.marks);
	else
		dctcp_echo_event(sk, &c->echo, event);
}

static u32 d2tcp_undo_cwnd(struct sock *sk)
{
	struct d2tcp_private *c = inet_csk_ca(sk);

	return max(tcp_snd_cwnd(tcp_sk(sk)), c->echo.loss_cwnd);
}

static size_t d2tcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct d2tcp_private *c = inet_csk_ca(sk);

	return dctcp_info(&c->state.marks, &c->echo, ext, attr, info);
}

static void d2tcp_written(struct sock *sk, u32 begin, u32 end, u64 deadline)
{
	struct d2tcp_private *c = inet_csk_ca(sk);

	d2tcp_message(&c->state, end, deadline);
}

struct cc_builtin cc_d2tcp = {
	.ops = {
		.name = "forebay_d2tcp",
		.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
		.init = d2tcp_start,
		.in_ack_event = d2tcp_in_ack_event,
		.cong_avoid = d2tcp_cong_avoid,
		.ssthresh = d2tcp_recalc_ssthresh,
		.set_state = d2tcp_set_state,
		.cwnd_event = d2tcp_cwnd_event,
		.undo_cwnd = d2tcp_undo_cwnd,
		.get_info = d2tcp_get_info,
	},
	.params = sizeof(struct d2tcp_all),
	.read = d2tcp_read_all,
	.message = d2tcp_written,
};
