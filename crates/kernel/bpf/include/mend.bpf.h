/* SPDX-License-Identifier: GPL-2.0 */
/* What a law does before anything else at an ACK: plain C on whole numbers, as the cores are; only programs need it. */
#ifndef FOREBAY_MEND_H
#define FOREBAY_MEND_H

#include "../law.h"

/*
 * Mends a window or a threshold that no law sets; 1 if there was one. A kernel that skips a program takes what was on its stack for the result
 * (ssthresh, undo_cwnd): Linux before 6.1 did so where a program would have interrupted itself, others by a policy of their own. From such a
 * threshold tcp_cwnd_reduction makes windows of 0, and of millions. What is in flight is what is known of the path then (RFC 5681, equation 4).
 */
LAW_FN int law_mend(struct law_window *w, law_u32 flight)
{
	if (w->cwnd - 1 < LAW_NO_THRESHOLD && w->ssthresh - 1 < LAW_NO_THRESHOLD)
		return 0;
	if (w->ssthresh - 1 >= LAW_NO_THRESHOLD)
		w->ssthresh = law_halve(flight);
	w->cwnd = law_clamp(flight, 1, law_clamp(w->cwnd, 1, LAW_NO_THRESHOLD));
	w->counted = 0;
	return 1;
}

#endif
