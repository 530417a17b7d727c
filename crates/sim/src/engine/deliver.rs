//! A packet or a timer meets an endpoint: the host side of the packet path.

use super::core::{Call, Core, First, Job, Nic, Notice};
use super::endpoint_shim::{Direct, Endpoint, Shimmed, Way, rarely};
use super::hosts::Wake;
use super::lane::Handover;
use super::stream::Held;
use crate::net::packet::{Packet, SackBlocks};
use crate::observe::{FlowRow, TcpRow};
use crate::shim::endpoint::Side;
use crate::tcp::sender::Phase;
use forebay_units::NodeId;

impl Core {
    /// An ACK reached host `node`.
    #[inline(always)]
    pub(super) fn deliver_ack(&mut self, node: NodeId, p: &Packet, sack: Option<&SackBlocks>) {
        self.hosts[node.get()].note(p.arrival, p);
        let generation = self.senders.whosever(p.conn).generation();
        if generation.receives(p) {
            return self.take_ack::<Direct>(node, p, sack);
        }
        rarely(|| {
            if generation.receives_through_shim(p) {
                self.take_ack::<Shimmed>(node, p, sack);
            } else {
                self.lane.stale += 1;
            }
        });
    }

    #[inline(always)]
    fn take_ack<W: Way>(&mut self, node: NodeId, p: &Packet, sack: Option<&SackBlocks>) {
        let (now, conn) = (p.arrival, p.conn);
        let sender = &mut self.senders[conn];
        sender.received += 1;
        let group = u32::from(sender.group);
        let at = Endpoint { conn, side: Side::Sender, group, node };
        let mut copy = Packet::default();
        let Some(p) = W::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
        let c = &self.tcp[group];
        let nic = Nic::of_sender(&mut self.fabric, &mut self.hosts[node.get()], now, c);
        sender.on_packet(c, now, p, sack, &mut W::wire(&mut self.endpoint_shims, at, nic));
        W::settle(self, at, now);
        self.ack_done(node, conn, now);
    }

    /// Sees to what an ACK has changed, behind the sender.
    #[inline(always)]
    fn ack_done(&mut self, node: NodeId, conn: u32, now: u64) {
        let sender = &self.senders[conn];
        let (una, done) = (sender.una, sender.phase == Phase::Done);
        if sender.deadline < sender.armed {
            self.arm_sender(conn, node);
        }
        if una >= self.senders[conn].message.2 {
            self.message_acked(conn, now);
        }
        if self.recorder.samples() {
            self.sample(conn, now);
        }
        if done {
            self.end_sender(conn, node);
        }
    }

    /// The sender of `conn` at host `node` has ended. Its slot is given back at the end of the window.
    #[inline(never)]
    fn end_sender(&mut self, conn: u32, node: NodeId) {
        let sender = &mut self.senders[conn];
        sender.retire();
        if !self.ends_late() {
            // The one place where a host changes what is another's: data that was sent twice and arrives in this very window is answered or
            // not, as the one host or the other has the smaller number. With this at the end of the window it would always be answered.
            self.leave_window_shim(conn);
            self.receivers.whosever_mut(conn).retire();
        }
        self.lane.hand_over(node, Handover::Closed { conn });
    }

    /// Whether receivers end with the window, not with their senders: what threads will need.
    fn ends_late(&self) -> bool {
        #[cfg(debug_assertions)]
        return self.ends_late;
        #[cfg(not(debug_assertions))]
        false
    }

    /// A packet of the data direction reached host `node`.
    #[inline(always)]
    pub(super) fn deliver_data(&mut self, node: NodeId, p: &Packet) {
        if self.window_shims.any() {
            self.show_window_shim(node, p);
        }
        self.hosts[node.get()].note(p.arrival, p);
        let generation = self.receivers.whosever(p.conn).generation();
        if generation.receives(p) {
            return self.take_data::<Direct>(node, p);
        }
        rarely(|| {
            if generation.receives_through_shim(p) {
                self.take_data::<Shimmed>(node, p);
            } else {
                self.lane.stale += 1;
            }
        });
    }

