//! Retransmission timers that run out: one row each, told apart by what the sender counts. The sender itself knows nothing of it.

use super::calls::Call;
use super::core::Core;
use forebay_experiment::rows::{FlowRow, TimeoutKind, TimeoutRow};
use forebay_units::{ConnSlot, Time, WorkloadId};

impl Core {
    /// The timer of connection `conn` has come due. Whether it was a retransmission timeout or a tail loss probe, rather than RACK's
    /// reordering timer, the sender's own counters tell: a row for each that they count.
    #[cold]
    #[inline(never)]
    pub(super) fn sender_timer(&mut self, conn: ConnSlot, now: Time) {
        let sender = &self.senders[conn];
        let group = sender.group();
        let held = sender.held_up(&self.tcp[group], now);
        let (rto_ps, backoff) = (sender.rto(&self.tcp[group]).0, sender.rtt.backoff);
        let before = sender.stats;
        self.with_sender(conn, now, Call::Timer);
        let after = &self.senders[conn].stats;
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
        self.note_stall(conn, now, held, |s| match kind {
            TimeoutKind::Head | TimeoutKind::Tail | TimeoutKind::Other => &mut s.timeout,
            TimeoutKind::Syn => &mut s.syn,
            TimeoutKind::Probe => &mut s.probe,
        });
        if !self.recorder.wants_timeouts() {
            return;
        }
        let s = &self.streams[conn];
        self.recorder.timeout(TimeoutRow {
            time_ps: now.0,
            conn_id: s.conn_id,
            // Numbered with the messages, at the end.
            flow_id: u64::MAX,
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

/// Puts timeouts into the order of time and says which message each of them delayed. `flows` are numbered, and in order of their start.
///
/// The timeouts of a connection are counted by the oldest message it has, so each message, in turn, has the next of them.
pub(super) fn attribute(timeouts: &mut [TimeoutRow], flows: &[FlowRow]) {
    // Sorted in place, as no two are alike, and with 16 bytes a connection: many connections may time out at the same time.
    timeouts.sort_unstable_by_key(|t| (t.conn_id, t.time_ps));
    // Each connection and the first of its timeouts that no message has yet.
    let mut next: Vec<(u64, usize)> = Vec::new();
    for (i, t) in timeouts.iter().enumerate() {
        if next.last().is_none_or(|n| n.0 != t.conn_id) {
            next.push((t.conn_id, i));
        }
    }
    for flow in flows.iter().filter(|f| f.rtos + f.syn_rtos + f.tlps > 0) {
        let Ok(place) = next.binary_search_by_key(&flow.conn_id, |n| n.0) else { continue };
        let first = &mut next[place].1;
        let own = timeouts[*first..].iter_mut().take((flow.rtos + flow.syn_rtos + flow.tlps) as usize);
        *first += own.map(|t| t.flow_id = flow.flow_id).count();
    }
    timeouts.sort_unstable_by_key(|t| (t.time_ps, t.conn_id));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_connection_have_its_timeouts_in_turn() {
        let timeout = |time_ps, conn_id| TimeoutRow { time_ps, conn_id, flow_id: u64::MAX, ..TimeoutRow::default() };
        // Connection 7 has three messages, two of which start at the same time; the last timeout belongs to none that has a row.
        let mut timeouts = vec![timeout(50, 7), timeout(10, 7), timeout(20, 3), timeout(20, 7), timeout(90, 7)];
        let flow =
            |flow_id, conn_id, rtos, syn_rtos| FlowRow { flow_id, conn_id, rtos, syn_rtos, start_ps: 5, ..FlowRow::default() };
        attribute(&mut timeouts, &[flow(0, 3, 1, 0), flow(1, 7, 1, 1), flow(2, 7, 0, 0), flow(3, 7, 1, 0)]);
        let rows: Vec<(u64, u64, u64)> = timeouts.iter().map(|t| (t.time_ps, t.conn_id, t.flow_id)).collect();
        assert_eq!(rows, [(10, 7, 1), (20, 3, 0), (20, 7, 1), (50, 7, 3), (90, 7, u64::MAX)]);
    }
}
