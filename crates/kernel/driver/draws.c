// SPDX-License-Identifier: GPL-2.0
/*
 * Random draws of the kernel's congestion controls (bbr: the phase of its gain cycle; cdg: its decision to back off; trim: its waits). The kernel's own
 * generator depends on its command line and on the size of its memory, for any seed. A stream of the scenario's seed for each connection replaces it
 * here, the one that the simulator draws from: the build includes draws.h into the files of these congestion controls (src/compile.rs).
 */
#include <net/sock.h>
#include "ends.h"
#include "random.h"
#include "setup.h"
#include "draws.h"
#undef get_random_u32
#undef get_random_u32_below

/* RngStream::CongestionControl (crates/experiment/src/streams.rs). */
#define CONGESTION_CONTROL 5

/* Sockets without a connection of the scenario, as those of packet scripts, share a stream. */
static u32 drawn_without;

/* The next number of the connection of `sk`. */
static u64 draw(const struct sock *sk, u64 bound)
{
	struct fb_conn *conn = sk->sk_mark ? fb_conn(sk->sk_mark - 1) : NULL;
	const u64 tags[] = { CONGESTION_CONTROL, conn ? conn->outside : ~0u, ~0ull };
	struct fb_random stream = fb_stream(fb_setup.world.seed, tags, ARRAY_SIZE(tags));
	u32 *drawn = conn ? &conn->drawn : &drawn_without;

	for (u32 i = 0; i < *drawn; i++)
		fb_next(&stream);
	++*drawn;
	return bound ? fb_below(&stream, bound) : fb_next(&stream);
}

u32 forebay_random_u32(const struct sock *sk)
{
	return draw(sk, 0) >> 32;
}

u32 forebay_random_u32_below(const struct sock *sk, u32 bound)
{
	return draw(sk, bound);
}
