//! Drop precedence in one FIFO: packets of high priority have a reserve beyond the buffer (`incast-prin.md` 3.3). No reordering.

use crate::{
    Arrival, Discipline, DropReason, Fifo, FifoDiscipline, HIGH, K, Marking, PortState, Queue, QueueEntry, QueueError,
    QueueState, Verdict,
};
use forebay_types::QueueLen;
use forebay_types::param::{Entry, Kind, Param, Values};

/// Drop precedence, which has no state.
#[derive(Debug, Clone, PartialEq)]
pub struct Protect {
    high: u8,
    /// Buffer and reserve.
    limit: QueueState,
    k: QueueState,
    /// The buffer, if `set_defaults` has to set the reserve.
    unset_reserve: Option<QueueLen>,
}

impl Protect {
    /// `limit` (buffer and reserve) applies to packets of class `high` and above. Marks from `k` on.
    pub fn new(high: u8, limit: QueueLen, k: Option<QueueLen>) -> Protect {
        Protect { high, limit: QueueState::limit(limit), k: QueueState::threshold(k), unset_reserve: None }
    }
}

impl Discipline for Protect {
    /// Sets the reserve, if the scenario does not, for `senders` with three packets of high priority each, so that these are always accepted
    /// (`incast-prin.md` 3.3: B_hi = max(B, 3 N + 1)). `packet` is a full packet on the wire, for buffers in bytes.
    fn set_defaults(&mut self, senders: u64, packet: u64) {
        let needed = 3 * senders + 1;
        self.limit = match self.unset_reserve {
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
}

impl Fifo for Protect {
    fn fast_path_limit(&self) -> QueueState {
        self.k
    }

    fn is_step(&self) -> bool {
        true
    }

    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
        // Packets of high priority also count against the limit of the others, which are dropped while the reserve is in use.
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
    let mut protect = Protect::new(v.int("high") as u8, limit, v.opt_queue_len("k"));
    protect.unset_reserve = given.is_none().then_some(buffer);
    Ok(Queue::Fifo(FifoDiscipline::Protect(protect)))
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "protect",
        summary: "one FIFO with a reserve for packets of high priority: drop precedence (PRIN)",
        params: &[
            Param {
                key: "reserve",
                kind: Kind::QueueLen,
                default: Some(""),
                doc: "space beyond the buffer for packets of high priority. Default: the size of the buffer, but at least 3 N + 1 packets, for N other hosts with three such packets each",
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
    fn reserve_is_for_high_priority() {
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
    fn default_reserve_holds_three_per_sender() {
        let built = |reserve: Option<QueueLen>, buffer: QueueLen| {
            let mut p = Protect::new(4, QueueLen::Packets(0), None);
            p.unset_reserve = reserve.is_none().then_some(buffer);
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
        assert_eq!(holds(&mut given), 15, "a given reserve stays");
    }
}