    #[inline(always)]
    fn take_data<W: Way>(&mut self, node: NodeId, p: &Packet) {
        let (now, conn) = (p.arrival, p.conn);
        let receiver = &mut self.receivers[conn];
        let group = u32::from(receiver.group);
        let at = Endpoint { conn, side: Side::Receiver, group, node };
        let mut copy = Packet::default();
        let Some(p) = W::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
        let nic = Nic::at_once(&mut self.fabric, &mut self.hosts[node.get()], now);
        receiver.on_packet(&self.tcp[group], now, p, &mut W::wire(&mut self.endpoint_shims, at, nic));
        W::settle(self, at, now);
        self.data_done(node, conn, now);
    }

    /// The receiver's delayed-ACK timer came due.
    #[inline(always)]
    fn receiver_timer<W: Way>(&mut self, node: NodeId, conn: u32, now: u64) {
        let receiver = &mut self.receivers[conn];
        let group = u32::from(receiver.group);
        let at = Endpoint { conn, side: Side::Receiver, group, node };
        let nic = Nic::at_once(&mut self.fabric, &mut self.hosts[node.get()], now);
        receiver.on_timer(&self.tcp[group], now, &mut W::wire(&mut self.endpoint_shims, at, nic));
        W::settle(self, at, now);
    }

    /// Sees to what a packet of the data direction has changed, behind the receiver.
    #[inline(always)]
    fn data_done(&mut self, node: NodeId, conn: u32, now: u64) {
        let receiver = &self.receivers[conn];
        let delivered = receiver.delivered >= receiver.deliver_at;
        if receiver.deadline < receiver.armed {
            self.arm_receiver(conn, node);
        }
        if delivered {
            self.message_delivered(conn, now);
        }
    }

    #[inline(never)]
    fn arm_receiver(&mut self, conn: u32, host: NodeId) {
        let r = &mut self.receivers[conn];
        r.armed = r.deadline;
        let (deadline, generation) = (r.deadline, r.generation());
        self.wake(host, host, deadline, Wake::Receiver { conn, generation });
    }

    /// A timer entry at `node` came due. Application timers are the caller's.
    pub(super) fn on_wake(&mut self, node: NodeId, now: u64, wake: Wake) {
        match wake {
            Wake::Open { conn } => {
                self.with_sender(conn, now, Call::Open);
                match self.streams[conn].first {
                    First::Nothing => {}
                    First::Only(job) => self.write(conn, now, job),
                    First::Endless => self.write(conn, now, Job::ENDLESS),
                }
            }
            Wake::Sender { conn, generation } => {
                if self.senders.whosever(conn).generation() != generation || self.senders[conn].armed != now {
                    return;
                }
                let s = &mut self.senders[conn];
                s.armed = u64::MAX;
                if s.deadline <= now {
                    self.hosts[node.get()].mix(now, 1 << 40);
                    self.sender_timer(conn, now);
                } else {
                    self.arm_sender(conn, node);
                }
            }
            Wake::Receiver { conn, generation } => {
                if self.receivers.whosever(conn).generation() != generation || self.receivers[conn].armed != now {
                    return;
                }
                let r = &mut self.receivers[conn];
                r.armed = u64::MAX;
                if r.deadline <= now && generation.has_shim() {
                    rarely(|| self.receiver_timer::<Shimmed>(node, conn, now));
                } else if r.deadline <= now {
                    self.receiver_timer::<Direct>(node, conn, now);
                } else if r.deadline != u64::MAX {
                    self.arm_receiver(conn, node);
                }
            }
            Wake::Law { conn, generation } => {
                if self.senders.whosever(conn).generation() == generation {
                    self.hosts[node.get()].mix(now, 2 << 40);
                    self.with_sender(conn, now, Call::Alarm);
                }
            }
            Wake::Shim { group } => self.shim_tick(node, group, now),
            Wake::App { .. } => {}
        }
    }

