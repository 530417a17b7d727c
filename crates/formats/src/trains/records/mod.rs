//! Flow records: lines of text that a flow collector has written, a flow or a part of one each.
//!
//! A collector counts packets and bytes of a flow until the flow ends, is idle for longer than the inactive timeout, or is older than the active
//! timeout. The parts of a flow that the active timeout has cut are joined again ([`join`](self::join)).

mod ipfix;
mod join;
mod lines;
mod nfdump;
mod time;

pub(crate) use join::{Joined, join};
pub(crate) use lines::{Line, Lines};

use crate::trains::Error;
use crate::trains::packet::{Endpoint, Flags};
use std::io::Read;

/// Protocol number of TCP.
const TCP: u64 = 6;

/// Largest count of packets or bytes that is accepted: 281 TB. A larger one is damage.
pub(crate) const MAX_COUNT: u64 = 1 << 48;
/// Latest time that is accepted: the year 2116, ns.
const MAX_TIME: u64 = 1 << 62;

/// Packets and bytes of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    /// Bytes of IP packets.
    pub(crate) bytes: u64,
}

/// A record about TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowRecord {
    /// Time of the first packet, ns since 1970.
    pub(crate) start_ns: u64,
    /// Time of the last packet, ns since 1970.
    pub(crate) end_ns: u64,
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    /// Flags of all packets together; `None` if the record has none.
    pub(crate) flags: Option<Flags>,
    pub(crate) forth: Count,
    /// The other direction, where one record has both.
    pub(crate) back: Count,
}

impl Count {
    fn new(packets: u64, bytes: u64) -> Result<Count, Damage> {
        match packets.max(bytes) {
            0..=MAX_COUNT => Ok(Count { packets, bytes }),
            larger => Err(format!("a count is {larger}; legal: at most {MAX_COUNT}, so the file is damaged here")),
        }
    }
}

/// Result of reading a line.
enum Parsed {
    Record(Box<FlowRecord>),
    /// A flow of another protocol.
    OtherProtocol,
    /// No flow: a header, an empty line.
    Nothing,
    /// The rest of the file has no flows.
    End,
}

/// Reason why a line is not a flow record.
type Damage = String;

/// Form of the lines.
#[derive(Debug)]
enum Form {
    Nfdump(Option<nfdump::Columns>),
    Ipfix,
}

/// A file of flow records.
#[derive(Debug)]
pub struct Records {
    name: String,
    lines: Lines,
    form: Form,
    ended: bool,
    truncated: bool,
}

/// One record, or another line that counts.
#[derive(Debug)]
pub(crate) enum Next {
    Record(FlowRecord),
    OtherProtocol,
}

impl Records {
    /// The records in `source`, if `begin`, its first bytes, are those of a known form.
    pub(crate) fn recognise(name: &str, begin: &[u8], source: Box<dyn Read>) -> Result<Records, Box<dyn Read>> {
        let form = if nfdump::begins(begin) {
            Form::Nfdump(None)
        } else if ipfix::begins(begin) {
            Form::Ipfix
        } else {
            return Err(source);
        };
        Ok(Records { name: name.to_owned(), lines: Lines::new(source), form, ended: false, truncated: false })
    }

    /// The next record of TCP, or of another protocol; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not a flow record.
    pub(crate) fn next(&mut self) -> Result<Option<Next>, Error> {
        while !self.ended {
            let Line { text, is_complete } = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(e) => return Err(self.error(e)),
            };
            let parsed = match &mut self.form {
                Form::Nfdump(columns) => nfdump::parse(columns, &text),
                Form::Ipfix => ipfix::parse(&text),
            };
            match parsed {
                Ok(Parsed::Record(record)) => return Ok(Some(Next::Record(*record))),
                Ok(Parsed::OtherProtocol) => return Ok(Some(Next::OtherProtocol)),
                Ok(Parsed::Nothing) => {}
                Ok(Parsed::End) => self.ended = true,
                // A collector that was stopped leaves a part of a line.
                Err(_) if !is_complete => {
                    self.truncated = true;
                    break;
                }
                Err(damage) => return Err(self.error(damage)),
            }
        }
        Ok(None)
    }

    fn error(&self, message: String) -> Error {
        Error::line(&self.name, self.lines.number(), message)
    }

    /// Bytes read.
    pub fn offset(&self) -> u64 {
        self.lines.offset()
    }

    /// A remark about a file that ends within a line.
    pub(crate) fn note(&self) -> Option<String> {
        let line = self.lines.number();
        self.truncated.then(|| format!("`{}` ends within line {line}, which is left out", self.name))
    }
}

/// A number of a field.
fn number(field: &str, what: &str) -> Result<u64, Damage> {
    let text = field.trim();
    text.parse().map_err(|_| format!("{what} is `{}`; legal: a whole number, as `nfdump -N` writes it", shown(text)))
}

/// The first characters of a field, for messages.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Flags by their letters, in any order.
fn flags(text: &str) -> Flags {
    let bit = |letter| match letter {
        'F' => 0x01,
        'S' => 0x02,
        'R' => 0x04,
        'P' => 0x08,
        'A' => 0x10,
        'U' => 0x20,
        'E' => 0x40,
        'C' | 'W' => 0x80,
        _ => 0,
    };
    Flags(text.chars().map(bit).fold(0, |all, bit| all | bit))
}

#[cfg(test)]
mod tests;
