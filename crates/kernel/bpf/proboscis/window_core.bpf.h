/* SPDX-License-Identifier: GPL-2.0 */
/*
 * At the sender of data: DCTCP's window for a connection below its guest, from the ACKs that arrive; the arithmetic alone, as the simulator has
 * it (crates/shims/src/proboscis/sender.rs, which cites the publication), in whole numbers. A test holds the two against each other.
 */
#ifndef FOREBAY_PROBOSCIS_WINDOW_CORE_H
#define FOREBAY_PROBOSCIS_WINDOW_CORE_H

#include "../cc.h"

/* Alpha, the marked share of the bytes acknowledged, counts in 2^-20: truncated it is wrong by 2^(shift_g - 20) at most. */
#define SHIM_ALPHA_BITS 20
#define SHIM_ALPHA_ONE (1U << SHIM_ALPHA_BITS)

struct shim_params {
	cc_u32 mss;
	cc_u32 shift_g; /* alpha's gain is 2^-shift_g, 0 to 10 */
	cc_u32 least;	 /* bytes of the least window */
	cc_u32 elephant; /* connections with more bytes acknowledged are left alone; 0: none is */
};

struct shim_window {
	cc_u64 bytes; /* acknowledged, all of them */
	/* Behind the last byte sent, and acknowledged up to there. */
	cc_u32 high, una;
	/* The observation window ends when this is acknowledged; a cut has been answered when more than this is. */
	cc_u32 window_end, cut_end;
	/* Bytes acknowledged in the observation window, and of those the ones with an echo. */
	cc_u32 acked, marked;
	cc_u32 alpha;
	/* In force, bytes; 0: none. */
	cc_u32 window;
	/* Restart after a pause: the window of its first ACK, which holds until more than `restart_end` is acknowledged. */
	cc_u32 restart, restart_window, restart_end;
};

/* Of `restart`: a train has left; its first ACK is there. */
enum shim_restart_state { SHIM_PROBED = 1, SHIM_ANSWERED = 2 };

/* Effect of an ACK on the window. */
enum shim_event { SHIM_CUT = 1, SHIM_OBSERVED = 2 };

/* The connection is open: the SYN-ACK acknowledged `ack`. */
CC_FN void shim_open(struct shim_window *s, cc_u32 ack)
{
	*s = (struct shim_window){ .high = ack, .una = ack, .window_end = ack, .cut_end = ack - 1, .alpha = SHIM_ALPHA_ONE };
}

/* Data leaves after a pause, when all sent before is acknowledged, behind a train: the flow starts afresh. */
CC_FN void shim_restart(struct shim_window *s)
{
	shim_open(s, s->high);
	s->restart = SHIM_PROBED;
}

/* The connection is an elephant: nothing touches its packets any more. */
CC_FN cc_u32 shim_excluded(const struct shim_window *s, const struct shim_params *p)
{
	return p->elephant && s->bytes > p->elephant;
}

/* An ACK up to `ack`, with an echo of a mark or without, whose sender wrote a window of `theirs` bytes; shim_event. */
CC_FN cc_u32 shim_acked(struct shim_window *s, const struct shim_params *p, cc_u32 ack, cc_u32 echo, cc_u64 theirs)
{
	cc_u32 fresh = cc_before(s->una, ack) ? ack - s->una : 0, event = 0;

	/* Of what has not been sent, as far as is known here, nothing can be said. */
	if (cc_before(s->high, ack))
		return 0;
	s->una += fresh;
	s->bytes += fresh;
	s->acked += fresh;
	/* A duplicate ACK also reports that a marked packet arrived. */
	if (echo)
		s->marked += fresh ? fresh : p->mss;
	if (shim_excluded(s, p)) {
		s->window = 0;
		return 0;
	}
	/* One cut a window, on its first echo (RFC 8257, section 3.3, step 9), of what the guest has under way or may have. */
	if (echo && cc_before(s->cut_end, ack)) {
		cc_u32 base = cc_max(s->high - ack + fresh, p->mss);

		if (s->window)
			base = cc_min(base, s->window);
		base -= (cc_u32)(((cc_u64)base * s->alpha + 2 * SHIM_ALPHA_ONE - 1) >> (SHIM_ALPHA_BITS + 1));
		s->window = cc_max(base, p->least);
		s->cut_end = s->high;
		event |= SHIM_CUT;
	}
	if (!cc_before(ack, s->window_end)) {
		cc_u32 shift = cc_min(p->shift_g, 10);
		cc_u64 share = ((cc_u64)s->marked << SHIM_ALPHA_BITS) / cc_max(s->acked, 1);

		s->alpha -= s->alpha >> shift;
		s->alpha += cc_clamp(share, 0, SHIM_ALPHA_ONE) >> shift;
		if (!s->marked && s->window) {
			s->window += p->mss;
			if (s->window >= theirs)
				s->window = 0;
		}
		s->acked = s->marked = 0;
		s->window_end = s->high;
		event |= SHIM_OBSERVED;
	}
	if (s->restart == SHIM_PROBED && fresh) {
		s->restart = SHIM_ANSWERED;
		s->restart_window = (cc_u32)cc_clamp(theirs, 1, 0x7fffffff);
		s->restart_end = s->high;
	} else if (s->restart == SHIM_ANSWERED && cc_before(s->restart_end, ack)) {
		s->restart = 0;
	}
	return event;
}

/* A window field whose sender announced `scale`, limited to the window and that of a restart: never more than `field`, never 0 for one that was open,
 * rounded up. */
CC_FN cc_u16 shim_limited(const struct shim_window *s, cc_u16 field, cc_u32 scale)
{
	cc_u32 window = s->window;
	cc_u64 units;

	if (s->restart == SHIM_ANSWERED && (!window || s->restart_window < window))
		window = s->restart_window;
	units = ((cc_u64)window + (1U << (scale & 15)) - 1) >> (scale & 15);
	return window && units < field ? (cc_u16)cc_max((cc_u32)units, 1) : field;
}

#endif
