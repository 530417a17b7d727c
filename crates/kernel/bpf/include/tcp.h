/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's TCP for congestion controls: fields of its structures that are used here, and functions that a program may call. */
#ifndef FOREBAY_TCP_H
#define FOREBAY_TCP_H

#include "kernel.h"
#include <bpf/bpf_core_read.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

/* include/linux/socket.h, include/net/tcp_states.h */
enum { AF_INET = 2, AF_INET6 = 10 };
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_FIN_WAIT1,
	TCP_FIN_WAIT2,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_LISTEN,
	TCP_CLOSING,
	TCP_NEW_SYN_RECV,
};

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
} KERNEL_TYPE;
struct sock_common {
	u16 skc_num;
	__be16 skc_dport;
	u16 skc_family;
	volatile unsigned char skc_state;
	__be32 skc_daddr, skc_rcv_saddr;
} KERNEL_TYPE;
struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
} KERNEL_TYPE;
struct inet_sock {
	struct sock sk;
} KERNEL_TYPE;
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5, icsk_ca_initialized : 1;
	u64 icsk_ca_priv[13];
	struct {
		u8 pending;
	} icsk_ack;
} KERNEL_TYPE;
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd, snd_cwnd_cnt, snd_ssthresh, snd_cwnd_clamp, prior_cwnd;
	u32 snd_nxt, snd_una, write_seq, rcv_nxt;
	u32 packets_out, sacked_out, lost_out, retrans_out;
	u32 delivered, delivered_ce, mss_cache, srtt_us, max_packets_out, data_segs_out;
	u8 is_cwnd_limited : 1;
	u64 tcp_mstamp, tcp_wstamp_ns, bytes_acked;
	u8 ecn_flags;
} KERNEL_TYPE;

/* include/net/tcp.h. The numbers are the kernel's; `forebay doctor` holds them against its type information. */
enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
/* tp->ecn_flags: ECN of RFC 3168 was negotiated; the receiver demands a CWR, so it sets ECE in every ACK; Accurate ECN was negotiated. */
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_ACCURATE 16
/* icsk_ack.pending: a delayed ACK is waiting; an ACK must leave now. */
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
} KERNEL_TYPE;
struct rate_sample {
	int acked_sacked;
} KERNEL_TYPE;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
} KERNEL_TYPE;

extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}
static __always_inline struct inet_connection_sock *inet_csk(struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
/* The 104 bytes that a congestion control keeps for a connection (ICSK_CA_PRIV_SIZE). */
static __always_inline void *inet_csk_ca(struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_priv;
}
/* True if sequence number a is before b, across the wrap at 2^32 (RFC 9293, section 3.4). */
static __always_inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}
/* The receiver's half of DCTCP uses RFC 3168's bits, and so does the sender's here; both kinds of negotiation give marks. */
static __always_inline bool ecn_negotiated(const struct tcp_sock *tp)
{
	return tp->ecn_flags & (TCP_ECN_OK | TCP_ECN_ACCURATE);
}

#endif
