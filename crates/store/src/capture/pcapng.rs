//! pcapng files (draft-ietf-opsawg-pcapng): one section, an interface for each place of capture, times in nanoseconds.

use crate::capture::frame::Frame;
use forebay_experiment::capture::{CapturedPacket, IpVersion};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// Resolution of times: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Direction of a packet in the flags of its block.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Interface of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Rate, bit/s; `None` where ports differ.
    pub speed: Option<u64>,
}

/// Numbers of packets of an interface.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    packets: u64,
    drops: u64,
}

/// A pcapng file that is being written. Packets come in order of time.
pub struct PacketFile<W: Write> {
    out: PcapNgWriter<W>,
    frame: Frame,
    ip: IpVersion,
    snap: u32,
    counts: Vec<Counts>,
    last: Duration,
}

/// The I/O error behind an error of the encoder.
fn io_error(e: PcapError) -> io::Error {
    match e {
        PcapError::IoError(e) => e,
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}

impl<W: Write> PacketFile<W> {
    /// Writes the headers of a file about these interfaces; `comment` describes the run. Frames have this version of IP, and at most `snap` bytes of each
    /// are kept.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn create(out: W, comment: &str, interfaces: &[Interface], (ip, snap): (IpVersion, u32)) -> io::Result<PacketFile<W>> {
        let options = vec![
            SectionHeaderOption::Comment(Cow::Owned(comment.to_owned())),
            SectionHeaderOption::UserApplication(Cow::Owned(format!("forebay {}", env!("CARGO_PKG_VERSION")))),
        ];
        // The same bytes on every machine.
        let section = SectionHeaderBlock { endianness: Endianness::Little, options, ..SectionHeaderBlock::default() };
        let mut out = PcapNgWriter::with_section_header(out, section).map_err(io_error)?;
        for interface in interfaces {
            let mut options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(interface.name.as_str())),
                InterfaceDescriptionOption::IfDescription(Cow::Borrowed(interface.description.as_str())),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ];
            options.extend(interface.speed.map(InterfaceDescriptionOption::IfSpeed));
            let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: snap, options };
            out.write_pcapng_block(block).map_err(io_error)?;
        }
        let counts = vec![Counts::default(); interfaces.len()];
        Ok(PacketFile { out, frame: Frame::default(), ip, snap, counts, last: Duration::ZERO })
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// Errors of the output, and a packet that is too long for IPv4.
    pub fn write(&mut self, p: &CapturedPacket) -> io::Result<()> {
        self.frame.encode(p, (self.ip, self.snap))?;
        let mut options = vec![EnhancedPacketOption::Flags(if p.inbound { INBOUND } else { OUTBOUND })];
        options.extend(p.event.comment().map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text))));
        self.last = Duration::from_nanos(p.time_ps / 1_000);
        let block = EnhancedPacketBlock {
            interface_id: p.interface,
            timestamp: self.last,
            original_len: self.frame.length(),
            data: Cow::Borrowed(self.frame.bytes()),
            options,
        };
        self.out.write_pcapng_block(block).map_err(io_error)?;
        if let Some(counts) = self.counts.get_mut(p.interface as usize) {
            counts.packets += 1;
            counts.drops += u64::from(p.event.is_drop());
        }
        Ok(())
    }

    /// Writes the numbers of packets and drops of each interface, and returns the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        for (number, counts) in self.counts.iter().enumerate() {
            let options =
                vec![InterfaceStatisticsOption::IsbIfRecv(counts.packets), InterfaceStatisticsOption::IsbIfDrop(counts.drops)];
            // The upper half comes first; the encoder writes one little-endian number.
            let timestamp = (self.last.as_nanos() as u64).rotate_left(32);
            let block = InterfaceStatisticsBlock { interface_id: number as u32, timestamp, options };
            self.out.write_pcapng_block(block).map_err(io_error)?;
        }
        Ok(self.out.into_inner())
    }
}
