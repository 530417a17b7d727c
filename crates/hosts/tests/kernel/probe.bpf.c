// SPDX-License-Identifier: GPL-2.0
/* State of a sending socket before each ACK that it processes (the tracepoint tcp_probe at the beginning of tcp_rcv_established), for a test that
 * compares windows with a congestion control. */
#include "../../../kernel/bpf/include/tcp.h"

enum { MOST = 1 << 16 };
struct seen {
	u32 una, nxt, cwnd, ssthresh, delivered, delivered_ce, state, unused;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST);
	__type(key, u32);
	__type(value, struct seen);
} acks SEC(".maps");
/* The port of the listening end, as packets have it, and how many were seen. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u32);
} which SEC(".maps");

SEC("tp_btf/tcp_probe")
int BPF_PROG(probe, struct sock *sk, void *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct inet_connection_sock *icsk;
	u32 port = 0, number = 1, at, *p = bpf_map_lookup_elem(&which, &port), *n = bpf_map_lookup_elem(&which, &number);
	struct seen *s;

	if (!p || !n || !tp || sk->__sk_common.skc_dport != *p)
		return 0;
	at = __sync_fetch_and_add(n, 1);
	s = bpf_map_lookup_elem(&acks, &at);
	if (!s)
		return 0;
	icsk = &tp->inet_conn;
	*s = (struct seen){
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.delivered = tp->delivered,
		.delivered_ce = tp->delivered_ce,
		.state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state),
	};
	return 0;
}