    #[inline(never)]
    fn message_delivered(&mut self, conn: u32, now: u64) {
        let r = &mut self.receivers[conn];
        while let Some(query) = self.incoming[conn].complete(&mut r.deliver_at, r.delivered) {
            self.lane.hand_over(self.streams[conn].dst, Handover::Delivered { conn, time: now });
            self.lane.notices.push(Notice::Delivered { conn, query });
        }
    }

    #[inline(never)]
    pub(super) fn message_acked(&mut self, conn: u32, now: u64) {
        while self.senders[conn].una >= self.senders[conn].message.2 {
            self.emit_acked(conn, now);
            let out = &mut self.outgoing[conn];
            let Some(message) = out.pop() else { return };
            let finite = message.end != u64::MAX;
            assert!(!finite || message.delivered <= now, "conservation: a message was acknowledged before it was delivered");
            self.lane.open -= 1;
            self.lane.done += u64::from(finite);
            let sender = &mut self.senders[conn];
            sender.next_message(out.messages.front().map(|m| (m.begin, m.begin.saturating_add(m.first_window), m.end)));
            if finite {
                self.lane.notices.push(Notice::Acked { conn });
            }
        }
    }

    /// Records the oldest message of `conn`, which is acknowledged at `now`: so all that was written so far, or this message at the least,
    /// has arrived.
    fn emit_acked(&mut self, conn: u32, now: u64) {
        let sender = &self.senders[conn];
        let (known, arrived) = (sender.una.min(sender.written), sender.written);
        let held = Held { in_order: if self.measuring { arrived } else { 0 }, beyond: Vec::new() };
        self.emit_row(conn, Some(now), known, &held);
    }

    /// Records the oldest message of `conn`, which is not acknowledged at the end of the run.
    pub(super) fn emit_unfinished(&mut self, conn: u32) {
        let known = self.known_to_arrive(conn);
        let held = if self.measuring { self.held(conn) } else { Held::default() };
        self.emit_row(conn, None, known, &held);
    }

    /// Records the oldest message of `conn`. `acked` is when it was acknowledged, if it was, `known` how far the stream is known to have
    /// arrived, `held` what the receiver has of it.
    fn emit_row(&mut self, conn: u32, acked: Option<u64>, known: u64, held: &Held) {
        let (s, sender) = (&self.streams[conn], &self.senders[conn]);
        let Some(&m) = self.outgoing[conn].messages.front() else { return };
        let measured = held.within(m.begin, m.end).saturating_sub(s.before.within(m.begin, m.end));
        let stats = &sender.stats;
        let size = if m.end == u64::MAX { 0 } else { m.end - m.begin };
        let (src, dst, hash) = (s.src, s.dst, s.hash);
        let mut row = FlowRow {
            // Numbered by the report, in order of start.
            flow_id: 0,
            conn_id: s.conn_id,
            workload: s.app,
            group: u32::from(sender.group),
            src,
            dst,
            size_bytes: size,
            start_ps: m.start,
            end_ps: m.delivered,
            acked_ps: acked.unwrap_or(u64::MAX),
            ideal_ps: if size == 0 { 0 } else { self.ideal(src, dst, hash, size, sender.group as usize) },
            bytes_acked: known.min(m.end).saturating_sub(m.begin),
            bytes_measured: measured,
            segs_sent: stats.segs_sent,
            segs_retx: stats.segs_retx,
            rtos: stats.rtos,
            rtos_head: stats.rtos_head,
            rtos_tail: stats.rtos_tail,
            tlps: stats.tlps,
            syn_rtos: stats.syn_rtos,
            fast_retx: stats.fast_retx,
            ecn_cuts: stats.ecn_cuts,
            loss_cuts: stats.loss_cuts,
            cut_alpha: (stats.ecn_cuts > 0 && !stats.cut_alpha.is_nan()).then(|| stats.cut_alpha / f64::from(stats.ecn_cuts)),
            ce_acked_bytes: stats.ce_bytes,
            cwnd_max: stats.cwnd_max,
            rtt_min_ps: stats.rtt_min,
            rtt_mean_ps: stats.rtt_sum.checked_div(stats.rtt_count).unwrap_or(u64::MAX),
            query_id: m.query,
            deadline_ps: m.deadline,
            ..FlowRow::default()
        };
        row.shim = self.endpoint_shims.row(row.group, conn, m.begin == 0);
        self.recorder.message(row);
    }

