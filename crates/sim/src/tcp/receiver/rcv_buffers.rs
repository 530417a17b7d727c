//! Buffers of contiguous segments (`struct sk_buff`) at a receiver: TCP coalesces a segment with the buffer that ends where it begins (tcp_try_coalesce).

use super::truesize::Stored;
use crate::net::packet::{self, SAVED};

/// Segments of a buffer.
const MAX_SEGMENTS: u8 = packet::MAX_SEGMENTS as u8;
/// No buffer.
const NONE: u32 = u32::MAX;

/// A buffer, linked with the next of its run or, if it is not in use, with the next free one.
#[derive(Debug, Clone, Copy)]
struct Buffer {
    next: u32,
    /// Its payload.
    len: u32,
    /// Its memory (`skb->truesize`).
    memory: u32,
    segments: u8,
    /// Bytes behind the data of a single segment, which a short segment behind it may fill.
    room: u16,
}

/// Buffers of a run of contiguous segments, in order of their offsets: the first and the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    first: u32,
    last: u32,
}

/// All buffers of a receiver, also free ones, which are used again.
#[derive(Debug, Clone)]
pub(super) struct Buffers {
    all: Vec<Buffer>,
    free: u32,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { all: Vec::new(), free: NONE }
    }
}

impl Buffers {
    /// A run of one buffer, that of `packet`. A buffer with a list of others (`frag_list`) is full.
    pub(super) fn single(&mut self, packet: &Stored) -> Run {
        let segments = packet.segments.min(MAX_SEGMENTS.into()) as u8;
        let room = packet.room.min(u16::MAX.into()) as u16;
        let buffer = Buffer { next: NONE, len: packet.len, memory: packet.memory, segments, room };
        let index = self.free;
        if let Some(unused) = self.all.get_mut(index as usize) {
            self.free = unused.next;
            *unused = buffer;
            return Run { first: index, last: index };
        }
        self.all.push(buffer);
        let index = self.all.len() as u32 - 1;
        Run { first: index, last: index }
    }

    /// Adds the buffer of `packet` behind the last of `run`, and coalesces it with that where both fit into one (skb_try_coalesce). Returns the memory
    /// that this adds.
    pub(super) fn append(&mut self, run: &mut Run, packet: &Stored) -> u32 {
        let last = &mut self.all[run.last as usize];
        if packet.len <= u32::from(last.room) {
            // The data is copied, and the buffer freed.
            last.room -= packet.len as u16;
            last.len += packet.len;
            return 0;
        }
        if u32::from(last.segments) + packet.segments <= u32::from(MAX_SEGMENTS) {
            let added = packet.memory.saturating_sub(SAVED);
            last.segments += packet.segments as u8;
            last.room = 0;
            last.len += packet.len;
            last.memory += added;
            return added;
        }
        let next = self.single(packet);
        self.join(run, next);
        packet.memory
    }

    /// Adds the buffers of the run behind `run`.
    pub(super) fn join(&mut self, run: &mut Run, next: Run) {
        self.all[run.last as usize].next = next.first;
        run.last = next.last;
    }

    /// Frees the buffers of `run`.
    pub(super) fn release(&mut self, run: Run) {
        self.all[run.last as usize].next = self.free;
        self.free = run.first;
    }

    /// The buffers of `run`.
    fn buffers(&self, run: Run) -> impl Iterator<Item = Buffer> {
        let mut next = run.first;
        std::iter::from_fn(move || {
            let buffer = *self.all.get(next as usize)?;
            next = if next == run.last { NONE } else { buffer.next };
            Some(buffer)
        })
    }

    /// Buffers that the application finds when a segment fills the hole before `run`: each buffer is coalesced with the one before it where both fit
    /// into one (tcp_ofo_queue, skb_try_coalesce). The last one of the receive queue, which holds that segment, is `tail`.
    pub(super) fn after_hole(&self, run: Run, tail: Tail) -> AfterHole {
        let (mut found, mut tail, mut is_first) = (AfterHole::default(), tail, true);
        for buffer in self.buffers(run) {
            let copied = buffer.len <= u32::from(tail.room);
            let segments = if copied { 0 } else { buffer.segments };
            if tail.segments + segments <= MAX_SEGMENTS {
                tail.segments += segments;
                tail.room = if copied { tail.room - buffer.len as u16 } else { 0 };
                found.saved += if copied { buffer.memory } else { SAVED };
                if is_first {
                    found.absorbed += u32::from(segments);
                    found.bytes += buffer.len;
                }
            } else {
                is_first = false;
                tail = Tail { segments: buffer.segments, room: buffer.room };
            }
        }
        found.room = tail.room;
        found
    }
}

