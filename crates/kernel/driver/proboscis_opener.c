// SPDX-License-Identifier: GPL-2.0
/*
 * The shim at the end that sends data: probes ahead of the SYN or SYN-ACK, and DCTCP's window kept outside of the guest and written into the ACKs that
 * it receives. Follows crates/sim/src/shim/proboscis/sender.rs and budget.rs function by function.
 */
#include "real.h"
#include "proboscis.h"

static bool after(fb_u32 a, fb_u32 b)
{
	return (int)(a - b) > 0;
}

static fb_u32 later(fb_u32 a, fb_u32 b)
{
	return after(a, b) ? a : b;
}

/* Takes up to `wanted` probes; none if there are fewer than `least`. */
static fb_u32 take(struct fb_shim_budget *budget, const fb_u64 *shim, fb_u64 now, fb_u32 wanted, fb_u32 least)
{
	fb_u64 missing = budget->full_at > now ? budget->full_at - now : 0, full = budget->cost * shim[FB_PB_BURST];
	fb_u64 there = !budget->cost ? shim[FB_PB_BURST] : full > missing ? (full - missing) / budget->cost : 0;
	fb_u64 taken = wanted < there ? wanted : there;

	if (taken < least)
		return 0;
	budget->full_at = (budget->full_at > now ? budget->full_at : now) + budget->cost * taken;
	return taken;
}

/* Removes the entry; what it did stays on the record. */
static void reset(struct fb_opener *o)
{
	*o = (struct fb_opener){ .window = FB_NEVER, .answers = o->answers, .stats = o->stats };
}

void fb_opener_start(struct fb_opener *o)
{
	reset(o);
}

static void touch(struct fb_opener *o, fb_u64 now)
{
	if (now - o->seen > FB_PB_FORGET && o->state == FB_OPENER_OPEN)
		reset(o);
	o->seen = now;
}

/* A train, back to back: copies of the packet behind it that name it. They carry the signal: SYNs are not ECN-capable. */
static void send_probes(struct fb_opener *o, void *body, fb_u32 probes, struct fb_shim_out *out)
{
	struct fb_seen probe = { .number = o->isn, .ecn = FB_ECT0, .batch = o->batch, .size = probes, .body = body };
	fb_u32 i;

	for (i = 0; i < probes; i++)
		out->send(out, &probe);
	o->stats.probes += probes;
}

/* A new train that grows linearly to a cap. False: the budget had not even a first train's worth left. */
static bool repeat_probes(struct fb_opener *o, const fb_u64 *shim, struct fb_shim_budget *budget, fb_u64 now, struct fb_shim_out *out)
{
	fb_u32 trains = o->probe_retry < shim[FB_PB_RETRY_CAP] ? o->probe_retry : shim[FB_PB_RETRY_CAP];
	fb_u32 probes = take(budget, shim, now, shim[FB_PB_GAMMA] * trains, shim[FB_PB_GAMMA]);

	if (!probes)
		return false;
	o->batch++;
	o->probe_retry++;
	send_probes(o, o->syn.body, probes, out);
	return true;
}

static void on_syn(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, const struct fb_seen *p, struct fb_shim_out *out)
{
	/* Another ISN is another connection with the same addresses; the same one is the guest's own repetition: a new train. */
	bool again = o->isn == p->number && o->stats.probes > 0;
	fb_u8 batch = again ? o->batch + 1 : 0;

	if (o->state == FB_OPENER_IDLE || !again) {
		reset(o);
		o->isn = p->number;
		o->probe_retry = 1;
		o->first_syn = now;
	}
	o->batch = batch;
	o->state = FB_OPENER_SYN_SENT;
	o->syn = *p;
	o->last_syn = o->last_probe = o->seen = now;
	send_probes(o, o->syn.body, shim[FB_PB_GAMMA], out);
}

/* A flow begins, after a handshake or a pause: nothing is outstanding. */
static void begin_flow(struct fb_opener *o, const fb_u64 *shim)
{
	o->win_end = o->nxt;
	o->cut_end = o->nxt - 1;
	o->alpha = shim[FB_PB_ALPHA_INIT];
	o->acked = o->marked = o->bytes = 0;
	o->window = FB_NEVER;
	o->restart = FB_RESTART_NONE;
}

