//! Capture files: pcap and pcapng, in both byte orders.
//!
//! The framing is read here and not by a library. Errors must name the byte and the record, and the maintained libraries misread resolutions that are
//! powers of two, and time offsets of big-endian sections.

mod input;
mod pcap;
mod pcapng;
mod resolution;

use crate::trains::Error;
use crate::trains::packet::LinkType;
use input::Input;
use pcap::Pcap;
use pcapng::Pcapng;
use std::io::{self, Read};

/// Longest frame that is accepted, in bytes: the largest snap length of libpcap. A longer one is a sign of damage.
const MAX_FRAME: usize = 262_144;

/// A captured frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Time of the capture, ns since the epoch of the file; finer digits are cut off.
    pub time_ns: u64,
    /// Number of the interface in the section of the file; 0 in pcap files.
    pub interface: u32,
    /// Format of the first header.
    pub link: LinkType,
    /// Bytes in the file, at most the snap length.
    pub data: &'a [u8],
    /// Bytes on the wire.
    pub wire_len: u32,
}

/// A capture file that is being read.
#[derive(Debug)]
pub struct Capture {
    name: String,
    input: Input,
    format: Format,
    size: Option<u64>,
    records: u64,
    record_at: u64,
    truncated: bool,
    last_ns: u64,
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// The result of reading one record.
#[derive(Debug, PartialEq, Eq)]
enum Record {
    /// A frame: its bytes are the range of the input's data.
    Frame { time_ns: Option<u64>, interface: u32, link: LinkType, start: usize, end: usize, wire_len: u32, record_len: usize },
    /// A record without a frame, which was consumed.
    Other,
    /// The file ends here.
    End,
    /// The file ends within this record.
    Truncated,
}

/// Reasons for which a record cannot be read.
#[derive(Debug)]
enum Problem {
    Io(io::Error),
    Damaged(String),
}

impl From<io::Error> for Problem {
    fn from(e: io::Error) -> Problem {
        Problem::Io(e)
    }
}

fn damaged<T>(message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Damaged(message.into()))
}

impl Capture {
    /// Reads a capture from `source`; `name` is for messages, `size` in bytes for progress.
    ///
    /// # Errors
    /// The source cannot be read, or is no capture.
    pub fn new(name: &str, source: Box<dyn Read>, size: Option<u64>) -> Result<Capture, Error> {
        let mut input = Input::new(source);
        let format = match detect(&mut input) {
            Ok(format) => format,
            Err(Problem::Io(e)) => return Err(Error::file(name, format!("cannot be read: {e}"))),
            Err(Problem::Damaged(message)) => return Err(Error::file(name, message)),
        };
        Ok(Capture { name: name.to_owned(), input, format, size, records: 0, record_at: 0, truncated: false, last_ns: 0 })
    }

    /// The next frame; `None` at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged. A file that ends within its last record is no error: see [`Capture::is_truncated`].
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Error> {
        loop {
            self.record_at = self.input.offset();
            self.records += 1;
            let record = match &mut self.format {
                Format::Pcap(pcap) => pcap.next(&mut self.input),
                Format::Pcapng(pcapng) => pcapng.next(&mut self.input),
            };
            match record {
                Ok(Record::Frame { time_ns, interface, link, start, end, wire_len, record_len }) => {
                    // A simple packet block of pcapng has no time.
                    self.last_ns = time_ns.unwrap_or(self.last_ns);
                    let data = self.input.take(record_len);
                    let data = data.get(start..end).unwrap_or_default();
                    return Ok(Some(Frame { time_ns: self.last_ns, interface, link, data, wire_len }));
                }
                Ok(Record::Other) => {}
                Ok(Record::End) => {
                    self.records -= 1;
                    return Ok(None);
                }
                Ok(Record::Truncated) => {
                    self.truncated = true;
                    return Ok(None);
                }
                Err(Problem::Io(e)) => return Err(self.error(format!("cannot be read: {e}"))),
                Err(Problem::Damaged(message)) => return Err(self.error(message)),
            }
        }
    }

    fn error(&self, message: String) -> Error {
        Error::record(&self.name, self.records, self.record_at, message)
    }

    /// Name of the file, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the file ends within its last record, which a capture program that was killed leaves behind.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Record that was read last, counted from 1: a packet of pcap, a block of pcapng.
    pub fn record(&self) -> u64 {
        self.records
    }

    /// Byte offset of the record that was read last.
    pub fn record_offset(&self) -> u64 {
        self.record_at
    }

    /// Bytes read.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Bytes of the file, if known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }
}

/// Recognizes the format by the first bytes, and reads the file header of pcap.
fn detect(input: &mut Input) -> Result<Format, Problem> {
    const LEGAL: &str = "legal: pcap and pcapng, as tcpdump, dumpcap and Wireshark write them, the output of `nfdump -o csv`, \
                         IPFIX records as JSON, and the output of `ss -tinmHO`";
    if !input.need(4)? {
        let empty = input.data().is_empty();
        let message = if empty { "is empty" } else { "is shorter than the header of a capture" };
        return damaged(format!("{message}; {LEGAL}"));
    }
    let data = input.data();
    let magic = [data[0], data[1], data[2], data[3]];
    match magic {
        pcapng::SECTION => Ok(Format::Pcapng(Pcapng::default())),
        [0x1f, 0x8b, ..] => damaged("is compressed with gzip; decompress it: `zcat FILE | forebay trains -`"),
        [0x28, 0xb5, 0x2f, 0xfd] => damaged("is compressed with zstd; decompress it: `zstdcat FILE | forebay trains -`"),
        magic => match Pcap::new(magic, input)? {
            Some(pcap) => Ok(Format::Pcap(pcap)),
            None => damaged(format!("is not a capture: it starts with {magic:02x?}; {LEGAL}")),
        },
    }
}
