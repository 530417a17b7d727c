//! Fast path of ACKs at senders of Linux with a scoreboard: nothing is lost, SACKed or sent twice, a part of the flight is acknowledged, and no
//! reduction begins or ends. It does what `ack` and `linux/input` do with every ACK; see `fast_path.rs`.

use crate::cc::Ack;
use crate::net::packet::{Packet, Wire, flag};
use crate::tcp::common::rack::Pending;
use crate::tcp::common::rtt::Sent;
use crate::tcp::common::sack_state::SackState;
use crate::tcp::common::state::FastPath;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Phase, Sender};
use forebay_experiment::transport::{Growth, Recovery, SsthreshFrom};
use forebay_types::Time;

impl SackState {
    /// Returns true if an ACK up to stream offset `ack` without SACK blocks covers a segment and gives no information on losses. No segment has a
    /// flag, and none was sent before one that has been delivered.
    #[inline(always)]
    fn allows_fast_path(&self, ack: u64) -> bool {
        let covers = self.board.first().is_some_and(|first| first.end() <= ack);
        covers
            && self.board.is_in_order()
            && self.rack.probe_end.is_none()
            && self.rack.pending == Pending::Nothing
            && self.rack.nothing_older(&self.board)
    }
}

impl Sender {
    /// Returns true if senders of this stack have this fast path, and send full segments as copies of the template unless they are tagged.
    pub(in crate::tcp) fn has_fast_sack_path(c: &TcpConfig) -> bool {
        let hooks = c.cc.hooks();
        c.recovery == Recovery::Rack
            && c.is_linux()
            && c.ssthresh_from == SsthreshFrom::Cwnd
            && c.growth == (Growth::PerSegment { limit: u32::MAX })
            && c.probe_after == 0
            && c.max_pacing_rate.is_none()
            && !c.ecn.is_accurate()
            && !(hooks.records() || hooks.gate() || hooks.paces() || hooks.control())
    }

    /// Bytes that a packet acknowledges, if it is an ACK for this fast path. `reports`: it carries SACK blocks.
    #[inline(always)]
    pub(in crate::tcp) fn fast_path_sack_ack(&self, p: &Packet, reports: bool) -> Option<u64> {
        let acked = u64::from(p.seq.wrapping_sub(self.tx.numbers().wire(self.stream.snd_una())));
        let eligible = self.stream.fast_path() == FastPath::Linux
            && self.stream.phase() == Phase::Established
            && match self.loss.ca_state() {
                CaState::Open => !(self.cc.ecn() && p.has(flag::ECE)),
                // The reduction is not over yet.
                CaState::Cwr => self.stream.snd_una() + acked <= self.cc.cwr_end(),
                CaState::Disorder | CaState::Recovery | CaState::Loss => false,
            }
            && !(reports || p.has(flag::SYN))
            && (1..self.flight()).contains(&acked)
            && self.loss.sack.as_ref().is_some_and(|s| s.allows_fast_path(self.stream.snd_una() + acked));
        eligible.then_some(acked)
    }

    /// Processes such an ACK for `acked` bytes.
    #[inline(never)]
    pub(in crate::tcp) fn on_fast_sack_ack(&mut self, c: &TcpConfig, now: Time, p: &Packet, acked: u64, out: &mut impl Wire) {
        let (ack, stamp) = (self.stream.snd_una() + acked, self.stamp(c, now));
        let Some(s) = &mut self.loss.sack else { return };
        let Some(covered) = s.board.acknowledge_in_order(ack) else { return };
        s.rack.on_delivered_in_order(&covered.last, stamp);
        // As `try_undo` and `on_ack_sack_linux`, if no retransmission is outstanding.
        if let Some(episode) = s.episode.made() {
            (episode.undo.hold, episode.undo.first) = (false, None);
        }
        self.stream.acknowledge(ack, p.window());
        self.tx.store_ts_recent(p.tsval());
        self.loss.clear_dupacks();
        self.cold.cap_limited_transmit(0);
        let rtt = self.echoed(c, now, ack, p.echo());
        if let Some(rtt) = rtt {
            self.stats.current_mut().note_rtt(rtt);
        }
        // tcp_clean_rtx_queue, tcp_ack_update_rtt, as in `sample_ages`.
        let newest = stamp - covered.last.sent();
        self.rtt.sample_of(
            c,
            stamp - covered.first,
            newest.max(Time::from_us(1)),
            Sent { snd_una: ack, snd_nxt: self.stream.snd_nxt() },
        );
        self.rtt.reset_backoff();
        let ece = self.cc.ecn() && p.has(flag::ECE);
        self.count_ece(ece, acked);
        let facts = Ack {
            now,
            snd_una: ack,
            snd_nxt: self.stream.snd_nxt(),
            acked,
            delivered: acked,
            segments: covered.segments,
            lost: 0,
            absent: 0,
            ce: 0,
            window_limited: self.cc.cwnd_limited(),
            ece,
            grow: f64::from(covered.segments),
            rtt,
            newest_rtt: Some(newest),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            mss: c.mss,
        };
        if self.cc.wants_all_acks() {
            self.cc.in_ack_event(&facts);
        }
        if self.cc.wants_new_acks() {
            self.pkts_acked(&facts);
        }
        if self.loss.ca_state() == CaState::Open {
            self.grow(c, &facts);
        } else {
            self.proportional_window(c, acked, covered.segments, true);
        }
        self.update_pacing_rate(c);
        self.stats.update_cwnd_max(self.cc.window.cwnd);
        match self.refill_buffer(c, now, out) {
            true => self.fill_and_transmit(c, now, out),
            false => self.fast_transmit(c, now, out),
        }
    }
}
