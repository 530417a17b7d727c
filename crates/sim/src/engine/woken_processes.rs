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
        self.softirq.then(|| self.find(conn).map_or(0, |unread| unread.memory))
    }

    /// Segments in the last buffer of that data; 0 without data.
    pub(super) fn unread_segments(&self, conn: ConnSlot) -> u32 {
        self.find(conn).map_or(0, |unread| unread.segments)
    }

    /// Bytes behind the data of that buffer; 0 without data.
    pub(super) fn unread_room(&self, conn: ConnSlot) -> u16 {
        self.find(conn).map_or(0, |unread| unread.room)
    }

    fn find(&self, conn: ConnSlot) -> Option<&Unread> {
        self.calls.iter().find_map(|call| match call {
            Call::Read(c, unread) if *c == conn => Some(unread),
            _ => None,
        })
    }

    /// Returns true if the process of `conn` has been woken to read, and has not run.
    pub(super) fn has_pending_read(&self, conn: ConnSlot) -> bool {
        self.softirq && self.find(conn).is_some()
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
