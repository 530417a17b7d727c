/* SPDX-License-Identifier: GPL-2.0 */
/*
 * L2DCT (Munir et al., "Minimizing flow completion times in data centers", INFOCOM 2013): DCTCP with a weight that falls with the bytes that
 * a connection has sent, so that those which have sent little grow faster and give way less.
 */
#ifndef FOREBAY_L2DCT_CORE_H
#define FOREBAY_L2DCT_CORE_H

#include "../dctcp/dctcp_core.h"

struct l2dct_params {
	struct dctcp_params marks;
	law_u32 w_max; /* weight up to `light`, of LAW_ONE, above 0 */
	law_u32 w_min; /* weight from `heavy` on, of LAW_ONE, above 0 */
	law_u64 light; /* in bytes, or in segments if `light_segments` */
	law_u64 heavy;
	law_u32 light_segments;
	law_u32 heavy_segments;
};

/* From numbers in the order of the struct; without `number` the published ones. */
LAW_FN void l2dct_read(struct l2dct_params *p, const law_u64 *number)
{
	*p = (struct l2dct_params){ .w_max = 5 * LAW_ONE / 2, .w_min = LAW_ONE / 8, .light = 200000, .heavy = 1000000 };
	dctcp_read(&p->marks, number);
	if (!number)
		return;
	number += DCTCP_NUMBERS;
	p->w_max = (law_u32)number[0];
	p->w_min = (law_u32)number[1];
	p->light = number[2];
	p->heavy = number[3];
	p->light_segments = (law_u32)number[4];
	p->heavy_segments = (law_u32)number[5];
}

struct l2dct {
	struct dctcp marks;
	law_u64 sent; /* bytes */
	law_u32 high; /* sequence number up to which they are counted */
	law_u32 mss;
};

LAW_FN void l2dct_init(struct l2dct *s, const struct l2dct_params *p, law_u32 nxt, law_u32 delivered, law_u32 delivered_ce)
{
	dctcp_init(&s->marks, &p->marks, nxt, delivered, delivered_ce);
	s->sent = 0;
	s->high = nxt;
	s->mss = 1;
}

/* Every ACK. */
LAW_FN void l2dct_ack(struct l2dct *s, const struct l2dct_params *p, const struct law_ack *a)
{
	dctcp_ack(&s->marks, &p->marks, a);
	/* What was sent was sent: a timeout does not take it back, and a persistent connection counts as one flow. */
	if (law_before(s->high, a->nxt)) {
		s->sent += a->nxt - s->high;
		s->high = a->nxt;
	}
	s->mss = a->mss;
}

/* The weight now, of LAW_ONE: linear between `light` and `heavy`. */
LAW_FN law_u32 l2dct_weight(const struct l2dct *s, const struct l2dct_params *p)
{
	law_u64 light = p->light_segments ? p->light * s->mss : p->light;
	law_u64 heavy = p->heavy_segments ? p->heavy * s->mss : p->heavy;
	law_u64 share;

	if (s->sent <= light)
		return p->w_max;
	if (s->sent >= heavy)
		return p->w_min;
	/* The quotient of what is below 2^48 bytes fits; `sent` is less than `heavy`. */
	share = ((s->sent - light) << 16) / (heavy - light);
	if (p->w_max >= p->w_min)
		return p->w_max - (law_u32)(((p->w_max - p->w_min) * share) >> 16);
	return p->w_max + (law_u32)(((p->w_min - p->w_max) * share) >> 16);
}

/* Slow start as TCP; then one segment a round trip times weight / w_max. */
LAW_FN void l2dct_grow(const struct l2dct *s, const struct l2dct_params *p, struct law_window *w, law_u32 acked)
{
	law_u64 per_step;

	if (w->cwnd < w->ssthresh)
		acked = law_slow_start(w, acked);
	if (!acked)
		return;
	per_step = (law_u64)w->cwnd * p->w_max / law_max(l2dct_weight(s, p), 1);
	law_step(w, law_clamp(per_step, 1, LAW_NONE), acked);
}

/* cwnd (1 - alpha^weight / 2) on marks. */
LAW_FN law_u32 l2dct_ssthresh(const struct l2dct *s, const struct l2dct_params *p, law_u32 cwnd, enum law_trigger trigger)
{
	if (trigger != LAW_MARK)
		return dctcp_loss(&p->marks, cwnd);
	return dctcp_cut(&p->marks, cwnd, law_power(s->marks.alpha << 6, l2dct_weight(s, p)));
}

#endif
