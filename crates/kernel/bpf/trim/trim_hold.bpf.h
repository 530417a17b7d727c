/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random waits of TRIM on the backend `testbed`, whose switch can delay the packets of a host. It marks the sockets whose packets it delays, and
 * reads the end of each delay in the map `holds` (crates/testbed/src/delay_queue.rs). Other sockets have no waits.
 */
#ifndef FOREBAY_TRIM_HOLD_H
#define FOREBAY_TRIM_HOLD_H

/* A mark of the testbed: its upper byte is this one, the lower half is a slot of `holds`, and between them is which waits there are. */
#define HOLD_MARK 0xFB000000
#define HOLD_BEFORE (1 << 16)
#define HOLD_AFTER (1 << 17)
#define HOLD_AT_START (1 << 18)
#define HOLD_SLOTS (1 << 16)

/* include/uapi/linux/bpf.h: user space reads the map as memory. */
enum { BPF_F_MMAPABLE = 1024 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, HOLD_SLOTS);
	__type(key, u32);
	__type(value, u64); /* packets of this slot are held until then, ns of CLOCK_MONOTONIC */
} holds SEC(".maps");

struct sock___mark {
	u32 sk_mark;
} KERNEL_TYPE;

static __always_inline u32 hold_mark(const struct sock *sk)
{
	return ((const struct sock___mark *)sk)->sk_mark;
}

static __always_inline u32 hold_asks(u32 mark, u32 wait)
{
	return (mark & 0xFF000000) == HOLD_MARK && (mark & wait);
}

/* The last two times that packets of a socket were held: what left the kernel from `from` on left the switch at `end`, us. */
struct hold {
	u64 from[2], end[2];
};
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct hold);
} hold_of SEC(".maps");

/* NULL on sockets that are not marked, and before the first wait. */
static __always_inline struct hold *hold_find(struct sock *sk, u32 flags)
{
	return (hold_mark(sk) & 0xFF000000) == HOLD_MARK ? bpf_sk_storage_get(&hold_of, sk, 0, flags) : 0;
}

static __always_inline void hold_write(const struct sock *sk, u64 until)
{
	u32 slot = hold_mark(sk) & (HOLD_SLOTS - 1);
	u64 *entry = bpf_map_lookup_elem(&holds, &slot);

	if (entry)
		*entry = until * 1000;
}

/* Everything that leaves `sk` from `now` on is held until `end`, both us. */
static __always_inline void hold_until(struct sock *sk, u64 now, u64 end)
{
	struct hold *h = hold_find(sk, BPF_SK_STORAGE_GET_F_CREATE);

	if (!h)
		return;
	h->from[1] = h->from[0];
	h->end[1] = h->end[0];
	h->from[0] = now;
	h->end[0] = end;
	hold_write(sk, end);
}

/* The hold ends early. */
static __always_inline void hold_end(struct sock *sk, u64 now)
{
	struct hold *h = hold_find(sk, 0);

	if (!h || h->end[0] <= now)
		return;
	h->end[0] = now;
	hold_write(sk, now);
}

/* For the congestion control it is the end of the hold as long as packets are held. */
static __always_inline u64 hold_time(struct sock *sk, u64 now)
{
	struct hold *h = hold_find(sk, 0);

	return h && h->end[0] > now ? h->end[0] : now;
}

/* The kernel counts `rtt`, us, from when it handed the packet over. One that was held left at the end of the hold. */
static __always_inline u32 hold_rtt(struct sock *sk, u64 now, u32 rtt)
{
	struct hold *h = hold_find(sk, 0);
	u64 sent = now - rtt;

	if (h && sent >= h->from[0] && sent < h->end[0] && now > h->end[0])
		return now - h->end[0];
	if (h && sent >= h->from[1] && sent < h->end[1] && now > h->end[1])
		return now - h->end[1];
	return rtt;
}

/*
 * Does as trim_gate() at the end of a wait, at `now`, and returns the number of segments that may leave. A second call of trim_gate() would double the
 * paths that the verifier follows, and exceed its limit.
 */
static __always_inline u32 hold_waited(struct trim *s, u64 now)
{
	if (s->state == TRIM_AD_WAIT && s->saved) {
		s->state = TRIM_PROBING;
		s->due = TRIM_NEVER;
		return TRIM_PROBES;
	}
	trim_resume(s, now);
	return CC_NONE;
}

#endif
