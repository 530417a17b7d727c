/* SPDX-License-Identifier: GPL-2.0 */
/* Interface between the cores of the congestion controls and the kernel: fields of a tcp_sock, and parameters of a connection. */
#ifndef FOREBAY_BUILTIN_H
#define FOREBAY_BUILTIN_H

#include <linux/version.h>
#include <net/tcp.h>
#include "cc.h"

/* Numbers of a congestion control as the program outside gives them (FB_PARAMS of the protocol); the first two are the same for all congestion controls. */
enum {
	CC_PARAM_GIVEN,    /* 0: the congestion control's own defaults, and none of the others is looked at */
	CC_PARAM_VALIDATE, /* whether only a window that is in use grows (tcp_is_cwnd_limited, RFC 7661 section 4.1) */
	CC_PARAM_OWN,	    /* from here on the congestion control's own */
};
#define CC_PARAMS 24

/* Common beginning of the parameters of all congestion controls. */
struct cc_common {
	u32 validate;
};

/* A congestion control as the kernel has it. */
struct cc_builtin {
	struct tcp_congestion_ops ops;
	size_t params; /* size of its parameters */
	/* Fills in parameters from the numbers from CC_PARAM_OWN on; without `number` the defaults. */
	void (*read)(void *params, const u64 *number);
	/* A message of the application: sequence numbers of its first byte and behind its last, deadline in us of tcp_mstamp or U64_MAX. */
	void (*message)(struct sock *sk, u32 begin, u32 end, u64 deadline);
};

/* Common beginning of a connection's state. */
struct cc_private {
	const struct cc_common *params;
};

/* Where the messages end that have been written so far: for congestion controls that know of messages. */
struct cc_stream {
	u32 end;
	bool known;
};

extern struct cc_builtin cc_rns, cc_dctcp, cc_l2dct, cc_d2tcp, cc_trim, cc_prin;

/* The parameters of a connection: those it was given, or the congestion control's defaults. */
const void *cc_params(struct sock *sk, const struct cc_builtin *cc);

static inline struct cc_window cc_window_of(const struct tcp_sock *tp)
{
	return (struct cc_window){ .cwnd = tcp_snd_cwnd(tp), .ssthresh = tp->snd_ssthresh, .counted = tp->snd_cwnd_cnt };
}

static inline void cc_window_set(struct tcp_sock *tp, const struct cc_window *w)
{
	tcp_snd_cwnd_set(tp, clamp(w->cwnd, 1U, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = w->ssthresh;
	tp->snd_cwnd_cnt = w->counted;
}

static inline struct cc_ack cc_ack_of(const struct tcp_sock *tp)
{
	return (struct cc_ack){
		.now = tp->tcp_mstamp,
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.delivered = tp->delivered,
		.delivered_ce = tp->delivered_ce,
		.rtt = CC_NONE,
		.srtt = tp->srtt_us >> 3,
		.mss = tp->mss_cache,
	};
}

/* True if the window may grow. */
static inline bool cc_may_grow(struct sock *sk, const struct cc_common *c)
{
	return !c->validate || tcp_is_cwnd_limited(sk);
}

#endif
