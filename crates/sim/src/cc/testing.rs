//! What the tests of several laws share.

use super::{Ack, Reduction, Trigger};

/// An ACK for one segment that says nothing special.
pub const ACK: Ack = Ack {
    now: 0,
    snd_una: 1460,
    snd_nxt: 14_600,
    acked: 1460,
    delivered: 1460,
    ece: false,
    grow: 1.0,
    rtt: None,
    newest_rtt: None,
    srtt: 0,
    min_rtt: 0,
    mss: 1460,
};

/// A reduction from a window of 40 segments.
pub const fn cut(trigger: Trigger) -> Reduction {
    Reduction { trigger, from: 40.0 }
}
