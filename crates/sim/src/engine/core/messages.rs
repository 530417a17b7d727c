//! Messages: delivered, acknowledged, and the rows that are left of them.

use super::Core;
use crate::engine::lane::Handover;
use crate::engine::stream::Held;
use crate::net::generation::Generation;
use forebay_experiment::ideal::Ideal;
use forebay_experiment::rows::{FlowRow, TcpRow};
use forebay_traffic::Notice;
use forebay_units::{ConnSlot, GroupId, NodeId, Time, WorkloadId};

impl Core {
    #[inline(never)]
    pub(super) fn message_delivered(&mut self, conn: ConnSlot, now: Time) {
        let r = &mut self.receivers[conn];
        let delivered = r.delivered();
        while let Some(query) = self.incoming[conn].complete(&mut r.deliver_at, delivered) {
            let s = &self.streams[conn];
            self.lane.hand_over(s.dst, Handover::Delivered { conn, time: now });
            self.lane.notices.push((s.app, Notice::Delivered { tag: s.tag, query }));
        }
    }

    #[inline(never)]
    pub(super) fn message_acked(&mut self, conn: ConnSlot, now: Time) {
        while self.senders[conn].snd_una() >= self.senders[conn].message_end() {
            self.emit_acked(conn, now);
            let out = &mut self.outgoing[conn];
            let Some(message) = out.pop(&mut self.lane.spare) else { return };
            let finite = message.behind.is_some();
            assert!(
                !finite || message.delivered.has_come(now),
                "conservation: a message was acknowledged before it was delivered"
            );
            self.lane.open -= 1;
            self.lane.done += u64::from(finite);
            let sender = &mut self.senders[conn];
            sender.next_message(
                out.front().map(|m| (m.begin, m.begin.saturating_add(m.first_window), m.end().unwrap_or(u64::MAX))),
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
        let (known, arrived) = (sender.snd_una().min(sender.written()), sender.written());
        let held = Held { in_order: if self.measuring { arrived } else { 0 }, beyond: Box::default() };
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
        let &m = self.outgoing[conn].front()?;
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
            segs_sent: stats.segs_sent,
            segs_retx: losses.segs_retx,
            rtos: losses.rtos,
            rtos_head: losses.rtos_head,
            rtos_tail: losses.rtos_tail,
            tlps: losses.tlps,
            syn_rtos: losses.syn_rtos,
            fast_retx: losses.fast_retx,
            ecn_cuts: losses.ecn_cuts,
            loss_cuts: losses.loss_cuts,
            cut_alpha: losses.cut_alpha.map(|sum| sum / f64::from(losses.ecn_cuts)),
            ce_acked_bytes: losses.ce_bytes,
            cwnd_max: stats.cwnd_max,
            rtt_min: stats.rtt_min,
            rtt_mean: stats.rtt_sum.0.checked_div(stats.rtt_count).map(Time).into(),
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
        self.settle_stalls(conn, &m);
        Some((self.recorder.message(row), shim))
    }

    /// Adds to a row what the shim of the receiving host says. Between windows.
    pub(super) fn complete_row(&mut self, conn: ConnSlot, row: usize, first: bool) {
        if let Some((group, shim)) = self.recorder.shim_of(row) {
            self.endpoint_shims.receiver_row(group, conn, first, shim);
        }
    }

    /// Transfer time of `size` bytes that meet nobody.
    fn ideal(&self, src: NodeId, dst: NodeId, hash: u16, size: u64, group: GroupId) -> Time {
        let c = &self.tcp[group];
        let mut ideal = Ideal::new(size, c.mss, c.header);
        self.on_path(src, dst, hash, |port| ideal.pass(&self.network.ports[port]));
        ideal.time()
    }

    pub(super) fn sample(&mut self, conn: ConnSlot, now: Time) {
        if self.senders[conn].generation() == Generation::RETIRED {
            return;
        }
        let s = &self.streams[conn];
        if !s.sampled || !self.outgoing[conn].sample_is_due(now) {
            return;
        }
        let sender = &self.senders[conn];
        self.recorder.sample(TcpRow {
            time_ps: now.0,
            conn_id: s.conn_id,
            cwnd: sender.window().cwnd,
            ssthresh: sender.window().ssthresh.get(),
            unacked_bytes: sender.flight(),
            srtt_ps: sender.rtt().smoothed().get().map(|srtt| srtt.0),
            rto_ps: sender.rto(&self.tcp[sender.group()]).0,
            alpha: sender.law().alpha(),
            bytes_acked: sender.snd_una().min(sender.written()),
            retrans: sender.cold.retransmitted,
            ca_state: sender.ca_state() as u8,
        });
    }
}
