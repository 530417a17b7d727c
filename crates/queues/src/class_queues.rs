//! Queues by class of service for several schedulers: classification, limits, marking, and drops from a full buffer. The scheduler chooses the queue
//! to serve.

use crate::{DropReason, Effects, Handle, PacketRef, PortState, QueueError, QueueState, Queued, Verdict};
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use forebay_types::QueueLen;
use forebay_types::param::{Kind, Param, Values};

/// Classes of service that packets can have.
pub(crate) const CLASSES: usize = 8;

/// A queue without the packet in service.
#[derive(Debug, Clone, PartialEq)]
struct ClassQueue {
    packets: VecDeque<PacketRef>,
    state: QueueState,
    /// Its own limit, its packet in service included.
    limit: QueueState,
    /// Its own marking threshold.
    k: QueueState,
    weight: u32,
}

/// Queues by class, each with a weight, a limit and a marking threshold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassQueues {
    /// Queue of each class.
    map: [u8; CLASSES],
    queues: Vec<ClassQueue>,
    /// Queue of the packet in service.
    serving: usize,
    tail_drop: bool,
}

/// Maps classes evenly to `queues`, class 7 to queue 0. With 2, 4 and 8 queues as in IEEE 802.1Q table 8-5, except that class 0 stays below class 1:
/// classes are in order of urgency here, whereas 802.1Q uses class 1 for background traffic.
pub(crate) fn even_map(queues: usize) -> [u8; CLASSES] {
    core::array::from_fn(|class| ((CLASSES - 1 - class) * queues / CLASSES) as u8)
}

/// The map from classes to `count` queues, given by the scenario or even.
pub(crate) fn map(v: &Values, count: usize) -> Result<[u8; CLASSES], QueueError> {
    let Some(list) = v.opt_ints("map") else { return Ok(even_map(count)) };
    if list.len() != CLASSES {
        return Err(QueueError::new("map", format!("has {} entries; legal: 8, the queues of classes 0 to 7", list.len())));
    }
    let mut map = [0; CLASSES];
    for (slot, &q) in map.iter_mut().zip(&list) {
        if q as usize >= count {
            return Err(QueueError::new("map", format!("names queue {q}; legal: 0 to {}", count - 1)));
        }
        *slot = q as u8;
    }
    Ok(map)
}

