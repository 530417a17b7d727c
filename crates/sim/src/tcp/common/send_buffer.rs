//! Send buffer of Linux (tcp_sendmsg_locked, tcp_sndbuf_expand, tcp_check_space), as far as it is visible on the wire: it limits the data of a
//! connection that is written and not acknowledged. The last segment of data that the application could write at once carries PSH, and so does one in
//! half of the largest window (forced_push). A receiver acknowledges such a segment as soon as it is read. The application writes again at the
//! instant at which there is space.
//!
//! Memory is payload and a head for each buffer (`sk_buff`). A buffer is one segment, or with segmentation offload up to 64 KB ([`WriteQueue`]).

use super::write_queue::WriteQueue;
use crate::tcp::config::TcpConfig;
use forebay_experiment::skb::{SMALLEST_SEND_BUFFER, TIMESTAMPS};
use std::collections::VecDeque;

/// Largest size of headers and shared info of a frame (tcp_sndbuf_expand), and of an `skb`, aligned.
const FRAME: u64 = 192 + 320;
const SKB: u64 = 256;
/// `tcp_wmem[1]`.
const FIRST: u32 = 16_384;
/// TCP_MSS_DEFAULT.
const MSS_DEFAULT: u32 = 536;
/// TCP_INIT_CWND.
const INITIAL: u64 = 10;

/// Send buffer of one sender, while it has something to send. All positions are stream offsets.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct SendBuffer {
    /// End of the data from the application (`write_seq`).
    taken: u64,
    /// Ends of segments with PSH that have not been sent (up to `taken`), and behind it ends of messages that are not in the buffer yet. Ascending:
    /// the first (`u64::MAX`: there is none), and all others.
    first: u64,
    others: VecDeque<u64>,
    /// Ends of segments with PSH that have been sent and not been acknowledged, ascending.
    sent: VecDeque<u64>,
    /// Size of the buffer (`sk_sndbuf`).
    size: u32,
    /// End of the last segment with PSH (`pushed_seq`), the low 32 bits.
    pushed: u32,
    /// Largest window of the receiver.
    window: u32,
    /// Largest congestion window or reordering for which it has space, segments.
    cwnd: u32,
    /// While it waits for space and nothing is SACKed: offset whose acknowledgment frees enough.
    resumes: u64,
    /// Memory of a buffer beside its payload.
    head: u16,
    /// True while the application waits for space.
    full: bool,
    /// True if it is larger than that of a new connection.
    grown: bool,
    /// Limit of its size (`tcp_wmem[2]`); `None` for a fixed size (`SOCK_SNDBUF_LOCK`).
    max: Option<u32>,
    /// Buffers, with segmentation offload.
    queue: Option<Box<WriteQueue>>,
}

/// State of the sender that the buffer needs.
pub(in crate::tcp) struct SenderView {
    pub mss: u64,
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// Offset up to which windows and interface allow data.
    pub reach: u64,
    /// Segments outstanding, short ones as full ones (`packets_out`).
    pub packets_out: u64,
    /// Segments in the network (tcp_packets_in_flight).
    pub in_flight: u64,
    /// The receiver's window.
    pub window: u64,
    pub cwnd: u64,
    /// Number of windows for which the buffer has space.
    pub windows: u64,
    /// Segments that were merged with SACKed ones before them, and need no memory beside their payload (tcp_shift_skb_data). With segmentation
    /// offload the queue knows its buffers ([`WriteQueue::sack`]).
    pub merged: u64,
    /// Degree of reordering seen so far, in segments.
    pub reordering: u64,
}

