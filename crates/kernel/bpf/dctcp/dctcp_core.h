/* SPDX-License-Identifier: GPL-2.0 */
/* DCTCP (RFC 8257): marks cut in proportion to the marked fraction of a window of data, losses halve. Numbers as tcp_dctcp.c has them. */
#ifndef FOREBAY_DCTCP_CORE_H
#define FOREBAY_DCTCP_CORE_H

#include "../law.h"

struct dctcp_params {
	law_u32 shift_g;  /* g = 2^-shift_g, 0 to 10 */
	law_u32 alpha;	  /* at the start, of LAW_ALPHA_ONE */
	law_u32 min_cwnd; /* floor of a reduction, segments, 1 or more */
	law_u32 no_growth_on_ece;
};
/* Numbers that they are read from. */
#define DCTCP_NUMBERS 4

/* From numbers in the order of the struct; without `number` those of tcp_dctcp.c. */
LAW_FN void dctcp_read(struct dctcp_params *p, const law_u64 *number)
{
	*p = (struct dctcp_params){ .shift_g = 4, .alpha = LAW_ALPHA_ONE, .min_cwnd = 2 };
	if (!number)
		return;
	p->shift_g = (law_u32)number[0];
	p->alpha = (law_u32)number[1];
	p->min_cwnd = (law_u32)number[2];
	p->no_growth_on_ece = (law_u32)number[3];
}

struct dctcp {
	law_u32 alpha;
	/* The observation window ends when this is acknowledged (DCTCP.WindowEnd); the counters when it began. */
	law_u32 window_end;
	law_u32 delivered;
	law_u32 delivered_ce;
};

LAW_FN void dctcp_begin_window(struct dctcp *s, law_u32 nxt, law_u32 delivered, law_u32 delivered_ce)
{
	s->window_end = nxt;
	s->delivered = delivered;
	s->delivered_ce = delivered_ce;
}

LAW_FN void dctcp_init(struct dctcp *s, const struct dctcp_params *p, law_u32 nxt, law_u32 delivered, law_u32 delivered_ce)
{
	s->alpha = law_min(p->alpha, LAW_ALPHA_ONE);
	dctcp_begin_window(s, nxt, delivered, delivered_ce);
}

/* Every ACK, duplicates included (RFC 8257 section 3.3, steps 4 to 7; dctcp_update_alpha). */
LAW_FN void dctcp_ack(struct dctcp *s, const struct dctcp_params *p, const struct law_ack *a)
{
	law_u32 shift = law_min(p->shift_g, 10);
	law_u32 delivered = a->delivered - s->delivered;
	law_u32 marked = a->delivered_ce - s->delivered_ce;
	law_u32 decay = s->alpha >> shift;
	law_u64 gain = 0;

	if (law_before(a->una, s->window_end))
		return;
	/* Where the shift leaves nothing all of it goes, so that alpha can reach 0. */
	if (!decay)
		decay = s->alpha;
	if (marked)
		gain = ((law_u64)marked << (10 - shift)) / law_max(delivered, 1);
	s->alpha = law_clamp(s->alpha - decay + gain, 0, LAW_ALPHA_ONE);
	dctcp_begin_window(s, a->nxt, a->delivered, a->delivered_ce);
}

/* The ACK advanced, and nothing is being recovered or cut. */
LAW_FN void dctcp_grow(const struct dctcp_params *p, struct law_window *w, const struct law_ack *a)
{
	if (!(a->ece && p->no_growth_on_ece))
		law_reno(w, a->acked);
}

/* Half of `cwnd` times `penalty`, of LAW_ONE, is cut away. */
LAW_FN law_u32 dctcp_cut(const struct dctcp_params *p, law_u32 cwnd, law_u32 penalty)
{
	return law_max(cwnd - (law_u32)(((law_u64)cwnd * penalty) >> 17), law_max(p->min_cwnd, 1));
}

/* Losses as in TCP (RFC 8257 section 3.5). */
LAW_FN law_u32 dctcp_loss(const struct dctcp_params *p, law_u32 cwnd)
{
	return law_max(law_halve(cwnd), p->min_cwnd);
}

/* The threshold of a reduction from `cwnd` (RFC 8257 section 3.3, step 9). */
LAW_FN law_u32 dctcp_ssthresh(const struct dctcp *s, const struct dctcp_params *p, law_u32 cwnd, enum law_trigger trigger)
{
	if (trigger != LAW_MARK)
		return dctcp_loss(p, cwnd);
	return dctcp_cut(p, cwnd, s->alpha << 6);
}

#endif
