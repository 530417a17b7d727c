/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Classes of service of a sender's packets, by the rules of the simulator's shims `pias`, `prin` and `service`. The rules do not depend on the
 * kernel: a test compares them with those of the simulator.
 */
#ifndef FOREBAY_TAG_H
#define FOREBAY_TAG_H

#include "protocol.h"

/* The most urgent class. */
#define FB_URGENT 7

/* A data segment about to leave, and the message that its first byte belongs to; all in bytes from the start of the stream. */
struct fb_segment {
	fb_u64 offset; /* of its first byte */
	fb_u64 high;   /* highest sent so far, without it */
	fb_u64 begin;  /* of the message */
	fb_u64 end;
	fb_u32 mss;    /* payload of a full segment */
	fb_u32 again;  /* it is a retransmission */
};

/* `tag` is fb_group.tag everywhere. */

/* Class of a data segment. */
static inline fb_u32 fb_tag_data(const fb_u64 *tag, const struct fb_segment *s)
{
	switch (tag[0]) {
	case FB_TAG_SERVICE: /* class */
		return tag[1];
	case FB_TAG_PIAS: { /* 1: counted for each message, 0: for the connection; then seven sizes, FB_NEVER where there are fewer */
		fb_u64 from = tag[1] ? s->begin : 0, to = tag[1] ? s->end : FB_NEVER;
		fb_u64 high = s->high < to ? s->high : to, bytes = high > from ? high - from : 0;
		fb_u32 i, class = FB_URGENT;

		for (i = 0; i < FB_URGENT; i++)
			class -= bytes >= tag[2 + i];
		return class;
	}
	case FB_TAG_PRIN: { /* class of a message's last three segments; 1: of retransmissions too */
		/* Full segments are counted from the first byte of the message. */
		fb_u64 length = s->end - s->begin, last = length % s->mss ? length % s->mss : s->mss;
		fb_u64 tail = length > last + 2 * (fb_u64)s->mss ? s->end - last - 2 * (fb_u64)s->mss : s->begin;

		if ((s->offset >= tail && s->offset < s->end) || (s->again && tag[2]))
			return tag[1];
		return 0;
	}
	}
	return 0;
}

/* Class of a sender's packets without data. */
static inline fb_u32 fb_tag_control(const fb_u64 *tag)
{
	return tag[0] == FB_TAG_PIAS ? FB_URGENT : tag[0] == FB_TAG_SERVICE ? tag[1] : 0;
}

/* Class of what the other end sends. */
static inline fb_u32 fb_tag_answers(const fb_u64 *tag)
{
	return tag[0] == FB_TAG_PIAS ? FB_URGENT : 0;
}

#endif
