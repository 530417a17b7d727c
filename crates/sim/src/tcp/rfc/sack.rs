//! ACK processing with a SACK scoreboard: RFC 6675 (losses by count) and RFC 8985 (losses by time).

use crate::cc::Ack;
use crate::net::packet::{SackBlocks, Wire};
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender};

impl Sender {
    /// Processes an ACK up to stream offset `number` and completes `ack`. The ACK may be old, that is, below `snd_una`. `widens`: it
    /// carries data or a new window.
    pub(in crate::tcp) fn on_ack_sack_rfc(
        &mut self,
        c: &TcpConfig,
        ack: &mut Ack,
        blocks: Option<&SackBlocks>,
        (number, widens): (u64, bool),
        out: &mut impl Wire,
    ) {
        let Some(mut s) = self.loss.sack.take() else { return };
        let overtaken = number < self.stream.snd_una();
        let (marked, prior_in_flight) = (s.board.marked, s.board.in_network());
        let info = self.update_scoreboard(c, &mut s, ack, blocks.map(|blocks| (blocks, number)));
        let mut spurious = false;
        if info.dsack {
            s.rack.on_dsack(self.stream.snd_una(), self.stream.snd_nxt());
            if s.expects_dsacks() {
                s.episode.undo.reported(info.dsack_end, self.cold.recover);
                spurious = s.episode.undo.all_reported;
            }
        }
        let duplicate = ack.acked == 0 && !widens && blocks.is_none();
        let probe_lost =
            !overtaken && s.rack.settle_probe(self.stream.snd_una(), duplicate, info.dsack.then_some(info.dsack_end));
        self.loss.sack = Some(s);
        ack.newest_rtt = info.ages.0.last;
        self.credit_growth(c, ack, &info);
        if self.cc.wants_all_acks() && !overtaken {
            self.cc.in_ack_event(ack);
        }
        let undone = (spurious && self.undo(true)) || self.try_undo(c, ack, info.original, info.sacked);
        if !undone {
            self.leave_episode(c);
        }
        if probe_lost && self.loss.ca_state() < CaState::Cwr {
            self.on_probe_loss(c, ack);
        }
        self.count_dupacks(ack, &info);
        let in_network = self.pipe();
        let holds = self.loss.ca_state() == CaState::Recovery && self.loss.holds_back();
        let lost = !holds && self.find_losses(c, ack.now).0;
        self.report_lost(ack, marked);
        let progress = ack.acked > 0 && self.pipe() == in_network;
        self.change_state(c, ack, lost, info.sacked, out);
        if self.cc.hooks().control() {
            self.control(c, ack, (info.segments, 0), prior_in_flight);
        } else if c.prr && matches!(self.loss.ca_state(), CaState::Recovery | CaState::Cwr) {
            self.proportional_window(c, ack.delivered, info.segments, progress);
        }
    }

    /// Changes the state after losses, marks and progress: recovery begins with the first loss (RFC 6675 section 5), else the window may grow.
    fn change_state(&mut self, c: &TcpConfig, ack: &mut Ack, lost: bool, sacked: bool, out: &mut impl Wire) {
        let plain = self.loss.sack.as_ref().is_none_or(|s| s.board.is_plain());
        let raises = ack.acked > 0 || (sacked && self.loss.sack.as_ref().is_some_and(|s| s.rack.far > 0));
        if lost && self.loss.ca_state() < CaState::Recovery {
            self.enter_recovery(c, ack.now, ack.ece, out);
        } else if self.loss.ca_state() < CaState::Cwr {
            self.loss.set_ca_state(if plain { CaState::Open } else { CaState::Disorder });
            if plain {
                self.cold.cap_limited_transmit(0);
            }
            if !self.reduce_on_ece(c, ack) && raises {
                self.grow(c, ack);
            }
        } else if self.loss.ca_state() == CaState::Loss && raises {
            self.grow(c, ack);
        } else if ack.acked > 0 {
            self.pkts_acked(ack);
        }
    }
}
