//! A run on several processes (`engine/ranks.rs`): each has this whole core and keeps up all that is changed between windows, but runs only some of
//! the hosts and switches. What the others do to those, and what they know of receivers, comes from them as bytes.

use super::{Apps, Core, called};
use crate::engine::encoding::{Bytes, Encode, record};
use crate::engine::hosts::Wake;
use crate::engine::lane::Handover;
use crate::engine::ranks::Ranks;
use crate::engine::stream::Held;
use forebay_traffic::Errand;
use forebay_units::{ConnSlot, IndexVec, NodeId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an endless flow has written until it stops.
pub(super) const ENDLESS: u64 = u64::MAX / 4;

/// What this process runs, and what others have told it.
#[derive(Debug, Clone, Default)]
pub(super) struct Elsewhere {
    /// The process that runs each node; `None`: this one all of them.
    rank_of: Option<Arc<IndexVec<NodeId, u16>>>,
    /// This process.
    own: u16,
    /// Receivers of connections that are sent here and received elsewhere, as they were when all told each other last.
    told: BTreeMap<ConnSlot, Told>,
}

/// A receiver, as its process tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub held: Held,
    /// The stream offset that it expects next.
    pub rcv_nxt: u64,
}

record!(Held { in_order, beyond });
record!(Told { held, rcv_nxt });

impl Encode for Box<[(u64, u64)]> {
    fn put(&self, to: &mut Vec<u8>) {
        self.to_vec().put(to);
    }
    fn get(from: &mut Bytes<'_>) -> Box<[(u64, u64)]> {
        Vec::get(from).into()
    }
}

/// Kinds of what is handed over; 0: there is no more.
mod kind {
    pub(super) const TIMER: u8 = 1;
    pub(super) const EXPECT: u8 = 2;
    pub(super) const STOPPED: u8 = 3;
    pub(super) const DELIVERED: u8 = 4;
    pub(super) const LATE_ACK: u8 = 5;
    pub(super) const CLOSED: u8 = 6;
}

impl Core {
    /// Whether this process runs `node`.
    #[inline]
    pub(in crate::engine) fn holds(&self, node: NodeId) -> bool {
        self.elsewhere.rank_of.as_ref().is_none_or(|rank_of| rank_of[node] == self.elsewhere.own)
    }

    /// Whether process `rank`, another one, runs `node`.
    fn has(&self, rank: usize, node: NodeId) -> bool {
        self.elsewhere.rank_of.as_ref().is_some_and(|rank_of| usize::from(rank_of[node]) == rank)
    }

    /// From now on the processes in `rank_of` run the nodes, of which this is number `own`.
    pub(in crate::engine) fn hold_only(&mut self, own: usize, rank_of: IndexVec<NodeId, u16>) {
        (self.elsewhere.own, self.elsewhere.rank_of) = (own as u16, Some(Arc::new(rank_of)));
        self.lane.is_known();
        for conn in self.streams.ids() {
            self.expect_endless(conn);
        }
    }

    /// Of a connection that is sent elsewhere this process knows how much was written: finite messages are announced, and an endless one is known.
    pub(super) fn expect_endless(&mut self, conn: ConnSlot) {
        let s = &self.streams[conn];
        if s.live && s.endless && !self.holds(s.src) {
            self.senders[conn].set_written(ENDLESS);
        }
    }

    /// What the receiver of `conn`, which is elsewhere, had when all told each other last.
    pub(super) fn told(&self, conn: ConnSlot) -> Told {
        self.elsewhere.told.get(&conn).cloned().unwrap_or_default()
    }

    /// All processes tell each other what the receivers have whose senders are elsewhere.
    pub(in crate::engine) fn tell_all(&mut self, ranks: &mut Ranks) {
        ranks.tell(|rank, to| {
            for (conn, _) in self.streams.enumerate().filter(|(_, s)| s.live && self.holds(s.dst) && self.has(rank, s.src)) {
                (conn, Told { held: self.held(conn), rcv_nxt: self.receivers[conn].rcv_nxt() }).put(to);
            }
        });
        self.elsewhere.told.clear();
        ranks.hear(|_, from| {
            while !from.is_empty() {
                let (conn, told) = Encode::get(from);
                self.elsewhere.told.insert(conn, told);
            }
        });
    }

