//! Wait times of messages. A stall is recorded when a timer ends it, which is rare; the other parts follow from the row of the message at the end of
//! the run. `forebay_experiment::waits` defines how the time is divided.

use super::SimState;
use super::host_tx::SenderCall;
use crate::engine::connection::Message;
use crate::engine::recorder::Stalled;
use crate::net::packet::flag;
use crate::net::port::Port;
use forebay_experiment::network::PortConfig;
use forebay_experiment::rows::{FlowRow, PortRow, TimeoutKind, TimeoutRow};
use forebay_experiment::waits::{MessageTime, Stalls};
use forebay_queues::Queue;
use forebay_types::{ConnSlot, IndexVec, PortId, Time, WorkloadId};
use std::collections::BTreeSet;

/// Minimum utilization of a full port. Our choice: bursts leave gaps.
const FULL: f64 = 0.9;

impl SimState {
    /// Runs the timer of the sender of `conn`, and records the silence that it ends and, where timers are recorded, a row.
    #[cold]
    #[inline(never)]
    pub(super) fn sender_timer(&mut self, conn: ConnSlot, now: Time) {
        let sender = self.connections.sender(conn);
        let group = sender.group();
        let held = sender.stall_time(&self.tcp[group], now);
        let (rto_ps, backoff) = (sender.rto(&self.tcp[group]).0, sender.rtt().backoff());
        let reordering = sender.waits_for_reordering();
        let before = *sender.stats().losses;
        self.with_sender(conn, now, SenderCall::Timer);
        let after = &self.connections.sender(conn).stats().losses;
        let kind = if after.syn_rtos > before.syn_rtos {
            TimeoutKind::Syn
        } else if after.tlps > before.tlps {
            TimeoutKind::Probe
        } else if after.rtos_head > before.rtos_head {
            TimeoutKind::Head
        } else if after.rtos_tail > before.rtos_tail {
            TimeoutKind::Tail
        } else if after.rtos > before.rtos {
            TimeoutKind::Other
        } else if reordering && !self.connections.sender(conn).waits_for_wheel_slot() {
            TimeoutKind::Reordering
        } else {
            return;
        };
        self.note_stall(conn, now, held, SimState::stall_of(kind));
        if !self.recorder.records_timeouts() {
            return;
        }
        let s = self.connections.get(conn);
        self.recorder.timeout(TimeoutRow {
            time_ps: now.0,
            conn_id: s.conn_id,
            // Numbered with the messages, at the end.
            flow_id: None,
            workload: WorkloadId::new(s.app.get()),
            group,
            src: s.src,
            dst: s.dst,
            kind,
            rto_ps,
            backoff,
        });
    }

    /// Records a silence of the sender of `conn` that a timer ended at `now` and that had lasted `held`: its oldest undelivered message waited, for
    /// the reason `of`.
    #[cold]
    pub(super) fn note_stall(&mut self, conn: ConnSlot, now: Time, held: Time, of: impl Fn(&mut Stalls) -> &mut u64) {
        let Some(m) = self.connections.outgoing(conn).awaited() else { return };
        // A message that was written later in the same window has not waited for this.
        let (begin, since) = (m.begin, now.saturating_sub(m.start));
        if since == Time::ZERO {
            return;
        }
        *of(self.connections.outgoing_mut(conn).stalls(begin)) += held.min(since).0;
    }

    /// Records that the receiver of `conn` sent an ACK at `time` that it had delayed for `held`. The sender has not received the ACK yet: this
    /// is called at the end of the window in which the ACK left.
    #[cold]
    pub(super) fn note_late_ack(&mut self, conn: ConnSlot, time: Time, held: Time) {
        if let Some(silent) = self.connections.sender(conn).silence_without_window(time) {
            self.note_stall(conn, time, held.min(silent), |s| &mut s.delayed_ack);
        }
    }

    /// The kind of stall for a timer of this kind.
    pub(super) fn stall_of(kind: TimeoutKind) -> impl Fn(&mut Stalls) -> &mut u64 {
        move |s| match kind {
            TimeoutKind::Head | TimeoutKind::Tail | TimeoutKind::Other => &mut s.timeout,
            TimeoutKind::Syn => &mut s.syn,
            TimeoutKind::Probe => &mut s.probe,
            TimeoutKind::Reordering => &mut s.reordering,
        }
    }

    /// Connections whose data waits in a buffered queue of a sending host.
    pub(super) fn waiting(&self) -> BTreeSet<ConnSlot> {
        let of_host = |(p, _): &(&PortConfig, &Port)| self.network.nodes[p.from].host;
        let queues =
            self.network.ports.iter().zip(self.fabric.ports.iter()).filter(of_host).filter_map(|(_, port)| port.backlog());
        queues.flat_map(|b| b.packets()).filter(|p| !p.has(flag::ACK)).map(|p| p.conn).collect()
    }

    /// Records the final silence of the sender of `conn`, whose timer runs at the end of the run. If nothing was sent for longer than full queues on
    /// the path and back can have taken, the data is lost, and the oldest message waits for the timer. A queue of a switch that serves in another
    /// order than that of arrival decides nothing. In the queue of the host the connection must not be among those `waiting`.
    pub(super) fn note_silence(&mut self, conn: ConnSlot, waiting: &BTreeSet<ConnSlot>) {
        let now = self.partition.calendar.end;
        let sender = self.connections.sender(conn);
        let Some((silent, kind)) = sender.silence(now) else { return };
        let s = self.connections.get(conn);
        let (src, dst, hash, group) = (s.src, s.dst, sender.path_hash(), sender.group());
        let c = &self.tcp[group];
        // Longest time of a packet on the path, with every queue at its maximum.
        let (mut longest, mut in_order) = (0, true);
        let mut visit = |port: PortId| {
            let (p, stood) = (&self.network.ports[port], u64::from(self.fabric.ports[port].events.max_pkts));
            in_order &= matches!(p.queue, Queue::Fifo(_)) || self.network.nodes[p.from].host;
            longest += p.delay.0 + (stood + 1) * p.rate.tx_time(u64::from(c.mss + c.header)).0;
        };
        self.on_path(src, dst, hash, &mut visit);
        self.on_path(dst, src, hash, &mut visit);
        if in_order && !waiting.contains(&conn) && silent.0 > longest {
            self.note_stall(conn, now, silent, SimState::stall_of(kind));
        }
    }

