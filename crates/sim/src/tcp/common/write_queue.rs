//! Buffers (`sk_buff`) of a sender with segmentation offload: each holds several segments, and memory for one head. `sk_write_queue` has those that
//! have not been sent, `tcp_rtx_queue` those that wait for their acknowledgment.

use forebay_types::{Time, TimeOrNever};
use std::collections::VecDeque;

/// Occasion of a transmission (`push_one` of tcp_write_xmit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tcp) enum Push {
    /// All buffers, as far as it is not better to wait.
    Pending,
    /// The same, while the application writes more than half of the receiver's window (forced_push): without Nagle's algorithm.
    Forced,
    /// One buffer that the application has just filled (tcp_push_one).
    One,
    /// One buffer as a tail loss probe, also beyond the window.
    Probe,
}

/// A buffer that has been sent and not been acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SentBuffer {
    /// Stream offset of its end.
    end: u64,
    /// Time of its last transmission (`skb->tstamp`), not in whole microseconds. Never, which needs no further byte: all of it is SACKed, and what is
    /// SACKed behind it joins it (tcp_shift_skb_data).
    time: TimeOrNever,
    /// Offset at which the packet began that the interface took for this buffer; [`NO_PACKET`] if there is none.
    packet: u64,
}

/// A buffer that was cut off another one, whose packet stays with the beginning (tcp_fragment).
const NO_PACKET: u64 = u64::MAX;

impl SentBuffer {
    fn is_sacked(&self) -> bool {
        self.time.is_never()
    }
}

/// The buffers of one sender, by the stream offsets of their ends.
#[derive(Debug, Clone, Default)]
pub(in crate::tcp) struct WriteQueue {
    /// Sent and not acknowledged, oldest first.
    sent: VecDeque<SentBuffer>,
    /// Offset at which the first of them begins, if none of its bytes is acknowledged.
    begin: u64,
    /// Not sent, in order. The first begins at the next offset to send.
    unsent: VecDeque<u64>,
    /// While the segments of a burst leave, which count as one packet for the pacer and the interface: its end, where the last one of several carries
    /// PSH.
    burst: Option<u64>,
}

impl WriteQueue {
    /// No buffers; the data begins at stream offset `begin`.
    pub(in crate::tcp) fn starting_at(begin: u64) -> WriteQueue {
        WriteQueue { begin, ..WriteQueue::default() }
    }

    /// End of the first buffer that has not been sent (tcp_send_head).
    #[inline]
    pub(in crate::tcp) fn head(&self) -> Option<u64> {
        self.unsent.front().copied()
    }

    /// Returns true if that buffer is the last one.
    #[inline]
    pub(in crate::tcp) fn head_is_tail(&self) -> bool {
        self.unsent.len() == 1
    }

    /// While the segments of a burst leave: its end if they are several, else an offset behind all others.
    pub(in crate::tcp) fn burst(&self) -> Option<u64> {
        self.burst
    }

    /// Notes that a burst begins; see [`WriteQueue::burst`].
    pub(in crate::tcp) fn begin_burst(&mut self, end: u64) {
        self.burst = Some(end);
    }

    /// Number of buffers that wait for their acknowledgment.
    #[inline]
    pub(in crate::tcp) fn outstanding(&self) -> usize {
        self.sent.len()
    }

    /// Number of all buffers.
    #[inline]
    pub(in crate::tcp) fn len(&self) -> usize {
        self.sent.len() + self.unsent.len()
    }

    /// Bytes of the last buffer that has not been sent, if there is one; the data of the queue begins at `snd_nxt`.
    pub(in crate::tcp) fn tail_len(&self, snd_nxt: u64) -> Option<u64> {
        let end = *self.unsent.back()?;
        let before = self.unsent.len().checked_sub(2).map_or(snd_nxt, |i| self.unsent[i]);
        Some(end - before)
    }

    /// Adds a buffer that ends at `end` (tcp_skb_entail).
    pub(in crate::tcp) fn push(&mut self, end: u64) {
        self.unsent.push_back(end);
    }

    /// Extends the last buffer that has not been sent to `end`.
    pub(in crate::tcp) fn extend_tail(&mut self, end: u64) {
        if let Some(tail) = self.unsent.back_mut() {
            *tail = end;
        }
    }

