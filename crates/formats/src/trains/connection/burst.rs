//! Groups of data packets without a long pause between them: packet trains and messages.

/// A group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Burst {
    /// Time of the first packet, ns.
    pub(super) start: u64,
    /// Time of the last packet, ns.
    pub(super) end: u64,
    /// New payload bytes.
    pub(super) bytes: u64,
    /// New data packets.
    pub(super) packets: u64,
    /// Retransmitted packets.
    pub(super) retransmitted: u64,
    /// Pause before the first packet, ns.
    pub(super) gap: Option<u64>,
    /// The threshold that the pause exceeded, ns.
    pub(super) threshold: u64,
}

/// New data.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewData {
    pub(super) now: u64,
    pub(super) bytes: u64,
    pub(super) packets: u64,
    /// Time for which the sender could have sent and did not, ns.
    pub(super) pause: u64,
    /// A longer pause ends the group, ns.
    pub(super) threshold: u64,
}

/// The groups of one direction, of which the last is open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bursts {
    open: Option<Burst>,
    count: u64,
}

impl Bursts {
    /// Adds new data. Returns true if the data begins a group; `ended` gets the group before it.
    #[inline]
    pub(super) fn add(&mut self, d: &NewData, ended: &mut Option<Burst>) -> bool {
        if let Some(open) = &mut self.open
            && d.pause <= d.threshold
        {
            (open.end, open.bytes, open.packets) = (open.end.max(d.now), open.bytes + d.bytes, open.packets + d.packets);
            return false;
        }
        let gap = self.open.map(|last| d.now.saturating_sub(last.end));
        let (bytes, packets, threshold) = (d.bytes, d.packets, d.threshold);
        self.count += 1;
        *ended = self.open.replace(Burst { start: d.now, end: d.now, bytes, packets, retransmitted: 0, gap, threshold });
        true
    }

    /// Retransmitted packets: they belong to the open group and begin none.
    pub(super) fn retransmitted(&mut self, now: u64, packets: u64) {
        if let Some(open) = &mut self.open {
            (open.end, open.retransmitted) = (open.end.max(now), open.retransmitted + packets);
        }
    }

    /// Ends the open group.
    pub(super) fn finish(&mut self) -> Option<Burst> {
        self.open.take()
    }

    /// Number of groups that began.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Time of the last packet, ns.
    #[inline]
    pub(super) fn last(&self) -> Option<u64> {
        self.open.map(|open| open.end)
    }
}
