// SPDX-License-Identifier: GPL-2.0
/*
 * The shim at the end that receives data: counts probes, writes or holds the SYN-ACK, and echoes CE in place of a guest without ECN.
 * Follows crates/sim/src/shim/proboscis/receiver.rs and window.rs function by function.
 */
#include "real.h"
#include "proboscis.h"

/* Without probes for so long after the SYN, the peer has no shim. */
#define UNPROBED_AFTER 1000000000u

/* Removes the entry; what it did stays on the record. */
static void forget(struct fb_acceptor *a, struct fb_shim_out *out)
{
	if (a->holds)
		out->discard(out, &a->held);
	*a = (struct fb_acceptor){ .seen = a->seen, .answers = a->answers, .stats = a->stats, .answered_at = FB_NEVER };
}

void fb_acceptor_start(struct fb_acceptor *a)
{
	*a = (struct fb_acceptor){ .stats.window = FB_NEVER, .answered_at = FB_NEVER };
}

/* The entry for the connection that starts at `isn`; probes come before their SYN, which must not clear their count. */
static void meet(struct fb_acceptor *a, fb_u32 isn, struct fb_shim_out *out)
{
	/* Of the accepting host's data the probes are the first packets, but not the first news: that is the SYN of this host. */
	if (!(a->known || a->answers) || a->isn != isn) {
		forget(a, out);
		a->isn = isn;
	}
	a->known = 1;
}

static void count(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, const struct fb_seen *p)
{
	/* Newer modulo 256; the first one is. */
	if (!a->size || (signed char)(p->batch - a->batch) > 0) {
		a->batch = p->batch;
		a->size = p->size;
		a->received = a->marked = 0;
		/* Repeated trains of a handshake can come behind its SYN-ACK, but not behind data, and no RTO later. */
		if (a->open || (a->answered_at != FB_NEVER && now - a->answered_at > shim[FB_PB_RESTART_AFTER]))
			a->restart = FB_RESTART_PROBED;
	}
	if (p->batch == a->batch) {
		a->received++;
		a->marked += p->ecn == FB_CE;
	}
}

bool fb_acceptor_arrives(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out)
{
	a->stats.swallowed += p->size != 0;
	/* No shim: a listening socket discards segments without flags. */
	if (!fb_has_acceptor(shim, a->answers))
		return !p->size;
	if (now - a->seen > FB_PB_FORGET && !a->holds)
		forget(a, out);
	a->seen = now;
	if (p->size) {
		meet(a, p->number, out);
		count(a, shim, now, p);
		return false;
	}
	if (p->flags & FB_SEEN_SYN) {
		meet(a, p->number, out);
		a->syn_at = now;
		a->guest_ecn = (p->flags & FB_SEEN_ECE) && (p->flags & FB_SEEN_CWR);
	} else if (a->known) {
		if (p->payload) {
			a->open = 1;
			if (a->restart == FB_RESTART_PROBED)
				a->restart = FB_RESTART_RECEIVED;
		}
		if (shim[FB_PB_GUEST_ECN])
			return true;
		if (p->ecn == FB_CE)
			a->ce_bytes += p->payload;
		/* The guest finds what its peer sent; one with ECN finds no mark, or its echo would never end. */
		p->ecn = a->guest_ecn && p->ecn != FB_NOT_ECT ? FB_ECT0 : FB_NOT_ECT;
	}
	return true;
}

/* Probes with congestion, of those that count. */
static void congested(const struct fb_acceptor *a, const fb_u64 *shim, fb_u32 *bad, fb_u32 *of)
{
	fb_u32 lost = shim[FB_PB_LOST_AS_MARKED] && a->size > a->received ? a->size - a->received : 0;

	*bad = a->marked + lost;
	*of = a->received + lost;
}

static enum fb_train_verdict judge(const struct fb_acceptor *a, const fb_u64 *shim)
{
	fb_u32 bad, of;

	/* Fewer than the share rounded up, as whole numbers are. */
	if (!a->size || (double)a->received < fb_real(shim[FB_PB_K]) * (double)a->size)
		return FB_VERDICT_INSUFFICIENT;
	congested(a, shim, &bad, &of);
	return (double)bad > fb_real(shim[FB_PB_KAPPA2]) * (double)of ? FB_VERDICT_SEVERE : FB_VERDICT_PROPORTIONAL;
}

static enum fb_train_verdict verdict_of(const struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now)
{
	if (!a->size && !shim[FB_PB_PEER_HAS_SHIM] && now - a->syn_at >= UNPROBED_AFTER)
		return FB_VERDICT_UNPROBED;
	return judge(a, shim);
}

/* The initial window times the share of probes without congestion, in whole segments, and at least the least one. */
static fb_u64 window_of(const struct fb_acceptor *a, const fb_u64 *shim)
{
	fb_u32 bad, of, segments;
	fb_u64 window;

	congested(a, shim, &bad, &of);
	segments = of ? (fb_u32)shim[FB_PB_ICWND] * (of > bad ? of - bad : 0) / of : 0;
	window = shim[FB_PB_MSS] * segments;
	return window > shim[FB_PB_LEAST] ? window : shim[FB_PB_LEAST];
}

/* A SYN-ACK that was `held` so long leaves with a window of at most so many bytes; FB_NEVER: as the guest wrote it. It is not scaled. */
static void limit(struct fb_acceptor *a, struct fb_seen *p, fb_u64 window, fb_u64 now, fb_u64 held)
{
	a->answered_at = now;
	if (window != FB_NEVER)
		p->window = fb_limited(p->window, window, 0);
	if (a->stats.window == FB_NEVER) {
		a->stats.window = p->window;
		a->stats.held = held;
	}
}

