/* SPDX-License-Identifier: GPL-2.0 */
/* Included before the files of congestion controls that draw random numbers. In all of them `sk` is the socket (draws.c). */
#include <linux/random.h>
#include <net/sock.h>

u32 forebay_random_u32(const struct sock *sk);
u32 forebay_random_u32_below(const struct sock *sk, u32 bound);

#define get_random_u32() forebay_random_u32(sk)
#define get_random_u32_below(bound) forebay_random_u32_below(sk, bound)
/* Linux 6.1 (tcp_bbr.c). */
#define prandom_u32_max(bound) forebay_random_u32_below(sk, bound)
