//! Delivery and acknowledgment of messages, and their rows.

use super::SimState;
use crate::engine::connection::{Connection, ReceivedRanges};
use crate::engine::partition_state::DeferredEffect;
use crate::net::generation::Generation;
use forebay_apps::Notice;
use forebay_experiment::cc_state::CcState;
use forebay_experiment::decisions::{ItemKind, WorkItem};
use forebay_experiment::ideal_time::IdealTime;
use forebay_experiment::rows::{FlowRow, TcpRow};
use forebay_types::{ConnSlot, GroupId, NodeId, Time, WorkloadId};

impl SimState {
    #[inline(never)]
    pub(super) fn message_delivered(&mut self, conn: ConnSlot, now: Time) {
        let &Connection { dst, app, tag, .. } = self.connections.get(conn);
        let (incoming, receiver) = self.connections.receiving_half(conn);
        let delivered = receiver.delivered();
        while let Some(query) = incoming.complete(receiver.deliver_at_mut(), delivered) {
            self.partition.defer(dst, DeferredEffect::Delivered { conn, time: now });
            self.partition.notices.push((app, Notice::Delivered { tag, query }));
        }
    }

    #[inline(never)]
    pub(super) fn message_acked(&mut self, conn: ConnSlot, now: Time) {
        while self.connections.sender(conn).snd_una() >= self.connections.sender(conn).message_end() {
            self.record_acked(conn, now);
            let (out, sender) = self.connections.sending_half(conn);
            let Some(message) = out.pop(&mut self.partition.spare) else { return };
            let finite = message.end_offset.is_some();
            assert!(!finite || message.delivered.is_due(now), "conservation: a message was acknowledged before it was delivered");
            self.partition.open -= 1;
            self.partition.end_work(now);
            self.partition.done += u64::from(finite);
            sender.next_message(
                out.front().map(|m| (m.begin, m.begin.saturating_add(m.first_window), m.end().unwrap_or(u64::MAX))),
            );
            if finite {
                let s = self.connections.get(conn);
                self.partition.notices.push((s.app, Notice::Acked { tag: s.tag, conn }));
            }
        }
    }

    /// Records the oldest message of `conn`, which is acknowledged at `now`: everything written so far, or at least this message, has arrived.
    fn record_acked(&mut self, conn: ConnSlot, now: Time) {
        let sender = self.connections.sender(conn);
        let (known, arrived) = (sender.snd_una().min(sender.written()), sender.written());
        let held = ReceivedRanges { in_order: if self.measurement.active { arrived } else { 0 }, beyond: Box::default() };
        let Some((row, shim)) = self.record_row(conn, Some(now), known, &held) else { return };
        if let Some(first) = shim {
            // The receiving host completes the row.
            self.partition.defer(self.connections.get(conn).src, DeferredEffect::Row { conn, row, first });
        }
    }

    /// Records the oldest message of `conn`, which is not acknowledged at the end of the run.
    pub(super) fn record_unfinished_message(&mut self, conn: ConnSlot) {
        let known = self.confirmed_bytes(conn);
        let held = if self.measurement.active { self.received(conn) } else { ReceivedRanges::default() };
        if let Some((row, Some(first))) = self.record_row(conn, None, known, &held) {
            self.complete_row(conn, row, first);
        }
    }

