//! From the document to experiments: checks everything and fills in all defaults.

use crate::resolve::advise::{Objective, advise};
use crate::resolve::expect::{Expectation, expect};
use crate::resolve::faults::{default_host_queue, faults};
use crate::resolve::observe::{Ports, observe};
use crate::resolve::program;
use crate::resolve::shim;
use crate::resolve::stop;
use crate::resolve::topology::{BuiltNetwork, port_names, topology};
use crate::resolve::transport::{Transports, transports};
use crate::resolve::unfilled_buffers::note_unfilled_buffer;
use crate::resolve::warm_start;
use crate::resolve::workload;
use crate::schema::context::{Cx, FileRead};
use crate::schema::fields::Fields;
use crate::schema::host_index::HostIndex;
use crate::schema::limits::MAX_DURATION;
use crate::schema::names;
use crate::schema::quantity;
use crate::text::doc::{Raw, TomlTable};
use crate::text::error::{Errors, Sink};
use crate::text::load::Scenario;
use crate::text::message_text::grouped;
use crate::text::source::At;
use forebay_experiment::Experiment;
use forebay_experiment::network::PortConfig;
use forebay_experiment::registry::Place;
use forebay_experiment::stopping::rule::Stop;
use forebay_experiment::transport::{Chosen, Ecn, Group};
use forebay_experiment::world::World;
use forebay_queues::{Marking, QueueEntry};
use forebay_types::{QueueLen, Rate, Time};
use serde_json::{Map, Value as Json};

/// Checked scenario.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Name of the scenario; a legal name of a folder.
    pub name: String,
    /// Seed of the first run.
    pub seed: u64,
    /// Number of runs with independent seeds, 1 to 10 000.
    pub runs: u32,
    /// Backend, which supports all variants.
    pub world: &'static dyn World,
    /// True if that is the default backend.
    pub is_default_world: bool,
    /// One configuration for each transport to compare; at least one.
    pub variants: Vec<Variant>,
    /// Objective of `[advise]`.
    pub objective: Option<Objective>,
    /// The rule of `[stop]`, which ends runs before `duration` is over.
    pub stop: Option<Stop>,
    /// Expected ranges of metrics.
    pub expectations: Vec<Expectation>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Files that the scenario names, such as size tables and flow lists. With the echo of a variant and a seed, they determine a run.
    pub files: Vec<FileRead>,
}

impl Resolved {
    /// The only experiment of a program that sends messages while the simulation runs ([`Scenario::resolve_for_program`]).
    ///
    /// # Errors
    /// Another backend than `world`, or several transports to compare.
    pub fn for_program(&self, world: &str) -> Result<&Experiment, String> {
        if self.world.name() != world {
            return Err(format!("the scenario has `world = \"{}\"`; an engine needs \"{world}\"", self.world.name()));
        }
        let [variant] = self.variants.as_slice() else {
            let labels: Vec<&str> = self.variants.iter().map(|v| v.label.as_str()).collect();
            let labels = labels.join(", ");
            return Err(format!("the scenario compares transports ({labels}); an engine needs one: set `transport.cc`"));
        };
        Ok(&variant.config)
    }
}

impl Resolved {
    /// Seed of run `run` (from 0). Seeds are consecutive, so that each run can be repeated alone with `--seed`.
    pub fn run_seed(&self, run: u32) -> u64 {
        self.seed.wrapping_add(u64::from(run))
    }

    /// Number of runs of each variant: [`Resolved::runs`], or one if all would be equal.
    pub fn repetitions(&self) -> u32 {
        if self.world.uses_seeds() { self.runs } else { 1 }
    }
}

/// One configuration to run.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Name that distinguishes it from the others: its congestion control.
    pub label: String,
    /// Names of its transport groups, in the order of `config.groups`.
    pub transports: Vec<String>,
    /// Experiment; its seed is that of the first run.
    pub config: Experiment,
    /// The scenario with every default written out, in the keys of the scenario file.
    pub echo: Json,
    /// A name for every port: the topology's, or `from->to`.
    pub port_names: Vec<String>,
    /// Name of every node.
    pub node_names: Vec<String>,
    /// Name of every workload: the `class` column of the results.
    pub class_names: Vec<String>,
}

