//! Which message each retransmission timeout delayed.

use crate::rows::{FlowRow, TimeoutRow};

/// Puts timeouts into the order of time and says which message each of them delayed. `flows` are numbered, and in order of their start.
///
/// The timeouts of a connection are counted by the oldest message it has, so each message, in turn, has the next of them.
pub fn attribute(timeouts: &mut [TimeoutRow], flows: &[FlowRow]) {
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
        *first += own.map(|t| t.flow_id = Some(flow.flow_id)).count();
    }
    timeouts.sort_unstable_by_key(|t| (t.time_ps, t.conn_id));
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::Time;

    #[test]
    fn messages_of_a_connection_have_its_timeouts_in_turn() {
        let timeout = |time_ps, conn_id| TimeoutRow { time_ps, conn_id, ..TimeoutRow::default() };
        // Connection 7 has three messages, two of which start at the same time; the last timeout belongs to none that has a row.
        let mut timeouts = vec![timeout(50, 7), timeout(10, 7), timeout(20, 3), timeout(20, 7), timeout(90, 7)];
        let flow =
            |flow_id, conn_id, rtos, syn_rtos| FlowRow { flow_id, conn_id, rtos, syn_rtos, start: Time(5), ..FlowRow::default() };
        attribute(&mut timeouts, &[flow(0, 3, 1, 0), flow(1, 7, 1, 1), flow(2, 7, 0, 0), flow(3, 7, 1, 0)]);
        let rows: Vec<(u64, u64, Option<u64>)> = timeouts.iter().map(|t| (t.time_ps, t.conn_id, t.flow_id)).collect();
        assert_eq!(rows, [(10, 7, Some(1)), (20, 3, Some(0)), (20, 7, Some(1)), (50, 7, Some(3)), (90, 7, None)]);
    }
}