    /// Records the oldest message of `conn`. `acked` is the time of its acknowledgment, `known` the offset up to which the stream has arrived, and
    /// `held` what the receiver has. Returns the place of the row and, where a shim completes it, whether it is the connection's first message.
    fn record_row(
        &mut self,
        conn: ConnSlot,
        acked: Option<Time>,
        known: u64,
        held: &ReceivedRanges,
    ) -> Option<(usize, Option<bool>)> {
        let (s, sender) = (self.connections.get(conn), self.connections.sender(conn));
        let &m = self.connections.outgoing(conn).front()?;
        let measured = held.within(m.begin, m.end()).saturating_sub(s.before(m.begin, m.end()));
        let (stats, losses) = (sender.stats(), &sender.stats().losses);
        let size = m.end().map_or(0, |end| end - m.begin);
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
            start: m.start,
            end: m.delivered,
            acked: acked.into(),
            ideal: if size == 0 { Time::ZERO } else { self.ideal(src, dst, hash, size, sender.group()) },
            bytes_acked: m.end().map_or(known, |end| known.min(end)).saturating_sub(m.begin),
            bytes_measured: measured,
            segs_sent: stats.segs_sent.into(),
            segs_retx: losses.segs_retx,
            rtos: losses.rtos,
            rtos_head: losses.rtos_head,
            rtos_tail: losses.rtos_tail,
            tlps: losses.tlps,
            syn_rtos: losses.syn_rtos,
            fast_retx: losses.fast_retx,
            ecn_reductions: losses.ecn_reductions,
            loss_reductions: losses.loss_reductions,
            reduction_alpha: losses.reduction_alpha.map(|sum| sum / f64::from(losses.ecn_reductions)),
            ce_acked_bytes: losses.ce_bytes,
            cwnd_max: stats.cwnd_max,
            rwnd_limited: losses.rwnd_limited.into(),
            sndbuf_limited: losses.sndbuf_limited.into(),
            rtt_min: stats.rtt_min,
            rtt_mean: stats.rtt_sum.0.checked_div(stats.rtt_count.into()).map(Time).into(),
            query_id: m.query,
            deadline: m.deadline,
            ecmp: hash,
            opens: m.begin == 0,
            fits: size <= m.first_window,
            ..FlowRow::default()
        };
        let first = m.begin == 0;
        row.shim = self.endpoint_shims.sender_row(row.group, conn, first);
        let shim = row.shim.is_some().then_some(first);
        self.record_stalls(conn, &m);
        Some((self.recorder.message(row), shim))
    }

    /// Adds the columns of the receiving host's shim to a row. Between windows.
    pub(super) fn complete_row(&mut self, conn: ConnSlot, row: usize, first: bool) {
        if let Some((group, shim)) = self.recorder.shim_of(row) {
            self.endpoint_shims.receiver_row(group, conn, first, shim);
        }
    }

    /// Transfer time of `size` bytes on the empty path.
    /// The finite messages and the queries so far, between two windows.
    pub(in crate::engine) fn work_so_far(&self) -> Vec<WorkItem> {
        let mut list = self.recorder.ended_work();
        for (conn, s) in self.connections.live() {
            let group = self.connections.sender(conn).group();
            for m in self.connections.outgoing(conn).iter() {
                let Some(size) = m.end().map(|end| end - m.begin).filter(|size| *size > 0) else { continue };
                let item = WorkItem {
                    kind: if m.query.is_some() { ItemKind::QueryMessage } else { ItemKind::Message },
                    workload: WorkloadId::new(s.app.get()),
                    group,
                    size_bytes: size,
                    start: m.start,
                    end: m.delivered,
                    ideal: self.ideal(s.src, s.dst, s.hash, size, group),
                    opens: m.begin == 0,
                    timeouts: 0,
                    lost: false,
                };
                list.add(item, m.query);
            }
        }
        list.finish()
    }

    fn ideal(&self, src: NodeId, dst: NodeId, hash: u16, size: u64, group: GroupId) -> Time {
        let c = &self.tcp[group];
        let mut ideal = IdealTime::new(size, c.mss, c.header);
        self.on_path(src, dst, hash, |port| ideal.pass(&self.network.ports[port]));
        ideal.time()
    }

    pub(super) fn sample(&mut self, conn: ConnSlot, now: Time) {
        if self.connections.sender(conn).generation() == Generation::RETIRED {
            return;
        }
        if !self.connections.get(conn).sampled || !self.connections.outgoing_mut(conn).sample_is_due(now) {
            return;
        }
        let (s, sender) = (self.connections.get(conn), self.connections.sender(conn));
        let mut cc = CcState::default();
        sender.cc().state(self.tcp[sender.group()].mss, &mut cc);
        self.recorder.sample(TcpRow {
            time_ps: now.0,
            conn_id: s.conn_id,
            cwnd: sender.window().cwnd,
            ssthresh: sender.window().ssthresh.get(),
            unacked_bytes: sender.flight(),
            srtt_ps: sender.rtt().smoothed().get().map(|srtt| srtt.0),
            rto_ps: sender.rto(&self.tcp[sender.group()]).0,
            alpha: sender.cc().alpha(),
            bytes_acked: sender.snd_una().min(sender.written()),
            retrans: sender.cold.retransmitted,
            ca_state: sender.ca_state() as u8,
            cc,
        });
    }
}
