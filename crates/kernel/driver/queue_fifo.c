// SPDX-License-Identifier: GPL-2.0
/* FIFOs that decide by the queue as it is: drop-tail, DCTCP's step, a link that loses packets, and drop precedence. */
#include "random.h"
#include "queue.h"

/* Drop-tail. No parameters. */

static size_t no_state(const fb_u64 *param)
{
	return 0;
}

static void no_start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
}

static int drop_tail(void *state, const struct fb_state *port, const struct fb_queued *packet)
{
	return fb_fits(port, packet->wire) ? FB_ACCEPT : FB_DROP + FB_OVERFLOW;
}

const struct fb_queue fb_drop_tail = { .size = no_state, .start = no_start, .arrive = drop_tail };

/* DCTCP's step. param: K (a length), whether packets that cannot be marked are dropped from K on. */

struct step {
	struct fb_length k;
	bool drop_non_ect;
};

static size_t step_size(const fb_u64 *param)
{
	return sizeof(struct step);
}

static void step_start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct step *s = state;

	s->k = fb_length_of(param[0]);
	s->drop_non_ect = param[1];
}

static int step_arrive(void *state, const struct fb_state *port, const struct fb_queued *packet)
{
	struct step *s = state;

	if (!fb_fits(port, packet->wire))
		return FB_DROP + FB_OVERFLOW;
	if (s->drop_non_ect && packet->ecn == FB_NOT_ECT && fb_reaches(port->queue, s->k))
		return FB_DROP + FB_EARLY;
	return fb_step(port->queue, s->k, packet->ecn);
}

const struct fb_queue fb_dctcp_step = { .size = step_size, .start = step_start, .arrive = step_arrive };

/* A link that loses packets. param: probability in units of 2^-53, rounded up; K (a length). */

struct lossy {
	fb_u64 lost_below;
	struct fb_length k;
	struct fb_random random;
};

static size_t lossy_size(const fb_u64 *param)
{
	return sizeof(struct lossy);
}

static void lossy_start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct lossy *l = state;

	l->lost_below = param[0];
	l->k = fb_length_of(param[1]);
	for (int i = 0; i < 4; i++)
		l->random.s[i] = random[i];
}

static int lossy_arrive(void *state, const struct fb_state *port, const struct fb_queued *packet)
{
	struct lossy *l = state;

	if (fb_unit_bits(&l->random) < l->lost_below)
		return FB_DROP + FB_EARLY;
	if (!fb_fits(port, packet->wire))
		return FB_DROP + FB_OVERFLOW;
	return fb_step(port->queue, l->k, packet->ecn);
}

const struct fb_queue fb_lossy = { .size = lossy_size, .start = lossy_start, .arrive = lossy_arrive };

/* Drop precedence: high packets have a reserve of places. param: the lowest high class; limit of high packets, buffer and reserve (a length);
 * K (a length). */

struct protect {
	fb_u64 high;
	struct fb_length limit, k;
};

static size_t protect_size(const fb_u64 *param)
{
	return sizeof(struct protect);
}

static void protect_start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct protect *p = state;

	p->high = param[0];
	p->limit = fb_length_of(param[1]);
	p->k = fb_length_of(param[2]);
}

static int protect_arrive(void *state, const struct fb_state *port, const struct fb_queued *packet)
{
	struct protect *p = state;
	struct fb_state reserved = *port;

	reserved.limit = p->limit;
	if (!fb_fits(packet->class_of_service >= p->high ? &reserved : port, packet->wire))
		return FB_DROP + FB_OVERFLOW;
	return fb_step(port->queue, p->k, packet->ecn);
}

const struct fb_queue fb_protect = { .size = protect_size, .start = protect_start, .arrive = protect_arrive };