impl SendBuffer {
    /// Empty buffer at stream offset `at`; `bursts`: of buffers of several segments.
    pub(in crate::tcp) fn new(c: &TcpConfig, at: u64, bursts: bool) -> SendBuffer {
        let pushed = at as u32;
        // setsockopt doubles SO_SNDBUF (socket(7)).
        let fixed = c.snd_buf.map(|bytes| (2 * bytes).max(SMALLEST_SEND_BUFFER).min(i32::MAX as u64) as u32);
        SendBuffer {
            taken: at,
            first: u64::MAX,
            others: VecDeque::new(),
            sent: VecDeque::new(),
            size: fixed.unwrap_or(FIRST),
            pushed,
            window: 0,
            cwnd: 0,
            resumes: 0,
            head: c.kernel.sent_head() as u16,
            full: false,
            grown: false,
            max: fixed.is_none().then(|| c.wmem_max.map_or(i32::MAX as u32, |most| most.min(i32::MAX as u64) as u32)),
            queue: bursts.then(|| Box::new(WriteQueue::starting_at(at))),
        }
    }

    /// Buffers of several segments, with segmentation offload.
    #[inline]
    pub(in crate::tcp) fn queue(&self) -> Option<&WriteQueue> {
        self.queue.as_deref()
    }

    /// The same, to change them.
    #[inline]
    pub(in crate::tcp) fn queue_mut(&mut self) -> Option<&mut WriteQueue> {
        self.queue.as_deref_mut()
    }

    /// Returns true if it equals a new one, when all is acknowledged and the window of the receiver is `window`.
    pub(in crate::tcp) fn is_initial(&self, window: u64) -> bool {
        self.first == u64::MAX && !self.grown && self.pushed == self.taken as u32 && u64::from(self.window) <= window
    }

    /// Takes a message that ends at `end`.
    pub(in crate::tcp) fn write(&mut self, end: u64) {
        if self.first == u64::MAX {
            self.first = end;
        } else {
            self.others.push_back(end);
        }
    }

    /// Takes the bytes from `begin` to `end` as calls of `part` bytes, the last of which may be shorter.
    #[cold]
    pub(in crate::tcp) fn write_parts(&mut self, (begin, end): (u64, u64), part: u64) {
        let mut at = begin;
        while at < end {
            at = (at + part).min(end);
            self.write(at);
        }
    }

    /// Ends the data at `end`.
    pub(in crate::tcp) fn stop(&mut self, end: u64) {
        (self.taken, self.resumes) = (self.taken.min(end), 0);
        self.others.retain(|&e| e <= self.taken);
        if self.first > self.taken {
            self.first = u64::MAX;
        }
        if let Some(q) = &mut self.queue {
            q.stop(self.taken);
        }
    }

    /// Returns true if a segment that ends at `end` and leaves for the first time carries PSH. Calls come in the order of segments.
    #[inline]
    pub(in crate::tcp) fn pushes(&mut self, end: u64, snd_una: u64) -> bool {
        while self.first < end {
            self.drop_first();
        }
        let pushes = self.first == end;
        if pushes {
            self.drop_first();
            while self.sent.front().is_some_and(|&sent| sent <= snd_una) {
                self.sent.pop_front();
            }
            self.sent.push_back(end);
        }
        pushes
    }

    /// Returns true if a segment that ends at `end` carries PSH when it is retransmitted, as it did before (__tcp_retransmit_skb sends the same
    /// header).
    pub(in crate::tcp) fn pushed(&self, end: u64) -> bool {
        self.sent.binary_search(&end).is_ok()
    }

    fn drop_first(&mut self) {
        self.first = self.others.pop_front().unwrap_or(u64::MAX);
    }

    /// Expands the buffer (tcp_sndbuf_expand).
    fn expand(&mut self, s: &SenderView, cwnd: u64) {
        let Some(max) = self.max else { return };
        if cwnd <= u64::from(self.cwnd) {
            return;
        }
        self.cwnd = u32::try_from(cwnd.max(INITIAL)).unwrap_or(u32::MAX);
        self.size = self.size.max(Self::space(s, cwnd, max));
        self.grown |= self.size > Self::space(s, INITIAL, max);
    }

    /// Size of a buffer for a window of `cwnd` segments, at most `max`.
    fn space(s: &SenderView, cwnd: u64, max: u32) -> u32 {
        let frame = (s.mss + u64::from(TIMESTAMPS) + FRAME).next_power_of_two() + SKB;
        (s.windows * cwnd.max(INITIAL) * frame).min(max.into()) as u32
    }

