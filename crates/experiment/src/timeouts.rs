//! Attribution of expired timers to messages.

use crate::rows::{FlowRow, TimeoutKind, TimeoutRow};
use crate::series::Series;
use std::io;

/// Rows in memory at once.
const PIECE: usize = 1 << 12;

/// Sets the message of each expired timer. `flows` are numbered and sorted by start.
///
/// The oldest message of a connection counts its timeouts and probes, so these are assigned to messages in turn. No counter counts expiries of the
/// reordering timer: they belong to the oldest message that was not acknowledged yet.
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
    let mut unacked: Option<Unacknowledged> = None;
    let mut attributed = Series::default();
    let read: io::Result<()> = timeouts.pieces(PIECE, &mut |rows| {
        for &row in rows {
            if row.kind == TimeoutKind::Reordering {
                let flow_id = unacked.get_or_insert_with(|| Unacknowledged::of(flows)).oldest(row.conn_id, row.time_ps);
                attributed.push(TimeoutRow { flow_id, ..row });
                continue;
            }
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

/// Messages by connection, in the order in which they were acknowledged.
struct Unacknowledged(Vec<Acknowledged>);

struct Acknowledged {
    conn_id: u64,
    /// When the last byte was acknowledged, ps.
    acked: u64,
    start: u64,
    flow_id: u64,
}

impl Unacknowledged {
    fn of(flows: &[FlowRow]) -> Unacknowledged {
        let one = |f: &FlowRow| Acknowledged {
            conn_id: f.conn_id,
            acked: f.acked.ps().unwrap_or(u64::MAX),
            start: f.start.0,
            flow_id: f.flow_id,
        };
        let mut all: Vec<Acknowledged> = flows.iter().map(one).collect();
        // TCP acknowledges in order: of messages that one ACK covers, the first one was written first.
        all.sort_unstable_by_key(|a| (a.conn_id, a.acked, a.start, a.flow_id));
        Unacknowledged(all)
    }

    /// The oldest message of a connection that was written before `time`, ps, and not acknowledged by then.
    fn oldest(&self, conn_id: u64, time: u64) -> Option<u64> {
        let place = self.0.partition_point(|a| (a.conn_id, a.acked) < (conn_id, time));
        self.0.get(place).filter(|a| a.conn_id == conn_id && a.start <= time).map(|a| a.flow_id)
    }
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

    #[test]
    fn reordering_timer_is_of_oldest_message() {
        let timer = |time_ps, conn_id, kind| TimeoutRow { time_ps, conn_id, kind, ..TimeoutRow::default() };
        let of = |time_ps| timer(time_ps, 7, TimeoutKind::Reordering);
        let timers = Series::from(vec![
            of(3),
            of(6),
            of(12),
            of(25),
            timer(26, 7, TimeoutKind::Probe),
            of(45),
            timer(45, 3, TimeoutKind::Reordering),
        ]);
        let flow = |flow_id, start, acked: u64, tlps| FlowRow {
            flow_id,
            conn_id: 7,
            tlps,
            start: Time(start),
            acked: Time(acked).into(),
            ..FlowRow::default()
        };
        let rows = attribute(&timers, &[flow(0, 5, 10, 0), flow(1, 8, 30, 1), flow(2, 20, 30, 0)]);
        let rows: Vec<(u64, Option<u64>)> = rows.iter().filter(|t| t.conn_id == 7).map(|t| (t.time_ps, t.flow_id)).collect();
        assert_eq!(rows, [(3, None), (6, Some(0)), (12, Some(1)), (25, Some(1)), (26, Some(1)), (45, None)]);
    }
}
