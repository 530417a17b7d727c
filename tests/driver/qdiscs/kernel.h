/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-ins for the kernel functions and types that the packet path of net/sched's qdiscs uses, under a clock and a random generator that the
 * test controls. Every header that the sources name and that is not taken from them is this one. */
#ifndef FOREBAY_KERNEL_STAND_INS_H
#define FOREBAY_KERNEL_STAND_INS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef s64 ktime_t;

#define U64_MAX UINT64_MAX
#define BITS_PER_BYTE 8
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define USEC_PER_MSEC 1000L
#define __rcu
#define EXPORT_SYMBOL_GPL(symbol) extern int exported_symbol
#define BUG() abort()
#define WARN_ON(condition) (condition)
#define EINVAL 22
#define likely(condition) (condition)
#define unlikely(condition) (condition)
#define READ_ONCE(place) (place)
#define WRITE_ONCE(place, value) ((place) = (value))
#define typecheck(type, value) 1
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define clamp_t(type, value, low, high) min((type)max((type)(value), (type)(low)), (type)(high))
#define DIV_ROUND_CLOSEST(a, b) (((a) + (b) / 2) / (b))
#define container_of(address, type, member) ((type *)((char *)(address) - offsetof(type, member)))
#define do_div(n, base) ((n) /= (base))
#define usecs_to_jiffies(us) (us)
#define NL_SET_ERR_MSG_MOD(extack, message) ((void)0)
#define prefetch(address) ((void)0)

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline int fls(u32 x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

/* True if the test has replaced the function of that name: see the files that include this one. */
#ifndef OWN_RECIPROCAL_SCALE
static inline u32 reciprocal_scale(u32 value, u32 range)
{
	return (u64)value * range >> 32;
}
#else
static u32 reciprocal_scale(u32 value, u32 range);
#endif

/* A quotient that is exact, where the kernel multiplies by a reciprocal. */
struct reciprocal_value {
	u32 divisor;
};

static inline struct reciprocal_value reciprocal_value(u32 divisor)
{
	struct reciprocal_value r = { divisor };

	return r;
}

static inline u32 reciprocal_divide(u32 a, struct reciprocal_value r)
{
	return a / r.divisor;
}

/* The clock. */
static u64 kernel_now; /* ns */

static inline u64 ktime_get_ns(void)
{
	return kernel_now;
}

static inline ktime_t ktime_get(void)
{
	return (ktime_t)kernel_now;
}

static inline s64 ktime_us_delta(ktime_t later, ktime_t earlier)
{
	return (later - earlier) / 1000;
}

/* Time in psched: 64 ns (tc reports it in /proc/net/psched). */
typedef u64 psched_time_t;
#define PSCHED_SHIFT 6
#define PSCHED_NS2TICKS(ns) ((u64)(ns) >> PSCHED_SHIFT)
#define PSCHED_TICKS2NS(ticks) ((u64)(ticks) << PSCHED_SHIFT)
#define PSCHED_TICKS_PER_SEC PSCHED_NS2TICKS(1000000000)

static inline psched_time_t psched_get_time(void)
{
	return PSCHED_NS2TICKS(kernel_now);
}

/* Random numbers: those that the test provides. */
static u64 kernel_random(void);

static inline void get_random_bytes(void *to, int bytes)
{
	u64 drawn = kernel_random();

	memcpy(to, &drawn, (size_t)bytes);
}

static inline u32 get_random_u32(void)
{
	return (u32)(kernel_random() >> 32);
}

/* Lists. */
struct list_head {
	struct list_head *next, *prev;
};

#define list_first_entry(head, type, member) container_of((head)->next, type, member)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

/* The test may decide by the expression, as the source has it. */
static inline bool list_is_empty(const struct list_head *list)
{
	return list->next == list;
}

/* The test may decide by the expression, as the source has it. */
#ifndef list_empty
#define list_empty(list) list_is_empty(list)
#endif

static inline void list_del_init(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	INIT_LIST_HEAD(entry);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	entry->prev = list->prev;
	entry->next = list;
	list->prev->next = entry;
	list->prev = entry;
}

static inline void list_move_tail(struct list_head *entry, struct list_head *list)
{
	list_del_init(entry);
	list_add_tail(entry, list);
}

/* Packets. */
struct sock;
struct net_device;

struct sk_buff {
	struct sk_buff *next;
	u32 len, truesize, hash, priority;
	u8 ecn;
	bool dropped;
	char *end;
	u64 tstamp;
	struct sock *sk;
	struct net_device *dev;
	_Alignas(u64) u8 cb[64];
};

struct qdisc_skb_cb {
	_Alignas(u64) u8 data[64];
};

static inline struct qdisc_skb_cb *qdisc_skb_cb(const struct sk_buff *skb)
{
	return (struct qdisc_skb_cb *)skb->cb;
}

#define qdisc_cb_private_validate(skb, bytes) ((void)0)
#define skb_mark_not_on_list(skb) ((skb)->next = NULL)

static inline u32 qdisc_pkt_len(const struct sk_buff *skb)
{
	return skb->len;
}

static inline u32 skb_get_hash(const struct sk_buff *skb)
{
	return skb->hash;
}

static inline int skb_get_dsfield(const struct sk_buff *skb)
{
	return skb->ecn;
}

/* CE on a packet whose transport understands it (RFC 3168 section 5). */
static inline int INET_ECN_set_ce(struct sk_buff *skb)
{
	if (!skb->ecn)
		return 0;
	skb->ecn = 3;
	return 1;
}

static inline void kfree_skb(struct sk_buff *skb)
{
	skb->dropped = true;
}

/* Qdiscs. */
struct net_device {
	u32 mtu;
};

struct qdisc_skb_head {
	struct sk_buff *head, *tail;
	u32 qlen;
};

struct gnet_stats_queue {
	u32 qlen, backlog, drops, overlimits;
};

struct Qdisc;

struct Qdisc_ops {
	struct sk_buff *(*peek)(struct Qdisc *sch);
};

struct Qdisc {
	u32 limit, handle;
	const struct Qdisc_ops *ops;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
	struct net_device *dev;
	void *priv;
};

struct timer_list {
	int unused;
};

struct Qdisc_class_common {
	int unused;
};

struct Qdisc_class_hash {
	int unused;
};

struct gnet_stats_basic_sync {
	int unused;
};

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define NET_XMIT_CN 2
#define __NET_XMIT_BYPASS 0x20000
#define TC_H_MAJ(handle) ((handle) & 0xFFFF0000)
#define TC_H_MIN(handle) ((handle) & 0xFFFF)
#define qdisc_bstats_update(sch, skb) ((void)0)
#define bstats_update(stats, skb) ((void)0)
#define qdisc_warn_nonwc(function, child) abort()
#define qdisc_tree_reduce_backlog(sch, packets, bytes) ((void)(packets), (void)(bytes))
#define qdisc_qstats_drop(sch) ((void)0)
#define __qdisc_qstats_drop(sch, count) ((void)0)
#define qdisc_qstats_overlimit(sch) ((void)0)
#define net_xmit_drop_count(result) ((result) == NET_XMIT_DROP)

/* Flags of RED, as tc sets them. */
#define TC_RED_ECN 1
#define TC_RED_HARDDROP 2
#define TC_RED_NODROP 8

/* Events have no listeners. */
struct tcf_qevent {
	int unused;
};
#define tcf_qevent_handle(event, sch, skb, to_free, result) (*(result) = 0, (skb))

struct nlattr;
struct netlink_ext_ack;
struct nla_bitfield32 {
	u32 value, selector;
};

static inline struct nla_bitfield32 nla_get_bitfield32(const struct nlattr *attribute)
{
	(void)attribute;
	abort();
}

static inline void *qdisc_priv(struct Qdisc *sch)
{
	return sch->priv;
}

static inline struct net_device *qdisc_dev(const struct Qdisc *sch)
{
	return sch->dev;
}

static inline u32 psched_mtu(const struct net_device *dev)
{
	return dev->mtu;
}

static inline u32 qdisc_qlen(const struct Qdisc *sch)
{
	return sch->q.qlen;
}

static inline void qdisc_qstats_backlog_inc(struct Qdisc *sch, const struct sk_buff *skb)
{
	sch->qstats.backlog += skb->len;
}

static inline void qdisc_qstats_backlog_dec(struct Qdisc *sch, const struct sk_buff *skb)
{
	sch->qstats.backlog -= skb->len;
}

static inline int qdisc_enqueue_tail(struct sk_buff *skb, struct Qdisc *sch)
{
	skb->next = NULL;
	if (sch->q.tail)
		sch->q.tail->next = skb;
	else
		sch->q.head = skb;
	sch->q.tail = skb;
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;
}

static inline struct sk_buff *__qdisc_dequeue_head(struct qdisc_skb_head *queue)
{
	struct sk_buff *skb = queue->head;

	if (skb) {
		queue->head = skb->next;
		if (!queue->head)
			queue->tail = NULL;
		queue->qlen--;
	}
	return skb;
}

static inline struct sk_buff *qdisc_dequeue_head(struct Qdisc *sch)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

	if (skb)
		qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

static inline void __qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free)
{
	(void)to_free;
	skb->dropped = true;
}

/* A child of a qdisc is a FIFO with a limit in bytes. */
#define qdisc_dequeue_peeked(child) qdisc_dequeue_head(child)

static inline int qdisc_drop(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	(void)sch;
	__qdisc_drop(skb, to_free);
	return NET_XMIT_DROP;
}

static inline int qdisc_enqueue(struct sk_buff *skb, struct Qdisc *child, struct sk_buff **to_free)
{
	if (child->qstats.backlog + skb->len > child->limit)
		return qdisc_drop(skb, child, to_free);
	return qdisc_enqueue_tail(skb, child);
}

#endif
