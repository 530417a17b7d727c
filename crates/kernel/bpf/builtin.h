/* SPDX-License-Identifier: GPL-2.0 */
/* Between the cores of the laws and the kernel: facts and windows out of a tcp_sock, and parameters of a connection. */
#ifndef FOREBAY_BUILTIN_H
#define FOREBAY_BUILTIN_H

#include <linux/version.h>
#include <net/tcp.h>
#include "law.h"

/* Numbers of a law as the program outside gives them (FB_PARAMS of the protocol); the first two are the same for all laws. */
enum {
	LAW_PARAM_GIVEN,    /* 0: the law's own defaults, and none of the others is looked at */
	LAW_PARAM_VALIDATE, /* whether only a window that is in use grows (tcp_is_cwnd_limited, RFC 7661 section 4.1) */
	LAW_PARAM_OWN,	    /* from here on the law's own */
};
#define LAW_PARAMS 24

/* What is common to the parameters of all laws; each law's begin with it. */
struct law_common {
	u32 validate;
};

/* A law as the kernel has it. */
struct law_builtin {
	struct tcp_congestion_ops ops;
	size_t params; /* size of its parameters */
	/* Fills in parameters from the numbers from LAW_PARAM_OWN on; without `number` the defaults. */
	void (*read)(void *params, const u64 *number);
	/* A message of the application: sequence numbers of its first byte and behind its last, deadline in us of tcp_mstamp or U64_MAX. */
	void (*message)(struct sock *sk, u32 begin, u32 end, u64 deadline);
};

/* What a connection's state begins with. */
struct law_private {
	const struct law_common *params;
};

/* Where the messages end that have been written so far: for laws that know of messages. */
struct law_stream {
	u32 end;
	bool known;
};

extern struct law_builtin law_rns, law_dctcp, law_l2dct, law_d2tcp, law_trim, law_prin;

/* The parameters of a connection: those it was given, or the law's defaults. */
const void *law_params(struct sock *sk, const struct law_builtin *law);

static inline struct law_window law_window_of(const struct tcp_sock *tp)
{
	return (struct law_window){ .cwnd = tcp_snd_cwnd(tp), .ssthresh = tp->snd_ssthresh, .counted = tp->snd_cwnd_cnt };
}

static inline void law_window_set(struct tcp_sock *tp, const struct law_window *w)
{
	tcp_snd_cwnd_set(tp, clamp(w->cwnd, 1U, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = w->ssthresh;
	tp->snd_cwnd_cnt = w->counted;
}

static inline struct law_ack law_ack_of(const struct tcp_sock *tp)
{
	return (struct law_ack){
		.now = tp->tcp_mstamp,
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.delivered = tp->delivered,
		.delivered_ce = tp->delivered_ce,
		.rtt = LAW_NONE,
		.srtt = tp->srtt_us >> 3,
		.mss = tp->mss_cache,
	};
}

/* Whether the window may grow. */
static inline bool law_may_grow(struct sock *sk, const struct law_common *c)
{
	return !c->validate || tcp_is_cwnd_limited(sk);
}

#endif