static bool on_syn_ack(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out)
{
	enum fb_train_verdict verdict = verdict_of(a, shim, now);
	fb_u64 since = a->holds ? a->held_since : now;

	if (a->stats.verdict == FB_VERDICT_NONE)
		a->stats.verdict = verdict;
	if (a->holds)
		out->discard(out, &a->held);
	a->holds = verdict == FB_VERDICT_INSUFFICIENT || (verdict == FB_VERDICT_SEVERE && shim[FB_PB_HOLD_SEVERE]);
	if (a->holds) {
		a->held = *p;
		a->held_since = since;
		return false;
	}
	limit(a, p,
	      verdict == FB_VERDICT_PROPORTIONAL ? window_of(a, shim) :
	      verdict == FB_VERDICT_SEVERE	 ? shim[FB_PB_LEAST] :
						   FB_NEVER,
	      now, now - since);
	return true;
}

/* The verdict on the train of a restart goes into the first ACK of its data, as into a SYN-ACK; a train without a mark or loss limits nothing. */
static void answer_restart(const struct fb_acceptor *a, const fb_u64 *shim, struct fb_seen *p)
{
	fb_u32 bad, of;
	bool enough = a->size && (double)a->received >= fb_real(shim[FB_PB_K]) * (double)a->size;
	fb_u64 window = shim[FB_PB_LEAST];

	congested(a, shim, &bad, &of);
	if (enough && !bad)
		return;
	if (enough && (double)bad <= fb_real(shim[FB_PB_KAPPA2]) * (double)of)
		window = window_of(a, shim);
	p->window = fb_limited(p->window, window, a->scale);
}

/* The window of the third packet, in packets of the host that opens the connection that acknowledge no data. */
static void limit_first_window(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, struct fb_seen *p)
{
	if (a->first == FB_FIRST_AWAITED) {
		bool unprobed = !a->size && !shim[FB_PB_PEER_HAS_SHIM];
		enum fb_train_verdict verdict = unprobed ? FB_VERDICT_UNPROBED : judge(a, shim);

		a->first = unprobed ? FB_FIRST_NONE : FB_FIRST_LIMITED;
		a->first_window = verdict == FB_VERDICT_PROPORTIONAL ? window_of(a, shim) : shim[FB_PB_LEAST];
		a->stats.verdict = verdict;
		a->answered_at = now;
	}
	if (a->first != FB_FIRST_LIMITED)
		return;
	if ((int)(p->number - (a->isn + 1)) > 0) {
		a->first = FB_FIRST_NONE;
		return;
	}
	p->window = fb_limited(p->window, a->first_window, a->scale);
	if (a->stats.window == FB_NEVER)
		a->stats.window = (fb_u64)p->window << a->scale;
}

bool fb_acceptor_leaves(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out)
{
	if (!a->known)
		return true;
	if (p->flags & FB_SEEN_SYN) {
		/* The SYN-ACK's own ECN bits negotiate: they show whether the guest agreed. */
		a->guest_ecn &= !!(p->flags & FB_SEEN_ECE);
		a->scale = p->scale;
		return on_syn_ack(a, shim, now, p, out);
	}
	limit_first_window(a, shim, now, p);
	if (a->restart == FB_RESTART_RECEIVED) {
		a->restart = FB_RESTART_NONE;
		a->stats.restarts++;
		answer_restart(a, shim, p);
	}
	if (!shim[FB_PB_GUEST_ECN] && a->ce_bytes) {
		/* An exact echo, one bit an ACK. */
		p->flags |= FB_SEEN_ECE;
		a->ce_bytes = 0;
	}
	return true;
}

void fb_acceptor_tick(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, struct fb_shim_out *out)
{
	enum fb_train_verdict verdict;
	fb_u64 window = FB_NEVER;
	struct fb_seen p = a->held;

	if (!a->holds)
		return;
	verdict = verdict_of(a, shim, now);
	if (verdict != FB_VERDICT_UNPROBED && verdict != FB_VERDICT_PROPORTIONAL && now - a->held_since < shim[FB_PB_BETA3])
		return;
	a->holds = 0;
	/* The train was not lost after all. */
	if (verdict == FB_VERDICT_UNPROBED && a->stats.window == FB_NEVER)
		a->stats.verdict = verdict;
	/* Computed once, from the newest train, and then left alone. */
	if (verdict != FB_VERDICT_UNPROBED && !shim[FB_PB_RELEASE_ORIGINAL])
		window = verdict == FB_VERDICT_PROPORTIONAL ? window_of(a, shim) : shim[FB_PB_LEAST];
	limit(a, &p, window, now, now - a->held_since);
	out->send(out, &p);
}

void fb_acceptor_answers(struct fb_acceptor *a, fb_u32 isn)
{
	a->answers = 1;
	a->isn = isn;
}

/* The handshake of the other direction is that of this one. */
static bool takes_handshake(const struct fb_acceptor *a, const fb_u64 *shim)
{
	return a->answers && shim[FB_PB_ANSWERS] && fb_has_acceptor(shim, true);
}

void fb_acceptor_handshake_leaves(struct fb_acceptor *a, const fb_u64 *shim, const struct fb_seen *p)
{
	if (!takes_handshake(a, shim))
		return;
	a->scale = p->scale;
	a->guest_ecn = (p->flags & FB_SEEN_ECE) && (p->flags & FB_SEEN_CWR);
}

void fb_acceptor_handshake_arrives(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, const struct fb_seen *p)
{
	if (!takes_handshake(a, shim) || a->answered_at != FB_NEVER)
		return;
	a->guest_ecn &= !!(p->flags & FB_SEEN_ECE);
	a->known = 1;
	a->seen = now;
	a->first = FB_FIRST_AWAITED;
}
