//! What happens in one period of a run, as far as it leaves anything behind beside counts: so it can be written down again for every period that
//! follows.

use super::hosts::summary;
use super::recorder::Rows;
use crate::net::packet::Packet;
use forebay_types::{ConnSlot, NodeId, Time};

/// Something that goes into the fingerprint of a host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note {
    pub host: NodeId,
    pub time: Time,
    /// Of a packet its connection, and its sequence number, which goes on from period to period.
    pub packet: Option<(ConnSlot, u32)>,
    /// The rest.
    pub what: u64,
}

impl Note {
    /// What goes into the fingerprint.
    #[inline]
    pub(super) fn summary(&self) -> u64 {
        self.packet.map_or(self.what, |(_, seq)| u64::from(seq) << 8 | self.what)
    }
}

/// What is written down.
#[derive(Debug, Default)]
pub(super) struct Tape {
    /// In the order in which each host did it.
    pub notes: Vec<Note>,
    /// What was added to the sums of alpha of messages without end, in order.
    pub alphas: Vec<(ConnSlot, f64)>,
    /// Those sums at the beginning of the window that is under way.
    pub sums: Vec<(ConnSlot, Option<f64>, u32)>,
    /// Rows of the result tables.
    pub rows: Rows,
    /// Retransmissions of connections at the beginning, by slot; then how many there were.
    pub again: Vec<u64>,
    /// Something cannot be told apart.
    pub blurred: bool,
}

impl Tape {
    /// A packet reached `host`.
    #[cold]
    pub(super) fn packet(&mut self, host: NodeId, p: &Packet) {
        self.notes.push(Note { host, time: p.arrival, packet: Some((p.conn, p.seq)), what: summary(&Packet { seq: 0, ..*p }) });
    }

    /// Something else happened at `host`.
    #[cold]
    pub(super) fn event(&mut self, host: NodeId, time: Time, what: u64) {
        self.notes.push(Note { host, time, packet: None, what });
    }
}