impl Scenario {
    /// Checks everything and builds the experiments. For scenarios with a sweep see [`Scenario::at`].
    ///
    /// # Errors
    /// All errors of the file, in its order.
    pub fn resolve(&self) -> Result<Resolved, Errors> {
        self.resolve_with(false)
    }

    /// As [`Scenario::resolve`], for a program that sends messages while the simulation runs. It is the last workload of each variant. The scenario
    /// needs no other one.
    ///
    /// # Errors
    /// As [`Scenario::resolve`].
    pub fn resolve_for_program(&self) -> Result<Resolved, Errors> {
        self.resolve_with(true)
    }

    fn resolve_with(&self, program: bool) -> Result<Resolved, Errors> {
        let mut cx = Cx::new(self.worlds, Sink::new(self.sources.clone()), self.base.clone());
        let resolved = resolve(self, &mut cx, program);
        let result = cx.sink.finish(resolved);
        match &self.point {
            Some(point) => result.map_err(|e| e.with_help(point)),
            None => result,
        }
    }
}

fn resolve(scenario: &Scenario, cx: &mut Cx, program: bool) -> Option<Resolved> {
    let mut fields = Fields::new("the scenario", At::default(), &scenario.root);
    let name = match fields.get("name") {
        None => Some(names::from_stem(&scenario.stem)),
        Some(i) => names::scenario_name(cx, &i.node),
    };
    let seed = fields.get("seed").map_or(Some(1), |i| quantity::int(cx, "`seed`", &i.node, 0, i64::MAX));
    let seed = scenario.seed.or(seed.map(i64::cast_unsigned));
    let runs = fields.get("runs").map_or(Some(1), |i| quantity::int(cx, "`runs`", &i.node, 1, 10_000));
    let world = crate::resolve::world::world(cx, &mut fields);
    let duration = match fields.get("duration") {
        None => Some(None),
        Some(i) => quantity::time(cx, "`duration`", &i.node, MAX_DURATION).and_then(|t| {
            if t == Time::ZERO {
                cx.sink.error(i.node.at, "`duration` is zero", "legal: above 0, at most 200 days", None);
                return None;
            }
            Some(Some(t))
        }),
    };
    let warm = warm_start::start(cx, &mut fields);
    fields.refuse_removed(
        "skip",
        "every run simulates its whole duration; the results are the same without `skip`",
        &mut cx.sink,
    );
    let sections = ["topology", "transport", "observe"].map(|key| section(cx, &mut fields, key));
    let [topology_section, transport_section, observe_section] = sections;
    let advise_section = section(cx, &mut fields, "advise");
    let stop_section = section(cx, &mut fields, "stop");
    let expected = fields.get("expect");
    let expectations = expect(cx, expected);
    let workloads = fields.get("workload");
    if let Some(sweep) = scenario.root.get("sweep") {
        let help = Some("`forebay run` runs a sweep, `forebay check` explains it; the rest needs one scenario".to_owned());
        cx.sink.error(sweep.key_at, "the scenario is a sweep over many", "remove [sweep]", help);
        fields.get("sweep");
    }
    fields.finish(&mut cx.sink);

    let mut built = match topology_section {
        Some((at, table)) => topology(cx, at, table),
        None if scenario.root.get("topology").is_some() => None,
        None => {
            let help = Some("add [topology] with `kind`; forebay list shows the kinds".to_owned());
            cx.sink.error(At::default(), "the scenario has no [topology]", "no network", help);
            None
        }
    };
    let faulty = match (&mut built, topology_section) {
        (Some(built), Some((_, table))) => faults(cx, table, built, duration.flatten()),
        _ => None,
    };
    cx.hosts = built.as_ref().map(|b| HostIndex::new(&b.network));
    let transports = transports(cx, transport_section);
    let drafts = workload::drafts(cx, workloads, program);
    let classes: Vec<&str> = drafts.iter().flatten().map(workload::Draft::class).collect();
    let objective = advise(cx, advise_section, &classes);
    let mut stopping = stop::stop(cx, stop_section, &classes);
    if stop_section.is_some() && stopping.is_none() {
        return None;
    }
    let limit = duration.flatten();
    let observed = built.as_ref().and_then(|b| observe(cx, observe_section, &Ports::new(&b.network), limit));
    let (built, (), transports, drafts, duration) = (built?, faulty?, transports?, drafts?, duration?);
    packet_fits(cx, &transports);

    let mut variants = Vec::new();
    for t in &transports {
        marks_exist(cx, &built, t);
        shims_see_marks(cx, &built, t);
        note_unusual_settings(cx, &built, t);
        let mut traffic: Vec<_> =
            drafts.iter().filter_map(|d| d.build(cx, &built.network, (duration, seed.unwrap_or_default()), t)).collect();
        if traffic.len() < drafts.len() {
            continue;
        }
        if program {
            traffic.push(program::of_program(cx, &built.network, t)?);
        } else if workload::something_ends(cx, &drafts, &traffic, duration).is_none() {
            continue;
        }
        let mut groups = t.groups.clone();
        if drafts.iter().any(|d| !d.uses_transport()) {
            groups.push(Group::datagrams(&groups.first()?.tcp));
        }
        let tcp = drafts.iter().any(|d| d.uses_transport());
        for (id, g) in t.groups.enumerate().filter(|_| !program && (tcp || t.named)) {
            if !traffic.iter().any(|w| w.uses(id)) {
                cx.note(format!("the transport group `{}` is not used by any workload", g.name));
            }
        }
        let (mut network, mut topology_echo) = (built.network.clone(), built.echo.clone());
        if world.is_some_and(|w| w.has_host_queues()) {
            default_host_queue(cx, &built, &groups, (&mut network, &mut topology_echo))?;
        }
        let others = network.nodes.iter().filter(|n| n.host).count().saturating_sub(1) as u64;
        let packet = groups.iter().map(|g| u64::from(g.tcp.mss + g.tcp.header)).max().unwrap_or(1500);
        let framing = groups.iter().map(|g| u64::from(g.tcp.framing())).max().unwrap_or(0);
        let nodes = &network.nodes;
        for port in &mut network.ports {
            // The queue of a host counts IP packets (qdisc_pkt_len).
            port.set_queue_defaults(others, if nodes[port.from].host { packet - framing } else { packet });
        }
        let ((observe, mut observe_echo), name, seed, runs) = (observed.clone()?, name.clone()?, seed?, runs?);
        let mut echo = Map::new();
        echo.insert("name".into(), name.into());
        echo.insert("seed".into(), seed.into());
        echo.insert("runs".into(), runs.into());
        echo.insert("world".into(), world?.name().into());
        if let Some(d) = duration {
            echo.insert("duration".into(), d.to_string().into());
        }
        let mut config = Experiment { seed, duration, network, groups, workloads: traffic.into(), observe };
        if let Some(at) = warm? {
            echo.insert("start".into(), "warm".into());
            warm_start::apply(cx, at, &t.label, &mut config)?;
            observe_echo["warmup"] = quantity::time_text(config.observe.warmup).into();
        }
        note_unfilled_buffer(cx, &config);
        echo.insert("topology".into(), topology_echo);
        echo.insert("transport".into(), t.echo.clone());
        echo.insert("workload".into(), Json::Array(drafts.iter().map(workload::Draft::echo).collect()));
        echo.insert("observe".into(), observe_echo);
        if let Some((_, stop_echo, _)) = &stopping {
            echo.insert("stop".into(), stop_echo.clone());
        }
        variants.push(Variant {
            label: t.label.clone(),
            transports: config.groups.iter().map(|g| g.name.clone()).collect(),
            config,
            echo: Json::Object(echo),
            port_names: port_names(&built.network),
            node_names: built.network.nodes.iter().map(|n| n.name.clone()).collect(),
            class_names: drafts.iter().map(|d| d.class().to_owned()).collect(),
        });
    }
    let (runs, world) = (u32::try_from(runs?).ok()?, world?);
    if runs > 1 && !world.uses_seeds() {
        cx.note(format!(
            "a prediction, not a simulation: the backend `{}` is deterministic, and one run stands for all {runs}",
            world.name()
        ));
    }
    if let Some((stop, _, at)) = &mut stopping {
        stop.ratio &= variants.len() > 1;
        if let Some(v) = variants.first() {
            stop::find_ports(cx, *at, stop, &v.port_names, &v.config.network);
        }
    }
    let named: Vec<(&str, &Experiment)> = variants.iter().map(|v| (v.label.as_str(), &v.config)).collect();
    crate::resolve::world::supported(cx, &scenario.root, world, &named);
    if let Some((stop, _, at)) = &stopping {
        stop::supported(cx, *at, world, &named);
        if stop.budget.is_some() && scenario.point.is_some() {
            stop::refuse_budget_of_sweep(cx, *at);
        }
    }
    Some(Resolved {
        name: name?,
        seed: seed?,
        runs,
        world,
        is_default_world: world.name() == cx.worlds.default().name(),
        variants,
        objective,
        stop: stopping.map(|(stop, _, _)| stop),
        expectations: expectations?,
        notes: std::mem::take(&mut cx.notes),
        files: std::mem::take(&mut cx.files),
    })
}

