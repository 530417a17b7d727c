/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of a TCP socket that FB_SOCK_STATE records, as F(name, value): names are those of the kernel's sources, so that a reader can look them up there.
 * `tp`, `icsk` and `sk` are the socket. Sequence numbers are relative: initial numbers differ between kernels. Instants are relative to now.
 * The program reads the names from this file (src/state.rs); FB_STATE_VALUES counts them.
 */
#ifndef FOREBAY_STATE_H
#define FOREBAY_STATE_H

#define FB_STATE_FIELDS(F) \
	F(snd_cwnd, tcp_snd_cwnd(tp)) \
	F(snd_ssthresh, tp->snd_ssthresh) \
	F(icsk_ca_state, icsk->icsk_ca_state) \
	F(snd_cwnd_cnt, tp->snd_cwnd_cnt) \
	F(prior_cwnd, tp->prior_cwnd) \
	F(prior_ssthresh, tp->prior_ssthresh) \
	F(is_cwnd_limited, tp->is_cwnd_limited) \
	F(max_packets_out, tp->max_packets_out) \
	F(reordering, tp->reordering) \
	F(reord_seen, tp->reord_seen) \
	F(rack.rtt_us, tp->rack.rtt_us) \
	F(rack.reo_wnd_steps, tp->rack.reo_wnd_steps) \
	F(rack.reo_wnd_persist, tp->rack.reo_wnd_persist) \
	F(rack.dsack_seen, tp->rack.dsack_seen) \
	F(rack.mstamp, tp->rack.mstamp ? tp->tcp_mstamp - tp->rack.mstamp : 0) \
	F(dsack_dups, tp->dsack_dups) \
	F(lost_out, tp->lost_out) \
	F(lost, tp->lost) \
	F(sacked_out, tp->sacked_out) \
	F(retrans_out, tp->retrans_out) \
	F(total_retrans, tp->total_retrans) \
	F(prr_delivered, tp->prr_delivered) \
	F(prr_out, tp->prr_out) \
	F(high_seq, tp->high_seq ? (u32)(tp->high_seq - tp->snd_una) : 0) \
	F(undo_marker, tp->undo_marker ? (u32)(tp->undo_marker - tp->snd_una) : 0) \
	F(undo_retrans, (u32)tp->undo_retrans) \
	F(tlp_high_seq, tp->tlp_high_seq ? (u32)(tp->tlp_high_seq - tp->snd_una) : 0) \
	F(tlp_retrans, tp->tlp_retrans) \
	F(frto, tp->frto) \
	F(is_sack_reneg, tp->is_sack_reneg) \
	F(srtt_us, tp->srtt_us) \
	F(mdev_us, tp->mdev_us) \
	F(mdev_max_us, tp->mdev_max_us) \
	F(rttvar_us, tp->rttvar_us) \
	F(rtt_min, tcp_min_rtt(tp)) \
	F(icsk_rto, icsk->icsk_rto) \
	F(icsk_backoff, icsk->icsk_backoff) \
	F(icsk_retransmits, icsk->icsk_retransmits) \
	F(icsk_probes_out, icsk->icsk_probes_out) \
	F(icsk_pending, icsk->icsk_pending) \
	F(icsk_retransmit_timer, fb_timer_left(fb_timer_of(sk))) \
	F(sk_pacing_rate, sk->sk_pacing_rate) \
	F(sk_pacing_status, sk->sk_pacing_status) \
	F(tcp_wstamp_ns, max_t(s64, 0, tp->tcp_wstamp_ns - tp->tcp_clock_cache)) \
	F(delivered, tp->delivered) \
	F(delivered_ce, tp->delivered_ce) \
	F(app_limited, tp->app_limited) \
	F(rate_delivered, tp->rate_delivered) \
	F(rate_interval_us, tp->rate_interval_us) \
	F(rate_app_limited, tp->rate_app_limited) \
	F(ecn_flags, tp->ecn_flags) \
	F(packets_out, tp->packets_out) \
	F(snd_nxt, (u32)(tp->snd_nxt - tp->snd_una)) \
	F(bytes_acked, tp->bytes_acked) \
	F(bytes_sent, tp->bytes_sent) \
	F(bytes_retrans, tp->bytes_retrans) \
	F(data_segs_out, tp->data_segs_out) \
	F(snd_wnd, tp->snd_wnd) \
	F(max_window, tp->max_window) \
	F(mss_cache, tp->mss_cache) \
	F(gso_segs, tp->gso_segs) \
	F(sk_sndbuf, (u32)sk->sk_sndbuf) \
	F(rcv_wnd, tp->rcv_wnd) \
	F(rcv_ssthresh, tp->rcv_ssthresh) \
	F(window_clamp, tp->window_clamp) \
	F(rcvq_space.space, (u32)tp->rcvq_space.space) \
	F(rcv_rtt_est.rtt_us, tp->rcv_rtt_est.rtt_us) \
	F(sk_rcvbuf, (u32)sk->sk_rcvbuf) \
	F(bytes_received, tp->bytes_received) \
	F(icsk_ack.pending, icsk->icsk_ack.pending) \
	F(icsk_ack.quick, icsk->icsk_ack.quick) \
	F(icsk_ack.pingpong, icsk->icsk_ack.pingpong) \
	F(icsk_ack.ato, icsk->icsk_ack.ato) \
	F(icsk_delack_timer, fb_timer_left(fb_delack_timer_of(sk))) \
	F(icsk_ack.rcv_mss, icsk->icsk_ack.rcv_mss) \
	F(dup_ack_counter, tp->dup_ack_counter) \
	F(compressed_ack, tp->compressed_ack) \
	F(rx_opt.num_sacks, tp->rx_opt.num_sacks) \
	F(rx_opt.dsack, tp->rx_opt.dsack)

#endif