    /// Moves up to `bytes` from the second buffer that has not been sent to the first (tcp_grow_skb). Returns the old and the new end of the first.
    pub(in crate::tcp) fn grow_head(&mut self, bytes: u64) -> Option<(u64, u64)> {
        let (&first, &second) = (self.unsent.front()?, self.unsent.get(1)?);
        let end = second.min(first + bytes);
        if end == second {
            self.unsent.pop_front();
        } else {
            self.unsent[0] = end;
        }
        Some((first, end))
    }

    /// Cuts the first buffer that has not been sent at `at` (tso_fragment).
    pub(in crate::tcp) fn split_head(&mut self, at: u64) {
        self.unsent.push_front(at);
    }

    /// Notes that everything up to `snd_nxt` is sent, the last buffer at `time` (tcp_event_new_data_sent).
    #[inline]
    pub(in crate::tcp) fn sent_up_to(&mut self, snd_nxt: u64, time: Time) {
        self.burst = None;
        while let Some(&end) = self.unsent.front()
            && end <= snd_nxt
        {
            let packet = self.sent.back().map_or(self.begin, |before| before.end);
            self.sent.push_back(SentBuffer { end, time: time.into(), packet });
            self.unsent.pop_front();
        }
    }

    /// End of the buffer that has been sent and that holds the byte at `offset`; `offset` if there is none.
    pub(in crate::tcp) fn end_of_sent(&self, offset: u64) -> u64 {
        self.sent.get(self.sent.partition_point(|b| b.end <= offset)).map_or(offset, |b| b.end)
    }

    /// Notes that the data from `start` to `end` is sent again at `time`, as one buffer (__tcp_retransmit_skb).
    pub(in crate::tcp) fn resend(&mut self, (start, end): (u64, u64), time: Time) {
        // A FIN is no data.
        let end = self.sent.back().map_or(start, |last| end.min(last.end));
        if start < end {
            self.split_sent(start);
            self.split_sent(end);
            self.join_sent(start, end);
            self.sent_again(end, time);
        }
    }

    /// Cuts the buffer that has been sent and that holds the byte at `at` (tcp_fragment).
    fn split_sent(&mut self, at: u64) {
        let place = self.sent.partition_point(|b| b.end < at);
        if let Some(&whole) = self.sent.get(place).filter(|b| b.end > at) {
            self.sent.insert(place, SentBuffer { end: at, ..whole });
            self.sent[place + 1].packet = NO_PACKET;
        }
    }

    /// Joins the buffers that have been sent and that lie between `start` and `end` (tcp_collapse_retrans).
    fn join_sent(&mut self, start: u64, end: u64) {
        let place = self.sent.partition_point(|b| b.end <= start);
        while self.sent.get(place).is_some_and(|b| b.end < end) && place + 1 < self.sent.len() {
            self.sent.remove(place);
        }
    }

    /// Notes that the buffer that ends at `end` is sent again at `time`.
    fn sent_again(&mut self, end: u64, time: Time) {
        let place = self.sent.partition_point(|b| b.end < end);
        let packet = self.begin_of(place);
        if let Some(buffer) = self.sent.get_mut(place) {
            (buffer.time, buffer.packet) = (time.into(), packet);
        }
    }

    /// Offset at which the packet begins that the interface took for the buffer with the byte at `offset`, if there is such a packet.
    pub(in crate::tcp) fn packet_of(&self, offset: u64) -> Option<u64> {
        let buffer = self.sent.get(self.sent.partition_point(|b| b.end <= offset))?;
        Some(buffer.packet).filter(|&packet| packet != NO_PACKET)
    }

    /// Time of the last transmission of the oldest buffer that is not acknowledged (tcp_rtx_queue_head).
    pub(in crate::tcp) fn oldest_sent(&self) -> Option<Time> {
        self.sent.front().and_then(|b| b.time.get())
    }

    /// Notes that a retransmission of a buffer has ended.
    pub(in crate::tcp) fn end_burst(&mut self) {
        self.burst = None;
    }

    /// Frees the buffers up to `snd_una` (tcp_clean_rtx_queue).
    #[inline]
    pub(in crate::tcp) fn acknowledge(&mut self, snd_una: u64) {
        while let Some(first) = self.sent.front().filter(|b| b.end <= snd_una) {
            self.begin = first.end;
            self.sent.pop_front();
        }
    }