/// Table of the top level.
fn section<'a>(cx: &mut Cx, fields: &mut Fields<'a>, key: &str) -> Option<(At, &'a TomlTable)> {
    let item = fields.get(key)?;
    match &item.node.raw {
        Raw::Table(t) => Some((item.node.at, t)),
        _ => {
            cx.sink.error(
                item.node.at,
                format!("`{key}` must be a table, not {}", item.node.describe()),
                format!("write [{key}]"),
                None,
            );
            None
        }
    }
}

/// Checks that every finite buffer holds the largest packet of every transport.
fn packet_fits(cx: &mut Cx, transports: &[Transports]) {
    let packet = transports.iter().flat_map(|t| &t.groups).map(|g| u64::from(g.tcp.mss + g.tcp.header)).max().unwrap_or(0);
    for site in cx.buffers.clone() {
        if let QueueLen::Bytes(n) = site.len
            && n < packet
        {
            let help = Some(format!("a full segment is {packet} B on the wire (`mss` + `header`)"));
            cx.sink.error(
                site.at,
                match site.key {
                    "shared-alpha" => format!("`shared-alpha` leaves a port {}, which is smaller than one packet", site.len),
                    key => format!("`{key}` is {}, which is smaller than one packet", site.len),
                },
                format!("legal: at least {packet}B"),
                help,
            );
        }
    }
}

