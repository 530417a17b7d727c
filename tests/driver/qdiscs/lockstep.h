/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One port, twice: a core of the driver and a qdisc of the kernel get the same packets at the same times and serve them at the same times. The
 * file that includes this one gives both (`setup`, `push_both`, `pop_both`); a program takes the number of its first sequence and how many
 * there are, and prints what happened in all of them.
 */
#ifndef FOREBAY_LOCKSTEP_H
#define FOREBAY_LOCKSTEP_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "queue.h"
#include "random.h"

#define PACKETS 4096

/* The bits of a double, as a number of a configuration. */
static inline fb_u64 fb_bits(double real)
{
	fb_u64 bits;

	memcpy(&bits, &real, sizeof(bits));
	return bits;
}

/* The disciplines in Rust, which the program calls cores (inspect.rs). */
struct setting {
	const char *key;
	fb_u64 number;
};

void queue_config(const char *kind, const struct setting *settings, size_t count, fb_u64 *words);

/* A length in packets, as a number of a configuration. */
#define IN_PACKETS ((fb_u64)1 << 63)

/* A queue without limit, in the place of `old`. */
static inline struct fb_queue *new_queue(struct fb_queue *old, const char *kind, const struct setting *settings, size_t count, fb_u64 rate,
					 const fb_u64 *random)
{
	const struct fb_length unlimited = { FB_NONE, FB_NEVER };
	const fb_u64 any[4] = { 1, 2, 3, 4 };
	fb_u64 words[FB_QUEUE];

	if (old)
		fb_queue_free(old);
	queue_config(kind, settings, count, words);
	return fb_queue_new(words, &unlimited, rate, random ? random : any);
}
#define NEW_QUEUE(old, kind, settings, rate, random) \
	new_queue(old, kind, settings, sizeof(settings) / sizeof(*(settings)), rate, random)

/* Uniform in [0, 1). */
static inline double fb_unit(struct fb_random *r)
{
	return (double)(fb_next(r) >> 11) * (1.0 / 9007199254740992.0);
}

/* The square root in CoDel's control law. */
double noted_root(double count);

/* A packet of both. */
struct packet {
	struct fb_queued core; /* must be first: cores hand it back */
	struct sk_buff skb;
	bool marked, dropped; /* by the core */
	bool done;	      /* it has left, or its fate has been compared */
};

static struct packet packets[PACKETS];
static struct packet *serving; /* whose bits are on the wire; NULL: the port is idle */
static fb_u64 byte_ns;	       /* time of a byte on the wire */
static fb_u32 sent;	 /* how many of them have arrived */
static fb_u64 sequence; /* number */
static struct fb_random draws;
static struct {
	unsigned long long packets, marks, drops;
} tally;

static void fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	printf("sequence %llu, after %u packets at %llu ns: ", (unsigned long long)sequence, sent, (unsigned long long)kernel_now);
	vprintf(format, list);
	printf("\n");
	va_end(list);
	exit(1);
}

static void on_mark(struct fb_effects *effects, struct fb_queued *packet)
{
	(void)effects;
	((struct packet *)packet)->marked = true;
}

static void on_drop(struct fb_effects *effects, struct fb_queued *packet, enum fb_reason reason)
{
	(void)effects;
	(void)reason;
	((struct packet *)packet)->dropped = true;
}

static struct fb_effects effects __attribute__((unused)) = { on_mark, on_drop };

/* At the end: what else is to be said or held. */
static void finish(void);

/* The third argument of the program; NULL: none. */
static const char *mode;

/* Functions of the including file. `setup` draws parameters and returns the unit of time in ns. */
static fb_u32 setup(void);
static void push_both(struct packet *packet);
/* The packet that leaves; NULL: none is left. */
static struct packet *pop_both(void);
/* Before anything that happens now: what was due since the last time. */
static void pass_time(void);

static fb_u64 now_ps(void)
{
	return kernel_now * 1000;
}

