//! Captured packets of a run as a file.

use crate::trace::Trace;
use forebay_experiment::Experiment;
use forebay_experiment::capture::{CaptureFormat, CapturePlace, CapturePoint, CapturedPacket};
use forebay_experiment::report::Report;
use forebay_store::RunInfo;
use forebay_store::capture::{Interface, PacketFile, PacketTable, host};
use std::io::{self, BufWriter, Write};

/// Packets that are read from their series at once.
const PIECE: usize = 1 << 12;

/// Name of the file with the packets of run number `run` of `variant`.
pub fn capture_name(variant: &str, run: u32, format: CaptureFormat) -> String {
    format!("capture-{}-{run}.{}", forebay_store::file_name(variant), format.extension())
}

/// Writes the packets that a run of `config` has captured.
///
/// # Errors
/// Errors of `out`, and of the temporary file of the packets.
pub fn write_capture(out: impl Write, info: &RunInfo, config: &Experiment, report: &Report) -> io::Result<()> {
    match config.observe.capture.format {
        CaptureFormat::Pcapng => write(out, (info, config, report), &config.observe.capture.points, |_| true),
        CaptureFormat::Csv => write_table(out, config, report),
    }
}

/// Writes the packets of a trace at the sender's host.
///
/// # Errors
/// As [`write_capture`].
pub fn write_flow(out: impl Write, trace: &Trace) -> io::Result<()> {
    let Trace { again, config, .. } = trace;
    write(out, (&again.info, config, &again.report), &config.observe.capture.points[..1], |p| p.interface == Trace::SENDER)
}

/// Writes the packets that `includes` chooses, which have passed the interfaces `points`.
fn write(
    out: impl Write,
    (info, config, report): (&RunInfo, &Experiment, &Report),
    points: &[CapturePoint],
    includes: impl Fn(&CapturedPacket) -> bool,
) -> io::Result<()> {
    let interfaces: Vec<Interface> = points.iter().map(|p| interface(p, config)).collect();
    let comment = format!(
        "forebay: packets of variant {}, seed {}; fingerprint {:016x}; time 0 is the start of the run",
        info.variant(),
        info.seed(),
        report.fingerprint
    );
    let capture = &config.observe.capture;
    let mut file = PacketFile::create(BufWriter::new(out), &comment, &interfaces, (capture.ip, capture.kept_bytes()))?;
    report.captured.pieces(PIECE, &mut |rows| rows.iter().filter(|p| includes(p)).try_for_each(|p| file.write(p)))?;
    file.finish()?.flush()
}

/// Writes all packets as a table.
fn write_table(out: impl Write, config: &Experiment, report: &Report) -> io::Result<()> {
    let interfaces: Vec<&str> = config.observe.capture.points.iter().map(|p| p.name.as_str()).collect();
    let nodes: Vec<&str> = config.network.nodes.iter().map(|n| n.name.as_str()).collect();
    let mut table = PacketTable::create(BufWriter::new(out), &interfaces, &nodes)?;
    report.captured.pieces(PIECE, &mut |rows| rows.iter().try_for_each(|p| table.write(p)))?;
    table.finish()
}

/// Description of an interface.
fn interface(point: &CapturePoint, config: &Experiment) -> Interface {
    let network = &config.network;
    match point.at {
        CapturePlace::Port(id) => {
            let port = &network.ports[id];
            let description =
                format!("port {}->{}, sent and dropped packets", network.nodes[port.from].name, network.nodes[port.to].name);
            Interface { name: point.name.clone(), description, speed: Some(port.rate.0) }
        }
        CapturePlace::Host(node) => {
            let mut rates: Vec<u64> = network.ports.iter().filter(|p| p.from == node).map(|p| p.rate.0).collect();
            rates.dedup();
            let address = host(node).ip(config.observe.capture.ip);
            let description = format!("host {}, {address}, sent and received packets", network.nodes[node].name);
            let speed = if let [one] = rates[..] { Some(one) } else { None };
            Interface { name: point.name.clone(), description, speed }
        }
    }
}
