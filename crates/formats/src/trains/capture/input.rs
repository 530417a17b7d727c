//! A buffer over a file or a pipe, with the offset in it.

use std::fmt;
use std::io::{self, ErrorKind, Read};

/// Bytes that one system call reads. Larger buffers leave the second-level cache.
const CHUNK: usize = 256 * 1024;

/// Buffered input.
pub(super) struct Input {
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    ended: bool,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("offset", &self.offset).field("buffered", &(self.end - self.start)).finish_non_exhaustive()
    }
}

impl Input {
    pub(super) fn new(source: Box<dyn Read>) -> Input {
        Input { source, buffer: vec![0; CHUNK], start: 0, end: 0, offset: 0, ended: false }
    }

    /// Bytes that are buffered.
    #[inline]
    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset of the first buffered byte in the file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Buffers at least `count` bytes; false if the file ends before. The caller bounds `count`.
    #[inline]
    pub(super) fn need(&mut self, count: usize) -> io::Result<bool> {
        if self.end - self.start >= count { Ok(true) } else { self.fill(count) }
    }

    #[cold]
    fn fill(&mut self, count: usize) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count.next_multiple_of(CHUNK), 0);
        }
        while self.end < count && !self.ended {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(self.end >= count)
    }

    /// Consumes `count` buffered bytes and returns them.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> &[u8] {
        let count = count.min(self.end - self.start);
        let from = self.start;
        self.start += count;
        self.offset += count as u64;
        &self.buffer[from..from + count]
    }

    /// Consumes `count` bytes without keeping them; false if the file ends before.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<bool> {
        let mut left = count;
        while left > 0 {
            if self.start == self.end && !self.need(1)? {
                return Ok(false);
            }
            left -= self.take(usize::try_from(left).unwrap_or(usize::MAX)).len() as u64;
        }
        Ok(true)
    }
}