/* The marks and drops of all packets that wait or have just left are the same. */
static void compare_fates(void)
{
	static fb_u32 first;

	if (first > sent)
		first = 0;
	for (fb_u32 i = first; i < sent; i++) {
		struct packet *p = &packets[i];
		bool marked = p->skb.ecn == FB_CE && p->core.ecn != FB_CE;

		if (p->done) {
			if (i == first)
				first++;
			continue;
		}
		if (p->dropped != p->skb.dropped)
			fail("packet %u is dropped by %s only", i, p->dropped ? "the core" : "the kernel");
		/* A mark on CE changes nothing, and a dropped packet has none. */
		if (!p->dropped && p->core.ecn != FB_CE && p->marked != marked)
			fail("packet %u is marked by %s only", i, p->marked ? "the core" : "the kernel");
		if (p->dropped) {
			p->done = true;
			tally.drops++;
		}
	}
}

static void left(struct packet *p)
{
	p->done = true;
	tally.marks += p->marked && p->core.ecn != FB_CE;
}

static void run_sequence(void)
{
	fb_u32 unit, count = 200 + (fb_u32)fb_below(&draws, PACKETS - 200), flows = 1 + (fb_u32)fb_below(&draws, 12);
	fb_u64 gap, free_at = 0, next;
	fb_u32 largest;

	memset(packets, 0, sizeof(packets));
	sent = 0;
	serving = NULL;
	/* From 1 Gbit/s down to 8 Mbit/s. */
	byte_ns = 8 << fb_below(&draws, 8);
	unit = setup();
	largest = (fb_u32[]){ 200, 1514, 9014 }[fb_below(&draws, 3)];
	/* From a third of the link's rate to three times that. */
	gap = byte_ns * (largest + 64) / 2 * (33 + fb_below(&draws, 267)) / 100;
	kernel_now = unit;
	next = kernel_now;
	while (sent < count) {
		if (serving && free_at <= next) {
			kernel_now = free_at;
			pass_time();
			serving = pop_both();
		} else {
			struct packet *p = &packets[sent];

			kernel_now = next;
			pass_time();
			p->core.wire = 64 + (fb_u32)fb_below(&draws, largest - 63);
			p->core.ecn = (fb_u8[]){ FB_NOT_ECT, FB_ECT0, FB_ECT0, 1, FB_CE }[fb_below(&draws, 5)];
			p->core.flow = fb_below(&draws, flows) * 0x100000003;
			p->core.since = now_ps();
			p->skb.len = p->core.wire;
			p->skb.truesize = p->core.wire;
			p->skb.ecn = p->core.ecn;
			sent++;
			tally.packets++;
			push_both(p);
			compare_fates();
			/* Bursts, steady times and pauses. */
			switch (fb_below(&draws, 200)) {
			case 0:
				next += gap * fb_below(&draws, 300);
				break;
			case 1:
				next += gap * fb_below(&draws, 30);
				break;
			default:
				if (fb_below(&draws, 10))
					next += fb_below(&draws, 2 * gap);
			}
			next = next / unit * unit;
			if (serving)
				continue;
			serving = pop_both();
		}
		compare_fates();
		if (serving) {
			left(serving);
			free_at = kernel_now + (serving->core.wire * byte_ns / unit + 1) * unit;
		}
	}
}

int main(int count, char **arguments)
{
	fb_u64 first = count > 1 ? strtoull(arguments[1], NULL, 10) : 0;
	fb_u64 many = count > 2 ? strtoull(arguments[2], NULL, 10) : 100;

	mode = count > 3 ? arguments[3] : NULL;
	for (sequence = first; sequence < first + many; sequence++) {
		draws = fb_stream(42, (fb_u64[]){ sequence }, 1);
		run_sequence();
	}
	printf("%llu packets %llu marks %llu drops\n", tally.packets, tally.marks, tally.drops);
	finish();
	return 0;
}

#endif