    /// Returns true if the application waits for space after tcp_check_space, so that the buffer limits the sender (SOCK_NOSPACE). If there is space,
    /// the application has been woken, and writes when the softirq ends (sk_stream_write_space, tcp_chrono_stop).
    pub(in crate::tcp) fn blocks(&self, s: &SenderView) -> bool {
        let cwnd = s.cwnd.max(s.reordering + 1);
        let expanded =
            self.max.filter(|_| s.in_flight < s.cwnd && cwnd > u64::from(self.cwnd)).map_or(0, |max| Self::space(s, cwnd, max));
        self.full && !Self::is_writable(self.size.max(expanded), self.occupied(s))
    }

    /// Returns true if at least a third of the buffer is free, and the application may write (sk_stream_is_writeable).
    fn is_writable(size: u32, occupied: u64) -> bool {
        let size = u64::from(size);
        size.saturating_sub(occupied) >= occupied / 2 && occupied < size
    }

    fn head(&self) -> u64 {
        self.head.into()
    }

    fn occupied(&self, s: &SenderView) -> u64 {
        let bytes = self.taken.saturating_sub(s.snd_una);
        if let Some(q) = &self.queue {
            return bytes + self.head() * q.len() as u64;
        }
        let unsent = self.taken.saturating_sub(s.snd_nxt);
        bytes + self.head() * (s.packets_out + unsent.div_ceil(s.mss)).saturating_sub(s.merged)
    }

    /// Sets PSH on the last segment of the buffer.
    fn push(&mut self) {
        self.pushed = self.taken as u32;
        self.set_push();
    }

    fn set_push(&mut self) {
        if self.taken < self.first {
            let later = std::mem::replace(&mut self.first, self.taken);
            if later != u64::MAX {
                self.others.push_front(later);
            }
        } else if self.taken > self.first
            && let Err(place) = self.others.binary_search(&self.taken)
        {
            self.others.insert(place, self.taken);
        }
    }

    /// End of the current message of the application.
    fn message(&self) -> Option<u64> {
        if self.first > self.taken {
            return Some(self.first).filter(|&end| end < u64::MAX);
        }
        // Mostly it is the last one.
        let (last, before) = (*self.others.back()?, self.others.len().checked_sub(2));
        if last > self.taken && before.is_none_or(|i| self.others[i] <= self.taken) {
            return Some(last);
        }
        self.others.get(self.others.partition_point(|&end| end <= self.taken)).copied()
    }

    /// Returns true if the application waits for space, or has more data.
    #[inline]
    pub(in crate::tcp) fn wants(&self, snd_una: u64) -> bool {
        // At least a third must be free; a segment needs a head and its payload of the rest.
        let last = self.others.back().copied().unwrap_or(self.first);
        last > self.taken && last < u64::MAX && (!self.full || self.taken.saturating_sub(snd_una) < u64::from(self.size))
    }

    /// Returns true if filling the buffer would change nothing as long as nothing is SACKed. Everything up to `snd_una` is acknowledged and
    /// everything up to `snd_nxt` is sent; the windows are those of the receiver (bytes) and of congestion (segments).
    #[inline(always)]
    pub(in crate::tcp) fn sleeps(&self, snd_una: u64, snd_nxt: u64, window: u64, cwnd: u32) -> bool {
        let known = window <= u64::from(self.window) && cwnd <= self.cwnd;
        self.full && snd_una < self.resumes && snd_nxt <= self.taken && known
    }

    /// Stream offset behind the data in the buffer, if the application waits for space.
    pub(in crate::tcp) fn limit(&self) -> u64 {
        if self.full { self.taken } else { u64::MAX }
    }

