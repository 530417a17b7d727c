/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net/sched/sch_fq.c under a sequence of events, which it reads, one a line:
 *
 *	s LIMIT FLOW_LIMIT QUANTUM INITIAL_QUANTUM	an empty queue
 *	a TIME FLOW BYTES				a packet arrives
 *	p TIME						the next packet is asked for
 *
 * It prints 1 or 0 for a packet that is accepted or dropped, and the number of the packet that leaves, -1 if there is none.
 *
 * Stated differences to the discipline of the crate `queues`:
 * - No packet has a departure time, no socket a pacing rate, and all have the same priority.
 * - Flows are found by their number here, and never forgotten (fq_gc).
 * - A tick is a nanosecond. Times are even, so that the bit that marks a detached flow changes no comparison.
 */
#include <stdio.h>
#include "kernel.h"

#define HZ 1000000000UL
#define jiffies ((unsigned long)kernel_now)
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define NSEC_PER_SEC 1000000000ULL
#define div64_ul(a, b) ((a) / (b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define SK_PACING_FQ 2
#define TC_PRIO_MAX 15
#define FQ_BANDS 3
#define FQ_PRIO2BAND_CRUMB_SIZE ((TC_PRIO_MAX + 1) >> 2)
#define FQDR(reason) 0
#define qdisc_drop_reason(skb, sch, to_free, reason) qdisc_drop(skb, sch, to_free)
#define qdisc_watchdog_schedule_range_ns(watchdog, time, slack) ((void)0)
#define sk_fullsock(sk) true
#define sk_is_tcp(sk) true

struct rb_node {
	struct rb_node *rb_left, *rb_right;
};
struct rb_root {
	struct rb_node *rb_node;
};
struct qdisc_watchdog {
	int unused;
};
struct sock {
	unsigned long sk_max_pacing_rate, sk_pacing_rate;
};

/* Packets of a flow come in the order of their times, and flows are never throttled: no tree has a node. */
#define skb_rb_first(root) ((struct sk_buff *)NULL)
#define rb_first(root) ((struct rb_node *)NULL)
#define rb_entry(node, type, member) ((type *)(node))
#define rb_to_skb(node) ((struct sk_buff *)(node))
#define rb_erase(node, root) abort()
#define rb_link_node(node, parent, place) abort()
#define rb_insert_color(node, root) abort()
#define NO_TREE { NULL }

struct fq_skb_cb {
	u64 time_to_send;
	u8 band;
};
struct fq_sched_data;
struct fq_flow;
/* Its type is no word of letters. */
static u8 fq_prio2band(const u8 *prio2band, unsigned int prio)
{
	return (READ_ONCE(prio2band[prio / 4]) >> (2 * (prio & 0x3))) & 0x3;
}

enum new_flow { NEW_FLOW, OLD_FLOW };
static void fq_flow_unset_throttled(struct fq_sched_data *q, struct fq_flow *f);
static void fq_flow_set_throttled(struct fq_sched_data *q, struct fq_flow *f);
static struct fq_flow *fq_classify(struct Qdisc *sch, struct sk_buff *skb, u64 now);

#define rbnode cb[0]
#include "sch_fq.slices.h"

static u64 kernel_random(void)
{
	return 0;
}

static void fq_flow_unset_throttled(struct fq_sched_data *q, struct fq_flow *f)
{
	abort();
}

static void fq_flow_set_throttled(struct fq_sched_data *q, struct fq_flow *f)
{
	abort();
}

#define FLOWS 64
#define PACKETS 65536

static struct fq_flow flows[FLOWS];
static bool known[FLOWS];
static struct fq_sched_data state;
static struct Qdisc qdisc = { .priv = &state };
static struct sk_buff packets[PACKETS];

static struct fq_flow *fq_classify(struct Qdisc *sch, struct sk_buff *skb, u64 now)
{
	struct fq_flow *f = &flows[skb->hash];

	if (fq_fastpath_check(sch, skb, now))
		return &state.internal;
	if (!known[skb->hash]) {
		known[skb->hash] = true;
		fq_flow_set_detached(f);
		f->credit = state.initial_quantum;
		state.flows++;
		state.inactive_flows++;
	}
	return f;
}

int main(void)
{
	unsigned long long a, b, c, d;
	unsigned int count = 0;
	char kind;

	while (scanf(" %c %llu", &kind, &a) == 2) {
		struct sk_buff *skb;

		if (kind == 's') {
			if (scanf("%llu %llu %llu", &b, &c, &d) != 3)
				return 2;
			memset(flows, 0, sizeof(flows));
			memset(known, 0, sizeof(known));
			memset(&state, 0, sizeof(state));
			memset(packets, 0, sizeof(packets));
			memset(&qdisc.q, 0, sizeof(qdisc.q));
			memset(&qdisc.qstats, 0, sizeof(qdisc.qstats));
			count = 0;
			/* fq_init */
			qdisc.limit = a;
			state.flow_plimit = b;
			state.quantum = c;
			state.initial_quantum = d;
			state.flow_refill_delay = 40 * (HZ / 1000);
			state.flow_max_rate = ~0UL;
			state.time_next_delayed_flow = ~0ULL;
			state.rate_enable = 0;
			state.ce_threshold = 1000ULL * ~0U;
			state.horizon = 10 * NSEC_PER_SEC;
			memset(state.prio2band, 0x55, sizeof(state.prio2band));
			state.band_flows[0].quantum = 9 << 16;
			state.band_flows[1].quantum = 3 << 16;
			state.band_flows[2].quantum = 1 << 16;
			continue;
		}
		kernel_now = a;
		if (kind == 'a') {
			if (scanf("%llu %llu", &b, &c) != 2 || count == PACKETS)
				return 2;
			skb = &packets[count++];
			skb->hash = b;
			skb->len = c;
			printf("%d\n", fq_enqueue(skb, &qdisc, NULL) == NET_XMIT_SUCCESS);
		} else {
			skb = fq_dequeue(&qdisc);
			printf("%d\n", skb ? (int)(skb - packets) : -1);
		}
	}
	return 0;
}
