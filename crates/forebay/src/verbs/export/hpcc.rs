//! Completed flows as HPCC's `fct.txt`.

use super::{Args, Written};
use crate::terminal::failure::Failure;
use forebay_experiment::Experiment;
use forebay_experiment::topology::Fib;
use forebay_formats::fct::{CompletedFlow, IdlePath, MAX_NODES, write};
use forebay_runner::recorded_experiment;
use forebay_store::RunDir;
use forebay_store::rows::Rows;
use forebay_types::NodeId;
use std::collections::HashMap;

/// Destination port of background traffic in HPCC's lists.
const BACKGROUND: u32 = 100;

/// The file, with the completed flows of the run.
pub(super) fn export(run: &RunDir, args: &Args) -> Result<Written, Failure> {
    let (variant, experiment) = recorded_experiment(forebay_backends::all(), run, args.variant.as_ref(), args.run)?;
    check_classes(&args.dport, &experiment)?;
    let (flows, unfinished) = completed(run, &variant, args, &Network::new(&experiment)?)?;
    let contents =
        format!("{} flows of {variant}, run {}; {unfinished} unfinished or endless flows are not in it", flows.len(), args.run);
    Ok(Written { contents, write: Box::new(move |out| write(out, &flows)) })
}

/// Completed flows in the order of their starts, and the number of the others.
fn completed(run: &RunDir, variant: &str, args: &Args, network: &Network<'_>) -> Result<(Vec<CompletedFlow>, u64), Failure> {
    const COLUMNS: &[&str] = &["variant", "run", "class", "transport", "src", "dst", "size_bytes", "start_ns", "fct_ns"];
    let (mut flows, mut unfinished) = (Vec::new(), 0);
    let mut paths: HashMap<(NodeId, NodeId, u32), IdlePath> = HashMap::new();
    let mut failure = None;
    run.each("flows", COLUMNS, &mut |batch| {
        let rows = Rows::new(batch);
        let variants = rows.text("variant", |name| name == variant);
        let ports = rows.text("class", |class| dport(class, &args.dport));
        let groups = rows.text("transport", |name| network.packet(name));
        let (sources, destinations) = (rows.text("src", |name| network.host(name)), rows.text("dst", |name| network.host(name)));
        let (runs, sizes) = (rows.int("run"), rows.int("size_bytes"));
        let (starts, fcts) = (rows.int("start_ns"), rows.int("fct_ns"));
        for row in 0..rows.len() {
            if variants.get(row) != Some(&true) || runs.count(row) != u64::from(args.run) {
                continue;
            }
            let (Some(_), Some(_)) = (sizes.get(row), fcts.get(row)) else {
                unfinished += 1;
                continue;
            };
            let ends = sources.get(row).copied().flatten().zip(destinations.get(row).copied().flatten());
            let Some((((src, a), (dst, b)), &(payload, header))) = ends.zip(groups.get(row)) else {
                failure = Some("the flows name hosts that the scenario does not have");
                return;
            };
            let path = *paths.entry((src, dst, payload)).or_insert_with(|| network.path(src, dst, payload));
            flows.push(CompletedFlow {
                nodes: (a, b),
                dport: ports.get(row).copied().unwrap_or(BACKGROUND),
                bytes: sizes.count(row),
                start_ns: starts.count(row),
                fct_ns: fcts.count(row),
                standalone_ns: path.standalone_ns(sizes.count(row), payload.into(), header.into()),
            });
        }
    })?;
    if let Some(text) = failure {
        return Err(Failure::Usage(text.into()));
    }
    flows.sort_by_key(|f| f.start_ns);
    Ok((flows, unfinished))
}

/// Fails if `--dport` names a class that no workload has, or a class twice.
fn check_classes(given: &[(String, u32)], experiment: &Experiment) -> Result<(), Failure> {
    let mut classes: Vec<&str> = experiment.workloads.iter().map(|w| w.class.as_str()).collect();
    classes.dedup();
    for (i, (class, _)) in given.iter().enumerate() {
        if given.iter().take(i).any(|(before, _)| before == class) {
            return Err(Failure::Usage(format!("--dport gives the class `{class}` two ports; keep one")));
        }
        if !classes.contains(&class.as_str()) {
            let legal = classes.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ");
            return Err(Failure::Usage(format!("--dport: the results have no class `{class}`; legal: {legal}")));
        }
    }
    Ok(())
}

/// Destination port of a class: that of `--dport`, else that of an imported list.
fn dport(class: &str, given: &[(String, u32)]) -> u32 {
    let given = given.iter().find(|(name, _)| name == class).map(|(_, port)| *port);
    let imported = || class.strip_prefix("dport-").and_then(|port| port.parse().ok());
    given.or_else(imported).unwrap_or(BACKGROUND)
}

/// Hosts with their node ids, and the paths between them.
struct Network<'a> {
    experiment: &'a Experiment,
    fib: Fib,
    hosts: HashMap<&'a str, (NodeId, u32)>,
}

impl<'a> Network<'a> {
    fn new(experiment: &'a Experiment) -> Result<Network<'a>, Failure> {
        let nodes = &experiment.network.nodes;
        let fib = Fib::new(&experiment.network).map_err(|e| Failure::Usage(e.to_string()))?;
        let hosts = || nodes.enumerate().filter(|(_, n)| n.host);
        // Imported topologies call node 7 `n7`; other networks have numbers in their order.
        let imported = |name: &str| name.strip_prefix('n').and_then(|id| id.parse::<u32>().ok());
        let numbered = hosts().all(|(_, n)| imported(&n.name).is_some());
        let ids = hosts().zip(0_u32..).map(|((node, n), place)| {
            let id = imported(&n.name).filter(|_| numbered).unwrap_or(place);
            (n.name.as_str(), (node, id))
        });
        let hosts: HashMap<_, _> = ids.collect();
        match hosts.values().map(|(_, id)| *id).max() {
            Some(id) if id >= MAX_NODES => {
                Err(Failure::Usage(format!("node {id}: fct.txt has addresses for nodes 0 to {}", MAX_NODES - 1)))
            }
            _ => Ok(Network { experiment, fib, hosts }),
        }
    }

    fn host(&self, name: &str) -> Option<(NodeId, u32)> {
        self.hosts.get(name).copied()
    }

    /// Payload and header of a full packet of the transport group `name`, bytes.
    fn packet(&self, name: &str) -> (u32, u32) {
        let group = self.experiment.groups.iter().find(|g| g.name == name).or_else(|| self.experiment.groups.iter().next());
        group.map_or((1460, 40), |g| (g.tcp.mss, g.tcp.header))
    }

    fn path(&self, src: NodeId, dst: NodeId, payload: u32) -> IdlePath {
        let network = &self.experiment.network;
        let ports = || self.fib.path(network, src, dst, 0).into_iter().map(|port| &network.ports[port]);
        IdlePath {
            delay_ns: ports().map(|p| p.delay.as_ns()).sum(),
            packet_ns: ports().map(|p| p.rate.tx_time(payload.into()).as_ns()).sum(),
            rate_bps: ports().map(|p| p.rate.0).min().unwrap_or(1),
        }
    }
}
