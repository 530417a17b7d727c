//! Files of another simulator as one scenario.

use crate::FileKind;
use crate::chakra;
use crate::error::FileError;
use crate::fabric::{Buffer, Fabric, Node};
use crate::flow_set::FlowSet;
use crate::goal;
use crate::hpcc::{self, Config, Topology};
use crate::htsim::{self, StartUnit};
use crate::scenario::{self, ScenarioParts};
use std::fmt::Write;

/// A file to import.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name, for messages.
    pub file: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Options of an import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Name of the scenario, and stem of the lists beside it.
    pub name: String,
    /// Leave out the NVSwitches of a SimAI topology, and their links.
    pub without_nvswitches: bool,
    /// `start` of an htsim matrix is in microseconds (true) or picoseconds (false); `None`: picoseconds, and decimal starts are refused.
    pub start_in_us: Option<bool>,
}

/// A scenario with its lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// Text of the scenario.
    pub scenario: String,
    /// Lists that the scenario names, in its folder: name and text.
    pub lists: Vec<(String, String)>,
    /// Differences from the other simulator, and assumptions.
    pub notes: Vec<String>,
}

/// Reads files, and writes the scenario that they describe together: one topology, at most one configuration, and at most one list of flows. The order
/// of the files has no meaning.
///
/// # Errors
/// A file in an unknown format, files that do not belong together, and errors in a file, by its line.
pub fn import(sources: &[Source], options: &ImportOptions) -> Result<Import, FileError> {
    let files = Files::new(sources)?;
    let mut notes = Vec::new();
    let mut network = Network::read(&files, options, &mut notes)?;
    let config = files.config.map(|s| Config::parse(s.file, s.text)).transpose()?;
    let mut flows = read_flows(&files, &network, options, &mut notes)?;
    let mut parts = ScenarioParts { name: options.name.clone(), ..ScenarioParts::default() };
    let names: Vec<&str> = sources.iter().map(|s| s.file.as_str()).collect();
    parts.comments.push(format!("Imported from {}.", names.join(", ")));
    let origin = flows.as_mut().filter(|f| !f.dependent).map(FlowSet::remove_idle_time).unwrap_or_default();
    if origin.0 > 0 {
        notes.push(format!("the first flow starts at 0 instead of {origin}"));
    }
    configure(&mut network, config.as_ref(), (&mut parts, flows.as_ref()), &mut notes)?;
    for failure in &mut network.fabric.failures {
        failure.down = failure.down - origin.min(failure.down);
    }
    if let Some(stop) = config.as_ref().and_then(Config::stop).filter(|stop| *stop > origin) {
        parts.duration = Some(stop - origin);
    }
    let lists = workloads(flows.as_ref(), options, &mut parts, &mut notes);
    parts.comments.extend(notes.iter().map(|n| format!("* {n}")));
    Ok(Import { scenario: scenario::text(&network.fabric, &parts), lists, notes })
}

/// A file with a text.
#[derive(Clone, Copy)]
struct Text<'a> {
    file: &'a str,
    text: &'a str,
}

/// A file of a part of the scenario.
type Part<'a> = Option<(FileKind, Text<'a>)>;

/// The files by their kinds.
struct Files<'a> {
    topology: (FileKind, Text<'a>),
    config: Option<Text<'a>>,
    flows: Part<'a>,
    /// Chakra traces of the ranks: name and content.
    traces: Vec<(&'a str, &'a [u8])>,
}