    /// The segment from `start` to `end` is SACKed. It moves to the buffer before it if that is SACKed, and then joins the buffer behind it, too
    /// (tcp_shift_skb_data); else it becomes a buffer of its own (tcp_match_skb_to_sack). `repeated`: only its retransmission is outstanding, which
    /// the kernel leaves alone.
    #[cold]
    pub(in crate::tcp) fn sack(&mut self, (start, end): (u64, u64), repeated: bool) {
        let mut place = self.sent.partition_point(|b| b.end <= start);
        let Some(&(mut whole)) = self.sent.get(place) else { return };
        // A FIN is no data.
        let end = end.min(whole.end);
        let begin = self.begin_of(place);
        if begin < start {
            self.sent.insert(place, SentBuffer { end: start, ..whole });
            place += 1;
            whole.packet = NO_PACKET;
            self.sent[place] = whole;
        } else if !repeated
            && let Some(before) = place.checked_sub(1)
            && self.sent[before].is_sacked()
            // tcp_skb_seglen: both have segments of the same size.
            && start - self.begin_of(before) >= end - start
        {
            self.sent[before].end = end;
            if end == whole.end {
                self.sent.remove(place);
                if let Some(&behind) = self.sent.get(place).filter(|b| b.is_sacked()) {
                    self.sent[before].end = behind.end;
                    self.sent.remove(place);
                }
            }
            return;
        }
        if end < whole.end {
            self.sent.insert(place, SentBuffer { end, ..whole });
            self.sent[place + 1].packet = NO_PACKET;
        }
        if !repeated {
            self.sent[place].time = TimeOrNever::NEVER;
        }
    }

    /// Offset at which the buffer at `place` of those that have been sent begins.
    fn begin_of(&self, place: usize) -> u64 {
        place.checked_sub(1).map_or(self.begin, |before| self.sent[before].end)
    }

