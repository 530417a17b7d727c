//! Frames over two pipes: a header with kind and count, then that number of records.

use crate::protocol::{
    Ask, Call, Done, Event, Field, Final, Hello, Inject, Interface, LOG, Leave, LinkChange, Next, Open, Packet, Port, Profile,
    Record, Result as Answer, Retune, Route, Sent, Stop, Switch, Sysctl, Tcp, Timer, World, Write as WriteRecord,
};
use crate::protocol::{Datagram, Group, Header, HostDrops, Qdisc, ShimHost, ShimRow, State};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::time::Duration;

/// Bytes of a frame's header.
const HEADER: usize = 8;
/// Most bytes of a frame. Our choice: far above the records of a window, and what memory can hold. A larger one is not of a guest kernel.
const MOST: usize = 1 << 28;
/// Bytes that are read at once.
const READ: usize = 1 << 18;

/// Bytes of a record of `kind`; `None` for a kind that there is not.
fn size(kind: u32) -> Option<usize> {
    macro_rules! sizes {
        ($($record:ty)*) => {
            match kind {
                LOG => Some(1),
                crate::protocol::SETUP_END => Some(0),
                $(<$record as Record>::KIND => Some(<$record as Record>::SIZE),)*
                _ => None,
            }
        };
    }
    sizes!(World Port Switch Profile Sysctl Group Interface Open WriteRecord Stop Datagram Next Hello Packet Leave Tcp Timer Event Ask Final Done LinkChange Retune Route Call Inject Answer Sent ShimHost ShimRow HostDrops Header Qdisc State)
}

/// Frames on their way out. Records of one kind that follow each other share a frame.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Kind of the last frame, and where it begins.
    last: Option<(u32, usize)>,
}

impl Frames {
    /// Adds a record.
    pub fn put<R: Record>(&mut self, record: R) {
        let begin = match self.last {
            Some((kind, begin)) if kind == R::KIND => begin,
            _ => self.begin(R::KIND),
        };
        let count = u32::take(&self.bytes[begin + 4..]) + 1;
        self.bytes[begin + 4..begin + HEADER].copy_from_slice(&count.to_le_bytes());
        record.put(&mut self.bytes);
    }

    /// Adds a frame without records.
    pub fn put_bare(&mut self, kind: u32) {
        self.begin(kind);
    }

    /// Adds a frame of text for people.
    pub fn put_text(&mut self, text: &str) {
        let begin = self.begin(LOG);
        self.bytes[begin + 4..begin + HEADER].copy_from_slice(&(text.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        self.last = None;
    }

    fn begin(&mut self, kind: u32) -> usize {
        let begin = self.bytes.len();
        kind.put(&mut self.bytes);
        0u32.put(&mut self.bytes);
        self.last = Some((kind, begin));
        begin
    }

    /// Gives them away, as bytes.
    fn clear(&mut self) {
        self.bytes.clear();
        self.last = None;
    }
}

/// A frame that came in.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Kind of its records.
    pub(crate) kind: u32,
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Kind of its records.
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// Its records, if they are of kind `R`.
    pub fn records<R: Record + 'a>(self) -> impl Iterator<Item = R> + 'a {
        debug_assert_eq!(self.kind, R::KIND);
        self.bytes.chunks_exact(R::SIZE).map(R::take)
    }

    /// Its one record, if it is of kind `R`.
    pub fn only<R: Record + 'a>(self) -> Option<R> {
        (self.kind == R::KIND).then(|| self.records::<R>().next()).flatten()
    }

    /// Its bytes as text.
    pub fn text(self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }
}

/// Result of a read.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// No data yet.
    Silence,
    /// The other side has closed its end.
    End,
}

/// Both pipes.
#[derive(Debug)]
pub struct Link {
    to: PipeWriter,
    from: PipeReader,
    buffer: Vec<u8>,
    /// Start of the bytes in the buffer that have been read from the pipe but not returned yet.
    begin: usize,
    end: usize,
}

impl Link {
    /// Writes to `to`, reads from `from`.
    pub fn new(to: PipeWriter, from: PipeReader) -> Link {
        Link { to, from, buffer: vec![0; READ], begin: 0, end: 0 }
    }

