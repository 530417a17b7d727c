// SPDX-License-Identifier: GPL-2.0
/* Records the state of the sender's TCP on every ACK and when its retransmission timer expires, and changes nothing. */
#include <linux/inet_diag.h>
#include <linux/version.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "clock.h"
#include "control.h"
#include "ends.h"
#include "wire.h"

void fb_watch_before(const struct fb_conn *conn, struct fb_before *before)
{
	const struct tcp_sock *tp;

	if (!conn->sender)
		return;
	tp = tcp_sk(conn->sender->sk);
	before->srtt_us = tp->srtt_us;
	before->mdev_us = tp->mdev_us;
	before->delivered = tp->delivered;
	before->snd_una = tp->snd_una;
	before->snd_wnd = tp->snd_wnd;
}

bool fb_watch_is_news(const struct fb_conn *conn, const struct fb_before *before, bool ece)
{
	const struct tcp_sock *tp;

	if (!conn->sender)
		return false;
	tp = tcp_sk(conn->sender->sk);
	return ece || tp->snd_una != before->snd_una || tp->snd_wnd != before->snd_wnd;
}

/*
 * The round-trip time that the ACK measured, from what the estimator made of it: srtt += rtt - srtt / 8, in eighths of a microsecond
 * (tcp_input.c, tcp_rtt_estimator); the deviation changes with every sample as well.
 */
static u32 sample(const struct tcp_sock *tp, const struct fb_before *before)
{
	if (!before->srtt_us)
		return tp->srtt_us ? tp->srtt_us >> 3 : FB_NONE;
	if (tp->srtt_us == before->srtt_us && tp->mdev_us == before->mdev_us)
		return FB_NONE;
	return tp->srtt_us - before->srtt_us + (before->srtt_us >> 3);
}

/* The state that the congestion control reports (as `ss -i` prints it): DCTCP's estimate of marking, and the model of BBR. */
static void report_cc(struct sock *sk, struct fb_tcp *tcp)
{
	const struct tcp_congestion_ops *cc = inet_csk(sk)->icsk_ca_ops;
	const u32 wanted = 1 << (INET_DIAG_DCTCPINFO - 1) | 1 << (INET_DIAG_BBRINFO - 1);
	union tcp_cc_info info;
	int kind = 0;

	if (!cc->get_info || !cc->get_info(sk, wanted, &kind, &info))
		return;
	if (kind == INET_DIAG_DCTCPINFO && info.dctcp.dctcp_enabled)
		tcp->alpha = info.dctcp.dctcp_alpha;
	if (kind == INET_DIAG_BBRINFO) {
		tcp->bbr_bw = (u64)info.bbr.bbr_bw_hi << 32 | info.bbr.bbr_bw_lo;
		tcp->bbr_min_rtt = info.bbr.bbr_min_rtt;
		tcp->bbr_pacing_gain = info.bbr.bbr_pacing_gain;
		tcp->bbr_cwnd_gain = info.bbr.bbr_cwnd_gain;
	}
}

/* Time so far in this state, in microseconds (tcp.c, tcp_get_info_chrono_stats). */
static u64 chrono(const struct tcp_sock *tp, enum tcp_chrono type)
{
	u64 time = tp->chrono_stat[type - 1];

	if (tp->chrono_type == type)
		time += tcp_jiffies32 - tp->chrono_start;
	return time * (USEC_PER_SEC / HZ);
}

static void record(const struct fb_conn *conn, u32 rtt_us, bool ece)
{
	struct sock *sk = conn->sender->sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct fb_tcp tcp = {
		.time = fb_now(),
		.conn = conn->number,
		.cwnd = tcp_snd_cwnd(tp),
		.ssthresh = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH ? FB_NONE : tp->snd_ssthresh,
		.srtt_us8 = tp->srtt_us,
		.rttvar_us4 = tp->rttvar_us,
		.rto_us = jiffies_to_usecs(icsk->icsk_rto),
		.acked = fb_tcp_acked(conn),
		.unacked = tp->snd_nxt - tp->snd_una,
		.packets_out = tp->packets_out,
		.sacked_out = tp->sacked_out,
		.lost_out = tp->lost_out,
		.retrans_out = tp->retrans_out,
		.total_retrans = tp->total_retrans,
		.rtt_us = rtt_us,
		.snd_wnd = tp->snd_wnd,
		.alpha = FB_NONE,
		.ca_state = icsk->icsk_ca_state,
		.ece = ece,
		.backoff = icsk->icsk_backoff,
		.rwnd_limited_us = chrono(tp, TCP_CHRONO_RWND_LIMITED),
		.sndbuf_limited_us = chrono(tp, TCP_CHRONO_SNDBUF_LIMITED),
		.pacing_rate = sk->sk_pacing_rate,
		.bbr_bw = FB_NEVER,
		.bbr_min_rtt = FB_NONE,
	};

	report_cc(sk, &tcp);
	fb_record(FB_TCP, &tcp, sizeof(tcp));
}

void fb_watch_ack(const struct fb_conn *conn, const struct fb_before *before, bool ece)
{
	if (conn->sender && fb_setup.world.records & FB_RECORD_TCP)
		record(conn, sample(tcp_sk(conn->sender->sk), before), ece);
}