/* The handshake is over; data begins at `next`. */
static void open_flow(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, fb_u32 next)
{
	o->state = FB_OPENER_OPEN;
	o->una = o->nxt = next;
	o->last_data = now;
	begin_flow(o, shim);
}

/* The first data after a pause: a train goes ahead of it, and its first ACK brings the window. */
static void on_restart(struct fb_opener *o, const fb_u64 *shim, const struct fb_seen *p, struct fb_shim_out *out)
{
	begin_flow(o, shim);
	if (!fb_has_opener(shim, o->answers))
		return;
	o->batch++;
	o->restart = FB_RESTART_PROBED;
	send_probes(o, p->body, shim[FB_PB_GAMMA], out);
}

/* Limit of an ACK by a restart: the window of the first one, until data sent after it is acknowledged; FB_NEVER: none. */
static fb_u64 restart_limit(struct fb_opener *o, fb_u32 ack, fb_u64 fresh, fb_u64 theirs)
{
	if (o->restart == FB_RESTART_PROBED && fresh) {
		o->restart = FB_RESTART_ANSWERED;
		o->restart_window = theirs;
		o->restart_end = o->nxt;
	} else if (o->restart == FB_RESTART_ANSWERED && after(ack, o->restart_end)) {
		o->restart = FB_RESTART_NONE;
	}
	return o->restart == FB_RESTART_ANSWERED ? o->restart_window : FB_NEVER;
}

void fb_opener_leaves(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out)
{
	touch(o, now);
	if (p->flags & FB_SEEN_SYN) {
		if (fb_has_opener(shim, o->answers))
			on_syn(o, shim, now, p, out);
	} else if (o->state == FB_OPENER_OPEN && p->payload) {
		if (o->una == o->nxt && p->number == o->nxt && now - o->last_data > shim[FB_PB_RESTART_AFTER])
			on_restart(o, shim, p, out);
		o->last_data = now;
		o->nxt = later(o->nxt, p->number + p->payload + !!(p->flags & FB_SEEN_FIN));
		if (!shim[FB_PB_GUEST_ECN] && p->ecn == FB_NOT_ECT)
			p->ecn = FB_ECT0;
	}
}

/* Writes the window, if there is one, into an ACK: the smaller of DCTCP's and that of a restart. */
static void enforce(struct fb_opener *o, const fb_u64 *shim, fb_u64 restart, struct fb_seen *p)
{
	fb_u64 window = o->window < restart ? o->window : restart;
	fb_u32 edge;

	if (window != FB_NEVER) {
		fb_u16 field;

		if (shim[FB_PB_NO_SHRINK] && after(o->edge, p->number + (fb_u32)window))
			window = o->edge - p->number;
		field = fb_limited(p->window, window, o->scale);
		o->stats.throttled += field < p->window;
		p->window = field;
	}
	edge = p->number + ((fb_u32)p->window << o->scale);
	o->edge = shim[FB_PB_NO_SHRINK] ? later(o->edge, edge) : edge;
}

/* The observation window is over: alpha follows the marked share of all bytes acknowledged in it. */
static void observe(struct fb_opener *o, const fb_u64 *shim, const struct fb_seen *p)
{
	double g = fb_real(shim[FB_PB_G]), marked = (double)o->marked / (double)(o->acked ? o->acked : 1);

	if (marked > 1.0)
		marked = 1.0;
	o->alpha = fb_bits((1.0 - g) * fb_real(o->alpha) + g * marked);
	if (!o->marked && o->window != FB_NEVER) {
		o->window += shim[FB_PB_MSS];
		if (o->window >= (fb_u64)p->window << o->scale)
			o->window = FB_NEVER;
	}
	o->acked = o->marked = 0;
	o->win_end = o->nxt;
}

