/* SPDX-License-Identifier: GPL-2.0 */
/* CoDel's law (RFC 8289), as in the crate `queues` (codel.rs): one queue's packets are dropped, or marked, when they leave, once the waiting
 * time has stayed above a target for an interval. Include real.h before anything else. */
#ifndef FOREBAY_CODEL_H
#define FOREBAY_CODEL_H

#include "queue.h"
#include "real.h"

/* In this order in param. Times are in ps. */
struct fb_codel_params {
	fb_u64 target;
	fb_u64 interval;
	fb_u64 ecn;	     /* whether packets are marked where they can be */
	fb_u64 ce_threshold; /* packets that waited longer are marked, whatever the law says; FB_NEVER: none */
	fb_u64 mtu;	     /* no drops while no more bytes than this are left */
};
#define FB_CODEL_PARAMS 5

static inline struct fb_codel_params fb_codel_params(const fb_u64 *param)
{
	struct fb_codel_params p = { param[0], param[1], param[2], param[3], param[4] };

	return p;
}

/* RFC 8289 section 5.2. */
struct fb_codel_law {
	fb_u64 first_above; /* when the waiting time will have been above the target for an interval; FB_NEVER: it is not above */
	fb_u64 drop_next;
	fb_u32 count, last_count;
	bool dropping;
};

/* A queue under the law. */
struct fb_codel_backlog {
	struct fb_list packets;
	fb_u64 bytes;
};

/* RFC 8289 section 5.6, control_law: the time of the drop after the one that was due at t. */
static inline fb_u64 fb_codel_after(const struct fb_codel_params *p, fb_u64 t, fb_u32 count)
{
	return t + fb_whole((double)p->interval / fb_sqrt((double)count));
}

static inline struct fb_queued *fb_codel_first(struct fb_codel_backlog *backlog, struct fb_length *total)
{
	struct fb_queued *packet = fb_take_first(&backlog->packets);

	if (packet) {
		backlog->bytes -= packet->wire;
		fb_remove(total, packet->wire);
	}
	return packet;
}

/* RFC 8289 section 5.6, dodequeue: the oldest packet, and whether the law may drop it. `total` counts all queues that share the port. */
static inline struct fb_queued *fb_codel_take(struct fb_codel_law *l, const struct fb_codel_params *p, fb_u64 now,
					      struct fb_codel_backlog *backlog, struct fb_length *total, bool *may_drop)
{
	struct fb_queued *packet = fb_codel_first(backlog, total);

	*may_drop = false;
	if (!packet || now - packet->since < p->target || total->bytes <= p->mtu)
		l->first_above = FB_NEVER;
	else if (l->first_above == FB_NEVER)
		l->first_above = now + p->interval;
	else
		*may_drop = now >= l->first_above;
	return packet;
}

/* The congestion signal to a packet that leaves. The packet, if it still does. */
static inline struct fb_queued *fb_codel_signal(const struct fb_codel_params *p, struct fb_queued *packet, struct fb_effects *effects)
{
	if (packet && p->ecn && packet->ecn != FB_NOT_ECT) {
		effects->mark(effects, packet);
		return packet;
	}
	if (packet)
		effects->drop(effects, packet, FB_EARLY);
	return NULL;
}

/* RFC 8289 section 5.5, dequeue: the packet whose transmission starts now. */
static inline struct fb_queued *fb_codel_pop(struct fb_codel_law *l, const struct fb_codel_params *p, fb_u64 now,
					     struct fb_codel_backlog *backlog, struct fb_length *total, struct fb_effects *effects)
{
	bool may_drop;
	struct fb_queued *packet = fb_codel_take(l, p, now, backlog, total, &may_drop);

	if (l->dropping) {
		l->dropping = may_drop;
		while (l->dropping && now >= l->drop_next) {
			l->count++;
			packet = fb_codel_signal(p, packet, effects);
			if (packet) {
				/* Marked: it leaves, and the next signal has its time (Linux). */
				l->drop_next = fb_codel_after(p, l->drop_next, l->count);
				break;
			}
			packet = fb_codel_take(l, p, now, backlog, total, &may_drop);
			l->dropping = may_drop;
			if (l->dropping)
				l->drop_next = fb_codel_after(p, l->drop_next, l->count);
		}
	} else if (may_drop) {
		fb_u32 delta = l->count - l->last_count;
		fb_u64 since = now > l->drop_next ? now - l->drop_next : 0;
		bool recent = p->interval > FB_NEVER / 16 || since < 16 * p->interval;

		packet = fb_codel_signal(p, packet, effects);
		if (!packet)
			packet = fb_codel_take(l, p, now, backlog, total, &may_drop);
		l->dropping = true;
		/* If the last time was not long ago, the rate that controlled the queue then is where to start now. */
		l->count = delta > 1 && recent ? delta : 1;
		l->drop_next = fb_codel_after(p, now, l->count);
		l->last_count = l->count;
	}
	if (packet && now - packet->since > p->ce_threshold && packet->ecn != FB_NOT_ECT)
		effects->mark(effects, packet);
	return packet;
}

#endif
