// SPDX-License-Identifier: GPL-2.0
/* Records the whole state of a socket and of its congestion control (FB_SOCK_STATE), and changes nothing. Two kernels are compared by these records. */
#include <linux/version.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "clock.h"
#include "control.h"
#include "ends.h"
#include "state.h"

#define COUNT(name, value) +1
static_assert(FB_STATE_VALUES == 0 FB_STATE_FIELDS(COUNT));
static_assert(sizeof(((struct fb_sock_state *)0)->private) == ICSK_CA_PRIV_SIZE);

static struct timer_list *fb_timer_of(struct sock *sk)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	return &sk->tcp_retransmit_timer;
#else
	return &inet_csk(sk)->icsk_retransmit_timer;
#endif
}

static struct timer_list *fb_delack_timer_of(struct sock *sk)
{
	return &inet_csk(sk)->icsk_delack_timer;
}

/* Jiffies until a timer expires, from 1 on; 0: it is not set. */
static u64 fb_timer_left(const struct timer_list *timer)
{
	return timer_pending(timer) ? max_t(long, 0, timer->expires - jiffies) + 1 : 0;
}

void fb_state_record(u32 conn, bool receiver, struct sock *sk, enum fb_state_cause cause)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct inet_connection_sock *icsk = inet_csk(sk);
#define VALUE(name, value) (u64)(value),
	struct fb_sock_state state = {
		.time = fb_now(),
		.conn = conn,
		.receiver = receiver,
		.cause = cause,
		.snd_una = tp->snd_una,
		.rcv_nxt = tp->rcv_nxt,
		.value = { FB_STATE_FIELDS(VALUE) },
	};

	if (icsk->icsk_ca_ops)
		strscpy(state.cc, icsk->icsk_ca_ops->name, sizeof(state.cc));
	memcpy(state.private, icsk->icsk_ca_priv, sizeof(state.private));
	fb_record(FB_SOCK_STATE, &state, sizeof(state));
}
