//! Messages: delivered, acknowledged, and the rows that are left of them.

use super::core::Core;
use super::lane::Handover;
use super::stream::Held;
use crate::net::generation::Generation;
use forebay_experiment::rows::{FlowRow, TcpRow};
use forebay_traffic::Notice;
use forebay_units::{ConnSlot, GroupId, NodeId, Time, WorkloadId};

impl Core {
    #[inline(never)]
    pub(super) fn message_delivered(&mut self, conn: ConnSlot, now: Time) {
        let r = &mut self.receivers[conn];
        while let Some(query) = self.incoming[conn].complete(&mut r.deliver_at, r.delivered) {
            let s = &self.streams[conn];
            self.lane.hand_over(s.dst, Handover::Delivered { conn, time: now });
            self.lane.notices.push((s.app, Notice::Delivered { tag: s.tag, query }));
        }
    }

    #[inline(never)]
    pub(super) fn message_acked(&mut self, conn: ConnSlot, now: Time) {
        while self.senders[conn].una >= self.senders[conn].message.2 {
            self.emit_acked(conn, now);
            let out = &mut self.outgoing[conn];
            let Some(message) = out.pop() else { return };
            let finite = message.end.is_some();
            assert!(
                !finite || message.delivered.has_come(now),
                "conservation: a message was acknowledged before it was delivered"
            );
            self.lane.open -= 1;
            self.lane.done += u64::from(finite);
            let sender = &mut self.senders[conn];
            sender.next_message(
                out.messages.front().map(|m| (m.begin, m.begin.saturating_add(m.first_window), m.end.unwrap_or(u64::MAX))),
            );
            if finite {
                let s = &self.streams[conn];
                self.lane.notices.push((s.app, Notice::Acked { tag: s.tag }));
            }
        }
    }

    /// Records the oldest message of `conn`, which is acknowledged at `now`: so all that was written so far, or this message at the least,
    /// has arrived.
    fn emit_acked(&mut self, conn: ConnSlot, now: Time) {
        let sender = &self.senders[conn];
        let (known, arrived) = (sender.una.min(sender.written), sender.written);
        let held = Held { in_order: if self.measuring { arrived } else { 0 }, beyond: Vec::new() };
        let Some((row, shim)) = self.emit_row(conn, Some(now), known, &held) else { return };
        if let Some(first) = shim {
            // The rest of the row is the receiving host's.
            self.lane.hand_over(self.streams[conn].src, Handover::Row { conn, row, first });
        }
    }

    /// Records the oldest message of `conn`, which is not acknowledged at the end of the run.
    pub(super) fn emit_unfinished(&mut self, conn: ConnSlot) {
        let known = self.known_to_arrive(conn);
        let held = if self.measuring { self.held(conn) } else { Held::default() };
        if let Some((row, Some(first))) = self.emit_row(conn, None, known, &held) {
            self.complete_row(conn, row, first);
        }
    }

