/* SPDX-License-Identifier: GPL-2.0 */
/* Interface between the cores of the congestion controls and the running kernel: fields of a tcp_sock. */
#ifndef FOREBAY_CC_BPF_H
#define FOREBAY_CC_BPF_H

#include "tcp.h"
#include "sanitize.bpf.h"

/* The ACK of a handshake is processed before the congestion control's init (tcp_rcv_synsent_state_process, tcp_rcv_state_process): its state is all zeros. */
static __always_inline bool cc_begun(struct tcp_sock *tp)
{
	struct inet_connection_sock *icsk = &tp->inet_conn;
	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized);
}

static __always_inline struct cc_window cc_window_of(const struct tcp_sock *tp)
{
	return (struct cc_window){ .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh, .counted = tp->snd_cwnd_cnt };
}

static __always_inline void cc_window_set(struct tcp_sock *tp, const struct cc_window *w)
{
	u32 clamp = tp->snd_cwnd_clamp;
	tp->snd_cwnd = cc_max(cc_min(w->cwnd, clamp), 1);
	tp->snd_ssthresh = w->ssthresh;
	tp->snd_cwnd_cnt = w->counted;
}

/* Packets in flight (tcp_packets_in_flight). */
static __always_inline u32 cc_flight_of(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Counters of every congestion control. */
#define CC_COUNTERS                                                                                                            \
	/* Replaced windows and thresholds that no congestion control sets. */                                                 \
	u64 sanitized;                                                                                                         \
	/* Thresholds below two segments, or none at all, that this congestion control itself gave: 0, or the congestion control is wrong. */ \
	u64 wrong;

/* Slow start threshold for the kernel (RFC 5681, equation 4: two segments or more). */
#define GIVEN(THRESHOLD)                                                                                                       \
	({                                                                                                                     \
		u32 given = (THRESHOLD);                                                                                       \
		if (given < 2 || given >= CC_NO_THRESHOLD)                                                                     \
			COUNT(wrong, 1);                                                                                       \
		given;                                                                                                         \
	})

/* Before the congestion control, at every ACK. */
#define SANITIZE(TP)                                                                                                           \
	do {                                                                                                                   \
		if (cc_sanitized(TP))                                                                                          \
			COUNT(sanitized, 1);                                                                                   \
	} while (0)

/* Value that the kernel takes for the result of a program that it skipped. */
static __always_inline bool cc_sanitized(struct tcp_sock *tp)
{
	struct cc_window w = cc_window_of(tp);
	if (!cc_sanitize(&w, cc_flight_of(tp)))
		return false;
	cc_window_set(tp, &w);
	return true;
}

/* The kernel's default (net.ipv4.tcp_min_tso_segs). */
#define CC_MIN_TSO_SEGS 2

/*
 * Called before new data leaves (tcp_write_xmit), after all effects of an ACK or a timeout on the window. A window from a threshold that no congestion
 * control set is replaced here, not at the next ACK. For congestion controls that have no other use of this hook.
 */
#define CC_SANITIZES_BEFORE_SENDING(NAME)                                                                                      \
	SEC("struct_ops")                                                                                                      \
	u32 BPF_PROG(NAME##_min_tso_segs, struct sock *sk)                                                                     \
	{                                                                                                                      \
		SANITIZE(tcp_sk(sk));                                                                                          \
		return CC_MIN_TSO_SEGS;                                                                                        \
	}

/* Between the call for a threshold and the reduction to it (tcp_enter_recovery, tcp_enter_cwr). For congestion controls with no other use of this hook. */
#define CC_SANITIZES_NEW_STATES(NAME)                                                                                          \
	SEC("struct_ops")                                                                                                      \
	void BPF_PROG(NAME##_set_state, struct sock *sk, u8 new_state)                                                         \
	{                                                                                                                      \
		SANITIZE(tcp_sk(sk));                                                                                          \
	}

static __always_inline struct cc_ack cc_ack_of(const struct tcp_sock *tp)
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

/* True if the window, and not the application, was the limit (tcp_is_cwnd_limited; RFC 7661, section 4.1). */
static __always_inline bool cc_may_grow(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

#endif
