//! Collectives as messages.

use crate::schedule::Schedule;
use std::fmt;

/// Kinds of collectives by their number in Chakra.
const KINDS: &[(u64, Kind, &str)] = &[
    (0, Kind::AllReduce, "all-reduce"),
    (2, Kind::AllGather, "all-gather"),
    (6, Kind::AllToAll, "all-to-all"),
    (7, Kind::ReduceScatter, "reduce-scatter"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    AllReduce,
    AllGather,
    AllToAll,
    ReduceScatter,
}

/// A collective of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Collective {
    kind: Kind,
    /// Size in the trace, bytes: of the data of a rank before the collective.
    bytes: u64,
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KINDS.iter().find(|(_, kind, _)| *kind == self.kind).map_or("", |(_, _, name)| name);
        write!(f, "{name} of {} B", self.bytes)
    }
}

impl Collective {
    pub(super) fn new(number: u64, bytes: u64) -> Result<Collective, String> {
        let found = KINDS.iter().find(|(n, ..)| *n == number).map(|(_, kind, _)| *kind);
        let kind = found.ok_or_else(|| {
            format!("comm_type {number}; legal: 0 (all-reduce), 2 (all-gather), 6 (all-to-all) and 7 (reduce-scatter)")
        })?;
        Ok(Collective { kind, bytes })
    }

    /// Appends the operations of `rank`. Their messages have tags from `tag` on. Returns the operations that begin, and the one at the end.
    pub(super) fn operations(
        &self,
        schedule: &mut Schedule,
        (rank, ranks): (usize, usize),
        place: usize,
        tag: u64,
    ) -> (Vec<usize>, usize) {
        let part = self.bytes.div_ceil(ranks as u64);
        let (steps, bytes) = match self.kind {
            Kind::AllReduce => (2 * (ranks - 1), part),
            Kind::AllGather => (ranks - 1, self.bytes),
            Kind::ReduceScatter => (ranks - 1, part),
            Kind::AllToAll => return all_to_all(schedule, (rank, ranks), place, tag, part),
        };
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let mut sends = Vec::with_capacity(steps);
        let mut recvs = Vec::with_capacity(steps);
        for step in 0..steps {
            let send = schedule.send(rank, place, next, tag + step as u64, bytes);
            let recv = schedule.recv(rank, place, before, tag + step as u64, bytes);
            // A rank passes on what it has received in the step before.
            if let Some(&last) = recvs.last() {
                schedule.requires(rank, send, last);
            }
            // The first two steps wait for the begin of the collective at this rank, and with them all others.
            if step >= 2 {
                schedule.requires(rank, send, sends[0]);
            }
            sends.push(send);
            recvs.push(recv);
        }
        let begin = vec![sends[0], recvs[0]];
        recvs.extend(sends.last());
        (begin, end(schedule, rank, place, &recvs))
    }
}

/// Each rank sends a part to each other, all at once.
fn all_to_all(schedule: &mut Schedule, (rank, ranks): (usize, usize), place: usize, tag: u64, bytes: u64) -> (Vec<usize>, usize) {
    let mut all = Vec::new();
    for i in 1..ranks {
        all.push(schedule.send(rank, place, (rank + i) % ranks, tag, bytes));
        all.push(schedule.recv(rank, place, (rank + ranks - i) % ranks, tag, bytes));
    }
    let end = end(schedule, rank, place, &all);
    (all, end)
}

/// Appends an operation that ends after all of `operations`.
fn end(schedule: &mut Schedule, rank: usize, place: usize, operations: &[usize]) -> usize {
    let end = schedule.calc(rank, place, 0);
    operations.iter().for_each(|o| schedule.requires(rank, end, *o));
    end
}
