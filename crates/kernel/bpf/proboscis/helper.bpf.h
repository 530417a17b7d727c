/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface between the shim and its daemon, which has the timers (`forebay attach --daemon`, crates/hosts/src/helper). The shim reports events. The
 * daemon retransmits frames at the same interface, with a command in the mark of the packet. While it runs, it refreshes a time in a map. If that
 * time is old, the shim reports and holds nothing: it works without timers however the daemon ended.
 */
#ifndef FOREBAY_PROBOSCIS_HELPER_H
#define FOREBAY_PROBOSCIS_HELPER_H

/* include/uapi/linux/pkt_cls.h: the packet has another owner now. */
enum { TC_ACT_STOLEN = 4 };

/* bpf_ktime_get_ns of the last sign of life; after so many ns it is taken for dead. */
enum { HELPER_ALIVE = 50000000 };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} helper SEC(".maps");

enum happened {
	OPENS = 1,	/* a SYN has left: its probes, and it, are to be sent again until it is answered */
	ANSWERED = 2,	/* no longer; the peer keeps an estimate for `value` ms, or none */
	HELD = 3,	/* a SYN-ACK is to wait for probes */
	ENOUGH = 4,	/* they are there */
	ESTIMATE = 5,	/* the train of a connection allows `value` segments */
};

/* Headers of a SYN at most: Ethernet, IPv4, TCP with 40 bytes of options. */
enum { FRAME_MOST = 128 };
struct notice {
	u32 what, interface, length, value;
	struct flow flow;
	u8 frame[FRAME_MOST];
};
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} notices SEC(".maps");

/* Commands in the mark of a packet: the upper half identifies a command, then follow its kind and the number of probes of a train. */
#define ORDER 0xfb0b0000U
enum order {
	RELEASE = 1, /* the SYN-ACK may leave */
	TRAIN = 2,   /* the probes of this SYN, without it */
	AGAIN = 3,   /* probes, and the SYN */
};

static __always_inline u32 order_of(const struct __sk_buff *skb)
{
	return (skb->mark & 0xffff0000U) == ORDER ? skb->mark >> 8 & 0xff : 0;
}

static __always_inline u32 order_size(const struct __sk_buff *skb)
{
	return skb->mark & 0xff;
}

/* A plain store: a compiler may join two of them by an address that it computes, which the verifier refuses. */
static __always_inline void clear_order(struct __sk_buff *skb)
{
	u32 none = 0;
	asm volatile("*(u32 *)(%0 + %1) = %2" ::"r"(skb), "i"(__builtin_offsetof(struct __sk_buff, mark)), "r"(none) : "memory");
}

static __always_inline bool helper_lives(void)
{
	u32 zero = 0;
	u64 *seen = bpf_map_lookup_elem(&helper, &zero);
	return seen && *seen && bpf_ktime_get_ns() - *seen <= HELPER_ALIVE;
}

/* Says it to the helper, with the frame where it is to be sent again; false where there is none, or it does not keep up. */
static __always_inline bool ask_helper(struct __sk_buff *skb, u32 what, const struct flow *flow, u32 value)
{
	u32 length = skb->len;
	bool framed = what == OPENS || what == HELD;
	struct notice *n;

	if (!helper_lives())
		return false;
	if (framed && (length < ETHERNET + IPV4 + TCP || length > FRAME_MOST))
		return false;
	n = bpf_ringbuf_reserve(&notices, sizeof(*n), 0);
	if (!n)
		return false;
	n->what = what;
	n->interface = skb->ifindex;
	n->length = framed ? length : 0;
	n->value = value;
	n->flow = *flow;
	if (framed) {
		/* The same number, in bounds that the verifier of Linux 6.1 sees as well. */
		asm volatile("" : "+r"(length));
		length = ((length - 1) & (FRAME_MOST - 1)) + 1;
		if (bpf_skb_load_bytes(skb, 0, n->frame, length)) {
			bpf_ringbuf_discard(n, 0);
			return false;
		}
	}
	bpf_ringbuf_submit(n, 0);
	return true;
}

/* True if enough of the train has arrived for an estimate of the path. */
static __always_inline bool sufficient(const struct receiving *r, const struct params *p)
{
	return r->size && r->probes * 100 >= r->size * p->sufficient;
}

/* True if a SYN-ACK must wait: some of its probes came, but too few; or none, if every peer has the shim. */
static __always_inline bool may_hold(const struct receiving *r, const struct params *p)
{
	return r && r->size ? !sufficient(r, p) : p->everywhere;
}

#endif
