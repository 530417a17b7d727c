//! Calls of applications during an interrupt. A process that a packet wakes runs after the softirq that handles all packets of the interrupt. It reads
//! and writes then, in the order in which processes were woken.

use crate::net::packet::Unread;
use forebay_types::ConnSlot;

/// A call of a woken process on the connection in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// The sender's application writes.
    Write(ConnSlot),
    /// The receiver's application reads.
    Read(ConnSlot, Unread),
}

/// Processes of the host that runs, woken during its interrupt.
#[derive(Debug, Default)]
pub(super) struct WokenProcesses {
    /// True while packets are processed.
    softirq: bool,
    calls: Vec<Call>,
}

impl WokenProcesses {
    /// Defers calls from now on.
    pub(super) fn begin(&mut self) {
        self.softirq = true;
    }

    /// Makes calls at once from now on.
    pub(super) fn end(&mut self) {
        self.softirq = false;
    }

    /// The deferred call with this number.
    pub(super) fn call(&self, number: usize) -> Option<Call> {
        self.calls.get(number).copied()
    }

    /// Discards the deferred calls.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }

    /// Defers a write. Returns false if it may be made at once.
    #[inline]
    pub(super) fn defer_write(&mut self, conn: ConnSlot) -> bool {
        if self.softirq && !self.calls.contains(&Call::Write(conn)) {
            self.calls.push(Call::Write(conn));
        }
        self.softirq
    }

    /// Memory of the data that `conn` has not read; `None`: it reads at once.
    #[inline]
    pub(super) fn unread(&self, conn: ConnSlot) -> Option<u32> {
        if self.softirq { Some(self.find(conn)) } else { None }
    }

    fn find(&self, conn: ConnSlot) -> u32 {
        let of = |call: &Call| matches!(call, Call::Read(c, _) if *c == conn).then_some(*call);
        match self.calls.iter().find_map(of) {
            Some(Call::Read(_, unread)) => unread.memory,
            _ => 0,
        }
    }

    /// Adds unread data of `conn`.
    pub(super) fn defer_read(&mut self, conn: ConnSlot, more: Unread) {
        for call in &mut self.calls {
            if let Call::Read(c, unread) = call
                && *c == conn
            {
                return unread.add(&more);
            }
        }
        self.calls.push(Call::Read(conn, more));
    }
}
