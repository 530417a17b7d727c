//! CoDel (RFC 8289): once the sojourn time has stayed above a target for an interval, packets are dropped or marked as they leave, at increasing
//! frequency, until it falls below the target. ECN and `ce-threshold` are those of Linux (`include/net/codel_impl.h`).

use crate::{
    Buffered, BufferedDiscipline, Discipline, DropReason, Effects, Handle, Marking, PortState, Queue, QueueEntry, QueueError,
    Queued, Verdict,
};
use alloc::collections::VecDeque;
use forebay_types::param::{Entry, Kind, Param, Values};
use forebay_types::{Time, math};

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Params {
    target: Time,
    interval: Time,
    ecn: bool,
    /// Packets with a longer sojourn time are marked in any state.
    ce_threshold: Time,
    /// Size of a full packet on the wire; `None` until the network is known.
    mtu: Option<u64>,
}

/// Size of a full packet where the network is unknown: Ethernet's, as counted for the quantum in RFC 8290 section 5.2.4.
const ETHERNET: u64 = 1514;

impl Params {
    /// Reads checked parameters.
    pub(crate) fn new(v: &Values) -> Result<Params, QueueError> {
        let time = |key: &'static str| match v.time(key) {
            Time::ZERO => Err(QueueError::new(key, "is zero; it must be longer")),
            t => Ok(t),
        };
        Ok(Params {
            target: time("target")?,
            interval: time("interval")?,
            ecn: v.bool("ecn"),
            ce_threshold: v.opt_time("ce-threshold").unwrap_or(Time::NEVER),
            mtu: v.opt_bytes("mtu").map(|b| b.0),
        })
    }

    /// Sets the size of full packets, unless the scenario does.
    pub(crate) fn set_defaults(&mut self, packet: u64) {
        self.mtu = self.mtu.or(Some(packet));
    }

    pub(crate) fn marks(&self) -> bool {
        self.ecn || self.ce_threshold != Time::NEVER
    }

    /// RFC 8289 section 5.6, `control_law`: time of the drop after the one at `t`, the `count`th in a row.
    fn control_law(&self, t: Time, count: u32) -> Time {
        // Square root and quotient are correctly rounded on every machine; Linux approximates the root by Newton steps.
        t + Time((self.interval.0 as f64 / math::sqrt_of(count)) as u64)
    }
}

/// State of CoDel for one queue (RFC 8289 section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct CodelControl {
    /// Time at which the sojourn time will have been above the target for an interval.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops since the dropping state was entered.
    count: u32,
    /// `count` when it was last entered.
    last_count: u32,
}

/// A queue with CoDel: its packets in order of arrival.
pub(crate) trait Packets {
    /// Removes the oldest packet.
    fn take(&mut self) -> Option<Queued>;

    /// Bytes that remain in all queues that share the transmitter.
    fn bytes(&self) -> u64;
}

impl CodelControl {
    /// State of an empty queue.
    pub(crate) const NEW: CodelControl =
        CodelControl { first_above: None, dropping: false, drop_next: Time::ZERO, count: 0, last_count: 0 };

    /// Counts drops due to overflow, which strengthen the signal if one of several queues overflows (Linux, `fq_codel_drop`). Drops of a single
    /// queue do not (RFC 8289 section 5.4).
    pub(crate) fn add_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// RFC 8289 section 5.6, `dodequeue`: returns the oldest packet, and true if it may be dropped.
    fn take(&mut self, p: &Params, now: Time, queue: &mut impl Packets) -> (Option<Queued>, bool) {
        let Some(packet) = queue.take() else {
            self.first_above = None;
            return (None, false);
        };
        if packet.sojourn(now) < p.target || queue.bytes() <= p.mtu.unwrap_or(ETHERNET) {
            self.first_above = None;
            return (Some(packet), false);
        }
        let may_drop = match self.first_above {
            None => {
                self.first_above = Some(now + p.interval);
                false
            }
            Some(t) => now >= t,
        };
        (Some(packet), may_drop)
    }

    /// Congestion signal to a packet that leaves: CE, or a drop, after which `packet` is `None`.
    fn signal(p: &Params, packet: &mut Option<Queued>, effects: &mut impl Effects) {
        match packet {
            Some(q) if p.ecn && q.packet.ecn.is_capable() => effects.mark(q.handle),
            _ => {
                if let Some(q) = packet.take() {
                    effects.drop(q.handle, DropReason::Early);
                }
            }
        }
    }

