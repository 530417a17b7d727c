// SPDX-License-Identifier: GPL-2.0
/* Selection of the sockets that get a congestion control: `choose` for new connections of the processes of a cgroup, `swap` for open connections.
 * Both compare the peer's address with the prefixes, if there are any. */
#include "../include/tcp.h"

enum { NAME_SIZE = 16 };

/* Written once, after loading; `Config` in crates/hosts/src/sockets.rs is the same. */
struct config {
	/* Swapping: only sockets of this cgroup (its number is that of its folder's inode), unless it is 0. */
	u64 of_cgroup;
	/* Flags: connections request ECN (TCP_CONG_NEEDS_ECN); `prefixes` decides. */
	u32 needs_ecn;
	u32 by_prefix;
	/* Swapping back: to what the socket used before, where that is known. */
	u32 back;
	u32 unused;
	/* Congestion control for the sockets. */
	char cc[NAME_SIZE];
	/* Swapping: only sockets that use this one, unless it is empty. */
	char only[NAME_SIZE];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct config);
} config SEC(".maps");

static __always_inline const struct config *configured(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&config, &zero);
}

/* Prefixes of other ends. IPv4 addresses are in the last four of sixteen bytes, behind ten zeros and two bytes of ones, and their
 * lengths count the 96 bits before. */
struct address {
	u32 length;
	u8 bytes[16];
};
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct address);
	__type(value, u32);
} prefixes SEC(".maps");

/* Congestion control of a socket before the swap, freed with the socket. */
struct earlier {
	char cc[NAME_SIZE];
};
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct earlier);
} earlier SEC(".maps");

struct counters {
	u64 sockets_chosen;
	u64 sockets_swapped;
	u64 sockets_refused;
};
COUNTERS_MAP

enum { SOL_TCP = 6, TCP_CONGESTION = 13 };

static __always_inline bool prefix_found(struct address *a)
{
	a->length = 128;
	return bpf_map_lookup_elem(&prefixes, a);
}

static __always_inline void from_ipv4(struct address *a, u32 address)
{
	__builtin_memset(a, 0, sizeof(*a));
	a->bytes[10] = a->bytes[11] = 0xff;
	__builtin_memcpy(a->bytes + 12, &address, 4);
}

/* include/uapi/linux/bpf.h; the beginning is enough. */
struct bpf_sock_ops {
	u32 op;
	u32 reply;
	u32 replylong_rest[3];
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
};
enum { BPF_SOCK_OPS_TCP_CONNECT_CB = 3, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5, BPF_SOCK_OPS_NEEDS_ECN = 6 };

static __always_inline bool is_for(const struct config *c, struct bpf_sock_ops *ops)
{
	struct address a;
	if (!c->by_prefix)
		return true;
	if (ops->family == AF_INET) {
		from_ipv4(&a, ops->remote_ip4);
	} else {
		u32 words[4] = { ops->remote_ip6[0], ops->remote_ip6[1], ops->remote_ip6[2], ops->remote_ip6[3] };
		__builtin_memcpy(a.bytes, words, 16);
	}
	return prefix_found(&a);
}

/* Before the SYN leaves, so that ECN is asked for; and when an accepted connection is there. */
SEC("sockops")
int choose(struct bpf_sock_ops *ops)
{
	const struct config *c = configured();
	char name[NAME_SIZE];
	if (!c || !is_for(c, ops))
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_NEEDS_ECN:
		ops->reply = c->needs_ecn;
		break;
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		__builtin_memcpy(name, c->cc, NAME_SIZE);
		if (bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, NAME_SIZE))
			COUNT(sockets_refused, 1);
		else
			COUNT(sockets_chosen, 1);
		break;
	}
	return 1;
}

/* For `swap`. */
struct kernfs_node {
	u64 id;
} KERNEL_TYPE;
struct cgroup {
	struct kernfs_node *kn;
} KERNEL_TYPE;
struct sock_cgroup_data {
	struct cgroup *cgroup;
} KERNEL_TYPE;
struct sock___with_cgroup {
	struct sock_cgroup_data sk_cgrp_data;
} KERNEL_TYPE;
struct sock_common___with_ipv6 {
	struct in6_addr skc_v6_daddr;
} KERNEL_TYPE;

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
} KERNEL_TYPE;
struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
	u32 uid;
} KERNEL_TYPE;

static __always_inline bool same(const char *a, const char *b)
{
	for (int i = 0; i < NAME_SIZE; i++) {
		if (a[i] != b[i])
			return false;
		if (!a[i])
			return true;
	}
	return true;
}

/* Every TCP socket of the network namespace of the process that reads the iterator, under its lock. */
SEC("iter/tcp")
int swap(struct bpf_iter__tcp *ctx)
{
	const struct config *c = configured();
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp;
	struct address a;
	char now[NAME_SIZE] = {}, next[NAME_SIZE];

	if (!c || !common || common->skc_state == TCP_TIME_WAIT || common->skc_state == TCP_NEW_SYN_RECV)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	/* A listening socket hands its congestion control on: it counts unless the other end's address does. */
	if (!tp || (c->by_prefix && common->skc_state == TCP_LISTEN))
		return 0;
	if (c->by_prefix) {
		if (common->skc_family == AF_INET)
			from_ipv4(&a, common->skc_daddr);
		else
			bpf_probe_read_kernel(a.bytes, 16, &((struct sock_common___with_ipv6 *)common)->skc_v6_daddr);
		if (!prefix_found(&a))
			return 0;
	}
	if (c->of_cgroup) {
		struct cgroup *group = 0;
		struct kernfs_node *node = 0;
		u64 id = 0;
		bpf_probe_read_kernel(&group, sizeof(group), &((struct sock___with_cgroup *)common)->sk_cgrp_data.cgroup);
		bpf_probe_read_kernel(&node, sizeof(node), &group->kn);
		bpf_probe_read_kernel(&id, sizeof(id), &node->id);
		if (id != c->of_cgroup)
			return 0;
	}
	if (bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, now, NAME_SIZE))
		return 0;
	if (c->only[0] ? !same(now, c->only) : same(now, c->cc))
		return 0;
	__builtin_memcpy(next, c->cc, NAME_SIZE);
	if (c->back) {
		struct earlier *e = bpf_sk_storage_get(&earlier, tp, 0, 0);
		if (e)
			__builtin_memcpy(next, e->cc, NAME_SIZE);
	} else {
		struct earlier *e = bpf_sk_storage_get(&earlier, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (e)
			__builtin_memcpy(e->cc, now, NAME_SIZE);
	}
	if (bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, next, NAME_SIZE))
		COUNT(sockets_refused, 1);
	else
		COUNT(sockets_swapped, 1);
	return 0;
}
