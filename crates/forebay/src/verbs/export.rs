//! `forebay export`: results in the formats of other programs.

use crate::new_file::{failed, free};
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use forebay_experiment::Experiment;
use forebay_experiment::topology::Fib;
use forebay_formats::fct::{CompletedFlow, IdlePath, MAX_NODES, write};
use forebay_platform::files;
use forebay_runner::{ExplainError, recorded_experiment};
use forebay_store::RunDir;
use forebay_store::rows::Rows;
use forebay_store::sweep::SweepDir;
use forebay_types::NodeId;
use std::collections::HashMap;
use std::path::PathBuf;

/// Write results in the format of another program
///
/// hpcc-fct: completed flows as `fct.txt`, which the analysis scripts of HPCC read. Node ids are those of an imported topology, else the numbers of the
/// hosts; the standalone completion time is that of HPCC.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory that `forebay run` wrote
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Format of the file
    #[arg(long, value_enum, default_value_t = ExportFormat::HpccFct)]
    format: ExportFormat,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "fct.txt")]
    out: PathBuf,
    /// Variant of the results, instead of the first one
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Run of the variant, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    run: u32,
    /// Destination port of a class, such as incast=200 [default: N of a class dport-N, else 100]
    #[arg(long, value_name = "CLASS=PORT", value_parser = port_of_class)]
    dport: Vec<(String, u32)>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// fct.txt of HPCC
    HpccFct,
}

/// Destination port of background traffic in HPCC's lists.
const BACKGROUND: u32 = 100;

fn port_of_class(text: &str) -> Result<(String, u32), String> {
    let (class, port) = text.split_once('=').ok_or("write it as CLASS=PORT, such as incast=200")?;
    let port = port.parse::<u16>().map_err(|_| format!("`{port}` is not a port, 0 to 65535"))?;
    Ok((class.to_owned(), port.into()))
}

/// Writes the file.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    if SweepDir::begun(&args.dir).is_ok() {
        let text =
            format!("`{}` is a sweep, which keeps numbers of its runs; export the results of a single run", args.dir.display());
        return Err(Failure::Usage(text));
    }
    free(&args.out, args.force)?;
    let run = RunDir::open(&args.dir)?;
    let experiment = recorded_experiment(forebay_backends::all(), &run, args.variant.as_ref(), args.run);
    let (variant, experiment) = experiment.map_err(|e| match e {
        ExplainError::Store(e) => Failure::from(e),
        ExplainError::Scenario(e) => e.into(),
        ExplainError::Run(e) => e.into(),
        ExplainError::Other(text) => Failure::Usage(text),
    })?;
    let (flows, unfinished) = match args.format {
        ExportFormat::HpccFct => completed(&run, &variant, args, &Network::new(&experiment)?)?,
    };
    let mut out = Vec::new();
    let written = write(&mut out, &flows).and_then(|()| files::replace(&args.out, &out, files::Options::default()));
    written.map_err(|e| failed(&args.out, &e))?;
    print(&format!(
        "wrote {}: {} flows of {variant}, run {}; {unfinished} unfinished or endless flows are not in it\n",
        args.out.display(),
        flows.len(),
        args.run
    ))
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
                Err(Failure::Usage(format!("node {id}: the addresses of fct.txt tell {MAX_NODES} nodes apart, from 0 on")))
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
