//! The scoreboard's rules without stored results: every query scans all segments.

use super::super::{EVER_RETX, LOST, RETX, SACKED, Seg};
use forebay_types::Time;

#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(crate) segs: Vec<Seg>,
    /// RFC 6675 marking has covered this many of the oldest segments.
    marked: usize,
}

impl Plain {
    pub(super) fn push(&mut self, start: u64, len: u32, now: Time) {
        self.segs.push(Seg::new(start, len, now));
    }

    pub(super) fn split(&mut self, index: usize, len: u32) {
        let whole = self.segs[index];
        self.segs[index].len = len;
        self.segs.insert(index + 1, Seg { start: whole.start + u64::from(len), len: whole.len - len, ..whole });
        self.marked += usize::from(self.marked > index);
    }

    pub(super) fn acknowledge(&mut self, snd_una: u64, mut newly: impl FnMut(&Seg)) {
        while self.segs.first().is_some_and(|s| s.end() <= snd_una) {
            let seg = self.segs.remove(0);
            self.marked = self.marked.saturating_sub(1);
            if !seg.is(SACKED) {
                newly(&seg);
            }
        }
        if let Some(seg) = self.segs.first_mut()
            && seg.start < snd_una
        {
            seg.len -= (snd_una - seg.start) as u32;
            seg.start = snd_una;
        }
    }

    pub(super) fn sack(&mut self, start: u64, end: u64, mut newly: impl FnMut(&Seg)) -> u64 {
        let mut bytes = 0;
        for seg in self.segs.iter_mut().filter(|s| s.start >= start && s.end() <= end && !s.is(SACKED)) {
            newly(seg);
            seg.flags = (seg.flags & EVER_RETX) | SACKED;
            bytes += u64::from(seg.len);
        }
        bytes
    }

    pub(super) fn mark_lost(&mut self, index: usize) {
        self.segs[index].flags = (self.segs[index].flags | LOST) & !RETX;
    }

    pub(super) fn mark_by_count(&mut self, thresh: u32, mss: u32) {
        for index in self.marked..self.segs.len() {
            let above = || self.segs[index + 1..].iter().filter(|s| s.is(SACKED));
            let runs = self.segs[index..].windows(2).filter(|s| !s[0].is(SACKED) && s[1].is(SACKED)).count();
            let bytes = above().map(|s| s.len).sum::<u32>();
            let seg = self.segs[index];
            if (runs < thresh as usize && bytes <= (thresh - 1) * mss) || seg.is(SACKED) {
                continue;
            }
            self.marked = index + 1;
            if seg.is(RETX) && !seg.is(LOST) {
                self.segs[index].flags |= LOST;
            } else if !seg.is(LOST | EVER_RETX) {
                self.mark_lost(index);
            }
        }
    }

    pub(super) fn detect(&mut self, newest: (Time, u64), patience: Time, now: Time) -> Option<Time> {
        let mut timeout = None;
        for index in 0..self.segs.len() {
            let seg = self.segs[index];
            if seg.is(SACKED) || seg.waits() || (seg.sent(), seg.end()) >= newest {
                continue;
            }
            if seg.sent() + patience <= now {
                self.mark_lost(index);
            } else {
                timeout = timeout.max(Some(seg.sent() + patience - now));
            }
        }
        timeout
    }

    pub(super) fn next_lost(&self) -> Option<usize> {
        self.segs.iter().position(Seg::waits)
    }

    pub(super) fn next_hole(&self) -> Option<usize> {
        let top = self.segs.iter().rposition(|s| s.is(SACKED))?;
        self.segs[..top].iter().position(|s| !s.is(SACKED | LOST | RETX | EVER_RETX))
    }

    pub(super) fn retransmitted(&mut self, index: usize, now: Time) {
        self.segs[index].flags |= RETX | EVER_RETX;
        self.segs[index].send_again(now);
    }

    pub(super) fn mark_after_timeout(&mut self, lost: impl Fn(usize, &Seg) -> bool) {
        for index in 0..self.segs.len() {
            if !self.segs[index].is(SACKED) && lost(index, &self.segs[index]) {
                self.mark_lost(index);
            }
        }
    }

    pub(super) fn unmark_lost(&mut self) {
        for seg in self.segs.iter_mut().filter(|s| s.is(LOST)) {
            seg.flags &= !LOST;
        }
        self.marked = 0;
    }
}
