/* SPDX-License-Identifier: GPL-2.0 */
/* script.c: packet scripts. */
#ifndef FOREBAY_SCRIPT_H
#define FOREBAY_SCRIPT_H

#include <linux/skbuff.h>
#include "protocol.h"

void fb_script_call(const struct fb_call *call);
void fb_script_inject(const struct fb_inject *inject);
/* A packet has left interface 0, the only one. Takes the skb over. */
void fb_script_leaves(struct sk_buff *skb, u32 node);

#endif
