/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before the files that change the hash of a socket (sk_rethink_txhash) because of congestion or a timeout. The kernel decides the time of
 * the change. The new hash is computed from the old one (flow_hash.c), so that the same scenario and seed give the same paths.
 */
#define sk_rethink_txhash forebay_kernel_rethink_txhash
#include "draws.h"
#undef sk_rethink_txhash

bool forebay_rethink_txhash(struct sock *sk);

#define sk_rethink_txhash(sk) forebay_rethink_txhash(sk)