impl<'a> Files<'a> {
    fn new(sources: &'a [Source]) -> Result<Files<'a>, FileError> {
        let (mut topology, mut config, mut flows): (Part<'_>, Part<'_>, Part<'_>) = (None, None, None);
        let mut traces = Vec::new();
        for Source { file, bytes } in sources {
            if file.ends_with(FileKind::TRACE) {
                traces.push((file.as_str(), &bytes[..]));
                continue;
            }
            let text = std::str::from_utf8(bytes).map_err(|_| FileError::of(file, "it is not a text"))?;
            let kind = FileKind::of(text).ok_or_else(|| {
                FileError::of(
                    file,
                    "unknown format; legal: topology.txt, config.txt and flow.txt of HPCC, .topo and .cm of htsim, GOAL schedules, .et of Chakra. \
                     `forebay explain replay` describes CSV lists, which a scenario names itself",
                )
            })?;
            let place = match kind {
                FileKind::HpccTopology | FileKind::HtsimTopology => &mut topology,
                FileKind::HpccConfig => &mut config,
                FileKind::HpccFlows | FileKind::HtsimMatrix | FileKind::Goal => &mut flows,
            };
            if let Some((_, old)) = place.replace((kind, Text { file, text })) {
                return Err(FileError::of(file, format!("this is {kind}, and {} has the same part: give one of them", old.file)));
            }
        }
        let first = sources.first().map_or("", |s| s.file.as_str());
        let Some(topology) = topology else {
            return Err(FileError::of(first, "the network is missing: give a topology.txt of HPCC or a .topo of htsim as well"));
        };
        if let (Some((_, list)), Some((trace, _))) = (flows, traces.first()) {
            return Err(FileError::of(trace, format!("{} has traffic as well: give one of them", list.file)));
        }
        Ok(Files { topology, config: config.map(|(_, text)| text), flows, traces })
    }
}

/// A network, and the meaning of the ids of its nodes.
struct Network {
    fabric: Fabric,
    /// Topology of HPCC, whose flow lists name ids of nodes.
    ids: Option<Topology>,
}

impl Network {
    fn read(files: &Files<'_>, options: &ImportOptions, notes: &mut Vec<String>) -> Result<Network, FileError> {
        let (kind, source) = files.topology;
        if kind == FileKind::HtsimTopology {
            return Ok(Network { fabric: htsim::read_topology(source.file, source.text, notes)?, ids: None });
        }
        let topology = Topology::parse(source.file, source.text, options.without_nvswitches)?;
        if topology.nvswitches() > 0 {
            notes.push(format!("{} NVSwitches are left out: traffic within a server passes the network", topology.nvswitches()));
        }
        if topology.fabric().links.iter().any(|l| l.properties.loss.is_some()) {
            notes.push("each direction of a link draws its losses itself; in HPCC all links share one random stream".into());
        }
        Ok(Network { fabric: topology.fabric().clone(), ids: Some(topology) })
    }

    /// Host of the id in a flow list.
    fn host(&self, text: &str) -> Result<Node, String> {
        if let Some(ids) = &self.ids {
            return ids.host(text);
        }
        let host = text.parse::<usize>().ok().and_then(|i| self.fabric.hosts.get(i));
        host.copied()
            .ok_or_else(|| format!("there is no host `{text}`; the network has hosts 0 to {}", self.fabric.hosts.len() - 1))
    }
}

/// Reads the list of flows, or the traces.
fn read_flows(
    files: &Files<'_>,
    network: &Network,
    options: &ImportOptions,
    notes: &mut Vec<String>,
) -> Result<Option<FlowSet>, FileError> {
    let hosts = &network.fabric.hosts;
    if !files.traces.is_empty() {
        return chakra::read(&files.traces, hosts, notes).map(Some);
    }
    let Some((kind, Text { file, text })) = files.flows else { return Ok(None) };
    let flows = match kind {
        FileKind::HpccFlows => hpcc::read_flows(file, text, &|id| network.host(id), notes),
        FileKind::Goal => goal::read(file, text, hosts, notes),
        _ => {
            let unit = match options.start_in_us {
                None => StartUnit::Auto,
                Some(true) => StartUnit::Microseconds,
                Some(false) => StartUnit::Picoseconds,
            };
            htsim::read_matrix(file, text, hosts, unit, notes)
        }
    };
    flows.map(Some)
}

/// Queues of the links, and the transport.
fn configure(
    network: &mut Network,
    config: Option<&Config>,
    (parts, flows): (&mut ScenarioParts, Option<&FlowSet>),
    notes: &mut Vec<String>,
) -> Result<(), FileError> {
    let marks = match config {
        Some(config) => {
            config.apply(&mut network.fabric)?;
            if let Some(cc) = config.cc().filter(|cc| *cc != "DCTCP") {
                notes
                    .push(format!("the congestion control of the configuration, {cc}, is not one of TCP: DCTCP takes its place"));
            }
            if network.fabric.shared_buffer.is_some() {
                notes.push("switches drop packets when their memory is full; HPCC pauses links before (PFC)".into());
            }
            network.fabric.links.iter().any(|l| l.properties.marking.is_some())
        }
        None if network.ids.is_some() => {
            // HPCC keeps buffers and thresholds in its configuration.
            network.fabric.links.iter_mut().for_each(|l| l.properties.buffer = Some(Buffer::Packets(400)));
            notes.push(
                "no config.txt was given: ports have 400 packets, and mark nothing. Give it, or change `buffer` and `queue`"
                    .into(),
            );
            false
        }
        None => false,
    };
    let mut add = |line: &str| parts.transport.push(line.to_owned());
    add("stack = \"linux\"");
    add(if marks {
        "cc = \"dctcp\""
    } else {
        "cc = \"cubic\" # dctcp needs links that mark: queue = { kind = \"dctcp-step\", k = \"65pkt\" }"
    });
    if let Some(mss) = config.and_then(Config::mss) {
        add(&format!("mss = {mss}"));
    }
    if flows.is_some() {
        add("handshake = false # connections are open when a flow starts, as in the other simulator");
    }
    Ok(())
}

/// Text of the workloads, and their lists.
fn workloads(
    flows: Option<&FlowSet>,
    options: &ImportOptions,
    parts: &mut ScenarioParts,
    notes: &mut Vec<String>,
) -> Vec<(String, String)> {
    let Some(flows) = flows else {
        notes.push("no list of flows was given: web-search traffic at 30 % of the hosts' rate takes its place".into());
        if parts.duration.is_none() {
            parts.duration = Some(forebay_types::Time::from_ms(20));
        }
        parts.workloads =
            "[[workload]]\nkind = \"poisson\"\nfrom = \"all\"\nto = \"all\"\nsizes = { cdf = \"websearch\" }\nload = 0.3\n"
                .into();
        return Vec::new();
    };
    let lists = flows.lists();
    let mut files = Vec::new();
    for (class, text) in lists {
        let (file, name) = match class {
            Some(n) => (format!("{}-{n}.csv", options.name), format!("class = \"dport-{n}\"\n")),
            None => (format!("{}.csv", options.name), String::new()),
        };
        let _ = write!(parts.workloads, "[[workload]]\nkind = \"replay\"\n{name}file = \"{file}\"\n\n");
        files.push((file, text));
    }
    parts.workloads.pop();
    files
}
