//! Statistics of all packets of a run: the run is repeated with its hosts and switches captured.

use crate::rerun::{ExplainError, configured, recorded, repeat};
use forebay_experiment::capture::{Capture, CapturePlace, CapturePoint};
use forebay_experiment::network::Network;
use forebay_experiment::worlds::Worlds;
use forebay_store::RunDir;
use forebay_store::capture::FlowMonitor;

/// Packets that are read from their series at once.
const PIECE: usize = 1 << 12;

/// Repeats run number `run` of `variant`, by default of the first one, and returns the name of the variant with the statistics of its flows.
///
/// # Errors
/// Results that cannot be read or repeated, and backends that capture no packets.
pub fn flow_monitor(
    worlds: &'static Worlds,
    dir: &RunDir,
    variant: Option<&String>,
    run: u32,
) -> Result<(String, FlowMonitor), ExplainError> {
    let manifest = dir.manifest();
    let (variant, record) = recorded(manifest, variant, run)?;
    let (world, mut config) = configured(worlds, manifest, (&variant, record))?;
    config.set_seed(record.seed);
    let points = points(&config.network);
    let places = points.iter().map(|p| p.at).collect();
    let ip = config.observe.capture.ip;
    config.observe.capture = Capture { points, ip, ..Capture::default() };
    config.observe.tcp_series.clear();
    config.observe.queue_series.clear();
    let again = repeat(world, &config, manifest, (&variant, record))?;
    let mut monitor = FlowMonitor::new(places, ip);
    let read = again.report.captured.pieces(PIECE, &mut |rows| rows.iter().try_for_each(|p| monitor.add(p)));
    read.map_err(|e| ExplainError::Other(format!("the captured packets cannot be read: {e}")))?;
    Ok((variant, monitor))
}

/// All hosts, and all ports of switches.
fn points(network: &Network) -> Vec<CapturePoint> {
    let name = |node| network.nodes[node].name.clone();
    let hosts = network.nodes.enumerate().filter(|(_, n)| n.host);
    let hosts = hosts.map(|(id, n)| CapturePoint { name: n.name.clone(), at: CapturePlace::Host(id) });
    let ports = network.ports.enumerate().filter(|(_, p)| !network.nodes[p.from].host);
    let ports =
        ports.map(|(id, p)| CapturePoint { name: format!("{}->{}", name(p.from), name(p.to)), at: CapturePlace::Port(id) });
    hosts.chain(ports).collect()
}
