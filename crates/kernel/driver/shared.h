/* SPDX-License-Identifier: GPL-2.0 */
/* The shared packet memory of a switch, as in the crate `queues` (shared_buffer.rs). */
#ifndef FOREBAY_SHARED_H
#define FOREBAY_SHARED_H

#include "queue.h"

/* param of fb_switch: bytes of the pool; FB_STATIC or FB_DYNAMIC; bytes that a port may hold, or the bits of the factor (a double) on what is
 * free (dynamic threshold: Choudhury and Hahne 1998). */
enum fb_policy { FB_STATIC, FB_DYNAMIC };

/* Whether a packet may join a port that holds `port_bytes`, while all ports together hold `used`. */
bool fb_shared_admits(const fb_u64 *param, fb_u64 used, fb_u64 port_bytes, fb_u64 wire);

#endif