    /// Records the stalls of message `m` of `conn`, which is recorded next, and the wait of the following message for it.
    pub(super) fn record_stalls(&mut self, conn: ConnSlot, m: &Message) {
        let out = self.connections.outgoing_mut(conn);
        if let Some(next) = out.second() {
            let delivered = m.delivered.get().unwrap_or(self.partition.calendar.window_end());
            let (begin, behind) = (next.begin, delivered.0.saturating_sub(next.start.0));
            if behind > 0 {
                out.stalls(begin).behind = behind;
            }
        }
        if let Some(stalls) = out.take_stalls(m.begin) {
            let stats = &self.connections.sender(conn).stats();
            let rtt = stats.rtt_sum.0.saturating_sub(stalls.delayed_ack).checked_div(stats.rtt_count.into());
            self.recorder.stalled(stalls, rtt);
        }
    }

    /// Mean time of a packet in each port, without its own transmission, ps; 0 for remote ports.
    pub(super) fn mean_waits(&self) -> IndexVec<PortId, u128> {
        let wait = |(p, port): (&PortConfig, &Port)| {
            let s = port.stats();
            s.sojourn.saturating_sub(u128::from(p.rate.tx_time(s.sent_bytes).0)) / u128::from(s.sent_pkts.max(1))
        };
        self.network.ports.iter().zip(self.fabric.ports.iter()).map(wait).collect()
    }

    /// Computes the wait times of all messages at the end of the run. `flows` are in the order in which they were recorded; `stalled` holds the
    /// stalls of some of them; `waits` are the mean waits of all ports, and `ports` their counters.
    pub(super) fn attribute_waits(
        &self,
        flows: &mut [FlowRow],
        stalled: Vec<Stalled>,
        (waits, ports): (&IndexVec<PortId, u128>, &[PortRow]),
    ) {
        // The longest time of any transport applies to all hosts.
        let delay = self.tcp.iter().filter_map(|c| c.gro).max().unwrap_or_default().0;
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
            // The port with the longest wait on the path, and the time of a full segment and of an ACK on the empty path. The return path is
            // assumed to have equal links.
            // Longest time that a packet of it can have spent in the queues of the path.
            let (mut longest, mut data, mut small): (Option<PortId>, _, _) = (None, 0, 0);
            let mut in_queues = 0;
            self.on_path(flow.src, flow.dst, flow.ecmp, |port| {
                if longest.is_none_or(|l| waits[port] > waits[l]) {
                    longest = Some(port);
                }
                let p = &self.network.ports[port];
                let segment = p.rate.tx_time(u64::from(c.mss + c.header)).0;
                in_queues += ports.get(port.index()).map_or(0, |row| u64::from(row.queue_max_pkts)) * segment;
                data += p.delay.0 + segment;
                small += p.delay.0 + p.rate.tx_time(u64::from(c.ack_size)).0;
            });
            let Some(port) = longest else { continue };
            // SYN and SYN-ACK are as small as ACKs.
            let (empty_rtt, handshake) = (data + small, 2 * small);
            let first = flow.opens && c.handshake;
            let end = flow.end.ps().unwrap_or(self.partition.calendar.end.0);
            let took = end.saturating_sub(flow.start.0);
            // Ports count from the end of the warm-up.
            let counted = flow.start >= self.measurement.since;
            let rate = self.network.ports[port].rate;
            let others = |p: &PortRow| rate.tx_time(p.sent_bytes.saturating_sub(flow.size_bytes)).0;
            let busy = ports.get(port.index()).filter(|_| counted).map(others);
            // The port was full for the time of the message if it was full in all of the run, or if it sent so much that no less of it fits outside.
            let measured = self.partition.calendar.end.saturating_sub(self.measurement.since).0;
            let full = ports.get(port.index()).filter(|_| counted && took > 0).is_some_and(|p| {
                let within = p.busy * measured as f64 - measured.saturating_sub(took) as f64;
                p.busy >= FULL || within >= FULL * took as f64
            });
            let ends = flow.rwnd_limited.ps().unwrap_or(0) + flow.sndbuf_limited.ps().unwrap_or(0);
            let ideal = flow.ideal.0.saturating_add(if first { handshake } else { 0 });
            // An interrupt for the data, and one each for the SYN and its answer; in a round trip, for the data and its ACK.
            let alone = if first { 3 * delay } else { delay };
            // A message that took longer than interrupts and queues explain was not sent at once: Nagle's algorithm held its end until an ACK.
            let queues = if counted { in_queues } else { u64::MAX };
            let explained = ideal.saturating_add(alone + stalls.behind).saturating_add(queues);
            let at_once = flow.fits && flow.segs_retx == 0 && (!c.nagle || rtt.is_none() || took <= explained);
            let interrupts = if at_once { alone } else { 2 * delay };
            let course = MessageTime {
                took,
                stalls,
                ideal,
                empty_rtt,
                rtt,
                at_once,
                interrupts,
                full,
                busy,
                repaired: (flow.segs_retx > 0).then_some(ends),
            };
            flow.waited = course.parts().waited(port, self.hosts.is_host(self.network.ports[port].from));
        }
    }
}
