//! Captured packets as a CSV table (RFC 4180), a row for each packet at an interface.

use forebay_experiment::capture::{CapturedPacket, TcpHeader, tcp_flag};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Columns of the table.
pub const COLUMNS: [&str; 20] = [
    "time_ns",
    "interface",
    "inbound",
    "event",
    "conn_id",
    "to_opener",
    "src",
    "dst",
    "ecn",
    "class",
    "payload",
    "ip_id",
    "seq",
    "ack",
    "flags",
    "window",
    "tsval",
    "tsecr",
    "sack",
    "accecn",
];

/// Letters of the flags, in the order of the header; that of AE as tcpdump prints it.
const FLAGS: [(u8, char); 8] = [
    (tcp_flag::AE, 'e'),
    (tcp_flag::CWR, 'C'),
    (tcp_flag::ECE, 'E'),
    (tcp_flag::ACK, 'A'),
    (tcp_flag::PSH, 'P'),
    (tcp_flag::RST, 'R'),
    (tcp_flag::SYN, 'S'),
    (tcp_flag::FIN, 'F'),
];

/// A table that is being written. Packets come in order of time.
pub struct PacketTable<'a, W: Write> {
    out: csv::Writer<W>,
    /// Names of the interfaces, and of the nodes by their number.
    names: (&'a [&'a str], &'a [&'a str]),
}

impl<'a, W: Write> PacketTable<'a, W> {
    /// Writes the header of a table about these interfaces in a network of these nodes.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn create(out: W, interfaces: &'a [&'a str], nodes: &'a [&'a str]) -> io::Result<PacketTable<'a, W>> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(COLUMNS)?;
        Ok(PacketTable { out, names: (interfaces, nodes) })
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn write(&mut self, p: &CapturedPacket) -> io::Result<()> {
        let name = |names: &'a [&'a str], number: u32| names.get(number as usize).copied().unwrap_or_default();
        let (interfaces, nodes) = self.names;
        let numbers = [p.time_ps / 1_000, p.conn_id, p.ecn.into(), p.class.into(), p.payload.into(), p.ip_id.into()];
        let [time, conn, ecn, class, payload, ip_id] = numbers.map(|n| n.to_string());
        let [seq, ack, flags, window, tsval, tsecr, sack, accecn] = p.tcp.as_ref().map(tcp_fields).unwrap_or_default();
        self.out.write_record([
            time.as_str(),
            name(interfaces, p.interface),
            if p.inbound { "true" } else { "false" },
            p.event.name(),
            &conn,
            if p.back { "true" } else { "false" },
            name(nodes, p.src.get()),
            name(nodes, p.dst.get()),
            &ecn,
            &class,
            &payload,
            &ip_id,
            &seq,
            &ack,
            &flags,
            &window,
            &tsval,
            &tsecr,
            &sack,
            &accecn,
        ])?;
        Ok(())
    }

    /// Completes the table.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The columns of a TCP header; a datagram has none.
fn tcp_fields(t: &TcpHeader) -> [String; 8] {
    let flags = FLAGS.iter().filter(|(flag, _)| t.has(*flag)).map(|(_, letter)| *letter).collect();
    let (tsval, tsecr) = t.timestamps.map_or_else(Default::default, |(value, echo)| (value.to_string(), echo.to_string()));
    let mut sack = String::new();
    for (start, end) in t.sack_blocks() {
        let space = if sack.is_empty() { "" } else { " " };
        // Writing to a string does not fail.
        let _ = write!(sack, "{space}{start}-{end}");
    }
    let accecn = t.accecn.map_or_else(String::new, |f| format!("{} {} {}", f.e0b, f.ceb, f.e1b));
    [t.seq.to_string(), t.ack.to_string(), flags, t.window.to_string(), tsval, tsecr, sack, accecn]
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::capture::{AccEcnFields, PacketEvent};
    use forebay_types::NodeId;

    #[test]
    fn rows_have_all_columns() {
        let tcp = TcpHeader {
            seq: 5,
            ack: 6,
            flags: tcp_flag::ACK | tcp_flag::ECE,
            window: 7,
            timestamps: Some((8, 9)),
            sack: [(10, 11), (12, 13), (0, 0), (0, 0)],
            accecn: Some(AccEcnFields { e0b: 1, ceb: 2, e1b: 3 }),
            ..TcpHeader::default()
        };
        let p = CapturedPacket {
            time_ps: 1_999,
            interface: 1,
            inbound: false,
            event: PacketEvent::DroppedFull,
            conn_id: 3,
            back: true,
            src: NodeId::new(0),
            dst: NodeId::new(1),
            payload: 100,
            ip_id: 77,
            ecn: 2,
            class: 5,
            tcp: Some(tcp),
        };
        let mut out = Vec::new();
        let mut table = PacketTable::create(&mut out, &["s0", "sw->recv"], &["s0", "a,b"]).expect("memory");
        table.write(&p).expect("memory");
        table.write(&CapturedPacket { tcp: None, ..p }).expect("memory");
        table.finish().expect("memory");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], COLUMNS.join(","));
        assert_eq!(lines[1], "1,sw->recv,false,dropped-full,3,true,s0,\"a,b\",2,5,100,77,5,6,EA,7,8,9,10-11 12-13,1 2 3");
        assert_eq!(lines[2], "1,sw->recv,false,dropped-full,3,true,s0,\"a,b\",2,5,100,77,,,,,,,,");
    }
}
