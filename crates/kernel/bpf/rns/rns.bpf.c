// SPDX-License-Identifier: GPL-2.0
/* Reno whose window also grows while the application, not the window, is the limit, as in ns-2. The kernel's own Reno does
 * not grow then (tcp_is_cwnd_limited in tcp_reno_cong_avoid, after RFC 7661's concern), and the evaluations that begin from an
 * inherited large window need a sender that does. Everything else is the kernel's. */
#include "../include/cc.bpf.h"
#include "rns_core.h"

struct counters {
	u64 sockets_opened;
	u64 sockets_closed;
	u64 acks;
	u64 cuts;
	u64 timeouts;
	CC_COUNTERS
};
COUNTERS_MAP

SEC("struct_ops")
void BPF_PROG(rns_init, struct sock *sk)
{
	COUNT(sockets_opened, 1);
}

SEC("struct_ops")
void BPF_PROG(rns_release, struct sock *sk)
{
	COUNT(sockets_closed, 1);
}

SEC("struct_ops")
u32 BPF_PROG(rns_recalc_ssthresh, struct sock *sk)
{
	COUNT(cuts, 1);
	return GIVEN(rns_ssthresh(tcp_sk(sk)->snd_cwnd));
}

SEC("struct_ops")
u32 BPF_PROG(rns_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void BPF_PROG(rns_in_ack_event, struct sock *sk, u32 flags)
{
	SANITIZE(tcp_sk(sk));
}

SEC("struct_ops")
void BPF_PROG(rns_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_window w;

	COUNT(acks, 1);
	SANITIZE(tp);
	w = cc_window_of(tp);
	rns_grow(&w, acked);
	cc_window_set(tp, &w);
}

CC_SANITIZES_NEW_STATES(rns)

SEC("struct_ops")
void BPF_PROG(rns_cwnd_event, struct sock *sk, enum tcp_ca_event ev)
{
	if (ev == CA_EVENT_LOSS)
		COUNT(timeouts, 1);
}

CC_SANITIZES_BEFORE_SENDING(rns)

SEC(".struct_ops.link")
struct tcp_congestion_ops cc = {
	.init = (void *)rns_init,
	.release = (void *)rns_release,
	.ssthresh = (void *)rns_recalc_ssthresh,
	.in_ack_event = (void *)rns_in_ack_event,
	.cong_avoid = (void *)rns_cong_avoid,
	.undo_cwnd = (void *)rns_undo_cwnd,
	.cwnd_event = (void *)rns_cwnd_event,
	.set_state = (void *)rns_set_state,
	.min_tso_segs = (void *)rns_min_tso_segs,
	.name = "fb_rns",
};
