/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Window rule of PRIN: the window is halved before the first segment of each block of the application except the first block. Otherwise Reno. (The
 * priority of the last three segments of a block is set where packets are sent.)
 */
#ifndef FOREBAY_PRIN_CORE_H
#define FOREBAY_PRIN_CORE_H

#include "../cc.h"

/* Blocks that have been written and not begun. */
#define PRIN_BLOCKS 8

struct prin_params {
	cc_u32 halve; /* 0: only Reno */
	cc_u32 floor; /* smallest window after halving, segments, 1 or more: 2 where the receiver delays ACKs */
	cc_u32 cap;   /* the threshold follows the halved window, down to 2 */
};

/* From numbers in the order of the struct; without `number` the published rule for receivers that delay ACKs. */
CC_FN void prin_read(struct prin_params *p, const cc_u64 *number)
{
	*p = (struct prin_params){ .halve = 1, .floor = 2 };
	if (!number)
		return;
	p->halve = (cc_u32)number[0];
	p->floor = (cc_u32)number[1];
	p->cap = (cc_u32)number[2];
}

struct prin {
	cc_u32 begin[PRIN_BLOCKS]; /* sequence numbers of first bytes, oldest first */
	cc_u32 count;
};

/* The application wrote a block whose first byte is at `begin`. Of more than PRIN_BLOCKS that wait the newest are not known. */
CC_FN void prin_block(struct prin *s, cc_u32 begin)
{
	if (s->count < PRIN_BLOCKS)
		s->begin[s->count++ & (PRIN_BLOCKS - 1)] = begin;
}

/* New data may leave, from `nxt` on; `initial`: nothing has been sent on the connection. Once per block, whatever happens to it later. */
CC_FN void prin_send(struct prin *s, const struct prin_params *p, struct cc_window *w, cc_u32 nxt, cc_u32 initial)
{
	int i, begun;

	for (begun = 0; begun < PRIN_BLOCKS; begun++) {
		if (!s->count || cc_before(nxt, s->begin[0]))
			break;
		s->count--;
		for (i = 0; i + 1 < PRIN_BLOCKS; i++)
			s->begin[i] = s->begin[i + 1];
		if (!p->halve || initial)
			continue;
		w->cwnd = cc_max(w->cwnd >> 1, cc_max(p->floor, 1));
		if (p->cap)
			w->ssthresh = cc_min(w->ssthresh, cc_max(w->cwnd, 2));
	}
}

#endif
