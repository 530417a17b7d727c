//! Attribution of retransmission timeouts to messages.

use crate::rows::{FlowRow, TimeoutRow};
use crate::series::Series;
use std::io;

/// Rows in memory at once.
const PIECE: usize = 1 << 12;

/// Sets the message of each timeout. `flows` are numbered and sorted by start.
///
/// The oldest message of a connection counts its timeouts, so timeouts are assigned to messages in turn.
///
/// # Panics
/// If rows cannot be read back.
pub fn attribute(timeouts: &Series<TimeoutRow>, flows: &[FlowRow]) -> Series<TimeoutRow> {
    // Messages with timeouts, by connection, and the number still to be assigned to each.
    let counted = |f: &FlowRow| f.rtos + f.syn_rtos + f.tlps;
    let mut waiting: Vec<(u64, u64, u32)> =
        flows.iter().filter(|f| counted(f) > 0).map(|f| (f.conn_id, f.flow_id, counted(f))).collect();
    // A stable sort keeps the order of messages of a connection.
    waiting.sort_by_key(|w| w.0);
    // Each connection, and its first message with timeouts left.
    let mut first: Vec<(u64, usize)> = Vec::new();
    for (i, w) in waiting.iter().enumerate() {
        if first.last().is_none_or(|f| f.0 != w.0) {
            first.push((w.0, i));
        }
    }
    let mut attributed = Series::default();
    let read: io::Result<()> = timeouts.pieces(PIECE, &mut |rows| {
        for &row in rows {
            let next = first.binary_search_by_key(&row.conn_id, |f| f.0).ok().map(|place| &mut first[place].1);
            let flow_id = next.and_then(|next| {
                let message = waiting.get_mut(*next).filter(|w| w.0 == row.conn_id)?;
                message.2 -= 1;
                *next += usize::from(message.2 == 0);
                Some(message.1)
            });
            attributed.push(TimeoutRow { flow_id, ..row });
        }
        Ok(())
    });
    assert!(read.is_ok(), "rows of a series cannot be read: {read:?}");
    attributed.sort();
    attributed
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Time;

    #[test]
    fn timeouts_are_attributed_in_turn() {
        let timeout = |time_ps, conn_id| TimeoutRow { time_ps, conn_id, ..TimeoutRow::default() };
        // Connection 7 has three messages, two of which start at the same time; the last timeout belongs to none that has a row.
        let timeouts = Series::from(vec![timeout(50, 7), timeout(10, 7), timeout(20, 3), timeout(20, 7), timeout(90, 7)]);
        let flow =
            |flow_id, conn_id, rtos, syn_rtos| FlowRow { flow_id, conn_id, rtos, syn_rtos, start: Time(5), ..FlowRow::default() };
        let timeouts = attribute(&timeouts, &[flow(0, 3, 1, 0), flow(1, 7, 1, 1), flow(2, 7, 0, 0), flow(3, 7, 1, 0)]);
        let rows: Vec<(u64, u64, Option<u64>)> = timeouts.iter().map(|t| (t.time_ps, t.conn_id, t.flow_id)).collect();
        assert_eq!(rows, [(10, 7, Some(1)), (20, 3, Some(0)), (20, 7, Some(1)), (50, 7, Some(3)), (90, 7, None)]);
    }
}
