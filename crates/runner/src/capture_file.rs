//! Captured packets of a run as a pcapng file.

use forebay_capture::{Interface, PacketFile, host};
use forebay_experiment::Experiment;
use forebay_experiment::capture::{CapturePlace, CapturePoint, HEADER_BYTES};
use forebay_experiment::report::Report;
use forebay_store::RunInfo;
use std::io::{self, BufWriter, Write};

/// Packets that are read from their series at once.
const PIECE: usize = 1 << 12;

/// Name of the file with the packets of run number `run` of `variant`.
pub fn capture_name(variant: &str, run: u32) -> String {
    format!("capture-{}-{run}.pcapng", forebay_store::file_name(variant))
}

/// Writes the packets that a run of `config` has captured.
///
/// # Errors
/// Errors of `out`, and of the temporary file of the packets.
pub fn write_capture(out: impl Write, info: &RunInfo, config: &Experiment, report: &Report) -> io::Result<()> {
    let capture = &config.observe.capture;
    let interfaces: Vec<Interface> = capture.points.iter().map(|p| interface(p, config)).collect();
    let comment = format!(
        "forebay: packets of variant {}, seed {}; fingerprint {:016x}; time 0 is the start of the run",
        info.variant(),
        info.seed(),
        report.fingerprint
    );
    let snap = capture.frame_bytes.unwrap_or(HEADER_BYTES);
    let mut file = PacketFile::create(BufWriter::new(out), &comment, &interfaces, snap)?;
    report.captured.pieces(PIECE, &mut |rows| rows.iter().try_for_each(|p| file.write(p)))?;
    file.finish()?.flush()
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
            let description = format!("host {}, {}, sent and received packets", network.nodes[node].name, host(node).ip);
            let speed = if let [one] = rates[..] { Some(one) } else { None };
            Interface { name: point.name.clone(), description, speed }
        }
    }
}
