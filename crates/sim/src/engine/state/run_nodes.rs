//! Running the nodes of a window: hosts process their packets and timers in order of time, switches forward, and applications react.

use super::SimState;
use crate::engine::host::TimerKind;
use crate::engine::node_set::NodeSet;
use crate::engine::tiers::{Tier, take_group, tiers};
use crate::net::packet::{Extra, Packet, flag};
use crate::net::prefetch;
use crate::net::ring::Ring;
use forebay_apps::App;
use forebay_types::{AppId, IndexVec, NodeId, Time, TimeOrNever};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More cache lines than a host has.
const ALL_LINES: usize = 16;

/// The applications of a run.
pub(in crate::engine) type Apps = IndexVec<AppId, Mutex<App>>;

/// Locks an application. One object serves all hosts of an application, one after the other; its actions for a host in a window do not depend on its
/// earlier actions for other hosts.
pub(in crate::engine) fn lock_app(app: &Mutex<App>) -> MutexGuard<'_, App> {
    app.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimState {
    /// Runs the nodes that are marked for the current window, in a network of at most `words` times 64 nodes: one by one, or in groups if there are
    /// `tiers`. Returns how many were run.
    #[inline(always)]
    pub(in crate::engine) fn run_marked(&mut self, apps: &Apps, words: usize, tiers: Option<&IndexVec<NodeId, Tier>>) -> u64 {
        let before = self.partition.activations;
        match tiers {
            Some(tiers) => self.run_in_groups(apps, words, tiers),
            None => self.run_one_by_one(apps, words),
        }
        self.partition.calendar.finish();
        self.set_running(None);
        self.partition.activations - before
    }

    #[inline(always)]
    fn run_one_by_one(&mut self, apps: &Apps, words: usize) {
        for word in 0..words {
            let bits = self.partition.calendar.take(word);
            let hosts = self.hosts.in_word(word);
            self.run_nodes(apps, NodeSet::new(word, bits & hosts), NodeSet::new(word, bits & !hosts));
        }
    }

    #[inline(never)]
    fn run_in_groups(&mut self, apps: &Apps, words: usize, tiers: &IndexVec<NodeId, Tier>) {
        let mut from = 0;
        while let Some(some) = self.partition.calendar.next_words(from, words) {
            from = some.end;
            for word in some {
                let mut bits = self.partition.calendar.take(word);
                while bits != 0 {
                    let (group, tier) = take_group(tiers, word, &mut bits);
                    self.run_group(apps, group, tier);
                }
            }
        }
    }

    /// Runs some nodes in a network without groups, which is never wide.
    #[inline(always)]
    pub(in crate::engine) fn run_nodes(&mut self, apps: &Apps, hosts: NodeSet, switches: NodeSet) {
        if !hosts.is_empty() {
            self.run_hosts(apps, hosts);
        }
        if !switches.is_empty() {
            self.fabric.forward::<false>(&mut self.partition, switches);
        }
    }

    /// Runs one node.
    #[cfg(debug_assertions)]
    pub(in crate::engine) fn run_one(&mut self, apps: &Apps, node: NodeId) {
        let (one, none) = (NodeSet::one(node), NodeSet::new(0, 0));
        let (hosts, switches) = if self.hosts.is_host(node) { (one, none) } else { (none, one) };
        self.run_nodes(apps, hosts, switches);
    }

    /// The tiers of the network's nodes, if groups are faster.
    pub(in crate::engine) fn tiers(&self) -> Option<IndexVec<NodeId, Tier>> {
        tiers(&self.network, |node| self.fabric.is_special(node))
    }

    /// Runs some nodes of one tier.
    #[inline(never)]
    pub(in crate::engine) fn run_group(&mut self, apps: &Apps, group: NodeSet, tier: Tier) {
        match tier {
            Tier::HOSTS => {
                self.prefetch_hosts(group);
                self.run_hosts(apps, group);
            }
            _ if self.fabric.fib().is_wide() => self.forward_in::<true>(group, tier),
            _ => self.forward_in::<false>(group, tier),
        }
    }

    fn forward_in<const WIDE: bool>(&mut self, group: NodeSet, tier: Tier) {
        match tier {
            Tier::ALONE => self.fabric.forward::<WIDE>(&mut self.partition, group),
            _ => self.fabric.forward_group::<WIDE>(&mut self.partition, group),
        }
    }

    /// Prefetches the state of hosts: themselves, their ports, and the endpoint of their next packet.
    fn prefetch_hosts(&self, group: NodeSet) {
        let ports = &self.fabric.ports;
        group.for_each(|node| prefetch::prefetch_lines(self.hosts.peek(node), ALL_LINES));
        for node in group {
            let host = self.hosts.peek(node);
            prefetch::prefetch(&ports[host.input]);
            prefetch::prefetch_lines(&ports[host.nic], 2);
        }
        for node in group {
            let host = self.hosts.peek(node);
            let (taken, filled) = (&ports[host.input].ring, &ports[host.nic].ring);
            prefetch::line(taken.place(taken.head()).cast());
            prefetch::line(filled.place(filled.tail()).cast());
        }
        for node in group {
            let ring = &ports[self.hosts.peek(node).input].ring;
            if !ring.is_empty() {
                let p = ring.packet(ring.head());
                if p.has(flag::ACK) {
                    self.connections.prefetch_sender(p.conn);
                } else {
                    self.connections.prefetch_receiver(p.conn);
                }
            }
        }
    }

    /// Runs some hosts.
    #[inline(never)]
    pub(in crate::engine) fn run_hosts(&mut self, apps: &Apps, hosts: NodeSet) {
        for node in hosts {
            self.partition.activations += 1;
            self.run_host(apps, node);
        }
    }

    /// Runs one host: packets and timers in order of time; at the same time packets come first. Recording is in a separate function, so that the
    /// endpoints' code can be inlined here.
    #[inline(always)]
    fn run_host(&mut self, apps: &Apps, node: NodeId) {
        self.set_running(Some(node));
        let end = self.partition.calendar.end;
        let input = self.hosts[node].input;
        let inspects = self.hosts[node].inspects_packets;
        let (moderates, whole_ns) = (self.hosts[node].interrupt_delay > Time::ZERO, self.hosts[node].whole_ns);
        loop {
            let timer = self.hosts[node].next_timer();
            let ring = &mut self.fabric.ports[input].ring;
            let (head, place) = (ring.head(), ring.place(ring.head()));
            // SAFETY: a slot of the ring; any bytes are a valid packet.
            let mut arrival = unsafe { (*place).arrival };
            if whole_ns {
                arrival = self.hosts[node].interrupt_time(arrival);
            }
            let packet = if ring.is_empty() { TimeOrNever::NEVER } else { arrival.into() };
            let next = packet.min(timer);
            if next >= end.into() {
                if let Some(next) = next.get() {
                    self.partition.calendar.mark_ahead(node, next);
                }
                return;
            }
            let now = next.or_never();
            if packet <= timer && moderates {
                self.interrupt(node, now);
            } else if packet <= timer {
                // SAFETY: the ring releases the packet but keeps it until packets are added, which only the node at the far end does; there is no other
                // reference to it.
                let p = unsafe { &mut *place.cast_mut() };
                ring.advance(Ring::behind(head, p));
                // SAFETY: as above.
                if inspects && self.inspect(node, p, || unsafe { Ring::extra_behind(place) }) {
                    continue;
                }
                if whole_ns {
                    p.arrival = now;
                }
                if p.has(flag::ACK) {
                    // SAFETY: as above.
                    self.receive_ack(node, p, || unsafe { Ring::extra_behind(place) });
                } else {
                    // SAFETY: as above.
                    self.receive_data(node, p, || unsafe { Ring::extra_behind(place) });
                }
            } else {
                self.run_timer(apps, node);
            }
            if !self.partition.departures.is_empty() {
                self.note_departures(now);
            }
            if !self.partition.notices.is_empty() {
                self.notify(apps, now);
                self.note_departures(now);
            }
        }
    }

    /// Records the frames that cards hold at the end of the run, whose interrupts would come after it.
    pub(super) fn record_held_frames(&mut self, end: Time) {
        let inputs: Vec<_> = self.hosts.iter().filter(|host| host.inspects_packets).map(|host| (host.node, host.input)).collect();
        for (node, input) in inputs {
            let mut position = self.fabric.ports[input].ring.head();
            while position != self.fabric.ports[input].ring.tail() {
                let p = *self.fabric.ports[input].ring.packet(position);
                if p.arrival > end || !self.recorder.records_packets() {
                    break;
                }
                let extra = self.fabric.ports[input].ring.extra(position).copied();
                self.inspect(node, &p, || extra.as_ref());
                position = Ring::behind(position, &p);
            }
        }
    }

    /// Inspects a packet before it reaches its endpoint at host `node`, where packets are recorded or captured, or may be damaged. Returns true if the interface
    /// drops it because its checksum is wrong.
    #[cold]
    #[inline(never)]
    pub(super) fn inspect<'a>(&mut self, node: NodeId, p: &Packet, extra: impl FnOnce() -> Option<&'a Extra>) -> bool {
        let input = self.hosts[node].input;
        let extra = extra();
        let damaged = self.fabric.ports[input].leave_link(p, (p, extra));
        if damaged {
            self.hosts[node].note(p.arrival, p);
            self.partition.drop_packet(p);
        } else if self.recorder.records_packets() && self.connections.get(p.conn).generation == p.generation() {
            // A packet of a closed connection whose place another one has taken is left out: it would count as one of that.
            let both_ways = self.connections.generation(p.conn).receives_both_ways(p.generation());
            let reverse = both_ways.then(|| self.of_reverse(p, extra));
            self.recorder.packet(p, self.connections.get(p.conn).conn_id, reverse);
        }
        damaged
    }

    /// Runs the host's earliest timer.
    #[inline(never)]
    fn run_timer(&mut self, apps: &Apps, node: NodeId) {
        match self.hosts[node].pop() {
            Some((now, TimerKind::App { app, tag })) => {
                let app = &mut *lock_app(&apps[app]);
                let before = app.remaining();
                app.on_wake(self, now, tag);
                // An application of datagrams gets no acknowledgments.
                if app.remaining() < before {
                    self.partition.end_work(now);
                }
            }
            Some((now, wake)) => self.run_host_timer(node, now, wake),
            None => {}
        }
    }

    #[inline(never)]
    fn notify(&mut self, apps: &Apps, now: Time) {
        // The reaction of an application may raise further notices.
        let mut next = 0;
        while let Some(&(app, notice)) = self.partition.notices.get(next) {
            next += 1;
            lock_app(&apps[app]).on_notice(self, now, notice);
        }
        self.partition.notices.clear();
    }
}
