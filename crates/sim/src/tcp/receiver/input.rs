//! Processing of a segment with data or a FIN (tcp_rcv_established): checks, ECN, the stream, and the decision about its ACK (RFC 5681 section 4.2).

use super::Receiver;
use super::linux::Accepted;
use super::rcv_buffers::AfterHole;
use super::truesize::{Segments, tailroom};
use crate::net::packet::{Codepoint, MAX_SEGMENTS, Packet, SAVED, Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::SsthreshFrom;
use forebay_types::Time;

impl Receiver {
    /// Processes `p`: one segment, or several that GRO has merged.
    #[inline(always)]
    pub(super) fn process_segment(&mut self, c: &TcpConfig, now: Time, p: &Packet, segments: Segments, out: &mut impl Wire) {
        self.refresh_clock(c, now);
        let fin = p.has(flag::FIN);
        if p.len == 0 && !fin {
            return self.on_empty_segment(c, now, p, out);
        }
        let offset = self.stream.offset(p);
        let may_be_older = self.ts_recent.may_be_older(now, p);
        if may_be_older && c.timestamps && self.ts_recent.fails_paws(c, now, p) {
            return self.drop_and_acknowledge(c, p, out);
        }
        if c.quickack && offset + i64::from(p.len) + i64::from(fin) < self.window.rcv_wup() as i64 {
            // tcp_validate_incoming, tcp_sequence: it ends before the window that was advertised last, so neither its timestamp nor its ECN field
            // counts.
            return self.drop_and_acknowledge(c, p, out);
        }
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.5
        //# the TCP data receiver SHOULD ignore the ECN field on arriving data packets that are outside of the receiver's
        //# current window.
        // RFC 3168 section 6.1.5: the ECN field of a segment without new data does not count (tcp_data_queue). ns-2 counts it (TcpSink::ack).
        let counts = self.stream.is_new(p, offset) || c.ssthresh_from == SsthreshFrom::Window;
        let accurate = self.ecn.is_accurate();
        // tcp_data_queue calls tcp_event_data_recv, which looks at the ECN field, only for data: not for a FIN alone that is next in order.
        let bare_fin = c.is_linux() && !accurate && p.len == 0 && offset == self.stream.rcv_nxt() as i64;
        let ce = if counts && !bare_fin { p.ecn() == Codepoint::Ce } else { self.ecn.unchanged() };
        let ends_run = if accurate { self.count_marks(p, counts, segments.count) } else { self.ecn.on_segment(p, ce) };
        if ends_run && !accurate && self.window.unacked_segments() > 0 {
            //= https://www.rfc-editor.org/rfc/rfc8257#section-3.2
            //# To avoid this, an implementation MAY choose to send two ACKs: one for previously unacknowledged packets
            //# and another acknowledging the most recently received packet.
            // RFC 8257 section 3.2: the packets before the change are acknowledged with the old CE value.
            self.acknowledge_early(out);
        }
        self.ecn.start_run(ce);
        let gap_before = !self.stream.ofo().is_empty();
        self.ts_recent.update(now, p, offset, self.window.rcv_wup(), may_be_older);
        let (before, queued, memory) = (self.stream.rcv_nxt(), self.stream.ofo().bytes(), self.stream.ofo().memory());
        if self.linux.is_some() {
            self.flush_compressed_acks(c, offset, p, out);
            // RFC 2883 section 4: only the most recent packet is reported. The ACK of an earlier one may have been withheld (tcp_data_queue).
            self.stream.ofo_mut().take_dsack();
            if gap_before && offset <= self.stream.rcv_nxt() as i64 {
                let conn = self.template.conn;
                // tcp_queue_rcv coalesces it with data that is unread.
                let unread = out.unread(conn).filter(|&memory| memory > SAVED).map_or(0, |_| out.unread_segments(conn));
                let joined = unread + segments.count;
                let unread_room = if unread > 0 && segments.count == 1 { u32::from(out.unread_room(conn)) } else { 0 };
                let (segments, room) = match unread_room.checked_sub(p.len.into()) {
                    Some(room) if unread > 0 => (unread, room),
                    _ if unread > 0 && joined <= MAX_SEGMENTS => (joined, 0),
                    _ if segments.count == 1 => (1, tailroom(c, p.len.into())),
                    _ => (segments.count, 0),
                };
                self.stream.ofo_mut().set_tail(segments, room);
            }
        }
        let in_order =
            self.stream.accept(c, (offset, u64::from(p.len), fin), segments, self.window.rcv_wnd(), self.linux.is_some());
        self.window.count_segments(segments.count as u16);
        let forced = !in_order || gap_before || ends_run || fin;
        if self.linux.is_some() {
            let advanced = self.stream.rcv_nxt() - before;
            let queued = self.stream.ofo().bytes() > queued;
            let now_used = self.stream.ofo().memory();
            let coalesced = queued && now_used.saturating_sub(memory) < segments.truesize(c, p.len.into());
            let behind = memory.saturating_sub(now_used);
            let after_hole = if in_order && gap_before { self.stream.ofo().after_hole() } else { AfterHole::default() };
            let accepted =
                Accepted { offset, segments, in_order, forced, ends_run, advanced, queued, coalesced, behind, after_hole };
            return self.schedule_linux_ack(c, now, p, accepted, out);
        }
        if forced || u32::from(self.window.unacked_segments()) >= c.ack_every || self.quickacks.consume() {
            self.acknowledge(out);
        } else if self.timer_due.is_never() {
            self.timer_due = (now + c.ack_delay).into();
        }
    }

    /// Counts the packets of `p` if they are marked, and the bytes (RFC 9768 section 3.2). `counts`: the ECN field does. Returns true if they must be
    /// acknowledged immediately.
    #[cold]
    #[inline(never)]
    fn count_marks(&mut self, p: &Packet, counts: bool, count: u32) -> bool {
        let marked = counts && p.ecn() == Codepoint::Ce;
        if marked {
            self.template.set_ace(self.template.ace().wrapping_add(count as u8) & 7);
        }
        if let Some(counters) = self.byte_counters.as_mut().filter(|_| counts) {
            counters.count(p.ecn(), p.len);
        }
        self.ecn.on_counted(marked, count)
    }

    //= https://www.rfc-editor.org/rfc/rfc7323#section-5.3
    //# Send an acknowledgment in reply as specified in Section 3.9 of [RFC0793] and drop the segment.
    /// Drops `p` and sends an ACK, which reports the duplicate part of `p` (tcp_send_dupack).
    #[cold]
    #[inline(never)]
    fn drop_and_acknowledge(&mut self, c: &TcpConfig, p: &Packet, out: &mut impl Wire) {
        let start = self.stream.offset(p).max(0) as u64;
        let end = self.stream.end_of(p).min(self.stream.rcv_nxt());
        if start < end {
            if self.stream.has_sack() {
                self.stream.report_duplicate(start, end);
            }
            self.enter_quickack_mode(c);
        }
        self.acknowledge_request(c, out);
    }
}
