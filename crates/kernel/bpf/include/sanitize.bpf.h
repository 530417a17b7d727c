/* SPDX-License-Identifier: GPL-2.0 */
/* First step of a congestion control at an ACK: plain C on whole numbers, as the cores are; only programs need it. */
#ifndef FOREBAY_MEND_H
#define FOREBAY_MEND_H

#include "../cc.h"

/*
 * Replaces a window or a threshold that no congestion control sets; 1 if there was one. A kernel that skips a program takes a value from its stack for
 * the result (ssthresh, undo_cwnd): Linux before 6.1 did so where a program would have interrupted itself, others by their own policy. From such a
 * threshold tcp_cwnd_reduction makes windows of 0, and of millions. Only the packets in flight describe the path then (RFC 5681, equation 4).
 */
CC_FN int cc_sanitize(struct cc_window *w, cc_u32 flight)
{
	if (w->cwnd - 1 < CC_NO_THRESHOLD && w->ssthresh - 1 < CC_NO_THRESHOLD)
		return 0;
	if (w->ssthresh - 1 >= CC_NO_THRESHOLD)
		w->ssthresh = cc_halve(flight);
	w->cwnd = cc_clamp(flight, 1, cc_clamp(w->cwnd, 1, CC_NO_THRESHOLD));
	w->counted = 0;
	return 1;
}

#endif
