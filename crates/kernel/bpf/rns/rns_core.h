/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reno as the ns-2 simulator has it: the window grows on every ACK, also while the application sends less than it allows. Linux grows only a
 * window that is in use (tcp_is_cwnd_limited, RFC 7661 section 4.1). The publications on persistent connections presume that it grows: what
 * they call an inherited window comes from there. For comparisons; not for a network that others use.
 */
#ifndef FOREBAY_RNS_CORE_H
#define FOREBAY_RNS_CORE_H

#include "../cc.h"

/* The ACK advanced, and nothing is being recovered. */
CC_FN void rns_grow(struct cc_window *w, cc_u32 acked)
{
	cc_reno(w, acked);
}

/* The threshold of any reduction from `cwnd`. */
CC_FN cc_u32 rns_ssthresh(cc_u32 cwnd)
{
	return cc_halve(cwnd);
}

#endif