    /// Bytes of the next segment of the message that ends at `end`, and of as many whole segments as fit. The buffer may be full, the message may
    /// end, or a segment may carry PSH (tcp_sendmsg_locked takes them one by one).
    fn unpushed(&self, s: &SenderView, end: u64) -> u64 {
        let left = end - self.taken;
        if left < s.mss || s.merged > 0 {
            return left.min(s.mss);
        }
        let space = u64::from(self.size) - self.occupied(s);
        let beyond = u64::from((self.taken as u32).wrapping_sub(self.pushed));
        let until_push = u64::from(self.window / 2).saturating_sub(beyond) / s.mss + 1;
        space.div_ceil(s.mss + self.head()).min(left / s.mss).min(until_push) * s.mss
    }

    /// Fills the buffer from the application, as far as there is space. Stops at the end of a message, if more follow, when its last segment is short
    /// and the windows allow it, and returns that end: tcp_push sends it before the application writes the next message.
    pub(in crate::tcp) fn fill(&mut self, s: &SenderView) -> Option<u64> {
        self.window = self.window.max(s.window.min(u64::from(u32::MAX)) as u32);
        // A buffer that is too small for the window does not stall the sender: data that was sent has been in the buffer.
        self.taken = self.taken.max(s.snd_nxt);
        if self.cwnd == 0 {
            // tcp_init_buffer_space, when the connection was established.
            self.expand(s, if s.snd_una == 0 { s.cwnd } else { INITIAL });
        }
        if self.full {
            // tcp_check_space, after every segment sent and at the end (tcp_event_new_data_sent, tcp_data_snd_check): the buffer grows if the window
            // is not full then. The application continues when a third of the buffer is free.
            let sends = u64::from(self.taken.min(s.reach) > s.snd_nxt);
            if s.in_flight + sends < s.cwnd {
                self.expand(s, s.cwnd.max(s.reordering + 1));
            }
            let occupied = self.occupied(s);
            let size = u64::from(self.size);
            if !Self::is_writable(self.size, occupied) {
                // At least a third must be free, of which a head for each segment and its payload take the rest.
                self.resumes = self.taken.saturating_sub((2 * size + 1) * s.mss / (3 * (s.mss + self.head())));
                return None;
            }
            self.full = false;
        }
        while let Some(end) = self.message() {
            let unsent = self.taken.saturating_sub(s.snd_nxt) % s.mss;
            if unsent == 0 && self.occupied(s) >= u64::from(self.size) {
                self.full = true;
                if self.taken > s.reach {
                    self.push();
                }
                return None;
            }
            self.taken += if unsent == 0 { self.unpushed(s, end) } else { (s.mss - unsent).min(end - self.taken) };
            if self.taken == end || (self.taken as u32).wrapping_sub(self.pushed) > self.window / 2 {
                self.push();
            }
            let short = self.taken < s.reach && !self.taken.saturating_sub(s.snd_nxt).is_multiple_of(s.mss);
            if self.taken == end && short && self.message().is_some() {
                return Some(end);
            }
        }
        None
    }

    /// tcp_init_buffer_space, when the connection was established.
    fn init(&mut self, s: &SenderView) {
        if self.cwnd == 0 {
            self.expand(s, if s.snd_una == 0 { s.cwnd } else { INITIAL });
        }
    }

    /// Frees what is acknowledged, and lets the application continue if it waits and a third of the buffer is free (tcp_check_space); the buffer
    /// grows first if the window is not full.
    pub(in crate::tcp) fn check_space(&mut self, s: &SenderView) {
        self.window = self.window.max(s.window.min(u64::from(u32::MAX)) as u32);
        self.init(s);
        if let Some(q) = &mut self.queue {
            q.acknowledge(s.snd_una);
        }
        if !self.full {
            return;
        }
        if s.in_flight < s.cwnd {
            self.expand(s, s.cwnd.max(s.reordering + 1));
        }
        self.full = !Self::is_writable(self.size, self.occupied(s));
    }

    /// Returns true if the application has data for which there is no space.
    pub(in crate::tcp) fn waits_for_space(&self) -> bool {
        self.full && self.message().is_some()
    }

    /// End of the data from the application (`write_seq`).
    pub(in crate::tcp) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns true if the application has waited for space and may write now.
    pub(in crate::tcp) fn resumes_writing(&self, s: &SenderView) -> bool {
        self.waits_for_space() && !self.blocks(s)
    }

