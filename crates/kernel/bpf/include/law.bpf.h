/* SPDX-License-Identifier: GPL-2.0 */
/* Between the cores of the laws and the running kernel: facts and windows out of a tcp_sock. */
#ifndef FOREBAY_LAW_BPF_H
#define FOREBAY_LAW_BPF_H

#include "tcp.h"
#include "mend.bpf.h"

/* The ACK of a handshake is processed before the law's init (tcp_rcv_synsent_state_process, tcp_rcv_state_process): its state is all zeros. */
static __always_inline bool law_begun(struct tcp_sock *tp)
{
	struct inet_connection_sock *icsk = &tp->inet_conn;
	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized);
}

static __always_inline struct law_window law_window_of(const struct tcp_sock *tp)
{
	return (struct law_window){ .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh, .counted = tp->snd_cwnd_cnt };
}

static __always_inline void law_window_set(struct tcp_sock *tp, const struct law_window *w)
{
	u32 clamp = tp->snd_cwnd_clamp;
	tp->snd_cwnd = law_max(law_min(w->cwnd, clamp), 1);
	tp->snd_ssthresh = w->ssthresh;
	tp->snd_cwnd_cnt = w->counted;
}

/* Packets in flight (tcp_packets_in_flight). */
static __always_inline u32 law_flight_of(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* What every law counts. */
#define LAW_COUNTERS                                                                                                           \
	/* Windows and thresholds that no law sets, mended. */                                                                 \
	u64 mended;                                                                                                            \
	/* Thresholds below two segments, or none at all, that this law itself gave: 0, or the law is wrong. */                \
	u64 wrong;

/* What a law gives the kernel as threshold (RFC 5681, equation 4: two segments or more). */
#define GIVEN(THRESHOLD)                                                                                                       \
	({                                                                                                                     \
		u32 given = (THRESHOLD);                                                                                       \
		if (given < 2 || given >= LAW_NO_THRESHOLD)                                                                    \
			COUNT(wrong, 1);                                                                                       \
		given;                                                                                                         \
	})

/* Before the law, at every ACK. */
#define MEND(TP)                                                                                                               \
	do {                                                                                                                   \
		if (law_mended(TP))                                                                                            \
			COUNT(mended, 1);                                                                                      \
	} while (0)

/* What the kernel has in place of a result of a program that it skipped. */
static __always_inline bool law_mended(struct tcp_sock *tp)
{
	struct law_window w = law_window_of(tp);
	if (!law_mend(&w, law_flight_of(tp)))
		return false;
	law_window_set(tp, &w);
	return true;
}

/* The kernel's default (net.ipv4.tcp_min_tso_segs). */
#define LAW_MIN_TSO_SEGS 2

/*
 * Asked before new data leaves (tcp_write_xmit), and so behind all that an ACK or a timeout does to a window: what a reduction has made of a
 * threshold that no law gave does not stay until the next ACK. For laws that have no other use of this hook.
 */
#define LAW_MENDS_BEFORE_SENDING(NAME)                                                                                         \
	SEC("struct_ops")                                                                                                      \
	u32 BPF_PROG(NAME##_min_tso_segs, struct sock *sk)                                                                     \
	{                                                                                                                      \
		MEND(tcp_sk(sk));                                                                                              \
		return LAW_MIN_TSO_SEGS;                                                                                       \
	}

/* Between the call for a threshold and the reduction to it (tcp_enter_recovery, tcp_enter_cwr). For laws with no other use of this hook. */
#define LAW_MENDS_NEW_STATES(NAME)                                                                                             \
	SEC("struct_ops")                                                                                                      \
	void BPF_PROG(NAME##_set_state, struct sock *sk, u8 new_state)                                                         \
	{                                                                                                                      \
		MEND(tcp_sk(sk));                                                                                              \
	}

static __always_inline struct law_ack law_ack_of(const struct tcp_sock *tp)
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

/* Whether the window, and not the application, was the limit (tcp_is_cwnd_limited; RFC 7661, section 4.1). */
static __always_inline bool law_may_grow(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

#endif
