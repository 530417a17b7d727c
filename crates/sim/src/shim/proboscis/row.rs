//! Columns of the shim in the row of a message.

use super::{ReceiverShim, SenderShim, Verdict};
use forebay_experiment::shim_row::{ShimRow, ShimValue};

const NULL: ShimValue = ShimValue::Int(None);

fn int(n: u64) -> ShimValue {
    ShimValue::Int(i64::try_from(n).ok())
}

/// Columns of the sender.
pub(super) fn of_sender(sender: &mut SenderShim) -> ShimRow {
    let mut row = ShimRow::default();
    // Of a later message those ahead of its restart, if it was one.
    let probes = sender.take_probes();
    if probes > 0 {
        row.set("probes", int(u64::from(probes)));
    }
    row.set("acks_throttled", int(sender.take_throttled()));
    row
}

/// Adds the columns of the receiver, if either end had a handshake under the shim.
pub(super) fn add_receiver(receiver: &ReceiverShim, first: bool, row: &mut ShimRow) {
    let (r, probed) = (&receiver.stats(), row.get("probes").is_some());
    if !first || (!probed && r.verdict == Verdict::None) {
        return;
    }
    if !probed {
        row.set("probes", int(0));
    }
    row.set("syn_ack_verdict", ShimValue::Text(r.verdict.name()));
    row.set("syn_ack_window_bytes", r.window.map_or(NULL, int));
    row.set("syn_ack_delay_ns", int(r.held.as_ns()));
}
