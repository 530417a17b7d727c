//! Results as CSV files, written while the capture is read.

use crate::trains::anonymise::HostNames;
use crate::trains::sink::{ConnectionRow, DirectionRow, Host, Incast, Sink, Train};
use crate::trains::summary::Summary;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Names of the files.
pub const FILES: [&str; 4] = ["trains.csv", "connections.csv", "incast.csv", "cdf.csv"];

/// Creates the file of a table by its name, one of [`FILES`].
pub type Open<'a> = dyn FnMut(&'static str) -> io::Result<File> + 'a;

/// Writers of the tables.
#[derive(Debug)]
pub struct Tables {
    names: HostNames,
    trains: Table,
    connections: Table,
    incast: Table,
    cdf: Table,
}

/// A file, and the first error of writing it.
#[derive(Debug)]
struct Table {
    name: &'static str,
    writer: BufWriter<File>,
    failure: Option<io::Error>,
}

impl Table {
    fn create(open: &mut Open<'_>, name: &'static str, header: &str) -> io::Result<Table> {
        let mut writer = BufWriter::with_capacity(1 << 16, open(name)?);
        writeln!(writer, "{header}")?;
        Ok(Table { name, writer, failure: None })
    }

    fn row(&mut self, row: std::fmt::Arguments<'_>) {
        if self.failure.is_none() {
            self.failure = self.writer.write_fmt(row).err();
        }
    }

    fn finish(mut self) -> Result<(), (&'static str, io::Error)> {
        self.failure.take().map_or_else(|| self.writer.flush(), Err).map_err(|e| (self.name, e))
    }
}

/// An optional number; missing values are empty.
fn optional(value: Option<u64>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

/// Columns of one direction, with a prefix.
fn direction_columns(prefix: &str) -> String {
    let columns = [
        "packets",
        "bytes",
        "data_packets",
        "trains",
        "retransmitted_fast",
        "retransmitted_timeout",
        "retransmitted_probe",
        "retransmitted_handshake",
        "retransmitted_unneeded",
        "timeouts",
        "reordered",
        "marked",
        "duplicates_reported",
        "missed_bytes",
    ];
    columns.map(|c| format!(",{prefix}_{c}")).concat()
}

fn direction(d: &DirectionRow) -> String {
    let kinds = d.retransmissions.by_kind().map(|(_, count)| format!("{count}")).join(",");
    format!(
        ",{},{},{},{},{kinds},{},{},{},{},{}",
        d.packets, d.bytes, d.data_packets, d.trains, d.timeouts, d.reordered, d.marked, d.duplicates_reported, d.missed_bytes
    )
}

impl Tables {
    /// Begins the tables in files that `open` creates by name.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn create(open: &mut Open<'_>, names: HostNames) -> io::Result<Tables> {
        let trains = "connection,src,src_port,dst,dst_port,kind,start_ns,end_ns,bytes,packets,retransmitted,gap_ns,threshold_ns";
        let connections = format!(
            "connection,client,client_port,server,server_port,opened,closed,start_ns,end_ns,handshake_rtt_ns,min_rtt_ns{}{}",
            direction_columns("client"),
            direction_columns("server")
        );
        Ok(Tables {
            names,
            trains: Table::create(open, FILES[0], trains)?,
            connections: Table::create(open, FILES[1], &connections)?,
            incast: Table::create(open, FILES[2], "receiver,start_ns,end_ns,senders,trains,rtt_ns")?,
            cdf: Table::create(open, FILES[3], "quantity,value,count,fraction")?,
        })
    }

    fn end(&self, host: Host) -> (String, u16) {
        (self.names.host(host), host.end.port())
    }

    /// Writes the distributions and ends the files.
    ///
    /// # Errors
    /// A file, by its name, that could not be written.
    pub fn finish(mut self, summary: &Summary) -> Result<(), (&'static str, io::Error)> {
        let distributions = [
            ("train_bytes", &summary.trains.sizes),
            ("train_packets", &summary.trains.packets),
            ("gap_ns", &summary.trains.gaps),
            ("rtt_ns", &summary.rtt),
            ("handshake_rtt_ns", &summary.handshakes),
        ];
        for (name, histogram) in distributions {
            for (value, count) in histogram.steps() {
                let fraction = count as f64 / histogram.count() as f64;
                self.cdf.row(format_args!("{name},{value},{count},{fraction}\n"));
            }
        }
        [self.trains, self.connections, self.incast, self.cdf].into_iter().try_for_each(Table::finish)
    }
}

impl Sink for Tables {
    fn train(&mut self, t: &Train) {
        let ((src, src_port), (dst, dst_port)) = (self.end(t.src), self.end(t.dst));
        let kind = if t.long { "long" } else { "short" };
        self.trains.row(format_args!(
            "{},{src},{src_port},{dst},{dst_port},{kind},{},{},{},{},{},{},{}\n",
            t.connection,
            t.start_ns,
            t.end_ns,
            t.bytes,
            t.packets,
            t.retransmitted,
            optional(t.gap_ns),
            t.threshold_ns
        ));
    }

    fn connection(&mut self, c: &ConnectionRow) {
        let ((client, client_port), (server, server_port)) = (self.end(c.client), self.end(c.server));
        self.connections.row(format_args!(
            "{},{client},{client_port},{server},{server_port},{},{},{},{},{},{}{}{}\n",
            c.connection,
            c.opened,
            c.closed,
            c.start_ns,
            c.end_ns,
            optional(c.handshake_rtt_ns),
            optional(c.min_rtt_ns),
            direction(&c.from_client),
            direction(&c.from_server)
        ));
    }

    fn incast(&mut self, i: &Incast) {
        let receiver = self.names.host(i.receiver);
        self.incast.row(format_args!("{receiver},{},{},{},{},{}\n", i.start_ns, i.end_ns, i.senders, i.trains, i.rtt_ns));
    }
}