    /// Sends all frames, and leaves none.
    pub fn send(&mut self, frames: &mut Frames) -> io::Result<()> {
        self.to.write_all(&frames.bytes)?;
        frames.clear();
        Ok(())
    }

    /// The next frame; waits at most `patience` for more of it.
    pub fn next(&mut self, patience: Duration) -> io::Result<Incoming<'_>> {
        loop {
            let have = self.end - self.begin;
            if have >= HEADER {
                let kind = u32::take(&self.buffer[self.begin..]);
                let count = u32::take(&self.buffer[self.begin + 4..]) as usize;
                let size = size(kind).ok_or_else(|| io::Error::other(format!("a frame of the unknown kind {kind}")))?;
                let want = HEADER + size * count;
                if want > MOST {
                    return Err(io::Error::other(format!(
                        "a frame of {count} records of kind {kind}; legal: at most {MOST} bytes"
                    )));
                }
                if have >= want {
                    let begin = self.begin + HEADER;
                    self.begin += want;
                    return Ok(Incoming::Frame(Frame { kind, bytes: &self.buffer[begin..self.begin] }));
                }
            }
            if !self.readable(patience)? {
                return Ok(Incoming::Silence);
            }
            self.make_room();
            match self.from.read(&mut self.buffer[self.end..])? {
                0 => return Ok(Incoming::End),
                read => self.end += read,
            }
        }
    }

    /// Waits until there is something to read.
    fn readable(&self, patience: Duration) -> io::Result<bool> {
        let mut wanted = [PollFd::new(&self.from, PollFlags::IN)];
        let limit = Timespec::try_from(patience).map_err(io::Error::other)?;
        match poll(&mut wanted, Some(&limit)) {
            Ok(ready) => Ok(ready > 0),
            // A signal came: as if nothing had.
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Makes room behind what has been read. The buffer grows with the bytes that arrive, not with the length that a frame claims.
    fn make_room(&mut self) {
        if self.buffer.len() - self.end >= READ / 2 {
            return;
        }
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.buffer.len() - self.end < READ / 2 {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_share_frames_and_arrive_split() {
        let (from_other, mut other) = io::pipe().unwrap();
        let (_unread, to_other) = io::pipe().unwrap();
        let mut link = Link::new(to_other, from_other);
        let mut frames = Frames::default();
        let leave = |id| Leave { time: 5, id, port: 1, wire: 1500 };
        (0..9_000).for_each(|id| frames.put(leave(id)));
        frames.put(Ask { now: 7 });
        frames.put_bare(crate::protocol::SETUP_END);
        let bytes = frames.bytes;
        let writer = std::thread::spawn(move || bytes.chunks(1_001).for_each(|piece| other.write_all(piece).unwrap()));
        let patience = Duration::from_secs(60);
        let Incoming::Frame(first) = link.next(patience).unwrap() else { panic!("a frame") };
        assert!(first.records::<Leave>().eq((0..9_000).map(leave)));
        let Incoming::Frame(second) = link.next(patience).unwrap() else { panic!("a frame") };
        assert_eq!(second.only::<Ask>(), Some(Ask { now: 7 }));
        assert!(matches!(link.next(patience).unwrap(), Incoming::Frame(f) if f.kind == crate::protocol::SETUP_END));
        writer.join().unwrap();
        assert!(matches!(link.next(patience).unwrap(), Incoming::End));
    }

    #[test]
    fn endless_frame_is_an_error() {
        let (from_other, mut other) = io::pipe().unwrap();
        let (_unread, to_other) = io::pipe().unwrap();
        let mut link = Link::new(to_other, from_other);
        other.write_all(&[Answer::KIND.to_le_bytes(), u32::MAX.to_le_bytes()].concat()).unwrap();
        let refusal = link.next(Duration::from_secs(60)).map(drop).unwrap_err().to_string();
        assert!(refusal.contains("4294967295 records of kind 74"), "{refusal}");
    }

    #[test]
    fn unknown_kind_is_an_error() {
        let (from_other, mut other) = io::pipe().unwrap();
        let (_unread, to_other) = io::pipe().unwrap();
        let mut link = Link::new(to_other, from_other);
        other.write_all(&[99, 0, 0, 0, 1, 0, 0, 0]).unwrap();
        assert!(link.next(Duration::ZERO).unwrap_err().to_string().contains("kind 99"));
    }
}
