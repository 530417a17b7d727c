//! The TCP header. A short snap length may cut its options: those that are complete are used.

use super::{Endpoint, Flags, NoSegment, Segment};

/// Timestamps of a segment (RFC 7323).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// Clock of the sender.
    pub value: u32,
    /// Echo of the clock of the other end.
    pub echo: u32,
}

/// SACK blocks (RFC 2018): at most four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack {
    count: u8,
    blocks: [(u32, u32); 4],
}

impl Sack {
    /// The blocks, first and last sequence number + 1, in the order of the option.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Bytes of a header without options.
const HEADER: usize = 20;

/// Parses the header in `data`; `tcp_len` bytes of it and its payload were on the wire.
#[inline]
pub(super) fn parse(
    data: &[u8],
    tcp_len: u32,
    (src, dst): (Endpoint, Endpoint),
    ip_id: u16,
    ce: bool,
) -> Result<Segment, NoSegment> {
    let h = data.first_chunk::<HEADER>().ok_or(NoSegment::Cut)?;
    let header_len = usize::from(h[12] >> 4) * 4;
    if header_len < HEADER {
        return Err(NoSegment::Malformed);
    }
    let payload = tcp_len.checked_sub(header_len as u32).ok_or(NoSegment::Malformed)?;
    let word = |at: usize| u32::from_be_bytes([h[at], h[at + 1], h[at + 2], h[at + 3]]);
    let flags = Flags(h[13]);
    let mut segment = Segment {
        src,
        dst,
        seq: word(4),
        ack: word(8),
        flags,
        payload,
        ip_id,
        ce,
        mss: None,
        timestamps: None,
        sack: Sack::default(),
    };
    let options = &data[HEADER..header_len.min(data.len())];
    match *options {
        [] => {}
        // The layout of Linux for data: two NOPs, then timestamps.
        [1, 1, 8, 10, a, b, c, d, e, f, g, h] => {
            segment.timestamps =
                Some(Timestamps { value: u32::from_be_bytes([a, b, c, d]), echo: u32::from_be_bytes([e, f, g, h]) });
        }
        _ => walk(&mut segment, options),
    }
    Ok(segment)
}

/// Reads the options one by one, up to the first that is incomplete or malformed.
fn walk(segment: &mut Segment, mut options: &[u8]) {
    loop {
        match *options {
            [] | [0, ..] => return,
            [1, ref rest @ ..] => options = rest,
            [kind, len, ..] if len >= 2 => {
                let Some((option, rest)) = options.split_at_checked(usize::from(len)) else { return };
                read(segment, kind, &option[2..]);
                options = rest;
            }
            _ => return,
        }
    }
}

fn read(segment: &mut Segment, kind: u8, value: &[u8]) {
    let word = |at: usize| u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
    match (kind, value.len()) {
        (2, 2) if segment.flags.syn() => segment.mss = Some(u16::from_be_bytes([value[0], value[1]])),
        (8, 8) => segment.timestamps = Some(Timestamps { value: word(0), echo: word(4) }),
        (5, bytes) if bytes % 8 == 0 => {
            let count = (bytes / 8).min(4);
            (0..count).for_each(|i| segment.sack.blocks[i] = (word(8 * i), word(8 * i + 4)));
            segment.sack.count = count as u8;
        }
        _ => {}
    }
}
