//! Shim columns of the message rows, from the guest's reports: the columns of [`ShimRow`](forebay_experiment::shim_row::ShimRow), filled as in the
//! simulator (`crates/sim/src/shim/proboscis/row.rs`).

use crate::protocol::{self, NEVER};
use forebay_experiment::shim_row::{ShimRow, ShimValue};
use forebay_types::Time;

/// `enum fb_train_verdict`, by what the results call each.
const VERDICTS: [&str; 5] = ["", "proportional", "severe", "insufficient", "unprobed"];

/// Counters and state of the shims of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShimState {
    probes: u32,
    verdict: &'static str,
    window: Option<u64>,
    held: Time,
    throttled: u64,
    /// ACKs and probes that earlier rows have.
    counted: u64,
    probes_counted: u32,
}

fn int(n: u64) -> ShimValue {
    ShimValue::Int(i64::try_from(n).ok())
}

impl ShimState {
    /// Initial state.
    pub(crate) const NOTHING: ShimState =
        ShimState { probes: 0, verdict: "", window: None, held: Time::ZERO, throttled: 0, counted: 0, probes_counted: 0 };

    /// Applies a report of the guest.
    pub(crate) fn update(&mut self, r: &protocol::ShimRow) {
        self.probes = r.probes;
        self.verdict = VERDICTS.get(r.verdict as usize).copied().unwrap_or("");
        self.window = (r.window != NEVER).then_some(r.window);
        self.held = Time(r.held);
        self.throttled = r.throttled;
    }

    /// The row of a message that is complete; `first`: it is the first of its connection, which the handshake was made for.
    pub(crate) fn row(&mut self, first: bool) -> ShimRow {
        let mut row = ShimRow::default();
        let probes = self.probes - std::mem::replace(&mut self.probes_counted, self.probes);
        if probes > 0 || (first && !self.verdict.is_empty()) {
            row.set("probes", int(u64::from(probes)));
        }
        if first && (probes > 0 || !self.verdict.is_empty()) {
            row.set("syn_ack_verdict", ShimValue::Text(self.verdict));
            row.set("syn_ack_window_bytes", self.window.map_or(ShimValue::Int(None), int));
            row.set("syn_ack_delay_ns", int(self.held.as_ns()));
        }
        row.set("acks_throttled", int(self.throttled - self.counted));
        self.counted = self.throttled;
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshake_reported_once_acks_per_message() {
        let mut state = ShimState::NOTHING;
        let heard =
            protocol::ShimRow { time: 9, conn: 0, probes: 10, verdict: 1, pad: 0, window: 7_300, held: 3_000_000, throttled: 4 };
        state.update(&heard);
        let row = state.row(true);
        assert_eq!((row.int("probes"), row.text("syn_ack_verdict")), (Some(10), "proportional"));
        assert_eq!((row.int("syn_ack_window_bytes"), row.int("syn_ack_delay_ns")), (Some(7_300), Some(3_000)));
        assert_eq!(row.int("acks_throttled"), Some(4));
        state.update(&protocol::ShimRow { throttled: 9, ..heard });
        let row = state.row(false);
        assert_eq!((row.get("probes"), row.int("acks_throttled")), (None, Some(5)));
        state.update(&protocol::ShimRow { throttled: 9, probes: 20, ..heard });
        let row = state.row(false);
        assert_eq!((row.int("probes"), row.get("syn_ack_verdict")), (Some(10), None), "probes of a restart");
    }
}
