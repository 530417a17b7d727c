//! Pools of persistent connections: a flow takes a connection of its source and destination that is free, and opens one if none is. A connection is free
//! when its last message has been acknowledged, and stays open.

use crate::{Host, InitialData, Job, OpenSpec, Wake};
use forebay_types::{AppId, ConnSlot, GroupId, NodeId, Time};
use std::collections::BTreeMap;

/// Source, destination and transport of the connections of a pool.
pub(crate) type Ends = (NodeId, NodeId, GroupId);

/// The pools of a workload.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    /// Numbers of the pools, which are the tags of their connections.
    numbers: BTreeMap<Ends, u64>,
    /// Free connections of each pool; the one that became free last is taken first, as in common HTTP clients.
    free: Vec<Vec<ConnSlot>>,
    /// Messages to write on connections that are taken, by the tags of their timers.
    taken: BTreeMap<u64, (ConnSlot, Job)>,
    /// Tag of the next timer.
    next: u64,
}

impl Pools {
    /// Sends a message at `start`. The connection is chosen now; a new one has `window` as its first window, if given.
    pub(crate) fn send(
        &mut self,
        host: &mut impl Host,
        app: AppId,
        start: Time,
        (src, dst, group): Ends,
        (job, window): (Job, Option<u64>),
    ) {
        let new = self.numbers.len() as u64;
        let number = *self.numbers.entry((src, dst, group)).or_insert(new);
        if number == new {
            self.free.push(Vec::new());
        }
        if let Some(conn) = self.free[number as usize].pop() {
            self.taken.insert(self.next, (conn, job));
            host.wake(Wake { app, tag: self.next, origin: src, host: src, time: start });
            self.next += 1;
            return;
        }
        let first = InitialData::First(job);
        host.open(start, OpenSpec { src, dst, group, app, tag: number, first, reverse_of: None, window });
    }

    /// Writes the message of the timer with `tag`.
    pub(crate) fn write(&mut self, host: &mut impl Host, now: Time, tag: u64) {
        if let Some((conn, job)) = self.taken.remove(&tag) {
            host.write(conn, now, job);
        }
    }

    /// Takes back `conn` of the pool with this number: its message is acknowledged.
    pub(crate) fn release(&mut self, number: u64, conn: ConnSlot) {
        self.free[number as usize].push(conn);
    }
}
