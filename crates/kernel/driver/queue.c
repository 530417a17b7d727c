// SPDX-License-Identifier: GPL-2.0
/* The disciplines by number. */
#include "queue.h"

const struct fb_queue *fb_queue_of(fb_u32 discipline)
{
	static const struct fb_queue *const all[FB_DISCIPLINES] = {
		[FB_DROP_TAIL] = &fb_drop_tail,
		[FB_DCTCP_STEP] = &fb_dctcp_step,
		[FB_RED] = &fb_red,
		[FB_LOSSY] = &fb_lossy,
		[FB_PROTECT] = &fb_protect,
		[FB_STRICT_PRIORITY] = &fb_strict_priority,
		[FB_DWRR] = &fb_dwrr,
		[FB_WFQ] = &fb_wfq,
		[FB_CHOKE] = &fb_choke,
		[FB_PUSHOUT] = &fb_pushout,
		[FB_CODEL] = &fb_codel,
		[FB_FQ_CODEL] = &fb_fq_codel,
		[FB_PIE] = &fb_pie,
	};

	return discipline < FB_DISCIPLINES ? all[discipline] : NULL;
}
