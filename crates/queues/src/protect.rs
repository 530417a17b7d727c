//! Drop precedence in one FIFO: high packets have a reserve of places beyond the buffer (`incast-prin.md` 3.3). No reordering.

use crate::raw_params::length;
use crate::{
    Arrival, Discipline, DropReason, Fifo, FifoDiscipline, HIGH, K, Marking, PortState, Queue, QueueEntry, QueueError,
    QueueState, RawParams, Verdict,
};
use forebay_param::{Entry, Kind, Param, Values};
use forebay_units::QueueLen;

/// The rule; it has no state.
#[derive(Debug, Clone, PartialEq)]
pub struct Protect {
    high: u8,
    /// Buffer and reserve.
    limit: QueueState,
    k: QueueState,
    /// The buffer, where the reserve was left to `set_defaults`.
    open: Option<QueueLen>,
}

impl Protect {
    /// `limit` is that of high packets, buffer and reserve; packets of class `high` and above are. Marks from `k` on.
    pub fn new(high: u8, limit: QueueLen, k: Option<QueueLen>) -> Protect {
        Protect { high, limit: QueueState::limit(limit), k: QueueState::threshold(k), open: None }
    }
}

impl Discipline for Protect {
    /// Sets a reserve that the scenario left open, for `senders` of three high packets each: a high packet is always accepted
    /// (`incast-prin.md` 3.3: B_hi = max(B, 3 N + 1)). `packet` is a full packet on the wire, for buffers in bytes.
    fn set_defaults(&mut self, senders: u64, packet: u64) {
        let needed = 3 * senders + 1;
        self.limit = match self.open {
            None => return,
            Some(QueueLen::Packets(b)) => QueueState::limit(QueueLen::Packets(b.saturating_add(b.max(needed)))),
            Some(QueueLen::Bytes(b)) => QueueState::limit(QueueLen::Bytes(b.saturating_add(b.max(needed * packet)))),
        };
    }

    fn marks(&self) -> bool {
        self.k != QueueState::UNLIMITED
    }

    fn reads_priority(&self) -> bool {
        true
    }

    fn marking_threshold(&self) -> Option<QueueState> {
        Some(self.k)
    }

    fn raw_params(&self) -> Option<RawParams> {
        RawParams::new("protect", [u64::from(self.high), length(self.limit), length(self.k)])
    }
}

impl Fifo for Protect {
    fn fast_path_limit(&self) -> QueueState {
        self.k
    }

    fn is_step(&self) -> bool {
        true
    }

    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
        // An ordinary packet also sees the high ones that are there: with the reserve in use it waits longest for a place.
        let limit = if packet.class >= self.high { self.limit } else { port.limit };
        if !(PortState { limit, ..*port }).fits(packet.wire) {
            return Verdict::Drop(DropReason::Overflow);
        }
        Verdict::step(port.queue, self.k, packet.ecn)
    }
}

fn build(v: &Values, buffer: Option<QueueLen>) -> Result<Queue, QueueError> {
    let Some(buffer) = buffer else {
        return Err(QueueError::new("reserve", "needs a finite `buffer` on the link: without one nothing is dropped"));
    };
    let given = v.opt_queue_len("reserve");
    let reserve = given.unwrap_or(buffer);
    let limit = match (buffer, reserve) {
        (QueueLen::Packets(b), QueueLen::Packets(r)) => QueueLen::Packets(b.saturating_add(r)),
        (QueueLen::Bytes(b), QueueLen::Bytes(r)) => QueueLen::Bytes(b.saturating_add(r)),
        _ => return Err(QueueError::new("reserve", format!("{reserve} and the buffer of {buffer} must have the same unit"))),
    };
    let mut made = Protect::new(v.int("high") as u8, limit, v.opt_queue_len("k"));
    made.open = given.is_none().then_some(buffer);
    Ok(Queue::Fifo(FifoDiscipline::Protect(made)))
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "protect",
        summary: "one FIFO with a reserve of places for high packets: drop precedence (PRIN)",
        params: &[
            Param {
                key: "reserve",
                kind: Kind::QueueLen,
                default: Some(""),
                doc: "what high packets may take beyond the buffer. Default: as much as the buffer, and no less than 3 N + 1 packets, N being the other hosts of the network with three high packets each",
            },
            HIGH,
            K,
        ],
    },
    marking: Marking::IfSet,
    thresholds: &["k"],
    example: "{ kind = \"protect\", k = \"8pkt\" }",
    build,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, packet};

    #[test]
    fn the_reserve_is_for_high_packets() {
        let mut p = Protect::new(4, QueueLen::Packets(12), None);
        let mut ask = |n: u32, class| {
            let queue = QueueState { packets: n, bytes: u64::from(n) * 1500 };
            p.on_arrival(&busy(queue, 10), &packet(1500, class, 0, 0))
        };
        let full = Verdict::Drop(DropReason::Overflow);
        assert_eq!((ask(9, 0), ask(10, 0), ask(10, 3)), (Verdict::Accept, full, full));
        assert_eq!((ask(10, 4), ask(11, 7), ask(12, 7)), (Verdict::Accept, Verdict::Accept, full));
        assert!(!p.marks());
    }

    #[test]
    fn a_reserve_that_is_left_open_holds_three_packets_of_every_sender() {
        let built = |reserve: Option<QueueLen>, buffer: QueueLen| {
            let mut p = Protect::new(4, QueueLen::Packets(0), None);
            p.open = reserve.is_none().then_some(buffer);
            p.limit = QueueState::limit(QueueLen::Packets(10 + 5));
            p
        };
        let holds = |p: &mut Protect| {
            let mut full =
                |n: u32| p.on_arrival(&busy(QueueState { packets: n, bytes: u64::from(n) * 1000 }, 10), &packet(1000, 4, 0, 0));
            (0..1000).find(|&n| full(n) != Verdict::Accept).unwrap()
        };
        let mut few = built(None, QueueLen::Packets(64));
        few.set_defaults(16, 1000);
        assert_eq!(holds(&mut few), 64 + 64, "3 * 16 + 1 is less than the buffer");
        few.set_defaults(32, 1000);
        assert_eq!(holds(&mut few), 64 + 97);
        let mut bytes = built(None, QueueLen::Bytes(64_000));
        bytes.set_defaults(32, 1000);
        assert_eq!(holds(&mut bytes), 64 + 97);
        let mut given = built(Some(QueueLen::Packets(5)), QueueLen::Packets(10));
        given.set_defaults(32, 1000);
        assert_eq!(holds(&mut given), 15, "what the scenario says stays");
    }
}
