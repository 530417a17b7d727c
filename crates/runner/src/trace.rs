//! Trace of one flow from results: the run is repeated with the packets of its connection captured.

use crate::explain::{MessageSelector, chosen};
use crate::job::Job;
use crate::rerun::{ExplainError, configured, recorded, repeat};
use crate::routes::{Endpoints, routes};
use crate::simulate::{Simulated, simulate};
use forebay_experiment::Experiment;
use forebay_experiment::capture::{Capture, CapturePlace, CapturePoint};
use forebay_experiment::report::{EarlyEnd, RunError};
use forebay_experiment::rows::FlowRow;
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_store::RunDir;
use forebay_store::capture::FlowTrace;
use forebay_types::{NodeId, PortId, Time};
use std::ops::ControlFlow;

/// A flow of a repeated run, with its packets.
#[derive(Debug)]
pub struct Trace {
    /// The repeated run.
    pub again: Simulated,
    /// Its configuration. The first interface of its capture is the sender's host; the others are the ports on the path.
    pub config: Experiment,
    /// The flow.
    pub flow: FlowRow,
    /// Its packets as the sender sees them.
    pub packets: FlowTrace,
    /// Name of the variant.
    pub variant: String,
    /// Seed of the run.
    pub seed: u64,
    /// Names of the interfaces.
    pub interfaces: Vec<String>,
}

impl Trace {
    /// Interface of the sender's host.
    pub(crate) const SENDER: u32 = 0;
}

/// Repeats the run of the flow that `which` names, and captures the packets of its connection.
///
/// # Errors
/// Results that cannot be read or repeated, a flow that does not exist, and backends that capture no packets.
pub fn trace(worlds: &'static Worlds, dir: &RunDir, which: &MessageSelector) -> Result<Trace, ExplainError> {
    let manifest = dir.manifest();
    let (variant, record) = recorded(manifest, which.variant.as_ref(), which.run)?;
    let wanted = chosen(dir, which, &variant)?.remove(0);
    let (world, mut config) = configured(worlds, manifest, (&variant, record))?;
    config.set_seed(record.seed);
    let node = |name: &str| config.network.nodes.enumerate().find(|(_, n)| n.name == name).map(|(id, _)| id);
    let (Some(src), Some(dst)) = (node(&wanted.src), node(&wanted.dst)) else {
        return Err(ExplainError::Other(format!("the scenario has no hosts `{}` and `{}`", wanted.src, wanted.dst)));
    };
    observe(&mut config, wanted.conn, (src, dst), Time::from_ns(record.end_ns));
    let again = repeat(world, &config, manifest, (&variant, record))?;
    let flow = usize::try_from(wanted.flow).ok().and_then(|i| again.report.flows.get(i)).cloned();
    let Some(flow) = flow else {
        return Err(ExplainError::Other(format!("the repeated run has no flow {}", wanted.flow)));
    };
    let packets = packets(&again, src).map_err(|e| ExplainError::Other(format!("the captured packets cannot be read: {e}")))?;
    let interfaces = config.observe.capture.points.iter().map(|p| p.name.clone()).collect();
    Ok(Trace { again, config, flow, packets, variant, seed: record.seed, interfaces })
}

/// Runs `config` with the packets of the connection of `flow` captured, which a run that ended at `end` has in its report.
///
/// # Errors
/// Backends that capture no packets, and runs that fail.
pub fn capture_flow(
    world: &dyn World,
    variant: &str,
    config: &Experiment,
    (flow, end): (&FlowRow, Time),
    job: &Job,
    watch: &(dyn Fn() -> ControlFlow<EarlyEnd> + Sync),
) -> Result<Trace, RunError> {
    let mut config = config.clone();
    observe(&mut config, flow.conn_id, (flow.src, flow.dst), end);
    let again = simulate(world, variant, 0, &config, job, None, watch)?;
    let packets = packets(&again, flow.src).map_err(|e| RunError::World(format!("the captured packets cannot be read: {e}")))?;
    let interfaces = config.observe.capture.points.iter().map(|p| p.name.clone()).collect();
    Ok(Trace { seed: config.seed, again, config, flow: flow.clone(), packets, variant: variant.to_owned(), interfaces })
}

/// Captures the packets of a connection, and the states of its sender.
fn observe(config: &mut Experiment, conn: u64, ends: (NodeId, NodeId), end: Time) {
    let points = points(config, config.seed, conn, ends, end);
    config.observe.capture = Capture { points, connections: Some(vec![conn]), ..Capture::default() };
    config.observe.tcp_series = vec![(conn, Time::ZERO)];
    config.observe.queue_series.clear();
    config.observe.timeouts = true;
}

/// The captured packets as the sender at `src` sees them.
fn packets(again: &Simulated, src: NodeId) -> std::io::Result<FlowTrace> {
    let mut packets = FlowTrace::new(src, Trace::SENDER);
    let read: std::io::Result<()> = again.report.captured.pieces(1 << 12, &mut |rows| {
        rows.iter().for_each(|p| packets.add(p));
        Ok(())
    });
    read.map(|()| packets)
}

/// The sender's host, and the ports of both directions on the paths of a connection.
fn points(config: &Experiment, seed: u64, conn: u64, (src, dst): (NodeId, NodeId), end: Time) -> Vec<CapturePoint> {
    let network = &config.network;
    let mut points = vec![CapturePoint { name: network.nodes[src].name.clone(), at: CapturePlace::Host(src) }];
    let both =
        [(src, dst), (dst, src)].map(|(src, dst)| routes(network, seed, &Endpoints { conn, src, dst, start: Time::ZERO, end }));
    let mut ports: Vec<PortId> = both.iter().flat_map(|r| &r.each).flat_map(|route| route.ports.iter().copied()).collect();
    ports.sort_unstable();
    ports.dedup();
    // The host's own port is the first interface.
    for id in ports.into_iter().filter(|id| network.ports[*id].from != src) {
        let (from, to) = (network.ports[id].from, network.ports[id].to);
        let name = format!("{}->{}", network.nodes[from].name, network.nodes[to].name);
        points.push(CapturePoint { name, at: CapturePlace::Port(id) });
    }
    points
}
