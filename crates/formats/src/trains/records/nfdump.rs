//! Lines of `nfdump -o csv`, in the forms of versions 1.6 and 1.7: the first line names the columns.

use super::{Count, Damage, FlowRecord, Parsed, TCP, flags, number, shown, time};
use crate::trains::packet::Endpoint;
use std::net::IpAddr;

/// Names of the columns in version 1.6, and in version 1.7.
const START: [&str; 2] = ["ts", "firstSeen"];
const END: [&str; 2] = ["te", "lastSeen"];
const DURATION: [&str; 2] = ["td", "duration"];
const PROTOCOL: [&str; 2] = ["pr", "proto"];
const SOURCE: [&str; 2] = ["sa", "srcAddr"];
const SOURCE_PORT: [&str; 2] = ["sp", "srcPort"];
const DESTINATION: [&str; 2] = ["da", "dstAddr"];
const DESTINATION_PORT: [&str; 2] = ["dp", "dstPort"];
const FLAGS: [&str; 2] = ["flg", "flags"];
const PACKETS: [&str; 2] = ["ipkt", "packets"];
const BYTES: [&str; 2] = ["ibyt", "bytes"];
const PACKETS_BACK: [&str; 2] = ["opkt", "outPackets"];
const BYTES_BACK: [&str; 2] = ["obyt", "outBytes"];

/// Places of the columns in a line.
#[derive(Debug)]
pub(super) struct Columns {
    start: usize,
    end: Option<usize>,
    duration: Option<usize>,
    protocol: usize,
    source: usize,
    source_port: usize,
    destination: usize,
    destination_port: usize,
    flags: Option<usize>,
    packets: usize,
    bytes: usize,
    back: Option<(usize, usize)>,
}

fn place(header: &str, names: [&str; 2]) -> Option<usize> {
    header.split(',').position(|name| names.contains(&name.trim()))
}

/// True for the first bytes of such a file.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let header = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    place(header, SOURCE).is_some() && place(header, DESTINATION).is_some()
}

impl Columns {
    fn of(header: &str) -> Result<Columns, Damage> {
        let needed = |names: [&str; 2]| {
            place(header, names).ok_or_else(|| {
                format!("the header has no column `{}` or `{}`; write it with `nfdump -o csv`", names[0], names[1])
            })
        };
        let (end, duration) = (place(header, END), place(header, DURATION));
        if end.is_none() && duration.is_none() {
            return Err("the header has neither the column `te` nor `duration`; write it with `nfdump -o csv`".into());
        }
        Ok(Columns {
            start: needed(START)?,
            end,
            duration,
            protocol: needed(PROTOCOL)?,
            source: needed(SOURCE)?,
            source_port: needed(SOURCE_PORT)?,
            destination: needed(DESTINATION)?,
            destination_port: needed(DESTINATION_PORT)?,
            flags: place(header, FLAGS),
            packets: needed(PACKETS)?,
            bytes: needed(BYTES)?,
            back: place(header, PACKETS_BACK).zip(place(header, BYTES_BACK)),
        })
    }
}

/// Reads a line; the first one gives the columns.
pub(super) fn parse(columns: &mut Option<Columns>, line: &str) -> Result<Parsed, Damage> {
    if line.trim().is_empty() {
        return Ok(Parsed::Nothing);
    }
    let Some(c) = columns else {
        *columns = Some(Columns::of(line)?);
        return Ok(Parsed::Nothing);
    };
    // Totals follow the flows.
    if line.trim() == "Summary" {
        return Ok(Parsed::End);
    }
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let field = |at: usize| {
        fields.get(at).copied().ok_or_else(|| format!("the line has {} fields; its header has more than {at}", fields.len()))
    };
    let protocol = field(c.protocol)?;
    if !protocol.eq_ignore_ascii_case("TCP") && protocol.parse() != Ok(TCP) {
        return Ok(Parsed::OtherProtocol);
    }
    let endpoint = |address: usize, port: usize| -> Result<Endpoint, Damage> {
        let address = field(address)?;
        let ip: IpAddr =
            address.parse().map_err(|_| format!("the address is `{}`; legal: one of IPv4 or IPv6", shown(address)))?;
        let port = number(field(port)?, "the port")?;
        let port = u16::try_from(port).map_err(|_| format!("the port is {port}; legal: 0 to 65535"))?;
        Ok(Endpoint::from((ip, port)))
    };
    let count = |packets: usize, bytes: usize| -> Result<Count, Damage> {
        Count::new(number(field(packets)?, "the number of packets")?, number(field(bytes)?, "the number of bytes")?)
    };
    let start_ns = time::of_text(field(c.start)?)?;
    // The end has fewer digits than the duration in no version.
    let end_ns = match (c.end, c.duration) {
        (Some(end), _) => time::of_text(field(end)?)?,
        (None, Some(duration)) => start_ns + time::of_seconds(field(duration)?)?,
        (None, None) => start_ns,
    };
    Ok(Parsed::Record(Box::new(FlowRecord {
        start_ns,
        end_ns: end_ns.max(start_ns),
        src: endpoint(c.source, c.source_port)?,
        dst: endpoint(c.destination, c.destination_port)?,
        flags: c.flags.map(field).transpose()?.map(flags),
        forth: count(c.packets, c.bytes)?,
        back: c.back.map_or(Ok(Count::default()), |(packets, bytes)| count(packets, bytes))?,
    })))
}
