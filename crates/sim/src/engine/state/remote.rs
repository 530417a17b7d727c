//! Division of a run among several processes (`engine/ranks.rs`). Each process has the whole state and repeats all changes between windows, but runs
//! only some of the hosts and switches. Effects on its hosts and the state of remote receivers arrive as encoded messages.

use super::{Apps, SimState, lock_app};
use crate::engine::connection::ReceivedRanges;
use crate::engine::encoding::{Bytes, Encode, record};
use crate::engine::host::TimerKind;
use crate::engine::partition_state::DeferredEffect;
use crate::engine::ranks::Ranks;
use forebay_apps::RemoteTimer;
use forebay_types::{ConnSlot, IndexVec, NodeId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that an endless flow has written until it stops.
pub(super) const ENDLESS: u64 = u64::MAX / 4;

/// Nodes that this process runs, and the state of remote receivers.
#[derive(Debug, Clone, Default)]
pub(super) struct Remote {
    /// The process of each node; `None`: this process runs all nodes.
    rank_of: Option<Arc<IndexVec<NodeId, u16>>>,
    /// This process.
    own: u16,
    /// Remote receivers of connections whose sender is here, as of the last exchange.
    receivers: BTreeMap<ConnSlot, RemoteReceiver>,
}

/// State of a remote receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RemoteReceiver {
    pub held: ReceivedRanges,
    /// Next expected stream offset.
    pub rcv_nxt: u64,
}

record!(ReceivedRanges { in_order, beyond });
record!(RemoteReceiver { held, rcv_nxt });

impl Encode for Box<[(u64, u64)]> {
    fn put(&self, to: &mut Vec<u8>) {
        self.to_vec().put(to);
    }
    fn get(from: &mut Bytes<'_>) -> Box<[(u64, u64)]> {
        Vec::get(from).into()
    }
}

/// Kinds of encoded effects; 0 ends the list.
mod kind {
    pub(super) const TIMER: u8 = 1;
    pub(super) const EXPECT: u8 = 2;
    pub(super) const STOPPED: u8 = 3;
    pub(super) const DELIVERED: u8 = 4;
    pub(super) const LATE_ACK: u8 = 5;
    pub(super) const CLOSED: u8 = 6;
}

impl Remote {
    /// Returns true if this process runs `node`.
    #[inline]
    pub(super) fn is_local(&self, node: NodeId) -> bool {
        self.rank_of.as_ref().is_none_or(|rank_of| rank_of[node] == self.own)
    }

    /// Returns true if process `rank`, another one, runs `node`.
    fn runs_on(&self, rank: usize, node: NodeId) -> bool {
        self.rank_of.as_ref().is_some_and(|rank_of| usize::from(rank_of[node]) == rank)
    }
}

impl SimState {
    /// Assigns the nodes to the processes in `rank_of`, of which this is number `own`.
    pub(in crate::engine) fn set_ranks(&mut self, own: usize, rank_of: IndexVec<NodeId, u16>) {
        (self.remote.own, self.remote.rank_of) = (own as u16, Some(Arc::new(rank_of)));
        self.partition.mark_shared();
        for conn in self.connections.ids() {
            self.expect_endless(conn);
        }
    }

    /// Sets the written bytes of a connection with a remote sender: finite messages are announced, an endless one is known.
    pub(super) fn expect_endless(&mut self, conn: ConnSlot) {
        let s = self.connections.get(conn);
        if s.live && s.endless && !self.remote.is_local(s.src) {
            self.connections.sender_mut(conn).set_written(ENDLESS);
        }
    }

    /// Byte ranges that the receiver of `conn` has, on any process.
    pub(super) fn received(&self, conn: ConnSlot) -> ReceivedRanges {
        if self.remote.is_local(self.connections.get(conn).dst) {
            self.connections.received(conn)
        } else {
            self.remote_receiver(conn).held
        }
    }

    /// State of the remote receiver of `conn` as of the last exchange.
    pub(super) fn remote_receiver(&self, conn: ConnSlot) -> RemoteReceiver {
        self.remote.receivers.get(&conn).cloned().unwrap_or_default()
    }

    /// Exchanges the state of receivers with the processes of their senders.
    pub(in crate::engine) fn exchange_receivers(&mut self, ranks: &mut Ranks) {
        ranks.send(|rank, to| {
            for (conn, _) in
                self.connections.live().filter(|(_, s)| self.remote.is_local(s.dst) && self.remote.runs_on(rank, s.src))
            {
                (conn, RemoteReceiver { held: self.received(conn), rcv_nxt: self.connections.receiver(conn).rcv_nxt() }).put(to);
            }
        });
        self.remote.receivers.clear();
        ranks.receive(|_, from| {
            while !from.is_empty() {
                let (conn, receiver) = Encode::get(from);
                self.remote.receivers.insert(conn, receiver);
            }
        });
    }