/* Timers. The stack's timer function is called through ours, which looks at the counters of the namespace before and after. */

static void (*stack_timer)(struct timer_list *timer);

static unsigned long counter(struct sock *sk, int which)
{
	return raw_cpu_read(sock_net(sk)->mib.net_statistics->mibs[which]);
}

static struct timer_list *timer_of(struct sock *sk)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	return &sk->tcp_retransmit_timer;
#else
	return &inet_csk(sk)->icsk_retransmit_timer;
#endif
}

static struct sock *sock_of(struct timer_list *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	return container_of(timer, struct sock, tcp_retransmit_timer);
#else
	return (struct sock *)container_of(timer, struct inet_connection_sock, icsk_retransmit_timer);
#endif
}

static void on_timer(struct timer_list *timer)
{
	struct sock *sk = sock_of(timer);
	const struct fb_conn *conn = fb_sends(sk->sk_user_data, sk);
	unsigned long timeouts, probes, persists;
	bool reordering;
	struct fb_timer seen;

	if (!conn) {
		stack_timer(timer);
		return;
	}
	fb_wire_settle();
	seen = (struct fb_timer){
		.time = fb_now(),
		.conn = conn->number,
		.rto_us = jiffies_to_usecs(inet_csk(sk)->icsk_rto),
		.backoff = inet_csk(sk)->icsk_backoff,
		.packets_out = tcp_sk(sk)->packets_out,
	};
	timeouts = counter(sk, LINUX_MIB_TCPTIMEOUTS);
	probes = counter(sk, LINUX_MIB_TCPLOSSPROBES);
	persists = counter(sk, LINUX_MIB_TCPWINPROBE);
	/* No counter counts it (tcp_rack_reo_timeout); tcp_write_timer_handler returns before the timer is due. */
	reordering = inet_csk(sk)->icsk_pending == ICSK_TIME_REO_TIMEOUT && !time_after(inet_csk(sk)->icsk_timeout, jiffies);
	seen.kind = sk->sk_state == TCP_SYN_SENT ? FB_TIMER_SYN : FB_TIMER_RTO;
	sock_hold(sk); /* the timer's own reference is given up in there */
	stack_timer(timer);
	if (fb_setup.world.records & FB_RECORD_STATES)
		fb_state_record(conn->number, false, sk, FB_STATE_TIMEOUT);
	if (counter(sk, LINUX_MIB_TCPLOSSPROBES) != probes)
		seen.kind = FB_TIMER_PROBE;
	else if (counter(sk, LINUX_MIB_TCPWINPROBE) != persists)
		seen.kind = FB_TIMER_PERSIST;
	else if (reordering)
		seen.kind = FB_TIMER_REORDERING;
	else if (counter(sk, LINUX_MIB_TCPTIMEOUTS) == timeouts)
		goto out;
	fb_record(FB_TIMER, &seen, sizeof(seen));
out:
	sock_put(sk);
}

void fb_watch_timer(struct sock *sk)
{
	stack_timer = timer_of(sk)->function;
	timer_of(sk)->function = on_timer;
}

void fb_watch_synack(u32 conn, const struct sk_buff *skb)
{
	const struct request_sock *request = inet_reqsk(skb->sk);
	struct fb_timer seen = { .time = fb_now(), .conn = conn, .kind = FB_TIMER_SYN };

	if (!skb->sk || skb->sk->sk_state != TCP_NEW_SYN_RECV)
		return;
	/* Counts up after the SYN-ACK has entered the queue of the host, and before the timer is set again (reqsk_timer_handler). */
	seen.backoff = request->num_timeout;
	if (timer_pending(&request->rsk_timer)) {
		if (!request->num_timeout)
			return; /* the first one, which has waited in that queue */
		seen.backoff--;
	}
	seen.rto_us = jiffies_to_usecs(request->timeout) << min(seen.backoff, 6u);
	seen.packets_out = 1;
	fb_wire_settle();
	fb_record(FB_TIMER, &seen, sizeof(seen));
}

u64 fb_watch_received(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 received = tp->bytes_received - sock_flag(sk, SOCK_DONE); /* counts a FIN as a byte (tcp_rcv_nxt_update) */
	struct rb_node *node;

	for (node = rb_first(&tp->out_of_order_queue); node; node = rb_next(node)) {
		const struct sk_buff *skb = rb_to_skb(node);

		received += TCP_SKB_CB(skb)->end_seq - TCP_SKB_CB(skb)->seq;
	}
	return received;
}

void fb_watch_end(const struct fb_conn *conn)
{
	if (conn->sender && !conn->datagrams)
		record(conn, FB_NONE, false);
}

void fb_watch_final(const struct fb_conn *conn)
{
	struct fb_final final = { .conn = conn->number, .delivered = conn->delivered, .received = conn->received, .acked = fb_tcp_acked(conn) };

	if (conn->datagrams)
		return;
	fb_watch_end(conn);
	if (conn->receiver)
		final.received = fb_watch_received(conn->receiver->sk);
	fb_record(FB_FINAL, &final, sizeof(final));
}