/// Checks that a congestion control that needs marks has a marking queue and a stack with ECN.
fn marks_exist(cx: &mut Cx, built: &BuiltNetwork, transports: &Transports) {
    for ((_, cc, at), group) in transports.needs_marks.iter().zip(&transports.groups).filter(|(n, _)| n.0) {
        if !built.marks() && built.queue_named {
            // The scenario chose this queue: publications compare DCTCP on drop-tail too.
            cx.note(format!("`{cc}` runs without marks, since no switch port marks: it reacts to losses only"));
        } else if !built.marks() {
            let always = |q: &&QueueEntry| q.marking == Marking::Always;
            let queue = forebay_queues::REGISTRY.iter().find(always).map_or("", |q| q.entry.name);
            let ports = || built.network.ports.iter().filter(|p| !built.network.nodes[p.from].host);
            let slowest = ports().map(|p| p.rate).min().unwrap_or(Rate(10_000_000_000));
            let (k, of) = (common_threshold(slowest), slowest);
            let help = format!(
                "give a link a marking queue, such as queue = {{ kind = \"{queue}\", k = \"{k}pkt\" }}, common at {of}; other queues mark if `k` is set"
            );
            cx.sink.error(
                *at,
                format!("`{cc}` needs marked packets, and no switch port marks"),
                "no marking queue in [topology]",
                Some(help),
            );
        }
        if group.tcp.ecn == Ecn::Off {
            let help = "leave `ecn` out: each congestion control has the ECN mode it needs".to_owned();
            cx.sink.error(*at, format!("`{cc}` needs marked packets, and `ecn` is \"off\""), "never sees a mark", Some(help));
        }
    }
}

