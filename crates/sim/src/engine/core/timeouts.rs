//! Retransmission timers that run out: one row each, told apart by what the sender counts. The sender itself knows nothing of it.

use super::Core;
use super::calls::Call;
use forebay_experiment::rows::{TimeoutKind, TimeoutRow};
use forebay_units::{ConnSlot, Time, WorkloadId};

impl Core {
    /// The timer of connection `conn` has come due. Whether it was a retransmission timeout or a tail loss probe, rather than RACK's
    /// reordering timer, the sender's own counters tell: a row for each that they count.
    #[cold]
    #[inline(never)]
    pub(super) fn sender_timer(&mut self, conn: ConnSlot, now: Time) {
        let sender = &self.senders[conn];
        let group = sender.group();
        let held = sender.stall_time(&self.tcp[group], now);
        let (rto_ps, backoff) = (sender.rto(&self.tcp[group]).0, sender.rtt().backoff());
        let before = *sender.stats().losses;
        self.with_sender(conn, now, Call::Timer);
        let after = &self.senders[conn].stats().losses;
        let kind = if after.syn_rtos > before.syn_rtos {
            TimeoutKind::Syn
        } else if after.tlps > before.tlps {
            TimeoutKind::Probe
        } else if after.rtos_head > before.rtos_head {
            TimeoutKind::Head
        } else if after.rtos_tail > before.rtos_tail {
            TimeoutKind::Tail
        } else if after.rtos > before.rtos {
            TimeoutKind::Other
        } else {
            return;
        };
        self.note_stall(conn, now, held, Core::stall_of(kind));
        if !self.recorder.wants_timeouts() {
            return;
        }
        let s = &self.streams[conn];
        self.recorder.timeout(TimeoutRow {
            time_ps: now.0,
            conn_id: s.conn_id,
            // Numbered with the messages, at the end.
            flow_id: None,
            workload: WorkloadId::new(s.app.get()),
            group,
            src: s.src,
            dst: s.dst,
            kind,
            rto_ps,
            backoff,
        });
    }
}