    /// Ends the data at `end`: buffers behind it are dropped.
    pub(in crate::tcp) fn stop(&mut self, end: u64) {
        while let Some(&tail) = self.unsent.back()
            && tail > end
        {
            let before = self.unsent.len().checked_sub(2).map(|i| self.unsent[i]);
            if before.or(self.sent.back().map(|b| b.end)).is_none_or(|begin| begin < end) {
                self.extend_tail(end);
                return;
            }
            self.unsent.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer of 10 000 bytes is cut at 4000; the rest grows by 3000 of the next buffer, and then by all that is left of it.
    #[test]
    fn buffers_split_and_grow() {
        let mut q = WriteQueue::default();
        [10_000, 20_000].into_iter().for_each(|end| q.push(end));
        q.split_head(4_000);
        assert_eq!((q.head(), q.len(), q.tail_len(0)), (Some(4_000), 3, Some(10_000)));
        q.sent_up_to(4_000, Time::ZERO);
        assert_eq!((q.head(), q.outstanding(), q.head_is_tail()), (Some(10_000), 1, false));
        assert_eq!(q.grow_head(3_000), Some((10_000, 13_000)));
        assert_eq!((q.head(), q.len()), (Some(13_000), 3));
        assert_eq!(q.grow_head(50_000), Some((13_000, 20_000)));
        assert_eq!((q.head(), q.len(), q.tail_len(4_000)), (Some(20_000), 2, Some(16_000)));
        assert_eq!(q.grow_head(1), None, "nothing follows");
        q.sent_up_to(20_000, Time::ZERO);
        q.acknowledge(19_999);
        assert_eq!((q.outstanding(), q.head()), (1, None), "the second is acknowledged in part");
        q.acknowledge(20_000);
        assert_eq!(q.len(), 0);
    }

    /// Buffers of 10 segments. SACKed segments are cut out, join those before them, and fill holes between SACKed buffers.
    #[test]
    fn sacked_segments_share_buffers() {
        let mut q = WriteQueue::default();
        [10_000, 20_000, 30_000].into_iter().for_each(|end| q.push(end));
        q.sent_up_to(30_000, Time::ZERO);
        let sack = |q: &mut WriteQueue, from: u64, to: u64| (from..to).for_each(|i| q.sack((i * 1_000, (i + 1) * 1_000), false));
        let ends = |q: &WriteQueue| q.sent.iter().map(|b| b.end).collect::<Vec<_>>();
        sack(&mut q, 3, 5);
        assert_eq!(ends(&q), [3_000, 5_000, 10_000, 20_000, 30_000]);
        sack(&mut q, 10, 20);
        assert_eq!(ends(&q), [3_000, 5_000, 10_000, 20_000, 30_000], "a whole buffer stays");
        sack(&mut q, 20, 22);
        assert_eq!(ends(&q), [3_000, 5_000, 10_000, 22_000, 30_000]);
        sack(&mut q, 5, 10);
        assert_eq!(ends(&q), [3_000, 22_000, 30_000], "the filled hole joins both");
        q.sack((25_000, 26_000), true);
        sack(&mut q, 26, 27);
        assert_eq!(ends(&q), [3_000, 22_000, 25_000, 26_000, 27_000, 30_000], "nothing joins a retransmission");
        q.acknowledge(22_000);
        sack(&mut q, 23, 24);
        assert_eq!(ends(&q), [23_000, 24_000, 25_000, 26_000, 27_000, 30_000]);
        q.sack((29_000, 30_001), false);
        assert_eq!(ends(&q), [23_000, 24_000, 25_000, 26_000, 27_000, 29_000, 30_000], "a FIN needs no memory");
    }

    /// An idle sender frees its queue, and a new one begins behind the data of the old one.
    #[test]
    fn queue_of_later_data_begins_there() {
        let mut q = WriteQueue::starting_at(50_000);
        q.push(60_000);
        q.sent_up_to(60_000, Time::ZERO);
        assert_eq!(q.packet_of(59_999), Some(50_000));
        q.sack((50_000, 51_000), false);
        assert_eq!(q.sent.iter().map(|b| b.end).collect::<Vec<_>>(), [51_000, 60_000]);
    }

    /// Three buffers of 100 bytes become one when the first is retransmitted.
    #[test]
    fn retransmitted_buffers_are_joined() {
        let mut q = WriteQueue::default();
        [1_000, 1_100, 1_200, 1_300].into_iter().for_each(|end| q.push(end));
        q.sent_up_to(1_300, Time::ZERO);
        q.join_sent(1_000, 1_300);
        q.sent_again(1_300, Time::from_us(1));
        assert_eq!(q.sent.iter().map(|b| b.end).collect::<Vec<_>>(), [1_000, 1_300]);
        q.acknowledge(1_000);
        assert_eq!(q.oldest_sent(), Some(Time::from_us(1)));
    }

    /// A buffer of ten segments. A SACK in its middle cuts it in three, of which the first keeps the packet. If the beginning is SACKed and joins
    /// the buffer before it, the rest keeps the packet. A retransmission is a packet of its own.
    #[test]
    fn beginning_of_cut_buffer_keeps_packet() {
        let mut q = WriteQueue::default();
        [10_000, 20_000].into_iter().for_each(|end| q.push(end));
        q.sent_up_to(20_000, Time::ZERO);
        assert_eq!([0, 9_999, 10_000, 20_000].map(|offset| q.packet_of(offset)), [Some(0), Some(0), Some(10_000), None]);
        q.sack((4_000, 5_000), false);
        assert_eq!([0, 4_000, 5_000].map(|offset| q.packet_of(offset)), [Some(0), None, None]);
        (5..11).for_each(|i| q.sack((i * 1_000, (i + 1) * 1_000), false));
        assert_eq!(q.packet_of(11_000), Some(10_000), "the SACKed beginning has joined the buffer before it");
        q.split_sent(12_000);
        assert_eq!([11_000, 12_000].map(|offset| q.packet_of(offset)), [Some(10_000), None]);
        q.sent_again(20_000, Time::from_us(1));
        assert_eq!(q.packet_of(12_000), Some(12_000));
    }

    #[test]
    fn stop_drops_unsent_buffers() {
        let mut q = WriteQueue::default();
        [1_000, 2_000, 3_000].into_iter().for_each(|end| q.push(end));
        q.sent_up_to(1_000, Time::ZERO);
        q.stop(1_500);
        assert_eq!((q.head(), q.len()), (Some(1_500), 2));
        q.stop(1_000);
        assert_eq!((q.head(), q.len()), (None, 1));
    }
}
