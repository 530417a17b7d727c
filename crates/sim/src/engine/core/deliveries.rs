//! Bytes that receivers have of each workload, summed at points in time, between windows or parts of windows.

use super::Core;
use forebay_units::{IndexVec, SumId, Time};

impl Core {
    /// Time of the next point.
    pub(in crate::engine) fn deliveries_due(&self) -> Time {
        self.deliveries.due()
    }

    /// Adds the points that are due. No packet has moved since then, and none moves before `now`. `sum` adds the numbers of the other processes
    /// of the run.
    pub(in crate::engine) fn note_deliveries(&mut self, now: Time, mut sum: impl FnMut(&mut [u64])) {
        let mut hops = [self.fabric.hops()];
        sum(&mut hops);
        if self.deliveries.worth(now, self.streams.len(), hops[0]) {
            let mut totals = self.delivered().into_vec();
            sum(&mut totals);
            self.deliveries.note(now, &totals.into());
        }
    }

    /// How far apart points in time are at which deliveries are noted.
    pub(in crate::engine) fn noting_interval(&self) -> Time {
        self.deliveries.interval()
    }

    /// Payload that receivers have, in order or not, of each workload per transport and port. Of the hosts of this process.
    pub(super) fn delivered(&self) -> IndexVec<SumId, u64> {
        let mut totals = self.deliveries.zeros();
        self.ended.arrived().enumerate().for_each(|(sum, bytes)| totals[sum] = *bytes);
        for (conn, stream) in self.streams.enumerate().filter(|(_, s)| s.live && self.holds(s.dst)) {
            let (receiver, written) = (&self.receivers[conn], self.senders[conn].written());
            // A FIN that came early is no payload.
            let beyond: u64 = receiver.beyond().map(|(from, to)| to.min(written).saturating_sub(from)).sum();
            totals[stream.sum] += receiver.delivered() + beyond;
        }
        totals
    }
}
