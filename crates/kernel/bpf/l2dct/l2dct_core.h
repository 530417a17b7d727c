/* SPDX-License-Identifier: GPL-2.0 */
/*
 * L2DCT (Munir et al., "Minimizing flow completion times in data centers", INFOCOM 2013): DCTCP with a weight that decreases with the bytes that
 * a connection has sent. Connections that have sent little grow faster and reduce less.
 */
#ifndef FOREBAY_L2DCT_CORE_H
#define FOREBAY_L2DCT_CORE_H

#include "../dctcp/dctcp_core.h"

struct l2dct_params {
	struct dctcp_params marks;
	cc_u32 w_max; /* weight up to `light`, of CC_ONE, above 0 */
	cc_u32 w_min; /* weight from `heavy` on, of CC_ONE, above 0 */
	cc_u64 light; /* in bytes, or in segments if `light_segments` */
	cc_u64 heavy;
	cc_u32 light_segments;
	cc_u32 heavy_segments;
};

/* From numbers in the order of the struct; without `number` the published ones. */
CC_FN void l2dct_read(struct l2dct_params *p, const cc_u64 *number)
{
	*p = (struct l2dct_params){ .w_max = 5 * CC_ONE / 2, .w_min = CC_ONE / 8, .light = 200000, .heavy = 1000000 };
	dctcp_read(&p->marks, number);
	if (!number)
		return;
	number += DCTCP_NUMBERS;
	p->w_max = (cc_u32)number[0];
	p->w_min = (cc_u32)number[1];
	p->light = number[2];
	p->heavy = number[3];
	p->light_segments = (cc_u32)number[4];
	p->heavy_segments = (cc_u32)number[5];
}

struct l2dct {
	struct dctcp marks;
	cc_u64 sent; /* bytes */
	cc_u32 high; /* sequence number up to which they are counted */
	cc_u32 mss;
};

CC_FN void l2dct_init(struct l2dct *s, const struct l2dct_params *p, cc_u32 nxt, cc_u32 delivered, cc_u32 delivered_ce)
{
	dctcp_init(&s->marks, &p->marks, nxt, delivered, delivered_ce);
	s->sent = 0;
	s->high = nxt;
	s->mss = 1;
}

/* Every ACK. */
CC_FN void l2dct_ack(struct l2dct *s, const struct l2dct_params *p, const struct cc_ack *a)
{
	dctcp_ack(&s->marks, &p->marks, a);
	/* A timeout does not reset the bytes sent, and a persistent connection counts as one flow. */
	if (cc_before(s->high, a->nxt)) {
		s->sent += a->nxt - s->high;
		s->high = a->nxt;
	}
	s->mss = a->mss;
}

/* The weight now, of CC_ONE: linear between `light` and `heavy`. */
CC_FN cc_u32 l2dct_weight(const struct l2dct *s, const struct l2dct_params *p)
{
	cc_u64 light = p->light_segments ? p->light * s->mss : p->light;
	cc_u64 heavy = p->heavy_segments ? p->heavy * s->mss : p->heavy;
	cc_u64 share;

	if (s->sent <= light)
		return p->w_max;
	if (s->sent >= heavy)
		return p->w_min;
	/* The quotient of what is below 2^48 bytes fits; `sent` is less than `heavy`. */
	share = ((s->sent - light) << 16) / (heavy - light);
	if (p->w_max >= p->w_min)
		return p->w_max - (cc_u32)(((p->w_max - p->w_min) * share) >> 16);
	return p->w_max + (cc_u32)(((p->w_min - p->w_max) * share) >> 16);
}

/* Slow start as TCP; then one segment a round trip times weight / w_max. */
CC_FN void l2dct_grow(const struct l2dct *s, const struct l2dct_params *p, struct cc_window *w, cc_u32 acked)
{
	cc_u64 per_step;

	if (w->cwnd < w->ssthresh)
		acked = cc_slow_start(w, acked);
	if (!acked)
		return;
	per_step = (cc_u64)w->cwnd * p->w_max / cc_max(l2dct_weight(s, p), 1);
	cc_step(w, cc_clamp(per_step, 1, CC_NONE), acked);
}

/* cwnd (1 - alpha^weight / 2) on marks. */
CC_FN cc_u32 l2dct_ssthresh(const struct l2dct *s, const struct l2dct_params *p, cc_u32 cwnd, enum cc_trigger trigger)
{
	if (trigger != CC_MARK)
		return dctcp_loss(&p->marks, cwnd);
	return dctcp_cut(&p->marks, cwnd, cc_power(s->marks.alpha << 6, l2dct_weight(s, p)));
}

#endif
