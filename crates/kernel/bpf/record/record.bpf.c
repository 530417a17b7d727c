// SPDX-License-Identifier: GPL-2.0
/* Bytes of each TCP connection of one network namespace when it closes, for `forebay record`, which misses connections that open and close between
 * two reads of the socket list. No payload. */
#include "../include/tcp.h"

struct net {
	struct {
		u32 inum;
	} ns;
} KERNEL_TYPE;
struct sock_common___ends {
	struct {
		struct net *net;
	} skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
} KERNEL_TYPE;
struct inet_sock___port {
	__be16 inet_sport;
} KERNEL_TYPE;
struct minmax_sample {
	u32 v;
} KERNEL_TYPE;
struct minmax {
	struct minmax_sample s[3];
} KERNEL_TYPE;
struct tcp_sock___counted {
	struct minmax rtt_min;
	u32 segs_out, total_retrans;
	u64 bytes_acked, bytes_received, bytes_sent, bytes_retrans;
} KERNEL_TYPE;

/* `Closed` in crates/hosts/src/record/closed_connections.rs. */
struct closed {
	/* By bpf_ktime_get_ns. */
	u64 at;
	/* Payload. */
	u64 acked, received;
	u32 min_rtt_us, segments_out, retransmissions, family;
	/* Of IPv4 the first four bytes. */
	u8 local[16], remote[16];
	__be16 local_port, remote_port;
	u32 unused;
};
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} closings SEC(".maps");
/* The number of the network namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} namespace SEC(".maps");

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(closes, struct sock *sk, int before, int now)
{
	struct sock_common___ends *ends = (void *)sk;
	struct tcp_sock___counted *tp;
	struct closed *c;
	u32 zero = 0, *wanted = bpf_map_lookup_elem(&namespace, &zero);
	u64 sent;

	if (now != TCP_CLOSE || before == TCP_CLOSE || before == TCP_LISTEN || before == TCP_SYN_SENT || before == TCP_SYN_RECV)
		return 0;
	if (!wanted || BPF_CORE_READ(ends, skc_net.net, ns.inum) != *wanted)
		return 0;
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	c = bpf_ringbuf_reserve(&closings, sizeof(*c), 0);
	if (!c)
		return 0;
	__builtin_memset(c, 0, sizeof(*c));
	c->at = bpf_ktime_get_ns();
	/* SYN and FIN are acknowledged as a byte each, and are no payload. */
	sent = BPF_CORE_READ(tp, bytes_sent) - BPF_CORE_READ(tp, bytes_retrans);
	c->acked = BPF_CORE_READ(tp, bytes_acked);
	c->acked = c->acked < sent ? c->acked : sent;
	/* So is a FIN that arrived (RFC 9293, section 3.4). */
	c->received = BPF_CORE_READ(tp, bytes_received);
	if (before == TCP_FIN_WAIT2 || before == TCP_CLOSE_WAIT || before == TCP_LAST_ACK || before == TCP_CLOSING)
		c->received -= c->received > 0;
	c->min_rtt_us = BPF_CORE_READ(tp, rtt_min.s[0].v);
	c->segments_out = BPF_CORE_READ(tp, segs_out);
	c->retransmissions = BPF_CORE_READ(tp, total_retrans);
	c->family = sk->__sk_common.skc_family;
	if (c->family == AF_INET) {
		u32 local = sk->__sk_common.skc_rcv_saddr, remote = sk->__sk_common.skc_daddr;
		__builtin_memcpy(c->local, &local, 4);
		__builtin_memcpy(c->remote, &remote, 4);
	} else {
		bpf_probe_read_kernel(c->local, 16, &ends->skc_v6_rcv_saddr);
		bpf_probe_read_kernel(c->remote, 16, &ends->skc_v6_daddr);
	}
	/* The port that sockets are looked up by has been given back already (inet_put_port in tcp_set_state). */
	c->local_port = BPF_CORE_READ((struct inet_sock___port *)sk, inet_sport);
	c->remote_port = sk->__sk_common.skc_dport;
	bpf_ringbuf_submit(c, 0);
	return 0;
}