/// Common marking threshold of switches in packets: 20 at 1 Gbps and 65 at 10 Gbps (Alizadeh et al., SIGCOMM 2010, sections 3.5 and 4). Above 10 Gbps
/// it grows with the rate, as the bandwidth-delay product does (our choice; RFC 8257, section 5, gives no values).
fn common_threshold(rate: Rate) -> u64 {
    const GBPS: u64 = 1_000_000_000;
    match rate.0 {
        ..=GBPS => 20,
        r if r <= 10 * GBPS => 65,
        r => (r as u128 * 65 / (10 * u128::from(GBPS))) as u64,
    }
}

/// Adds a note if a shim needs marks and no port marks.
fn shims_see_marks(cx: &mut Cx, built: &BuiltNetwork, transports: &Transports) {
    for g in transports.groups.iter().filter(|_| !built.marks()) {
        if let Some(shim) = g.tcp.shims.iter().find(|s| shim::entry(cx.worlds, s).is_some_and(|e| e.wants_marks)) {
            let (shim, name) = (shim.name, &g.name);
            cx.note(format!("`{name}`: no switch port marks, so `{shim}` detects congestion by lost probes only"));
        }
    }
}

/// Adds a note about a bottleneck without a limit of its queue: the windows of the connections take the place of a buffer.
fn windows_limit_queue(cx: &mut Cx, built: &BuiltNetwork, transports: &Transports) {
    let network = &built.network;
    let unlimited = |port: &PortConfig| {
        let node = &network.nodes[port.from];
        !node.host && port.buffer.is_none() && node.shared_buffer.is_none() && port.queue_config.value().is_none()
    };
    let Some((name, _)) = network.named_ports.iter().find(|(_, port)| unlimited(&network.ports[*port])) else { return };
    let windows = transports.groups.iter().map(|g| (&g.name, g.tcp.rcv_buf.map_or(g.tcp.rcv_wnd, |_| g.tcp.window_limit())));
    let largest = windows.max_by_key(|(_, window)| *window).filter(|(_, window)| *window < 1 << 30);
    let of = largest.map_or_else(String::new, |(group, window)| {
        let full = transports.groups.iter().find(|g| g.name == *group).map_or(1, |g| u64::from(g.tcp.mss)).max(1);
        format!("; a receive window of `{group}` (`rcv-wnd`) holds {} B, or {} segments", grouped(window as f64), window / full)
    });
    cx.note(format!(
        "`{name}` has no `buffer`, so that the windows of the connections limit its queue and nothing is dropped there{of}"
    ));
}

/// Adds notes about legal but unusual settings.
fn note_unusual_settings(cx: &mut Cx, built: &BuiltNetwork, transports: &Transports) {
    let read = built.network.ports.iter().any(|p| p.queue.reads_priority());
    windows_limit_queue(cx, built, transports);
    for g in &transports.groups {
        let t = &g.tcp;
        let tags = |s: &&Chosen| shim::entry(cx.worlds, s).is_some_and(|e| e.place == Place::Tag);
        if let (Some(s), false) = (t.shims.iter().find(tags), read) {
            cx.note(format!(
                "`{}`: the shim `{}` tags packets, but no queue uses tags; strict-priority, dwrr, wfq, protect, pushout and pfabric do",
                g.name, s.name
            ));
        }
        if let Some(cc) = cx.worlds.cc(t.cc.name).filter(|l| l.ecn == Ecn::Dctcp && t.ecn == Ecn::Classic) {
            cx.note(format!(
                "`{}`: `{}` needs the number of marked packets (RFC 8257), but `ecn = \"classic\"` echoes the first mark until the sender \
                 responds (RFC 3168): a single mark counts as a whole window of marks",
                g.name, cc.entry.name
            ));
        }
        if t.ack_every > 1 && t.ack_delay >= t.rto_min {
            let (delay, min) = (t.ack_delay, t.rto_min);
            cx.note(format!(
                "`{}`: the delayed-ACK timer ({delay}) is not below rto-min ({min}): expect spurious timeouts",
                g.name
            ));
        }
    }
}
