//! Through all that a port knows (`forebay_types::Walk`), and through what is counted of its queue.

use super::{Order, Port, PortEvents};
use crate::net::packet::{Extra, Packet};
use forebay_experiment::occupancy::Occupancy;
use forebay_types::{ConnSlot, Time, Walk};

impl Port {
    /// Goes through it at the end of a window, when nothing has happened since `now`. `una` says how far the sender of a connection is
    /// acknowledged, if a packet of this generation is still its.
    pub(crate) fn walk(&mut self, now: Time, una: &dyn Fn(ConnSlot, u8) -> Option<u64>, v: &mut dyn Walk) {
        self.settle(now);
        if self.errors.is_some() || self.watched {
            v.never("numbers are drawn for packets");
        }
        if !matches!(&self.order, Order::Fifo(discipline) if discipline.is_stateless()) {
            v.never("a queue remembers what came before");
        }
        if self.observer.as_ref().is_some_and(|o| o.has_series()) {
            v.never("a queue is sampled");
        }
        let waiting = self.ring.tail().wrapping_sub(self.departed);
        #[rustfmt::skip]
        let Port {
            ring, departed: _, to: _, served, busy_until, delay: _, ps_per_byte: _, queue, alert: _, input: _, levels: _, sent_pkts, sent_bytes,
            waited, waited_high, order: _, backlog: _, limit: _, quiet: _, passed: _, events, before, latest, observer: _, errors: _, step: _, watched: _,
            host: _, place: _,
        } = self;
        v.same(u64::from(waiting));
        ring.each_mut(|packet, extra| walk_packet(packet, extra, una, v));
        v.until(busy_until);
        v.until(latest);
        v.past(served);
        v.same(u64::from(queue.packets));
        v.same(queue.bytes);
        v.count(sent_pkts);
        v.count(sent_bytes);
        let mut sojourn = u128::from(*waited_high) << 64 | u128::from(*waited);
        v.sum(&mut sojourn);
        (*waited, *waited_high) = (sojourn as u64, (sojourn >> 64) as u64);
        // The longest queue of one period is that of all.
        let PortEvents { dropped, dropped_bytes, marked, cut_waiting, cut_bytes, cut_flying, damaged, max_pkts: _ } = events;
        dropped.iter_mut().for_each(|n| v.count(n));
        [dropped_bytes, marked, cut_waiting, cut_bytes, cut_flying, damaged].into_iter().for_each(|n| v.count(n));
        v.same(*before);
    }

    /// How long the queue had which length up to `now`, when it is settled; empty where nobody asks.
    pub(crate) fn times(&self, now: Time) -> Vec<u64> {
        let mut times = self.observer.as_ref().map_or(Vec::new(), |o| o.times().to_vec());
        Occupancy::add_to(&mut times, &self.levels.times(now + self.delay, self.queue.packets));
        times
    }

    /// Time goes on at `to` as it had at `now`, and the queue had its lengths for `times` in between.
    pub(crate) fn resume(&mut self, now: Time, to: Time, times: &[u64]) {
        if self.observer.is_some() {
            self.bring_up(now);
        }
        if let Some(o) = &mut self.observer {
            o.add(to, times);
        }
        self.count_levels(to);
        self.set_alert();
    }
}

fn walk_packet(p: &mut Packet, extra: Option<&mut Extra>, una: &dyn Fn(ConnSlot, u8) -> Option<u64>, v: &mut dyn Walk) {
    let generation = p.generation();
    let Packet { arrival, conn, seq, ts, dst, hash, wire, len, win, flags, meta } = p;
    let Some(una) = una(*conn, generation) else { return v.never("packets of closed connections are on their way") };
    v.connection(*conn, una);
    v.time(arrival);
    v.sequence(seq);
    v.stamp(ts);
    v.same(u64::from(conn.get()) << 32 | u64::from(*dst) << 16 | u64::from(*hash));
    v.same(u64::from(*wire) << 48 | u64::from(*len) << 32 | u64::from(*win) << 16 | u64::from(*flags) << 8 | meta.ecn() as u64);
    if let Some(Extra::Sack(blocks)) = extra {
        blocks.walk(v);
    }
}
