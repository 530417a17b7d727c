//! The pcapng format: sections of blocks. Packets are in enhanced and simple packet blocks, in old files in packet blocks. Blocks other than these,
//! section headers and interface descriptions are skipped.

use super::input::Input;
use super::resolution::Resolution;
use super::{MAX_FRAME, Problem, Record, damaged};
use crate::trains::packet::LinkType;

/// Type of a section header block, the same in both byte orders.
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const INTERFACE_BLOCK: u32 = 1;
/// Packet block of old files: as the enhanced one, with an interface of 16 bits.
const OLD_BLOCK: u32 = 2;
const SIMPLE_BLOCK: u32 = 3;
const ENHANCED_BLOCK: u32 = 6;

/// Longest block with a packet or a description: a frame, and as much again for options.
const MAX_BLOCK: usize = 2 * MAX_FRAME;
/// Most interfaces of a section; captures of a whole cluster have thousands.
const MAX_INTERFACES: usize = 1 << 20;

/// State of a pcapng file.
#[derive(Debug, Default)]
pub(super) struct Pcapng {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

/// An interface of the current section.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Most bytes of a frame that were captured; 0: no limit.
    snap_len: u32,
    resolution: Resolution,
}

impl Pcapng {
    fn word(&self, data: &[u8], at: usize) -> u32 {
        let bytes = [data[at], data[at + 1], data[at + 2], data[at + 3]];
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn half(&self, data: &[u8], at: usize) -> u16 {
        let bytes = [data[at], data[at + 1]];
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    /// The next block.
    #[inline]
    pub(super) fn next(&mut self, input: &mut Input) -> Result<Record, Problem> {
        if !input.need(12)? {
            return Ok(if input.data().is_empty() { Record::End } else { Record::Truncated });
        }
        if input.data()[..4] == SECTION {
            return self.section(input);
        }
        let (kind, len) = (self.word(input.data(), 0), self.word(input.data(), 4) as usize);
        if len < 12 || !len.is_multiple_of(4) {
            return damaged(format!(
                "the block claims {len} bytes; legal: a multiple of 4, at least 12, so the file is damaged here"
            ));
        }
        if !matches!(kind, INTERFACE_BLOCK | OLD_BLOCK | SIMPLE_BLOCK | ENHANCED_BLOCK) {
            return Ok(if input.skip(len as u64)? { Record::Other } else { Record::Truncated });
        }
        if len > MAX_BLOCK {
            return damaged(format!(
                "the block claims {len} bytes; at most {MAX_BLOCK} are possible, so the file is damaged here"
            ));
        }
        if !input.need(len)? {
            return Ok(Record::Truncated);
        }
        let repeated = self.word(input.data(), len - 4) as usize;
        if repeated != len {
            return damaged(format!(
                "the block claims {len} bytes at its start and {repeated} at its end, so the file is damaged here"
            ));
        }
        match kind {
            ENHANCED_BLOCK | OLD_BLOCK => self.enhanced(input, len, kind == OLD_BLOCK),
            SIMPLE_BLOCK => self.simple(input, len),
            _ => self.interface(input, len),
        }
    }

    /// A section header: it sets the byte order, and its interfaces are numbered from 0.
    fn section(&mut self, input: &mut Input) -> Result<Record, Problem> {
        let data = input.data();
        self.big_endian = match data[8..12] {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            ref other => {
                return damaged(format!("the section header has the byte-order mark {other:02x?}, which does not exist"));
            }
        };
        let len = self.word(data, 4);
        if len < 28 || !len.is_multiple_of(4) {
            return damaged(format!("the section header claims {len} bytes; legal: a multiple of 4, at least 28"));
        }
        self.interfaces.clear();
        Ok(if input.skip(u64::from(len))? { Record::Other } else { Record::Truncated })
    }

    fn interface(&mut self, input: &mut Input, len: usize) -> Result<Record, Problem> {
        if len < 20 {
            return damaged(format!("the interface description has {len} bytes; it needs at least 20"));
        }
        if self.interfaces.len() >= MAX_INTERFACES {
            return damaged(format!("the section has more than {MAX_INTERFACES} interfaces"));
        }
        let block = input.data();
        let (link, snap_len) = (LinkType(self.half(block, 8)), self.word(block, 12));
        let (mut code, mut offset, mut at) = (6, 0, 16);
        // Options end with code 0, or with the block.
        while at + 4 <= len - 4 {
            let (option, bytes) = (self.half(block, at), usize::from(self.half(block, at + 2)));
            let Some(value) = block.get(at + 4..at + 4 + bytes).filter(|_| at + 4 + bytes <= len - 4) else { break };
            match (option, value) {
                (0, _) => break,
                (9, &[resolution]) => code = resolution,
                (14, &[a, b, c, d, e, f, g, h]) => {
                    let bytes = [a, b, c, d, e, f, g, h];
                    offset = if self.big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                }
                _ => {}
            }
            at += 4 + bytes.next_multiple_of(4);
        }
        let Some(resolution) = Resolution::from_option(code, offset) else {
            return damaged(format!(
                "interface {} has the time resolution {code:#04x}, which is finer than 64 bits",
                self.interfaces.len()
            ));
        };
        self.interfaces.push(Interface { link, snap_len, resolution });
        input.take(len);
        Ok(Record::Other)
    }

    #[inline]
    fn enhanced(&mut self, input: &mut Input, len: usize, old: bool) -> Result<Record, Problem> {
        if len < 32 {
            return damaged(format!("the packet block has {len} bytes; it needs at least 32"));
        }
        let block = input.data();
        let number = if old { usize::from(self.half(block, 8)) } else { self.word(block, 8) as usize };
        let Some(interface) = self.interfaces.get(number) else { return self.unknown_interface(number) };
        let stamp = u64::from(self.word(block, 12)) << 32 | u64::from(self.word(block, 16));
        let (captured, wire_len) = (self.word(block, 20) as usize, self.word(block, 24));
        if captured > len - 32 {
            return damaged(format!(
                "the packet claims {captured} captured bytes in a block of {len}, so the file is damaged here"
            ));
        }
        let (time_ns, link) = (Some(interface.resolution.ns(stamp)), interface.link);
        Ok(Record::Frame { time_ns, interface: number as u32, link, start: 28, end: 28 + captured, wire_len, record_len: len })
    }

    /// A packet without a timestamp, of interface 0.
    fn simple(&mut self, input: &mut Input, len: usize) -> Result<Record, Problem> {
        if len < 16 {
            return damaged(format!("the packet block has {len} bytes; it needs at least 16"));
        }
        let Some(interface) = self.interfaces.first() else { return self.unknown_interface(0) };
        let wire_len = self.word(input.data(), 8);
        let snap_len = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
        let captured = wire_len.min(snap_len) as usize;
        if captured > len - 16 {
            return damaged(format!("the packet has {captured} bytes in a block of {len}, so the file is damaged here"));
        }
        Ok(Record::Frame {
            time_ns: None,
            interface: 0,
            link: interface.link,
            start: 12,
            end: 12 + captured,
            wire_len,
            record_len: len,
        })
    }

    fn unknown_interface(&self, number: usize) -> Result<Record, Problem> {
        damaged(format!(
            "the packet is from interface {number}; the section describes {}, so the file is damaged here",
            self.interfaces.len()
        ))
    }
}
