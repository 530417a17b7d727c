//! Idle senders: they have no scoreboard, and their window shrinks (RFC 5681 section 4.1; Linux tcp_cwnd_restart).

use super::{CaState, Phase, Sender};
use crate::cc::Event;
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::Idle;
use forebay_types::Time;

impl Sender {
    /// Drops the scoreboard after an ACK that leaves nothing outstanding.
    #[inline]
    pub(in crate::tcp) fn release_scoreboard(&mut self, c: &TcpConfig) {
        if self.stream.snd_una() == self.stream.snd_nxt()
            && self.stream.phase() == Phase::Established
            && !self.cc.hooks().records()
        {
            self.loss.drop_unused_scoreboard(c, self.stream.snd_una());
        }
    }

    /// Halves the unused part of a window that no ACK has raised for a timeout (tcp_cwnd_application_limited). Our choice: the used part is the
    /// largest number of segments outstanding in the last flight.
    #[cold]
    fn validate_window(&mut self, c: &TcpConfig) {
        let used = if self.cc.cwnd_limited() == Some(true) { 0 } else { self.max_packets_out() };
        let (cwnd, used) = (self.cc.window.cwnd as u32, used.max(c.init_cwnd));
        if self.loss.ca_state() == CaState::Open && used < cwnd {
            self.cc.window.ssthresh = self.cc.window.ssthresh.raised_to(f64::from(cwnd / 2 + cwnd / 4));
            self.cc.window.cwnd = f64::from((cwnd + used) / 2);
        }
    }

    /// Notifies the congestion control that transmission starts with nothing outstanding (tcp_event_data_sent).
    pub(in crate::tcp) fn start_transmission(&mut self, c: &TcpConfig, now: Time) {
        let Some(last_tx) = self.tx.last_tx().get() else { return };
        self.cc.cwnd_event(Event::TxStart { now, idle: now - last_tx });
        if c.plb.is_some() {
            self.check_rehash(c, now);
        }
    }

    /// Adapts the window before data is sent after an idle time; `closed`: the data has waited for the receive window.
    pub(in crate::tcp) fn after_idle(&mut self, c: &TcpConfig, now: Time, closed: bool) {
        let Some(last_tx) = self.tx.last_tx().get() else { return };
        let (idle, shut) = (now - last_tx, self.stream.snd_wnd_edge() == self.stream.snd_nxt());
        let leaves = if c.is_linux() { !self.next_exceeds_window(c) } else { !shut };
        if leaves {
            if c.tso.is_some() && self.cc.hooks().paces() {
                self.cold.first_bursts = self.burst_size(c) as u32;
            }
            self.start_transmission(c, now);
        }
        let rto = self.rtt.rto(c);
        let longest = if c.idle == Idle::RestartAfterRtt { self.rtt.smoothed().get().unwrap_or(rto) } else { rto };
        // Linux counts ticks (tcp_slow_start_after_idle_check).
        let ticks = |time: Time| time - time % c.rto_granularity.max(Time(1));
        let idle = if c.idle == Idle::Halve { ticks(now) - ticks(last_tx) } else { idle };
        if c.idle == Idle::Keep || self.cc.hooks().control() {
            return;
        }
        if idle <= longest {
            if c.idle == Idle::Halve && leaves && ticks(now).saturating_sub(ticks(last_tx + self.loss.last_rtt())) >= rto {
                self.validate_window(c);
            }
            return;
        }
        // RFC 5681 restarts when the transmission begins. Linux (tcp_slow_start_after_idle_check) also restarts when the application writes data for
        // which the receive window has no space yet.
        if shut && (closed || c.idle != Idle::Halve) {
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc5681#section-4.1
        //# a TCP SHOULD set cwnd to no more than RW before beginning transmission if the TCP has not sent data in an
        //# interval exceeding the retransmission timeout.
        // RFC 5681 section 4.1: restart window.
        let restart = f64::from(c.init_cwnd).min(self.cc.window.cwnd);
        match c.idle {
            Idle::Keep => {}
            Idle::Restart | Idle::RestartAfterRtt => self.cc.window.cwnd = restart,
            Idle::Halve => {
                // Linux tcp_cwnd_restart; the threshold keeps three quarters of the old window, in whole segments (tcp_current_ssthresh).
                let cwnd = self.cc.window.cwnd as u32;
                self.cc.window.ssthresh = self.cc.window.ssthresh.raised_to(f64::from(cwnd / 2 + cwnd / 4));
                let mut left = idle - rto;
                while self.cc.window.cwnd > restart {
                    self.cc.window.cwnd = (self.cc.window.cwnd / 2.0).floor();
                    if left <= rto {
                        break;
                    }
                    left = left - rto;
                }
                self.cc.window.cwnd = self.cc.window.cwnd.max(restart);
            }
        }
        self.cc.cwnd_event(Event::Restart);
    }
}
