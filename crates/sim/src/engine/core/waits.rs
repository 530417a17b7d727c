//! What messages waited for: stalls are noted where a timer ends them, which is rare; the rest follows from what a message's row says
//! anyway, when the run is over. `forebay_experiment::waits` says how the time is divided.

use super::Core;
use crate::engine::recorder::Stalled;
use crate::engine::stream::Message;
use crate::net::port::Port;
use forebay_experiment::network::PortConfig;
use forebay_experiment::rows::{FlowRow, TimeoutKind};
use forebay_experiment::waits::{Course, Stalls};
use forebay_queues::Queue;
use forebay_units::{ConnSlot, IndexVec, NodeId, PortId, Time};

impl Core {
    /// A timer ended at `now` a silence of the sender of `conn` that had lasted `held`: its oldest undelivered message waited, and what it
    /// waited for is what `of` says.
    #[cold]
    pub(super) fn note_stall(&mut self, conn: ConnSlot, now: Time, held: Time, of: impl Fn(&mut Stalls) -> &mut u64) {
        self.held_up += 1;
        let Some(m) = self.outgoing[conn].awaited() else { return };
        // A message that was written later in the same window has not waited for this.
        let (begin, since) = (m.begin, now.saturating_sub(m.start));
        if since == Time::ZERO {
            return;
        }
        *of(self.outgoing[conn].stalls(begin)) += held.min(since).0;
    }

    /// The receiver of `conn` acknowledged at `time` what it had held back for `held`. Whether its sender needed that, nothing has told the
    /// sender yet: this is the end of the window in which the ACK left.
    #[cold]
    pub(super) fn note_late_ack(&mut self, conn: ConnSlot, time: Time, held: Time) {
        self.held_up += 1;
        if self.senders[conn].lacks_window_since(time.saturating_sub(held)) {
            self.note_stall(conn, time, held, |s| &mut s.delayed_ack);
        }
    }

    /// A timer ended a silence, or would have ended it: what `kind` of stall that is.
    pub(super) fn stall_of(kind: TimeoutKind) -> impl Fn(&mut Stalls) -> &mut u64 {
        move |s| match kind {
            TimeoutKind::Head | TimeoutKind::Tail | TimeoutKind::Other => &mut s.timeout,
            TimeoutKind::Syn => &mut s.syn,
            TimeoutKind::Probe => &mut s.probe,
        }
    }

    /// The run is over while a timer of the sender of `conn` runs: where nothing was sent for longer than the queues on its way and back can
    /// have held it, what was sent is lost, and its oldest message waits for that timer.
    pub(super) fn note_silence(&mut self, conn: ConnSlot) {
        let now = self.lane.wheel.end;
        let Some((silent, kind)) = self.senders[conn].silence(now) else { return };
        let s = &self.streams[conn];
        let (src, dst, hash, group) = (s.src, s.dst, s.hash, self.senders[conn].group());
        let c = &self.tcp[group];
        // The longest that a packet can have been on its way, had all in the longest queues been full ones.
        let (mut longest, mut in_order) = (0, true);
        let mut see = |port: PortId| {
            let (p, stood) = (&self.network.ports[port], u64::from(self.fabric.ports[port].events.max_pkts));
            in_order &= matches!(p.queue, Queue::Fifo(_));
            longest += p.delay.0 + (stood + 1) * p.rate.tx_time(u64::from(c.mss + c.header)).0;
        };
        self.on_path(src, dst, hash, &mut see);
        self.on_path(dst, src, hash, &mut see);
        if in_order && silent.0 > longest {
            self.note_stall(conn, now, silent, Core::stall_of(kind));
        }
    }

    /// Message `m` of `conn` is the next to be recorded. What it waited for goes with it, and what the one behind it waited for it to that.
    pub(super) fn settle_stalls(&mut self, conn: ConnSlot, m: &Message) {
        let out = &mut self.outgoing[conn];
        if let Some(next) = out.second() {
            let delivered = m.delivered.get().unwrap_or(self.lane.wheel.window_end());
            let (begin, behind) = (next.begin, delivered.0.saturating_sub(next.start.0));
            if behind > 0 {
                out.stalls(begin).behind = behind;
            }
        }
        if let Some(stalls) = out.take_stalls(m.begin) {
            let stats = &self.senders[conn].stats();
            let rtt = stats.rtt_sum.0.saturating_sub(stalls.delayed_ack).checked_div(stats.rtt_count);
            self.recorder.stalled(stalls, rtt);
        }
    }

    /// Calls `see` with the ports that data with ECMP hash `hash` passes from host `src` to host `dst`.
    pub(super) fn on_path(&self, src: NodeId, dst: NodeId, hash: u16, mut see: impl FnMut(PortId)) {
        let (mut node, mut port) = (src, self.hosts[src].nic);
        while node != dst {
            see(port);
            node = self.network.ports[port].to;
            if node != dst {
                port = self.fabric.fib().next_port(node, dst, u32::from(hash));
            }
        }
    }

    /// Mean time, ps, of a packet in each port, its own transmission not counted; 0 for ports elsewhere.
    pub(super) fn mean_waits(&self) -> IndexVec<PortId, u128> {
        let wait = |(p, port): (&PortConfig, &Port)| {
            let s = port.stats();
            s.sojourn.saturating_sub(u128::from(p.rate.tx_time(s.sent_bytes).0)) / u128::from(s.sent_pkts.max(1))
        };
        self.network.ports.iter().zip(self.fabric.ports.iter()).map(wait).collect()
    }

    /// The run is over: says of each message what it waited for. `flows` are in the order in which they were recorded, with what the `stalled` of them
    /// waited for; `waits` are those of all ports.
    pub(super) fn attribute_waits(&self, flows: &mut [FlowRow], stalled: Vec<Stalled>, waits: &IndexVec<PortId, u128>) {
        let mut stalled = stalled.into_iter().peekable();
        for (number, flow) in flows.iter_mut().enumerate() {
            let known = stalled.next_if(|s| s.0 == number);
            if flow.size_bytes == 0 {
                continue;
            }
            let (stalls, rtt) = match known {
                Some((_, stalls, rtt)) => (stalls, rtt),
                None => (Stalls::default(), flow.rtt_mean.ps()),
            };
            let c = &self.tcp[flow.group];
            // The port that holds packets longest, and how long a full segment and an ACK are on the empty path. What comes back takes links like
            // those of the way there.
            let (mut longest, mut data, mut small): (Option<PortId>, _, _) = (None, 0, 0);
            self.on_path(flow.src, flow.dst, flow.ecmp, |port| {
                if longest.is_none_or(|l| waits[port] > waits[l]) {
                    longest = Some(port);
                }
                let p = &self.network.ports[port];
                data += p.delay.0 + p.rate.tx_time(u64::from(c.mss + c.header)).0;
                small += p.delay.0 + p.rate.tx_time(u64::from(c.ack_size)).0;
            });
            let Some(port) = longest else { continue };
            // A SYN and its answer are as small as ACKs.
            let (empty_rtt, handshake) = (data + small, 2 * small);
            let first = flow.opens && c.handshake;
            let end = flow.end.ps().unwrap_or(self.lane.wheel.end.0);
            let took = end.saturating_sub(flow.start.0);
            let course = Course {
                took,
                stalls,
                ideal: flow.ideal.0.saturating_add(if first { handshake } else { 0 }),
                empty_rtt,
                rtt,
                at_once: flow.fits && flow.segs_retx == 0,
            };
            flow.waited = course.parts().waited(port, self.is_host(self.network.ports[port].from));
        }
    }
}