impl ClassQueues {
    /// The queues that a scenario describes.
    pub(crate) fn new(v: &Values) -> Result<ClassQueues, QueueError> {
        let count = v.int("queues") as usize;
        let common = v.opt_queue_len("k");
        let empty = ClassQueue {
            packets: VecDeque::new(),
            state: QueueState::default(),
            limit: QueueState::UNLIMITED,
            k: QueueState::threshold(common),
            weight: 1,
        };
        let mut queues = vec![empty; count];
        let few = |key: &'static str, n: usize| match n > count {
            true => Err(QueueError::new(key, format!("has {n} entries for {count} queues"))),
            false => Ok(()),
        };
        let weights = v.opt_ints("weights").unwrap_or_default();
        let (limits, thresholds) = (v.opt_queue_lens("limits").unwrap_or_default(), v.opt_queue_lens("ks").unwrap_or_default());
        few("weights", weights.len())?;
        few("limits", limits.len())?;
        few("ks", thresholds.len())?;
        let zero = |list: &[QueueLen]| list.iter().any(|l| l.amount() == 0);
        if zero(&limits) {
            return Err(QueueError::new("limits", "a limit of zero drops every packet of its queue; the minimum is \"1pkt\""));
        }
        queues.iter_mut().zip(weights).for_each(|(q, w)| q.weight = w as u32);
        queues.iter_mut().zip(limits).for_each(|(q, l)| q.limit = QueueState::limit(l));
        queues.iter_mut().zip(thresholds).for_each(|(q, k)| q.k = QueueState::limit(k));
        Ok(ClassQueues { map: map(v, count)?, queues, serving: 0, tail_drop: v.text("overflow") == "tail" })
    }

    /// Queue of a packet, and its length with the packet in service.
    #[inline]
    fn own(&self, port: &PortState, packet: &Queued) -> (usize, QueueState) {
        let q = usize::from(self.map[usize::from(packet.packet.class) % CLASSES]);
        let mut own = self.queues[q].state;
        if port.serving > 0 && self.serving == q {
            own.add(port.serving);
        }
        (q, own)
    }

    /// Enqueues a packet that fits. Returns the decision and the queue; `None` if the packet does not fit.
    #[inline]
    pub(crate) fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<(Verdict, usize)> {
        let (wire, (q, own)) = (packet.packet.wire, self.own(port, packet));
        let queue = &mut self.queues[q];
        if !own.fits(wire, queue.limit) || !port.fits(wire) {
            return None;
        }
        queue.state.add(wire);
        queue.packets.push_back(packet.packet_ref());
        Some((Verdict::step(own, queue.k, packet.packet.ecn), q))
    }

    /// Enqueues or drops a packet. Returns its queue; `None` if it was dropped.
    pub(crate) fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) -> Option<usize> {
        let (wire, (q, own)) = (packet.packet.wire, self.own(port, &packet));
        let fits = own.fits(wire, self.queues[q].limit) && (port.fits(wire) || self.steal(port, wire, q, effects));
        let verdict = match fits {
            true => Verdict::step(own, self.queues[q].k, packet.packet.ecn),
            false => Verdict::Drop(DropReason::Overflow),
        };
        packet.admit(verdict, effects).then(|| {
            self.queues[q].state.add(wire);
            self.queues[q].packets.push_back(packet.packet_ref());
            q
        })
    }

    /// Buffer stealing (McKenney 1991; Shreedhar and Varghese 1995, section 3): drops the newest packets of the longest queue by bytes, if it is
    /// longer than the arriving packet's own queue with that packet. Drops nothing if that is not enough.
    fn steal(&mut self, port: &PortState, wire: u32, q: usize, effects: &mut impl Effects) -> bool {
        let own = self.queues[q].state.bytes + u64::from(wire);
        let longest = (0..self.queues.len()).rev().max_by_key(|i| self.queues[*i].state.bytes);
        let Some(from) = longest.filter(|i| !self.tail_drop && *i != q && self.queues[*i].state.bytes > own) else {
            return false;
        };
        let mut freed = QueueState::default();
        let enough = self.queues[from].packets.iter().rev().any(|w| {
            freed.add(w.wire);
            port.fits_without(freed, wire)
        });
        while enough && freed.packets > 0 {
            let Some(w) = self.queues[from].packets.pop_back() else { break };
            self.queues[from].state.remove(w.wire);
            freed.remove(w.wire);
            w.evict(effects);
        }
        enough
    }

    /// Removes the oldest packet of queue `q` for transmission.
    pub(crate) fn take(&mut self, q: usize) -> Option<Handle> {
        let packet = self.queues[q].packets.pop_front()?;
        self.queues[q].state.remove(packet.wire);
        self.serving = q;
        Some(packet.handle)
    }

    /// Wire bytes of the oldest packet of queue `q`.
    pub(crate) fn head(&self, q: usize) -> Option<u32> {
        self.queues[q].packets.front().map(|w| w.wire)
    }

    /// Packets of queue `q`, without the one in service.
    pub(crate) fn packets(&self, q: usize) -> usize {
        self.queues[q].packets.len()
    }

    pub(crate) fn weight(&self, q: usize) -> u32 {
        self.queues[q].weight
    }

    pub(crate) fn count(&self) -> usize {
        self.queues.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.queues.iter().map(|q| q.packets.len()).sum()
    }

    pub(crate) fn marks(&self) -> bool {
        self.queues.iter().any(|q| q.k != QueueState::UNLIMITED)
    }

    pub(crate) fn thresholds(&self) -> Vec<(String, QueueState)> {
        thresholds(self.queues.iter().map(|q| q.k))
    }
}

/// Marking thresholds of queues, for [`crate::Queue::thresholds`].
pub(crate) fn thresholds(of: impl Iterator<Item = QueueState> + Clone) -> Vec<(String, QueueState)> {
    let (first, mut all) = (of.clone().next(), of.clone());
    match first {
        Some(k) if k != QueueState::UNLIMITED && all.all(|other| other == k) => vec![("K of each queue".into(), k)],
        _ => of.enumerate().filter(|(_, k)| *k != QueueState::UNLIMITED).map(|(q, k)| (format!("K of queue {q}"), k)).collect(),
    }
}

/// Common parameters of the schedulers.
pub(crate) const PARAMS: [Param; 7] = [
    Param { key: "queues", kind: Kind::Int(2, 8), default: Some("2"), doc: "number of queues" },
    Param {
        key: "map",
        kind: Kind::Ints(0, 7),
        default: Some(""),
        doc: "eight entries, the queues of classes 0 to 7 (PCP, or class selectors of DSCP). Default: evenly, class 7 to queue 0",
    },
    Param {
        key: "weights",
        kind: Kind::Ints(1, 1000),
        default: Some(""),
        doc: "weights of queues 0, 1, ...: their shares of the link while they have packets; default 1",
    },
    Param {
        key: "limits",
        kind: Kind::QueueLens,
        default: Some(""),
        doc: "limits of queues 0, 1, ..., each including its packet in service; default: the whole buffer",
    },
    Param {
        key: "overflow",
        kind: Kind::Choice(&["longest", "tail"]),
        default: Some("longest"),
        doc: "packet to drop when the common buffer is full: \"longest\": the newest of the longest queue, if that is longer than the arriving packet's (buffer stealing, McKenney 1991); \"tail\": the arriving packet",
    },
    Param {
        key: "k",
        kind: Kind::QueueLen,
        default: Some(""),
        doc: "length of the packet's own queue from which on it is marked with CE, including the packet in service. Default: no marking",
    },
    Param {
        key: "ks",
        kind: Kind::QueueLens,
        default: Some(""),
        doc: "thresholds of queues 0, 1, ... instead of `k`, for example in proportion to their weights (MQ-ECN, Bai et al. 2016, for fixed shares)",
    },
];
