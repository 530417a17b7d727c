/* SPDX-License-Identifier: GPL-2.0 */
/* Frames and their kinds, types of fields, and maximum lengths in records. */
#ifndef FOREBAY_PROTOCOL_FRAMES_H
#define FOREBAY_PROTOCOL_FRAMES_H

#ifdef __KERNEL__
#include <linux/types.h>
typedef u8 fb_u8; typedef u16 fb_u16; typedef u32 fb_u32; typedef u64 fb_u64;
#else
#include <stdint.h>
typedef uint8_t fb_u8; typedef uint16_t fb_u16; typedef uint32_t fb_u32; typedef uint64_t fb_u64;
#endif

#define FB_PROTOCOL 1
#define FB_FD_IN 3
#define FB_FD_OUT 4
#define FB_NEVER (~(fb_u64)0)
#define FB_NONE (~(fb_u32)0)
/* Most ports that a packet passes from host to host, the host's own among them. */
#define FB_HOPS 24
/* Paths that the data of a connection may take in turn; a power of two. */
#define FB_PATHS 32
/* Numbers of a queue's configuration. */
#define FB_QUEUE 64
/* Numbers of a congestion control. */
#define FB_PARAMS 24
/* Numbers of what tags packets. */
#define FB_TAGS 9
/* Options of a queue discipline of the kernel. */
#define FB_OPTIONS 12
/* Bytes of an IP header without options and the longest TCP header. */
#define FB_HEADER_BYTES 80
/* Numbers of a shim below TCP. */
#define FB_SHIM 28
/* Values of a socket (state.h), and words of its congestion control. */
#define FB_STATE_VALUES 79
#define FB_STATE_PRIVATE 13

enum fb_kind {
	/* Outside to guest, before the run. */
	FB_WORLD = 1,
	FB_PORT,
	FB_SWITCH,
	FB_PROFILE,
	FB_SYSCTL,
	FB_GROUP,
	FB_INTERFACE,
	FB_SHIM_HOST,
	FB_QDISC,
	FB_LISTED_LOSS,
	FB_SETUP_END, /* no record */
	/* Outside to guest, in answer to FB_ASK. */
	FB_OPEN = 32,
	FB_WRITE,
	FB_STOP,
	FB_DATAGRAM,
	FB_NEXT,
	FB_LINK,
	FB_ROUTE,
	FB_CALL, /* packet scripts */
	FB_INJECT,
	FB_RETUNE,
	FB_PATH,
	/* Guest to outside. */
	FB_HELLO = 64,
	FB_PACKET,
	FB_LEAVE,
	FB_TCP,
	FB_TIMER,
	FB_EVENT,
	FB_ASK,
	FB_FINAL,
	FB_DONE,
	FB_LOG, /* records are bytes */
	FB_RESULT, /* packet scripts */
	FB_SENT,
	FB_SHIM_ROW,
	FB_HOST_DROPS,
	FB_HEADER,
	FB_SOCK_STATE,
};

struct fb_frame {
	fb_u32 kind;
	fb_u32 count;
};

#endif
