//! What a host does in a window: its packets and timers in order of time, and what applications do when they are told.

use super::SimState;
use crate::engine::host::TimerKind;
use crate::engine::node_set::NodeSet;
use crate::net::packet::{Packet, flag};
use crate::net::ring::Ring;
use forebay_traffic::App;
use forebay_units::{AppId, IndexVec, NodeId, Time, TimeOrNever};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The applications of a run.
pub(in crate::engine) type Apps = IndexVec<AppId, Mutex<App>>;

/// An application, which is one object for all its hosts: they call it one after the other. What it does for one of them in a window does not
/// depend on whether it has done something for another one before.
pub(in crate::engine) fn lock_app(app: &Mutex<App>) -> MutexGuard<'_, App> {
    app.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimState {
    /// Works off the packets and timers that some hosts have in the current window.
    #[inline(never)]
    pub(in crate::engine) fn run_hosts(&mut self, apps: &Apps, hosts: NodeSet) {
        for node in hosts {
            self.partition.activations += 1;
            self.run_host(apps, node);
        }
    }

    /// Those of one host, in order of time; at the same time packets come first. Where packets are recorded it calls a function that nobody else
    /// needs: a second copy of this one would keep the endpoints' work from being part of it.
    #[inline(always)]
    fn run_host(&mut self, apps: &Apps, node: NodeId) {
        self.set_running(Some(node));
        let end = self.partition.calendar.end;
        let input = self.hosts[node].input;
        let inspects = self.hosts[node].inspects_packets;
        loop {
            let timer = self.hosts[node].next_timer();
            let ring = &mut self.fabric.ports[input].ring;
            let (head, place) = (ring.head(), ring.place(ring.head()));
            // SAFETY: a slot of the ring, and any bytes are a valid packet.
            let arrival = unsafe { (*place).arrival };
            let packet = if ring.is_empty() { TimeOrNever::NEVER } else { arrival.into() };
            let next = packet.min(timer);
            if next >= end.into() {
                if let Some(next) = next.get() {
                    self.partition.calendar.mark_ahead(node, next);
                }
                return;
            }
            let now = next.or_never();
            if packet <= timer {
                // SAFETY: the ring lets the packet go but keeps it until packets are added to it, which only the node at its other end does.
                let p = unsafe { &*place };
                ring.advance(Ring::behind(head, p));
                if inspects && self.inspect(node, p) {
                    continue;
                }
                if p.has(flag::ACK) {
                    // SAFETY: as above.
                    self.receive_ack(node, p, || unsafe { Ring::extra_behind(place) });
                } else {
                    self.receive_data(node, p);
                }
            } else {
                self.run_timer(apps, node);
            }
            if !self.partition.notices.is_empty() {
                self.notify(apps, now);
            }
        }
    }

    /// Looks at a packet that reaches host `node` before anybody else does, where packets are recorded or may be damaged. Whether it ends
    /// here: the interface drops what its checksum finds damaged.
    #[cold]
    #[inline(never)]
    fn inspect(&mut self, node: NodeId, p: &Packet) -> bool {
        let input = self.hosts[node].input;
        let damaged = self.fabric.ports[input].is_damaged(p);
        if damaged {
            self.hosts[node].note(p.arrival, p);
            self.partition.lose(p);
        } else if self.recorder.wants_packets() {
            self.recorder.packet(p, self.streams[p.conn].conn_id);
        }
        damaged
    }

    /// Works off the host's earliest timer.
    #[inline(never)]
    fn run_timer(&mut self, apps: &Apps, node: NodeId) {
        match self.hosts[node].pop() {
            Some((now, TimerKind::App { app, tag })) => lock_app(&apps[app]).on_wake(self, now, tag),
            Some((now, wake)) => self.on_wake(node, now, wake),
            None => {}
        }
    }

    #[inline(never)]
    fn notify(&mut self, apps: &Apps, now: Time) {
        // An application's reaction may raise further notices.
        let mut next = 0;
        while let Some(&(app, notice)) = self.partition.notices.get(next) {
            next += 1;
            lock_app(&apps[app]).on_notice(self, now, notice);
        }
        self.partition.notices.clear();
    }
}
