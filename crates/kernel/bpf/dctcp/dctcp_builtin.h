/* SPDX-License-Identifier: GPL-2.0 */
/* Common parts of the congestion controls built on DCTCP's estimate: the receiver's echo (RFC 8257 section 3.2) and the diag information. */
#ifndef FOREBAY_DCTCP_BUILTIN_H
#define FOREBAY_DCTCP_BUILTIN_H

#include <linux/inet_diag.h>
#include "../builtin.h"
/* dctcp_ece_ack_update(): the kernel's own. */
#include <../net/ipv4/tcp_dctcp.h>
#include "dctcp_core.h"

/* State beside the estimate. */
struct dctcp_echo {
	u32 prior_rcv_nxt;
	u32 ce_state;
	u32 loss_cwnd;
};

static inline bool dctcp_has_ecn(const struct tcp_sock *tp)
{
#ifdef TCP_ECN_OK
	return tp->ecn_flags & TCP_ECN_OK;
#else
	return tcp_ecn_mode_any(tp);
#endif
}

static inline void dctcp_echo_init(struct sock *sk, struct dctcp_echo *echo)
{
	*echo = (struct dctcp_echo){ .prior_rcv_nxt = tcp_sk(sk)->rcv_nxt };
	/* The peer has no ECN: without marks the congestion control halves on losses, and its packets are not ECN-capable. */
	if (!dctcp_has_ecn(tcp_sk(sk)) && sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE)
		INET_ECN_dontxmit(sk);
}

static inline void dctcp_echo_event(struct sock *sk, struct dctcp_echo *echo, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		dctcp_ece_ack_update(sk, event, &echo->prior_rcv_nxt, &echo->ce_state);
}

/* A loss halves, whatever marks have cut before (RFC 8257 section 3.5). */
static inline void dctcp_react_to_loss(struct sock *sk, struct dctcp_echo *echo, const struct dctcp_params *p)
{
	struct tcp_sock *tp = tcp_sk(sk);

	echo->loss_cwnd = tcp_snd_cwnd(tp);
	tp->snd_ssthresh = dctcp_loss(p, tcp_snd_cwnd(tp));
}

static inline size_t dctcp_info(const struct dctcp *s, const struct dctcp_echo *echo, u32 ext, int *attr, union tcp_cc_info *info)
{
	if (!(ext & (1 << (INET_DIAG_DCTCPINFO - 1))) && !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->dctcp, 0, sizeof(info->dctcp));
	info->dctcp.dctcp_enabled = 1;
	info->dctcp.dctcp_ce_state = echo->ce_state;
	info->dctcp.dctcp_alpha = s->alpha;
	*attr = INET_DIAG_DCTCPINFO;
	return sizeof(info->dctcp);
}

#endif
