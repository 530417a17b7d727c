//! The pcap format: a file header of 24 bytes, then records with 16 bytes in front of each frame.

use super::input::Input;
use super::{MAX_FRAME, Problem, Record, damaged};
use crate::trains::packet::LinkType;

/// Bytes of the file header.
const FILE_HEADER: usize = 24;

/// State of a pcap file.
#[derive(Debug)]
pub(super) struct Pcap {
    big_endian: bool,
    /// ns of one unit of the second time field.
    unit: u64,
    /// Bytes in front of a frame.
    header: usize,
    link: LinkType,
}

impl Pcap {
    /// Reads the file header; `None` if `magic` is not one of pcap.
    pub(super) fn new(magic: [u8; 4], input: &mut Input) -> Result<Option<Pcap>, Problem> {
        let (big_endian, unit, header) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, 1_000, 16),
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, 1_000, 16),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, 1, 16),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, 1, 16),
            // Alexey Kuznetsov's variant, with 8 more bytes in each record.
            [0x34, 0xcd, 0xb2, 0xa1] => (false, 1_000, 24),
            [0xa1, 0xb2, 0xcd, 0x34] => (true, 1_000, 24),
            _ => return Ok(None),
        };
        if !input.need(FILE_HEADER)? {
            return damaged(format!("ends after {} bytes of the file header, which has {FILE_HEADER}", input.data().len()));
        }
        let file = input.take(FILE_HEADER);
        let network = [file[20], file[21], file[22], file[23]];
        // The upper bits tell whether frames end with a checksum.
        let network = if big_endian { u32::from_be_bytes(network) } else { u32::from_le_bytes(network) } & 0xffff;
        Ok(Some(Pcap { big_endian, unit, header, link: LinkType(network as u16) }))
    }

    /// The next record.
    #[inline]
    pub(super) fn next(&mut self, input: &mut Input) -> Result<Record, Problem> {
        if !input.need(self.header)? {
            return Ok(if input.data().is_empty() { Record::End } else { Record::Truncated });
        }
        let data = input.data();
        let word = |at: usize| {
            let bytes = [data[at], data[at + 1], data[at + 2], data[at + 3]];
            if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let (seconds, fraction, captured, wire_len) = (word(0), word(4), word(8) as usize, word(12));
        if captured > MAX_FRAME {
            return damaged(format!(
                "the frame claims {captured} captured bytes; at most {MAX_FRAME} are possible, so the file is damaged here"
            ));
        }
        let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        let (start, end) = (self.header, self.header + captured);
        if !input.need(end)? {
            return Ok(Record::Truncated);
        }
        Ok(Record::Frame { time_ns: Some(time_ns), interface: 0, link: self.link, start, end, wire_len, record_len: end })
    }
}