    /// Packs the timers of applications that were set in this window at remote hosts, in their order.
    pub(in crate::engine) fn export_timers(&self, apps: &Apps) -> Vec<RemoteTimer> {
        let away = self.partition.effects().iter().filter_map(|(_, effect)| match effect {
            DeferredEffect::Timer { host, wake: TimerKind::App { app, tag }, .. } if !self.remote.is_local(*host) => {
                Some((*app, *tag))
            }
            _ => None,
        });
        away.map(|(app, tag)| lock_app(&apps[app]).export_timer(tag)).collect()
    }

    /// Encodes the effects of this window on hosts of process `rank`, and those that concern all processes.
    pub(in crate::engine) fn encode_effects(&self, rank: usize, timers: &[RemoteTimer], to: &mut Vec<u8>) {
        let has = |node| self.remote.runs_on(rank, node);
        let mut timers = timers.iter();
        for (from, effect) in self.partition.effects() {
            match *effect {
                DeferredEffect::Timer { host, time, order, wake } => {
                    let TimerKind::App { app, tag } = wake else {
                        unreachable!("only timers of applications are set at other hosts")
                    };
                    let remote = if self.remote.is_local(host) { None } else { timers.next() };
                    let timer = remote.filter(|_| has(host)).copied().unwrap_or(RemoteTimer { tag, job: None });
                    (kind::TIMER, *from).put(to);
                    ((host, time), (order, (app, timer))).put(to);
                }
                DeferredEffect::Expect { conn, end, query, start } if has(self.connections.get(conn).dst) => {
                    (kind::EXPECT, *from).put(to);
                    ((conn, end), (query, start)).put(to);
                }
                DeferredEffect::Stopped { conn, written } if has(self.connections.get(conn).dst) => {
                    (kind::STOPPED, *from).put(to);
                    (conn, written).put(to);
                }
                DeferredEffect::Delivered { conn, time } if has(self.connections.get(conn).src) => {
                    (kind::DELIVERED, *from).put(to);
                    (conn, time).put(to);
                }
                DeferredEffect::LateAck { conn, time, held } if has(self.connections.get(conn).src) => {
                    (kind::LATE_ACK, *from).put(to);
                    (conn, (time, held)).put(to);
                }
                DeferredEffect::Closed { conn, written } => {
                    (kind::CLOSED, *from).put(to);
                    (conn, written).put(to);
                }
                DeferredEffect::Row { conn, .. } => {
                    debug_assert!(self.remote.is_local(self.connections.get(conn).dst), "such runs are not divided")
                }
                DeferredEffect::Expect { .. }
                | DeferredEffect::Stopped { .. }
                | DeferredEffect::Delivered { .. }
                | DeferredEffect::LateAck { .. } => {}
            }
        }
        0_u8.put(to);
        self.partition.requests().to_vec().put(to);
    }

    /// Applies the output of [`SimState::encode_effects`] of another process.
    pub(in crate::engine) fn decode_effects(&mut self, apps: &Apps, from: &mut Bytes<'_>) {
        loop {
            let code = u8::get(from);
            if code == 0 {
                break;
            }
            let node: NodeId = Encode::get(from);
            let effect = match code {
                kind::TIMER => {
                    let ((host, time), (order, (app, timer))) = Encode::get(from);
                    let timer: RemoteTimer = timer;
                    let tag = if self.remote.is_local(host) { lock_app(&apps[app]).import_timer(timer) } else { timer.tag };
                    DeferredEffect::Timer { host, time, order, wake: TimerKind::App { app, tag } }
                }
                kind::EXPECT => {
                    let ((conn, end), (query, start)) = Encode::get(from);
                    let s = self.connections.get(conn);
                    lock_app(&apps[s.app]).on_remote_write(s.tag, query, start);
                    DeferredEffect::Expect { conn, end, query, start }
                }
                kind::STOPPED => {
                    let (conn, written) = Encode::get(from);
                    DeferredEffect::Stopped { conn, written }
                }
                kind::DELIVERED => {
                    let (conn, time) = Encode::get(from);
                    DeferredEffect::Delivered { conn, time }
                }
                kind::LATE_ACK => {
                    let (conn, (time, held)) = Encode::get(from);
                    DeferredEffect::LateAck { conn, time, held }
                }
                kind::CLOSED => {
                    let (conn, written) = Encode::get(from);
                    DeferredEffect::Closed { conn, written }
                }
                other => {
                    panic!("another process sent an effect of unknown kind {other}: all processes must run the same program")
                }
            };
            self.partition.defer(node, effect);
        }
        for (time, spec) in Vec::<(Time, _)>::get(from) {
            self.partition.request_connection(time, spec);
        }
    }
}
