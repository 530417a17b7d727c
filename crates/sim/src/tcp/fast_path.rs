//! Fast paths: packets for which most checks of the full path have a known result (header prediction, RFC 793 implementations since 4.3BSD-Reno;
//! Linux clears `FLAG_SLOWPATH`). A fast path changes no result. It does what the full path does, and skips the checks.
//!
//! | packet | condition | skips | file | gain (share of instructions a packet) |
//! |---|---|---|---|---|
//! | ACK, no scoreboard | state Open, no duplicate before it, part of the flight is acknowledged, no SYN | phases, duplicates, recovery, window probes, send buffer | this file, `on_fast_ack` | 3.3 % |
//! | duplicate ACK, no scoreboard | it does not start a recovery; same window, no ECE | the same | this file, `on_fast_duplicate` | part of the line above |
//! | ACK, Linux with SACK | no SACK blocks; nothing SACKed, lost or retransmitted; state Open without ECE, or CWR before its end | D-SACK, RACK, undo, state machine | `fast_path_sack.rs` | 22 %, with the next line |
//! | new data, Linux with SACK | full segments, sent for the first time, no tags | segment length, FIN, ECN fields, packet tags | `fast_transmit.rs` | |
//! | data segment | next in order, nothing missing | reassembly | `receiver/` | 12 % |
//!
//! `Sender::new` chooses at most one fast path, by the stack and the congestion control ([`FastPath`]). The fast paths of receivers are in
//! `receiver/fast_path.rs`.

use crate::net::packet::{Packet, Wire, flag};
use crate::tcp::common::state::FastPath;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Phase, ReductionCause, Sender, Timer};
use forebay_experiment::transport::Ecn;
use forebay_types::Time;

impl Sender {
    /// Bytes that a packet acknowledges, if it is an ACK for the fast path.
    #[inline(always)]
    pub(crate) fn fast_path_ack(&self, p: &Packet) -> Option<u64> {
        let acked = u64::from(p.seq.wrapping_sub(self.tx.numbers().wire(self.stream.snd_una())));
        let eligible = self.stream.fast_path() == FastPath::Plain
            && self.stream.phase() == Phase::Established
            && self.loss.ca_state() == CaState::Open
            && self.loss.dupacks() == 0
            && (1..self.flight()).contains(&acked)
            && !p.has(flag::SYN);
        eligible.then_some(acked)
    }

    /// Processes such an ACK for `acked` bytes. Returns true if [`Sender::transmit`] has more to do.
    #[inline(always)]
    pub(crate) fn on_fast_ack(&mut self, c: &TcpConfig, now: Time, p: &Packet, acked: u64, out: &mut impl Wire) -> bool {
        let ack = self.stream.snd_una() + acked;
        self.stream.acknowledge(ack, p.window());
        let rtt = self.sample_rtt(c, now, ack, p.echo());
        self.cold.cap_limited_transmit(0);
        self.arm_plain_rto(c, now);
        let ece = self.cc.ecn() && p.has(flag::ECE);
        let facts = self.ack_facts(c, now, acked, ece, rtt);
        let cuts = ece && ack > self.cc.cwr_end();
        if self.cc.wants_new_acks() {
            if self.cc.wants_all_acks() {
                self.cc.in_ack_event(&facts);
            }
            if !cuts {
                self.grow(c, &facts);
            }
        } else {
            // The same calls, if `grow` does no more than that.
            let grows = !(ece && (cuts || c.ecn == Ecn::Classic));
            self.cc.fast_ack(&facts, grows);
        }
        if cuts {
            self.reduce_for_ecn(c, &{ facts });
        }
        // The facts are in registers from here on.
        self.count_ece(ece, acked);
        self.stats.update_cwnd_max(self.cc.window.cwnd);
        let (mss, window) = (u64::from(c.mss), self.window_bytes(c));
        // Something is outstanding, so something is written.
        self.send_full_until(c, now, self.stream.snd_wnd_edge().min(self.stream.written() - 1).min(ack + window), out);
        let full_waits = self.stream.snd_nxt() + mss <= self.stream.written() && self.flight() + mss > window;
        !full_waits && self.stream.snd_nxt() < self.stream.end()
    }

    /// Returns true if a packet is a duplicate for the fast path: it has the number and the window of the ACK before it, and cannot start a recovery.
    #[inline(always)]
    pub(crate) fn is_fast_duplicate(&self, c: &TcpConfig, p: &Packet) -> bool {
        self.stream.fast_path() == FastPath::Plain
            && !self.cc.wants_all_acks()
            && self.stream.phase() == Phase::Established
            && p.seq == self.tx.numbers().wire(self.stream.snd_una())
            && p.flags & (flag::SYN | flag::ECE) == 0
            && self.stream.snd_wnd_edge() == self.stream.window_edge(self.stream.snd_una(), p.window())
            && self.flight() > 0
            && self.timers.kind() == Timer::Rto
            && self.cc.reduction_cause() != ReductionCause::EcnAtOneSegment
            && c.probe_after == 0
            && match self.loss.ca_state() {
                CaState::Open | CaState::Disorder => self.loss.dupacks() + 1 < c.dup_thresh,
                CaState::Recovery => true,
                CaState::Cwr | CaState::Loss => false,
            }
    }

    /// Processes such a duplicate. Returns true if [`Sender::transmit`] may send something.
    #[inline(always)]
    pub(crate) fn on_fast_duplicate(&mut self, c: &TcpConfig) -> bool {
        self.loss.add_dupack();
        if self.loss.ca_state() == CaState::Recovery {
            self.cc.window.cwnd += 1.0;
            self.stats.update_cwnd_max(self.cc.window.cwnd);
        } else {
            self.loss.set_ca_state(CaState::Disorder);
        }
        let (mss, window) = (u64::from(c.mss), self.window_bytes(c) + self.beyond_window(c));
        let full_waits = self.stream.snd_nxt() + mss <= self.stream.written() && self.flight() + mss > window;
        !full_waits && self.stream.snd_nxt() < self.stream.end()
    }
}