    /// RFC 8289 section 5.5, `dequeue`: the packet whose transmission starts at `now`.
    pub(crate) fn pop(&mut self, p: &Params, now: Time, queue: &mut impl Packets, effects: &mut impl Effects) -> Option<Queued> {
        let (mut packet, mut may_drop) = self.take(p, now, queue);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.wrapping_add(1);
                CodelControl::signal(p, &mut packet, effects);
                if packet.is_some() {
                    // A marked packet leaves, and the next signal is scheduled (Linux).
                    self.drop_next = p.control_law(self.drop_next, self.count);
                    break;
                }
                (packet, may_drop) = self.take(p, now, queue);
                self.dropping = may_drop;
                if self.dropping {
                    self.drop_next = p.control_law(self.drop_next, self.count);
                }
            }
        } else if may_drop {
            CodelControl::signal(p, &mut packet, effects);
            if packet.is_none() {
                (packet, _) = self.take(p, now, queue);
            }
            self.dropping = true;
            // If the dropping state was left recently, it resumes at the previous drop rate.
            let delta = self.count.wrapping_sub(self.last_count);
            let recent = now.saturating_sub(self.drop_next) < Time(p.interval.0.saturating_mul(16));
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = p.control_law(now, self.count);
            self.last_count = self.count;
        }
        if let Some(q) = packet.filter(|q| q.sojourn(now) > p.ce_threshold && q.packet.ecn.is_capable()) {
            effects.mark(q.handle);
        }
        packet
    }
}

/// Access to the state, for the comparison with `sch_codel` and `sch_fq_codel`.
#[cfg(inspect)]
impl CodelControl {
    /// Next drop, time above the target (or never), count, count when dropping began, and whether it is dropping.
    pub(crate) fn state(&self) -> [u64; 5] {
        let first_above = self.first_above.unwrap_or(Time::NEVER);
        [self.drop_next.0, first_above.0, self.count.into(), self.last_count.into(), self.dropping.into()]
    }

    /// Moves the next drop.
    pub(crate) fn set_drop_next(&mut self, time: Time) {
        self.drop_next = time;
    }
}

#[cfg(inspect)]
impl Codel {
    /// See [`CodelControl::state`].
    pub fn state(&self) -> [u64; 5] {
        self.control.state()
    }

    /// See [`CodelControl::set_drop_next`].
    pub fn set_drop_next(&mut self, time: Time) {
        self.control.set_drop_next(time);
    }
}

/// A FIFO with CoDel.
#[derive(Debug, Clone, PartialEq)]
pub struct Codel {
    params: Params,
    control: CodelControl,
    backlog: Backlog,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Backlog {
    packets: VecDeque<Queued>,
    bytes: u64,
}

impl Packets for Backlog {
    fn take(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.packet.wire);
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Discipline for Codel {
    fn set_defaults(&mut self, _senders: u64, packet: u64) {
        self.params.set_defaults(packet);
    }

    fn marks(&self) -> bool {
        self.params.marks()
    }
}

impl Buffered for Codel {
    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        if !port.fits(packet.packet.wire) {
            return Some(Verdict::Drop(DropReason::Overflow));
        }
        self.backlog.bytes += u64::from(packet.packet.wire);
        self.backlog.packets.push_back(*packet);
        Some(Verdict::Accept)
    }

    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        if let Some(verdict) = self.try_push(port, &packet) {
            packet.admit(verdict, effects);
        }
    }

    #[inline(always)]
    fn pop(&mut self, now: Time, effects: &mut impl Effects) -> Option<Handle> {
        self.control.pop(&self.params, now, &mut self.backlog, effects).map(|q| q.handle)
    }

    fn can_bypass(&self) -> bool {
        true
    }

    fn extend(&mut self, handle: Handle, wire: u32) -> bool {
        let Some(newest) = self.backlog.packets.back_mut().filter(|q| q.handle == handle) else { return false };
        newest.packet.wire += wire;
        self.backlog.bytes += u64::from(wire);
        true
    }

    fn len(&self) -> usize {
        self.backlog.packets.len()
    }
}

/// Parameters of CoDel, with the default of `ecn`.
pub(crate) const fn params(ecn: &'static str) -> [Param; 5] {
    [
        Param {
            key: "target",
            kind: Kind::Time,
            default: Some("5ms"),
            doc: "acceptable sojourn time of a standing queue (RFC 8289 section 4.3); 5 to 10 % of `interval`",
        },
        Param {
            key: "interval",
            kind: Kind::Time,
            default: Some("100ms"),
            doc: "time for which the sojourn time must stay above `target` before the first drop: the longest typical RTT (RFC 8289 section 4.2)",
        },
        Param {
            key: "ecn",
            kind: Kind::Bool,
            default: Some(ecn),
            doc: "mark ECN-capable packets instead of dropping them. The default is that of Linux",
        },
        Param {
            key: "ce-threshold",
            kind: Kind::Time,
            default: Some(""),
            doc: "sojourn time above which every ECN-capable packet is marked, in any state (Linux). Default: none",
        },
        Param {
            key: "mtu",
            kind: Kind::Bytes,
            default: Some(""),
            doc: "queue length up to which no packet is dropped (RFC 8289 section 4.1; `maxpacket` of section 5.3). Default: a full packet on the wire",
        },
    ]
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "codel",
        summary: "drops or marks packets as they leave, once their sojourn time has exceeded a target for an interval (CoDel, RFC 8289)",
        params: &params("false"),
    },
    marking: Marking::IfSet,
    thresholds: &[],
    example: "{ kind = \"codel\", target = \"100us\", interval = \"2ms\", ecn = true }",
    build: |v, _| {
        let params = Params::new(v)?;
        let codel = Codel { params, control: CodelControl::default(), backlog: Backlog::default() };
        Ok(Queue::Buffered(BufferedDiscipline::Codel(codel)))
    },
};

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
