// SPDX-License-Identifier: GPL-2.0
/*
 * Hash of a flow in the queue disciplines of hosts (sk_txhash, by which fq_codel selects a queue). The kernel draws it for each socket, from a
 * generator that depends on the duration of the boot. Here it equals the hash in the simulator's queue at the same port, so that the same flows
 * share a queue. The build redirects get_random_u32() to forebay_flow_hash() (src/compile.rs); net_tx_rndhash() is its only caller in the files of
 * TCP and UDP.
 *
 * Some bits of the hash count its changes (rehash.h). Their value is the number of the path in the list of the program outside. fq_codel scales the
 * hash down by its upper bits, and fq takes the lowest ten for SYN-ACKs (`orphan_mask` in fq_classify). So the counter has the bits between these.
 */
#include <net/sock.h>
#include "flow_hash.h"
#include "random.h"
#include "setup.h"
#include "paths.h"

u32 forebay_flow_hash(void);
bool forebay_rethink_txhash(struct sock *sk);

#define PATH_SHIFT 10
#define PATH_MASK ((FB_PATHS - 1) << PATH_SHIFT)

/* Connection and direction of the packets of the socket that is being made. */
static u32 connection;
static bool direction;

void fb_flow_hash_for(u32 conn, bool back)
{
	connection = conn;
	direction = back;
}

u32 forebay_flow_hash(void)
{
	const struct fb_direction *state;
	struct fb_random random;

	if (fb_script() || connection >= fb_paths_count())
		return 1;
	state = fb_direction(connection, direction);
	for (int i = 0; i < 4; i++)
		random.s[i] = fb_setup.ports[state->ports[0]].queue_random[i];
	/* As FqCodel::bucket of the crate `queues`; reciprocal_scale() makes the number of a queue of it. */
	return (fb_mix(state->flow ^ fb_next(&random)) >> 32) & ~PATH_MASK;
}

/* As sk_rethink_txhash(). */
bool forebay_rethink_txhash(struct sock *sk)
{
	u32 hash = sk->sk_txhash;

	if (!hash || sk->sk_txrehash != SOCK_TXREHASH_ENABLED)
		return false;
	WRITE_ONCE(sk->sk_txhash, (hash & ~PATH_MASK) | ((hash + (1 << PATH_SHIFT)) & PATH_MASK));
	return true;
}

u32 fb_path_of(u32 hash)
{
	return (hash & PATH_MASK) >> PATH_SHIFT;
}
