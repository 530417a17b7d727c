/* SPDX-License-Identifier: GPL-2.0 */
/* Packets for a shim at an interface: TCP over IPv4 in Ethernet frames. Others pass unchanged. */
#ifndef FOREBAY_PACKET_H
#define FOREBAY_PACKET_H

#include "kernel.h"

/* include/uapi/linux/bpf.h; the beginnings are enough. */
struct bpf_sock;
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
	u32 napi_id;
	u32 addresses[11];
	u32 ports[2];
	u32 data_meta;
	u64 flow_keys;
	u64 tstamp;
	u32 wire_len;
	u32 gso_segs;
	/* Of the host that sends the packet. */
	struct bpf_sock *sk;
};
/* On to the next filter, and in the end as if there were none; or dropped. */
enum { TC_ACT_UNSPEC = -1, TC_ACT_SHOT = 2 };

struct ethernet {
	u8 destination[6], source[6];
	__be16 type;
};
struct ipv4 {
	u8 version_length, tos;
	__be16 length, id, fragment;
	u8 ttl, protocol;
	__sum16 checksum;
	__be32 source, destination;
};
struct tcp_header {
	__be16 source, destination;
	__be32 seq, ack;
	u8 offset, flags;
	__be16 window;
	__sum16 checksum;
	__be16 urgent;
};
enum { ETHERNET = 14, IPV4 = 20, TCP = 20 };
enum { FIN = 1, SYN = 2, RST = 4, ACK = 16, ECE = 64, CWR = 128 };
enum { NOT_ECT = 0, ECT1 = 1, ECT0 = 2, CE = 3 };
enum { IPPROTO_TCP = 6 };

/* A connection, from the sender of data to its receiver. */
struct flow {
	__be32 source, destination;
	__be16 source_port, destination_port;
};

struct packet {
	struct ipv4 *ip;
	struct tcp_header *tcp;
	/* Bytes of payload. */
	u32 payload;
};

/* Finds the headers. IPv4 with options is left alone. Pointers are good until the packet is changed. */
static __always_inline bool parse(struct __sk_buff *skb, struct packet *p)
{
	void *data, *end;
	struct ethernet *eth;
	u32 headers;

	if (bpf_skb_pull_data(skb, ETHERNET + IPV4 + TCP))
		return false;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	eth = data;
	if (data + ETHERNET + IPV4 + TCP > end || eth->type != bpf_htons(0x0800))
		return false;
	p->ip = data + ETHERNET;
	p->tcp = data + ETHERNET + IPV4;
	if (p->ip->version_length != 0x45 || (p->ip->fragment & bpf_htons(0x3fff)))
		return false;
	headers = IPV4 + (p->tcp->offset >> 4) * 4;
	p->payload = 0;
	/* Of a packet that the card will cut into several the kernel's length counts; IPv4's own may be too small to say it. */
	if (skb->len > ETHERNET + headers)
		p->payload = skb->len - ETHERNET - headers;
	return true;
}

static __always_inline struct flow flow_of(const struct packet *p)
{
	return (struct flow){ p->ip->source, p->ip->destination, p->tcp->source, p->tcp->destination };
}

/* The connection of which this is an ACK. */
static __always_inline struct flow flow_acked(const struct packet *p)
{
	return (struct flow){ p->ip->destination, p->ip->source, p->tcp->destination, p->tcp->source };
}

/* Sets the byte of IPv4 that holds DSCP and ECN. */
static __always_inline void set_tos(struct __sk_buff *skb, const struct ipv4 *ip, u8 tos)
{
	__be16 old = *(__be16 *)ip, new = old;
	((u8 *)&new)[1] = tos;
	if (new == old)
		return;
	bpf_l3_csum_replace(skb, ETHERNET + 10, old, new, 2);
	bpf_skb_store_bytes(skb, ETHERNET, &new, 2, 0);
}

/* Sets two bytes of the TCP header at an offset from its beginning. */
static __always_inline void set_tcp16(struct __sk_buff *skb, u32 at, __be16 old, __be16 new)
{
	if (new == old)
		return;
	bpf_l4_csum_replace(skb, ETHERNET + IPV4 + 16, old, new, 2);
	bpf_skb_store_bytes(skb, ETHERNET + IPV4 + at, &new, 2, 0);
}

/* True if the shim handles connections with this peer. */
#define PREFIXES_MAP                                                                                                           \
	struct prefix_key {                                                                                                    \
		u32 length;                                                                                                    \
		__be32 address;                                                                                                \
	};                                                                                                                     \
	struct {                                                                                                               \
		__uint(type, BPF_MAP_TYPE_LPM_TRIE);                                                                           \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                          \
		__uint(max_entries, 1024);                                                                                     \
		__type(key, struct prefix_key);                                                                                \
		__type(value, u32);                                                                                            \
	} prefixes SEC(".maps");                                                                                               \
	static __always_inline bool is_inside(__be32 address)                                                                  \
	{                                                                                                                      \
		struct prefix_key key = { 32, address };                                                                       \
		return bpf_map_lookup_elem(&prefixes, &key);                                                                   \
	}

/* Flows are kept in a table of which the least recently used entry goes. */
#define FLOWS_MAP(NAME, VALUE)                                                                                                 \
	struct {                                                                                                               \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                                                           \
		__uint(max_entries, 65536);                                                                                    \
		__type(key, struct flow);                                                                                      \
		__type(value, VALUE);                                                                                          \
	} NAME SEC(".maps");

#endif
