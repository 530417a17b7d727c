// SPDX-License-Identifier: GPL-2.0
/* PRIN as BPF programs: the window is halved before each block (prin_core.h), and at the interface the last three segments of a block are
 * marked (DSCP), so that switches prefer them or drop them last. A block is a message that the application announces by socket option
 * (include/messages.bpf.h). The sequence number decides if a packet belongs to a tail, so that retransmissions are marked too. */
#include "../include/cc.bpf.h"
#include "../include/messages.bpf.h"
#include "../include/packet.h"
#include "prin_core.h"

struct params {
	/* 0: windows are not halved. */
	u32 halve;
	/* Least window after halving, in segments. */
	u32 floor;
	/* The threshold follows the halved window. */
	u32 cap;
	/* Segments at the end of a block that are marked, and with which DSCP. */
	u32 tail;
	u32 dscp;
};
PARAMS_MAP

struct counters {
	u64 sockets_opened;
	u64 sockets_closed;
	u64 acks;
	u64 cuts;
	u64 timeouts;
	CC_COUNTERS
	/* Blocks that were announced, and windows that were halved for one. */
	u64 blocks;
	u64 halved;
	/* Packets with payload of such sockets, and of those the ones that were marked. */
	u64 packets;
	u64 packets_marked;
};
COUNTERS_MAP

/* The blocks whose ends are remembered: retransmissions come late. */
#define ENDS 8

struct talk {
	struct cc_stream stream;
	struct prin cc;
	/* A ring; `announced` counts. */
	u32 begin[ENDS], end[ENDS];
	u32 announced;
};
TALK_MAP

static __always_inline struct prin_params cc_of(const struct params *p)
{
	return (struct prin_params){ .halve = p ? p->halve : 1, .floor = p ? p->floor : 2, .cap = p ? p->cap : 0 };
}

SEC("struct_ops")
void BPF_PROG(prin_init, struct sock *sk)
{
	COUNT(sockets_opened, 1);
	/* Without memory for it the connection uses Reno. */
	bpf_sk_storage_get(&messages, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

SEC("struct_ops")
void BPF_PROG(prin_release, struct sock *sk)
{
	COUNT(sockets_closed, 1);
	bpf_sk_storage_delete(&messages, sk);
}

/* The application announces its next message. */
SEC("cgroup/setsockopt")
int option(struct bpf_sockopt *ctx)
{
	struct talk *t;
	struct written w;
	u32 at;

	if (!is_message(ctx))
		return OPTION_PASSES;
	t = bpf_sk_storage_get(&messages, ctx->sk, 0, 0);
	if (!t)
		return OPTION_PASSES;
	if (!read_message(ctx, &t->stream, &w)) {
		bpf_set_retval(-EINVAL);
		return OPTION_REFUSED;
	}
	prin_block(&t->cc, w.begin);
	at = t->announced & (ENDS - 1);
	t->begin[at] = w.begin;
	t->end[at] = w.end;
	t->announced++;
	COUNT(blocks, 1);
	return OPTION_PASSES;
}

/* Asked immediately before new data leaves (tcp_write_xmit). */
SEC("struct_ops")
u32 BPF_PROG(prin_min_tso_segs, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct talk *t = bpf_sk_storage_get(&messages, sk, 0, 0);

	SANITIZE(tp);
	if (t && t->cc.count) {
		struct prin_params p = cc_of(parameters());
		struct cc_window w = cc_window_of(tp);
		u32 cwnd = w.cwnd;
		prin_send(&t->cc, &p, &w, tp->snd_nxt, !tp->data_segs_out);
		if (w.cwnd != cwnd)
			COUNT(halved, 1);
		cc_window_set(tp, &w);
	}
	return CC_MIN_TSO_SEGS;
}

SEC("struct_ops")
void BPF_PROG(prin_in_ack_event, struct sock *sk, u32 flags)
{
	SANITIZE(tcp_sk(sk));
}

SEC("struct_ops")
void BPF_PROG(prin_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_window w;

	COUNT(acks, 1);
	SANITIZE(tp);
	w = cc_window_of(tp);
	if (!cc_may_grow(tp))
		return;
	cc_reno(&w, acked);
	cc_window_set(tp, &w);
}

SEC("struct_ops")
u32 BPF_PROG(prin_recalc_ssthresh, struct sock *sk)
{
	COUNT(cuts, 1);
	return GIVEN(cc_halve(tcp_sk(sk)->snd_cwnd));
}

SEC("struct_ops")
u32 BPF_PROG(prin_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void BPF_PROG(prin_cwnd_event, struct sock *sk, enum tcp_ca_event ev)
{
	if (ev == CA_EVENT_LOSS)
		COUNT(timeouts, 1);
}

/* include/uapi/linux/bpf.h; the beginning is enough. */
struct bpf_tcp_sock {
	u32 snd_cwnd, srtt_us, rtt_min, snd_ssthresh, rcv_nxt, snd_nxt, snd_una, mss_cache;
};

/* At the interface: the packets that hold the last segments of a block. A packet of several segments is marked as a whole. */
SEC("tc")
int egress(struct __sk_buff *skb)
{
	const struct params *p = parameters();
	struct bpf_sock *sk = skb->sk;
	struct bpf_tcp_sock *tcp;
	struct packet packet;
	struct talk *t;
	u32 seq, end, tail;
	int i;

	if (!p || !p->tail || !sk)
		return TC_ACT_UNSPEC;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return TC_ACT_UNSPEC;
	t = bpf_sk_storage_get(&messages, sk, 0, 0);
	tcp = bpf_tcp_sock(sk);
	if (!t || !tcp)
		return TC_ACT_UNSPEC;
	tail = (p->tail - 1) * tcp->mss_cache;
	if (!parse(skb, &packet) || packet.ip->protocol != IPPROTO_TCP || !packet.payload)
		return TC_ACT_UNSPEC;
	COUNT(packets, 1);
	seq = bpf_ntohl(packet.tcp->seq);
	end = seq + packet.payload;
	for (i = 0; i < ENDS; i++) {
		if (i >= t->announced || before(seq, t->begin[i]) || !before(seq, t->end[i]))
			continue;
		if ((s32)(t->end[i] - end) <= (s32)tail) {
			COUNT(packets_marked, 1);
			set_tos(skb, packet.ip, (p->dscp << 2) | (packet.ip->tos & 3));
		}
		break;
	}
	return TC_ACT_UNSPEC;
}

CC_SANITIZES_NEW_STATES(prin)

SEC(".struct_ops.link")
struct tcp_congestion_ops cc = {
	.init = (void *)prin_init,
	.release = (void *)prin_release,
	.min_tso_segs = (void *)prin_min_tso_segs,
	.set_state = (void *)prin_set_state,
	.ssthresh = (void *)prin_recalc_ssthresh,
	.in_ack_event = (void *)prin_in_ack_event,
	.cong_avoid = (void *)prin_cong_avoid,
	.undo_cwnd = (void *)prin_undo_cwnd,
	.cwnd_event = (void *)prin_cwnd_event,
	.name = "fb_prin",
};