/// The last buffer of the receive queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    pub segments: u8,
    /// Bytes behind its data, if it has one segment.
    pub room: u16,
}

/// Effects of a segment that fills a hole on the buffers behind it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AfterHole {
    /// Segments and bytes that its own buffer has absorbed. A segment that was copied into it counts as bytes only.
    pub absorbed: u32,
    /// See `absorbed`.
    pub bytes: u32,
    /// Memory that coalescing saves.
    pub saved: u32,
    /// Bytes behind the data of the last buffer, if it has one segment.
    pub room: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Stored = Stored { segments: 1, len: 1_448, memory: 2_304, room: 164 };

    /// Segments in each buffer of `run`.
    fn segments(buffers: &Buffers, run: Run) -> Vec<u8> {
        buffers.buffers(run).map(|b| b.segments).collect()
    }

    /// Coalesces a full segment with the last of `run`, if both fit into one.
    fn coalesces(buffers: &mut Buffers, run: &mut Run) -> bool {
        buffers.append(run, &ONE) < ONE.memory
    }

    fn found(segments: &[u8]) -> (u32, u32) {
        let mut buffers = Buffers::default();
        let runs: Vec<Run> = segments
            .iter()
            .map(|&n| {
                let mut run = buffers.single(&ONE);
                (1..n).for_each(|_| assert!(coalesces(&mut buffers, &mut run)));
                run
            })
            .collect();
        let mut all = runs[0];
        runs[1..].iter().for_each(|&run| buffers.join(&mut all, run));
        let found = buffers.after_hole(all, Tail { segments: 1, room: 164 });
        (found.absorbed, found.saved / SAVED)
    }

    /// skb_try_coalesce: a buffer has 17 fragments beside its first segment.
    #[test]
    fn buffer_holds_eighteen_segments() {
        let mut buffers = Buffers::default();
        let mut run = buffers.single(&ONE);
        let coalesced = (1..40).filter(|_| coalesces(&mut buffers, &mut run)).count();
        assert_eq!((coalesced, segments(&buffers, run)), (37, vec![18, 18, 4]));
    }

    /// skb_try_coalesce copies a short segment behind a single one, as long as its buffer has space.
    #[test]
    fn short_segments_fill_tail_of_buffer() {
        let short = Stored { segments: 1, len: 100, memory: 2_304, room: 1_512 };
        let mut buffers = Buffers::default();
        let mut run = buffers.single(&ONE);
        assert_eq!([0; 2].map(|_| buffers.append(&mut run, &short)), [0, short.memory - SAVED]);
        assert_eq!(segments(&buffers, run), [2]);
    }

    #[test]
    fn hole_filler_absorbs_what_fits() {
        assert_eq!(found(&[17]), (17, 1));
        assert_eq!(found(&[18, 3]), (0, 0));
        assert_eq!(found(&[7, 18, 4]), (7, 1));
        assert_eq!(found(&[1, 1, 1, 14, 1]), (17, 4));
        // The fourth fits behind the third.
        assert_eq!(found(&[10, 9, 5, 4]), (10, 3));
        // Retransmissions of every second segment: eight buffers join the filler, and then nine make one, five times, less the first of each.
        assert_eq!(found(&[2; 53]), (16, 8 + 5 * 8));
    }

    #[test]
    fn released_buffers_are_used_again() {
        let mut buffers = Buffers::default();
        for _ in 0..10 {
            let mut run = buffers.single(&ONE);
            (1..40).for_each(|_| _ = buffers.append(&mut run, &ONE));
            let other = buffers.single(&ONE);
            buffers.release(run);
            assert_eq!(segments(&buffers, other), [1]);
            buffers.release(other);
        }
        assert_eq!(buffers.all.len(), 4);
    }
}