    /// What timers that were set in this window for hosts elsewhere take there, in their order.
    pub(in crate::engine) fn pack_errands(&self, apps: &Apps) -> Vec<Errand> {
        let away = self.lane.handovers().iter().filter_map(|(_, what)| match what {
            Handover::Timer { host, wake: Wake::App { app, tag }, .. } if !self.holds(*host) => Some((*app, *tag)),
            _ => None,
        });
        away.map(|(app, tag)| called(&apps[app]).pack(tag)).collect()
    }

    /// Tells process `rank` what the hosts here did to its own in this window, and what all must know of it.
    pub(in crate::engine) fn put_handovers(&self, rank: usize, errands: &[Errand], to: &mut Vec<u8>) {
        let has = |node| self.has(rank, node);
        let mut errands = errands.iter();
        for (from, what) in self.lane.handovers() {
            match *what {
                Handover::Timer { host, time, order, wake } => {
                    let Wake::App { app, tag } = wake else { unreachable!("a host sets timers of others for applications only") };
                    let away = if self.holds(host) { None } else { errands.next() };
                    let errand = away.filter(|_| has(host)).copied().unwrap_or(Errand { tag, job: None });
                    (kind::TIMER, *from).put(to);
                    ((host, time), (order, (app, errand))).put(to);
                }
                Handover::Expect { conn, end, query, start } if has(self.streams[conn].dst) => {
                    (kind::EXPECT, *from).put(to);
                    ((conn, end), (query, start)).put(to);
                }
                Handover::Stopped { conn, written } if has(self.streams[conn].dst) => {
                    (kind::STOPPED, *from).put(to);
                    (conn, written).put(to);
                }
                Handover::Delivered { conn, time } if has(self.streams[conn].src) => {
                    (kind::DELIVERED, *from).put(to);
                    (conn, time).put(to);
                }
                Handover::LateAck { conn, time, held } if has(self.streams[conn].src) => {
                    (kind::LATE_ACK, *from).put(to);
                    (conn, (time, held)).put(to);
                }
                Handover::Closed { conn, written } => {
                    (kind::CLOSED, *from).put(to);
                    (conn, written).put(to);
                }
                Handover::Row { conn, .. } => debug_assert!(self.holds(self.streams[conn].dst), "such runs are not divided"),
                Handover::Expect { .. } | Handover::Stopped { .. } | Handover::Delivered { .. } | Handover::LateAck { .. } => {}
            }
        }
        0_u8.put(to);
        self.lane.asked().to_vec().put(to);
    }

    /// Takes over what [`Core::put_handovers`] of another process said.
    pub(in crate::engine) fn take_handovers(&mut self, apps: &Apps, from: &mut Bytes<'_>) {
        loop {
            let what = u8::get(from);
            if what == 0 {
                break;
            }
            let node: NodeId = Encode::get(from);
            let what = match what {
                kind::TIMER => {
                    let ((host, time), (order, (app, errand))) = Encode::get(from);
                    let errand: Errand = errand;
                    let tag = if self.holds(host) { called(&apps[app]).unpack(errand) } else { errand.tag };
                    Handover::Timer { host, time, order, wake: Wake::App { app, tag } }
                }
                kind::EXPECT => {
                    let ((conn, end), (query, start)) = Encode::get(from);
                    let s = &self.streams[conn];
                    called(&apps[s.app]).written_elsewhere(s.tag, start);
                    Handover::Expect { conn, end, query, start }
                }
                kind::STOPPED => {
                    let (conn, written) = Encode::get(from);
                    Handover::Stopped { conn, written }
                }
                kind::DELIVERED => {
                    let (conn, time) = Encode::get(from);
                    Handover::Delivered { conn, time }
                }
                kind::LATE_ACK => {
                    let (conn, (time, held)) = Encode::get(from);
                    Handover::LateAck { conn, time, held }
                }
                kind::CLOSED => {
                    let (conn, written) = Encode::get(from);
                    Handover::Closed { conn, written }
                }
                other => {
                    panic!("another process of the run handed over something of kind {other}: all must run the same program")
                }
            };
            self.lane.hand_over(node, what);
        }
        for (time, spec) in Vec::<(Time, _)>::get(from) {
            self.lane.ask(time, spec);
        }
    }
}