    /// Returns true if the application has data that it may write now.
    pub(in crate::tcp) fn may_write(&self) -> bool {
        !self.full && self.message().is_some()
    }

    /// Data of one buffer that the application fills, whole segments (tcp_xmit_size_goal): `most` bytes, or half of the largest window of the receiver
    /// (tcp_bound_to_half_wnd).
    pub(in crate::tcp) fn size_goal(&self, mss: u64, most: u64) -> u64 {
        let half = u64::from(if self.window > MSS_DEFAULT { self.window / 2 } else { self.window });
        let goal = if half > 0 { most.min(half) } else { most };
        (goal / mss).max(1) * mss
    }

    /// Writes data of the application until a buffer of up to `most` bytes is full, the message ends or there is no space (tcp_sendmsg_locked). `begins`:
    /// this is the start of a call.
    pub(in crate::tcp) fn write_one(&mut self, s: &SenderView, most: u64, begins: bool) -> Written {
        let Some(end) = self.message() else { return Written::Nothing };
        let goal = self.size_goal(s.mss, most);
        let tail = self.queue.as_ref().and_then(|q| q.tail_len(s.snd_nxt));
        let mut room = goal.saturating_sub(tail.unwrap_or(0));
        let extends = tail.is_some() && room > 0;
        if !extends {
            if self.occupied(s) >= u64::from(self.size) {
                self.full = true;
                if tail.is_some() && !begins {
                    self.push();
                }
                return Written::Full;
            }
            room = goal;
        }
        // PSH is a flag of the buffer, whose last segment carries it. The first bytes of a call clear it.
        let pushes = extends && self.clear_push(self.taken) && !begins;
        let copied = room.min(end - self.taken);
        self.taken += copied;
        if let Some(q) = &mut self.queue {
            if extends { q.extend_tail(self.taken) } else { q.push(self.taken) }
        }
        if pushes {
            self.set_push();
        }
        if self.taken == end {
            self.push();
            return Written::Message;
        }
        let forced = (self.taken as u32).wrapping_sub(self.pushed) > self.window / 2;
        if forced {
            self.push();
        }
        Written::Buffer { push: forced }
    }

    /// Moves up to `bytes` to the first buffer that has not been sent (tcp_grow_skb), with their PSH.
    pub(in crate::tcp) fn grow_head(&mut self, bytes: u64) {
        if let Some((from, to)) = self.queue.as_mut().and_then(|q| q.grow_head(bytes))
            && self.first == from
        {
            // PSH is a flag of the buffer, whose last segment carries it.
            self.drop_first();
            if self.first != to {
                let later = std::mem::replace(&mut self.first, to);
                if later != u64::MAX {
                    self.others.push_front(later);
                }
            }
        }
    }

    /// Clears PSH at `end`, which has not been sent. Returns true if it was set.
    fn clear_push(&mut self, end: u64) -> bool {
        if self.first == end {
            self.drop_first();
            return true;
        }
        let found = self.others.binary_search(&end);
        found.is_ok_and(|at| self.others.remove(at).is_some())
    }
}

/// Result of [`SendBuffer::write_one`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tcp) enum Written {
    /// The application has no data.
    Nothing,
    /// There is no space.
    Full,
    /// A buffer is full; `push`: with PSH.
    Buffer {
        /// forced_push.
        push: bool,
    },
    /// The message is written.
    Message,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::profile::tests::config;

    /// A flow that stops in the middle of its second message: the first one still ends with PSH, and the second one has no end.
    #[test]
    fn stop_keeps_ends_of_earlier_messages() {
        let mut buffer = SendBuffer::new(&config("linux", "cubic"), 1, false);
        buffer.write_parts((1, 1001), 400);
        buffer.taken = 700;
        buffer.stop(501);
        assert!(buffer.pushes(401, 1) && buffer.first == u64::MAX);
        // In the middle of the first one.
        buffer.write(1001);
        buffer.stop(501);
        assert_eq!(buffer.first, u64::MAX);
    }
}
