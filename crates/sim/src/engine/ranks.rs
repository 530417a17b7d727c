//! Message exchange among the processes of a run, through `exchange.rs`.

use super::encoding::{Bytes, Encode};
use crate::exchange::Exchange;
use std::sync::Arc;

/// The processes of a run.
pub(super) struct Ranks {
    exchange: Arc<dyn Exchange>,
    out: Vec<Vec<u8>>,
    come: Vec<Vec<u8>>,
}

impl Ranks {
    /// The processes that `exchange` connects.
    pub(super) fn new(exchange: Arc<dyn Exchange>) -> Ranks {
        let buffers = || (0..exchange.ranks()).map(|_| Vec::new()).collect();
        Ranks { out: buffers(), come: buffers(), exchange }
    }

    /// The number of this process.
    pub(super) fn own(&self) -> usize {
        self.exchange.rank()
    }

    /// Number of processes.
    pub(super) fn count(&self) -> usize {
        self.exchange.ranks()
    }

    /// Returns true if this process gets the report.
    pub(super) fn is_first(&self) -> bool {
        self.own() == 0
    }

    /// Sends each other process the bytes that `put` writes for it. All processes call this at the same point of the run, followed by
    /// [`Ranks::receive`].
    pub(super) fn send(&mut self, mut put: impl FnMut(usize, &mut Vec<u8>)) {
        let own = self.own();
        for (rank, to) in self.out.iter_mut().enumerate().filter(|(rank, _)| *rank != own) {
            to.clear();
            put(rank, to);
        }
        self.exchange.swap(&mut self.out, &mut self.come);
    }

    /// Passes the message of each other process to `take`.
    pub(super) fn receive(&self, mut take: impl FnMut(usize, &mut Bytes<'_>)) {
        let own = self.own();
        for (rank, come) in self.come.iter().enumerate().filter(|(rank, _)| *rank != own) {
            let mut from = Bytes::new(come);
            take(rank, &mut from);
            assert!(from.is_empty(), "the message from process {rank} is too long: all processes must run the same program");
        }
    }

    /// Adds up the numbers of all processes, which have equally many; sums wrap around.
    pub(super) fn sum(&mut self, numbers: &mut [u64]) {
        let own = numbers.to_vec();
        self.send(|_, to| own.iter().for_each(|n| n.put(to)));
        self.receive(|_, from| numbers.iter_mut().for_each(|n| *n = n.wrapping_add(u64::get(from))));
    }

    /// Sends `piece` to the first process, which passes those of the others to `take`. Returns true if any process sent something: then all call this
    /// again.
    pub(super) fn pass(&mut self, piece: &[u8], mut take: impl FnMut(usize, &mut Bytes<'_>)) -> bool {
        let own = !piece.is_empty();
        let mut any = own;
        self.send(|rank, to| {
            own.put(to);
            if rank == 0 {
                to.extend_from_slice(piece);
            }
        });
        self.receive(|rank, from| {
            any |= bool::get(from);
            take(rank, from);
        });
        any
    }
}