    /// Records the oldest message of `conn`. `acked` is when it was acknowledged, if it was, `known` how far the stream is known to have
    /// arrived, `held` what the receiver has of it. Returns the place of the row; and where a shim is to complete it, whether it is about the
    /// connection's first message.
    fn emit_row(&mut self, conn: ConnSlot, acked: Option<Time>, known: u64, held: &Held) -> Option<(usize, Option<bool>)> {
        let (s, sender) = (&self.streams[conn], &self.senders[conn]);
        let &m = self.outgoing[conn].messages.front()?;
        let measured = held.within(m.begin, m.end).saturating_sub(s.before.within(m.begin, m.end));
        let stats = &sender.stats;
        let size = m.end.map_or(0, |end| end - m.begin);
        let (src, dst, hash) = (s.src, s.dst, s.hash);
        let mut row = FlowRow {
            // Numbered by the report, in order of start.
            flow_id: 0,
            conn_id: s.conn_id,
            workload: WorkloadId::new(s.app.get()),
            group: sender.group(),
            src,
            dst,
            size_bytes: size,
            start_ps: m.start.0,
            end_ps: m.delivered.or_never().0,
            acked_ps: acked.unwrap_or(Time::NEVER).0,
            ideal_ps: if size == 0 { 0 } else { self.ideal(src, dst, hash, size, sender.group()).0 },
            bytes_acked: m.end.map_or(known, |end| known.min(end)).saturating_sub(m.begin),
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
            cut_alpha: stats.cut_alpha.map(|sum| sum / f64::from(stats.ecn_cuts)),
            ce_acked_bytes: stats.ce_bytes,
            cwnd_max: stats.cwnd_max,
            rtt_min_ps: stats.rtt_min.or_never().0,
            rtt_mean_ps: stats.rtt_sum.0.checked_div(stats.rtt_count).unwrap_or(u64::MAX),
            query_id: m.query,
            deadline_ps: m.deadline.or_never().0,
            ecmp: hash,
            opens: m.begin == 0,
            fits: size <= m.first_window,
            ..FlowRow::default()
        };
        let first = m.begin == 0;
        row.shim = self.endpoint_shims.sender_row(row.group, conn, first);
        let shim = row.shim.is_some().then_some(first);
        self.settle_stalls(conn, &m);
        Some((self.recorder.message(row), shim))
    }

    /// Adds to a row what the shim of the receiving host says. Between windows.
    pub(super) fn complete_row(&mut self, conn: ConnSlot, row: usize, first: bool) {
        let row = self.recorder.recorded(row);
        if let Some(shim) = &mut row.shim {
            self.endpoint_shims.receiver_row(row.group, conn, first, shim);
        }
    }

    /// Transfer time of `size` bytes as back-to-back segments over the empty path: store and forward at every hop, no handshake,
    /// no window. D(n, h), when segment n leaves hop h, is max(D(n-1, h), D(n, h-1)) + tx; all segments but the last are equal.
    fn ideal(&self, src: NodeId, dst: NodeId, hash: u16, size: u64, group: GroupId) -> Time {
        let c = &self.tcp[group];
        let (mss, header) = (u64::from(c.mss), u64::from(c.header));
        let full = (size - 1) / mss;
        let last = size - full * mss + header;
        let (mut first, mut slowest, mut last_out, mut delay) = (Time::ZERO, Time::ZERO, Time::ZERO, Time::ZERO);
        let mut node = src;
        let mut port = self.hosts[src].nic;
        loop {
            let p = &self.network.ports[port];
            if full > 0 {
                let tx = p.rate.tx_time(mss + header);
                first += tx;
                slowest = slowest.max(tx);
                last_out = (first + slowest * (full - 1)).max(last_out);
            }
            last_out += p.rate.tx_time(last);
            delay += p.delay;
            node = if node == dst { node } else { p.to };
            if node == dst {
                return last_out + delay;
            }
            port = self.fabric.fib().next_port(node, dst, u32::from(hash));
        }
    }

    pub(super) fn sample(&mut self, conn: ConnSlot, now: Time) {
        if self.senders[conn].generation() == Generation::RETIRED {
            return;
        }
        let (s, out) = (&self.streams[conn], &mut self.outgoing[conn]);
        let Some(every) = s.sample_every.filter(|_| now >= out.next_sample) else { return };
        if every > Time::ZERO {
            out.next_sample = Time(now.0 - now.0 % every.0) + every;
        }
        let sender = &self.senders[conn];
        self.recorder.sample(TcpRow {
            time_ps: now.0,
            conn_id: s.conn_id,
            cwnd: sender.w.cwnd,
            ssthresh: sender.w.ssthresh.or_infinite(),
            unacked_bytes: sender.flight(),
            srtt_ps: sender.rtt.smoothed().get().map_or(0, |srtt| srtt.0),
            rto_ps: sender.rto(&self.tcp[sender.group()]).0,
            alpha: sender.law.alpha().unwrap_or(f64::NAN),
            bytes_acked: sender.una.min(sender.written),
            retrans: sender.retransmitted,
            ca_state: sender.ca as u8,
        });
    }
}
