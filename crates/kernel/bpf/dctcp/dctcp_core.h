/* SPDX-License-Identifier: GPL-2.0 */
/* DCTCP (RFC 8257): marks reduce the window in proportion to the marked fraction of a window of data; a loss halves it. Arithmetic of tcp_dctcp.c. */
#ifndef FOREBAY_DCTCP_CORE_H
#define FOREBAY_DCTCP_CORE_H

#include "../cc.h"

struct dctcp_params {
	cc_u32 shift_g;  /* g = 2^-shift_g, 0 to 10 */
	cc_u32 alpha;	  /* at the start, of CC_ALPHA_ONE */
	cc_u32 min_cwnd; /* floor of a reduction, segments, 1 or more */
	cc_u32 no_growth_on_ece;
};
/* Numbers that they are read from. */
#define DCTCP_NUMBERS 4

/* From numbers in the order of the struct; without `number` those of tcp_dctcp.c. */
CC_FN void dctcp_read(struct dctcp_params *p, const cc_u64 *number)
{
	*p = (struct dctcp_params){ .shift_g = 4, .alpha = CC_ALPHA_ONE, .min_cwnd = 2 };
	if (!number)
		return;
	p->shift_g = (cc_u32)number[0];
	p->alpha = (cc_u32)number[1];
	p->min_cwnd = (cc_u32)number[2];
	p->no_growth_on_ece = (cc_u32)number[3];
}

struct dctcp {
	cc_u32 alpha;
	/* The observation window ends when this is acknowledged (DCTCP.WindowEnd); the counters when it began. */
	cc_u32 window_end;
	cc_u32 delivered;
	cc_u32 delivered_ce;
};

CC_FN void dctcp_begin_window(struct dctcp *s, cc_u32 nxt, cc_u32 delivered, cc_u32 delivered_ce)
{
	s->window_end = nxt;
	s->delivered = delivered;
	s->delivered_ce = delivered_ce;
}

CC_FN void dctcp_init(struct dctcp *s, const struct dctcp_params *p, cc_u32 nxt, cc_u32 delivered, cc_u32 delivered_ce)
{
	s->alpha = cc_min(p->alpha, CC_ALPHA_ONE);
	dctcp_begin_window(s, nxt, delivered, delivered_ce);
}

/* Every ACK, duplicates included (RFC 8257 section 3.3, steps 4 to 7; dctcp_update_alpha). */
CC_FN void dctcp_ack(struct dctcp *s, const struct dctcp_params *p, const struct cc_ack *a)
{
	cc_u32 shift = cc_min(p->shift_g, 10);
	cc_u32 delivered = a->delivered - s->delivered;
	cc_u32 marked = a->delivered_ce - s->delivered_ce;
	cc_u32 decay = s->alpha >> shift;
	cc_u64 gain = 0;

	if (cc_before(a->una, s->window_end))
		return;
	/* Where the shift leaves nothing all of it goes, so that alpha can reach 0. */
	if (!decay)
		decay = s->alpha;
	if (marked)
		gain = ((cc_u64)marked << (10 - shift)) / cc_max(delivered, 1);
	s->alpha = cc_clamp(s->alpha - decay + gain, 0, CC_ALPHA_ONE);
	dctcp_begin_window(s, a->nxt, a->delivered, a->delivered_ce);
}

/* The ACK advanced, and nothing is being recovered or cut. */
CC_FN void dctcp_grow(const struct dctcp_params *p, struct cc_window *w, const struct cc_ack *a)
{
	if (!(a->ece && p->no_growth_on_ece))
		cc_reno(w, a->acked);
}

/* Half of `cwnd` times `penalty`, of CC_ONE, is cut away. */
CC_FN cc_u32 dctcp_cut(const struct dctcp_params *p, cc_u32 cwnd, cc_u32 penalty)
{
	return cc_max(cwnd - (cc_u32)(((cc_u64)cwnd * penalty) >> 17), cc_max(p->min_cwnd, 1));
}

/* Losses as in TCP (RFC 8257 section 3.5). */
CC_FN cc_u32 dctcp_loss(const struct dctcp_params *p, cc_u32 cwnd)
{
	return cc_max(cc_halve(cwnd), p->min_cwnd);
}

/* The threshold of a reduction from `cwnd` (RFC 8257 section 3.3, step 9). */
CC_FN cc_u32 dctcp_ssthresh(const struct dctcp *s, const struct dctcp_params *p, cc_u32 cwnd, enum cc_trigger trigger)
{
	if (trigger != CC_MARK)
		return dctcp_loss(p, cwnd);
	return dctcp_cut(p, cwnd, s->alpha << 6);
}

#endif