static void on_ack(struct fb_opener *o, const fb_u64 *shim, struct fb_seen *p)
{
	fb_u32 ack = p->number;
	fb_u64 mss = shim[FB_PB_MSS], fresh = after(ack, o->una) ? ack - o->una : 0;
	bool echo = p->flags & FB_SEEN_ECE;

	o->una = later(o->una, ack);
	o->bytes += fresh;
	o->acked += fresh;
	if (echo)
		o->marked += fresh ? fresh : mss;
	if (!shim[FB_PB_GUEST_ECN])
		p->flags &= ~FB_SEEN_ECE;
	/* The flow leaves the table: nothing touches its packets from here on. */
	if (o->bytes > shim[FB_PB_ELEPHANT]) {
		o->state = FB_OPENER_IDLE;
		o->window = FB_NEVER;
		return;
	}
	/* At most one cut a window, on its first echo. */
	if (echo && after(ack, o->cut_end) && fb_real(o->alpha) >= fb_real(shim[FB_PB_KAPPA1])) {
		fb_u64 base = (fb_u64)(o->nxt - ack) + fresh;

		if (base < mss)
			base = mss;
		if (base > o->window)
			base = o->window;
		o->window = fb_whole((double)base * (1.0 - fb_real(o->alpha) / 2.0));
		if (o->window < shim[FB_PB_LEAST])
			o->window = shim[FB_PB_LEAST];
		o->cut_end = o->nxt;
	}
	if (!after(o->win_end, ack))
		observe(o, shim, p);
	enforce(o, shim, restart_limit(o, ack, fresh, (fb_u64)p->window << o->scale), p);
}

void fb_opener_arrives(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, struct fb_seen *p)
{
	touch(o, now);
	if (o->state == FB_OPENER_SYN_SENT && p->flags & FB_SEEN_SYN) {
		o->scale = p->scale;
		open_flow(o, shim, now, p->number);
		o->edge = p->number + p->window;
	} else if (o->state == FB_OPENER_SYN_RECEIVED) {
		open_flow(o, shim, now, p->number);
		o->edge = p->number + ((fb_u32)p->window << o->scale);
	} else if (o->state == FB_OPENER_OPEN && !(p->flags & FB_SEEN_SYN)) {
		on_ack(o, shim, p);
	}
}

void fb_opener_tick(struct fb_opener *o, const fb_u64 *shim, struct fb_shim_budget *budget, fb_u64 now, struct fb_shim_out *out)
{
	if (o->state != FB_OPENER_SYN_SENT)
		return;
	if (now - o->first_syn > shim[FB_PB_MAX_TIME]) {
		/* The shim gives up: the guest's own SYN starts afresh. */
		fb_u32 isn = o->isn;
		fb_u8 batch = o->batch;

		reset(o);
		o->isn = isn;
		o->batch = batch;
	} else if (now - o->last_syn >= shim[FB_PB_BETA2]) {
		repeat_probes(o, shim, budget, now, out);
		o->last_syn = o->last_probe = now;
		o->stats.syns++;
		out->send(out, &o->syn);
	} else if (now - o->last_probe >= shim[FB_PB_BETA1] && repeat_probes(o, shim, budget, now, out)) {
		o->last_probe = now;
	}
}

void fb_opener_answers(struct fb_opener *o, fb_u32 isn)
{
	o->answers = 1;
	o->isn = isn;
}

/* A train goes ahead of the SYN-ACK, unless the connection is open and the SYN-ACK a late copy. */
void fb_opener_handshake_leaves(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, const struct fb_seen *p, struct fb_shim_out *out)
{
	if (o->state != FB_OPENER_SYN_RECEIVED)
		return;
	touch(o, now);
	if (o->stats.probes)
		o->batch++;
	send_probes(o, p->body, shim[FB_PB_GAMMA], out);
}

/* The SYN alone announces the scale of its sender's windows. */
void fb_opener_handshake_arrives(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, const struct fb_seen *p)
{
	if (!o->answers || !shim[FB_PB_ANSWERS] || !fb_has_opener(shim, true) || o->state != FB_OPENER_IDLE)
		return;
	o->state = FB_OPENER_SYN_RECEIVED;
	o->scale = p->scale;
	o->seen = now;
}