    /// Transfer time of `size` bytes as back-to-back segments over the empty path, ps: store and forward at every hop, no handshake,
    /// no window. D(n, h), when segment n leaves hop h, is max(D(n-1, h), D(n, h-1)) + tx; all segments but the last are equal.
    fn ideal(&self, src: NodeId, dst: NodeId, hash: u16, size: u64, group: usize) -> u64 {
        let c = &self.tcp[group as u32];
        let (mss, header) = (u64::from(c.mss), u64::from(c.header));
        let full = (size - 1) / mss;
        let last = size - full * mss + header;
        let (mut first, mut slowest, mut last_out, mut delay) = (0, 0, 0, 0);
        let mut node = src;
        let mut port = self.hosts[src.get()].nic;
        loop {
            let p = &self.network.ports[port];
            if full > 0 {
                let tx = p.rate.tx_time(mss + header).0;
                first += tx;
                slowest = slowest.max(tx);
                last_out = (first + (full - 1) * slowest).max(last_out);
            }
            last_out += p.rate.tx_time(last).0;
            delay += p.delay.0;
            node = if node == dst { node } else { p.to };
            if node == dst {
                return last_out + delay;
            }
            port = self.fabric.fib().next_port(node, dst, u32::from(hash));
        }
    }

    fn sample(&mut self, conn: u32, now: u64) {
        let (s, out) = (&self.streams[conn], &mut self.outgoing[conn]);
        let Some(every) = s.sample_every.filter(|_| now >= out.next_sample) else { return };
        if every > 0 {
            out.next_sample = now - now % every + every;
        }
        let sender = &self.senders[conn];
        self.recorder.sample(TcpRow {
            time_ps: now,
            conn_id: s.conn_id,
            cwnd: sender.w.cwnd,
            ssthresh: sender.w.ssthresh,
            unacked_bytes: sender.flight(),
            srtt_ps: sender.rtt.srtt,
            rto_ps: sender.rto(&self.tcp[u32::from(sender.group)]),
            alpha: sender.law.alpha(),
            bytes_acked: sender.una.min(sender.written),
            retrans: sender.retransmitted,
            ca_state: sender.ca as u8,
        });
    }

    /// The connection has ended; its slot can be used again. What is still under way for it will be recognised by its generation.
    pub(super) fn close(&mut self, conn: u32) {
        self.leave_window_shim(conn);
        let (sender, receiver, stream) = (&self.senders[conn], &self.receivers[conn], &mut self.streams[conn]);
        assert!(
            sender.all_acked() && receiver.delivered == sender.written,
            "conservation: a connection closed before its bytes arrived"
        );
        self.closed_arrived[usize::from(sender.group)] += sender.written;
        let shim = self.endpoint_shims.balance(sender.group, conn);
        self.closed.sent += sender.packets + receiver.sent + shim.sent;
        // A packet that the shim still holds goes with its entry.
        self.closed.received += sender.received + receiver.packets + shim.taken + shim.held;
        self.closed.dropped += stream.dropped;
        stream.live = false;
        self.receivers[conn].retire();
        self.slots.give_back(conn);
    }

    /// Books drops to their connections.
    #[inline]
    pub(super) fn settle_drops(&mut self) {
        while let Some(d) = self.fabric.dropped.pop() {
            let s = &mut self.streams[d.conn];
            if s.live && s.generation == d.generation {
                s.dropped += 1;
            } else {
                self.closed.dropped += 1;
            }
        }
    }
}
