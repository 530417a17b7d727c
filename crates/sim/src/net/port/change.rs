//! Changes of the rate and the delay of a switch port's link.

use super::{Port, Rate, Time};

impl Port {
    /// Changes the link at `at`, which is not before any event at this port. The packet in service is completed at the old rate; the packets behind it
    /// leave at the new one. Packets that leave from now on have the new delay, and none overtakes those on the wire. Returns the arrival of the first
    /// packet in the ring, if the change may have moved it.
    pub fn change(&mut self, at: Time, rate: Option<Rate>, delay: Option<Time>) -> Option<Time> {
        debug_assert!(!self.host, "the interface of a host keeps its rate");
        self.settle(at);
        self.flush_observer(at);
        let delay = delay.unwrap_or(self.delay);
        // The last packet on the wire.
        let (mut position, mut on_wire) = (self.ring.head(), None);
        while position != self.departed && (self.departed.wrapping_sub(position) as i32) > 0 {
            on_wire = Some(self.ring.packet(position).arrival);
            position = self.ring.next(position);
        }
        let (first, tail) = (self.departed, self.ring.tail());
        let old_delay = self.delay;
        // After a decrease no packet may leave before this time, so that it arrives behind those on the wire.
        let earliest = on_wire.filter(|_| delay < old_delay).map_or(Time::ZERO, |last| (last + Time(1)).saturating_sub(delay));
        if first == tail {
            self.busy_until = self.busy_until.max(earliest);
        } else {
            // The packet in service.
            let mut departure = (self.ring.packet(first).arrival - old_delay).max(earliest);
            let mut position = first;
            let (mut later, mut earlier) = (0, 0);
            if let Some(rate) = rate {
                self.ps_per_byte = rate.ps_per_byte_q16();
            }
            loop {
                let p = self.ring.packet(position);
                let (old, wire, next) = (p.arrival - old_delay, u64::from(p.wire), self.ring.next(position));
                if position != first {
                    departure += self.tx(wire);
                }
                later += u128::from(departure.saturating_sub(old).0);
                earlier += u128::from(old.saturating_sub(departure).0);
                self.ring.set_arrival(position, departure + delay);
                position = next;
                if position == tail {
                    break;
                }
            }
            self.busy_until = departure;
            self.set_sojourn((self.sojourn() + later).saturating_sub(earlier));
        }
        if let Some(rate) = rate {
            self.ps_per_byte = rate.ps_per_byte_q16();
        }
        self.delay = delay;
        self.record(at);
        (first != tail && first == self.ring.head()).then(|| self.ring.packet(first).arrival)
    }
}
