//! What the shim says in the row of a message.

use super::{ReceiverShim, SenderShim, Verdict};
use forebay_experiment::shim_row::{ShimRow, ShimValue};

const NULL: ShimValue = ShimValue::Int(None);

/// The row of a message; `first`: it is the first of its connection, which the handshake was made for.
pub(super) fn of(sender: &mut SenderShim, receiver: &ReceiverShim, first: bool) -> ShimRow {
    let (s, r) = (&mut sender.stats, &receiver.stats);
    let int = |n: u64| ShimValue::Int(i64::try_from(n).ok());
    let mut row = ShimRow::default();
    if first && (s.probes > 0 || r.verdict != Verdict::None) {
        row.set("probes", int(u64::from(s.probes)));
        row.set("syn_ack_verdict", ShimValue::Text(r.verdict.name()));
        row.set("syn_ack_window_bytes", r.window.map_or(NULL, int));
        row.set("syn_ack_held_ns", int(r.held.as_ns()));
    }
    row.set("acks_throttled", int(std::mem::take(&mut s.throttled)));
    row
}
