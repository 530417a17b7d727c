/* SPDX-License-Identifier: GPL-2.0 */
/* flow_hash.c: hashes of flows in the queue disciplines of hosts. */
#ifndef FOREBAY_FLOW_HASH_H
#define FOREBAY_FLOW_HASH_H

#include <linux/types.h>

/* Sockets that are made from now on send the packets of connection `conn` in this direction. */
void fb_flow_hash_for(u32 conn, bool back);
/* Number of the path of a packet with this hash. */
u32 fb_path_of(u32 hash);

#endif
