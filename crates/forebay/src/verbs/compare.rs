//! `forebay compare`: one scenario on several backends and stacks, side by side.

mod packets;

use crate::closed_forms::ClosedForms;
use crate::input::resolve_path;
use crate::interrupt::{self, Forced};
use crate::terminal::escape;
use crate::terminal::failure::Failure;
use crate::terminal::output::{NumberFormat, print, print_data};
use crate::terminal::progress::{Display, ProgressFormat};
use crate::terminal::sentences;
use crate::terminal::style::{self, NAME, paint};
use crate::terminal::summary_table;
use crate::terminal::wrap;
use crate::verbs::compare_kernels;
use forebay_analysis::known_sentences;
use forebay_runner::{Job, Outcome, Side, Watcher, jobs, known_side_by_side, run_all, run_for_same_time, run_until_known};
use forebay_scenario::{Errors, Resolved};
use forebay_store::summary::{GROUP_METRICS, NETWORK_METRICS};
use forebay_store::{Host, KnownFigure};
use forebay_types::Time;
use forebay_validate::kernels::Options;
use miette::Diagnostic as _;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

/// Stacks on which a scenario is compared, if it does not have several transports.
const STACKS: [&str; 2] = ["linux", "ns2"];

/// Run a scenario on several backends and print their results in one table, or compare two Linux kernels
///
/// With two --kernel and without --worlds, scenarios and packet scripts run on both kernels. The output names the first differing packet and state of each
/// connection, the kernel functions that use that state, and the effect on goodput and completion times. Without FILES the built-in suite runs. Exit
/// code 0: no difference; 1: the kernels differ, a run failed, or a backend of --worlds or a --kernel has no results; 2: an argument is wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario file; for two kernels any number of scenario files, packet scripts (*.pkt) and folders of scripts
    #[arg(value_name = "FILE", required_unless_present = "kernel")]
    files: Vec<PathBuf>,
    /// Change a value of the file, such as topology.senders=64 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of the first run, instead of the file's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of runs with different seeds, instead of the file's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// The backends [default: model,sim,linux; with two kernels only linux]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    worlds: Vec<String>,
    /// A kernel for the backend linux: its version or name in `forebay kernel list`, or the path of a program; given twice, both are compared
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Show the first difference between the packets of simulator and Linux, for each connection, in the order of time
    #[arg(long)]
    packets: bool,
    /// End the runs when the ratio of the results is known to a percentage, such as 5%: stop.within of the file. With --packets: largest difference in
    /// time of packets that count as equal [default: 0ns]
    #[arg(long, value_name = "PERCENT|TIME", value_parser = Within::parse)]
    within: Option<Within>,
    /// Add all values of the closed forms, beside the measurements of each other backend, and the reasons of those that do not apply
    #[arg(long, conflicts_with = "packets")]
    models: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = NumberFormat::Table)]
    format: NumberFormat,
    /// Number of threads, for parallel runs, or inside a run if there are fewer runs than threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
}

/// Value of `--within`.
#[derive(Debug, Clone)]
enum Within {
    /// Accuracy of figures, as the scenario file writes it.
    Accuracy(String),
    /// Difference in time.
    Time(Time),
}

impl Within {
    fn parse(text: &str) -> Result<Within, String> {
        if text.trim_end().ends_with('%') {
            return Ok(Within::Accuracy(text.trim().to_owned()));
        }
        text.parse().map(Within::Time).map_err(|e| format!("{e}; a percentage is an accuracy, such as 5%"))
    }
}

/// A backend with its stack and kernel: one configuration of the comparison.
#[derive(Debug, Clone)]
struct Configuration {
    world: String,
    stack: Option<&'static str>,
    kernel: Option<String>,
}

impl Configuration {
    /// The two heads of its column.
    fn heads(&self) -> [String; 2] {
        let world = self.kernel.as_ref().map_or_else(|| self.world.clone(), |k| format!("{} {k}", self.world));
        [world, self.stack.map_or_else(String::new, |s| format!("stack {s}"))]
    }

    /// Its name in sentences.
    fn name(&self) -> String {
        self.heads().join(" ").trim().to_owned()
    }

    /// The scenario in this configuration. `[stop]` is left out for a backend that cannot end a run.
    fn scenario(&self, args: &Args) -> Result<Resolved, Errors> {
        let stack = self.stack.map(|s| format!("transport.stack={s}"));
        let sets: Vec<String> = args.sets().into_iter().chain(stack).chain([format!("world={}", self.world)]).collect();
        let mut scenario = forebay_scenario::load(forebay_backends::all(), &args.file(), &sets, args.seed)?;
        if forebay_backends::all().find(&self.world).is_some_and(|world| !world.decides()) {
            scenario.remove_stop();
        }
        scenario.resolve()
    }
}

/// Time to remove guests and namespaces of other backends than the simulator after a signal.
const TEARDOWN: Duration = Duration::from_secs(5);

impl Args {
    /// The backends.
    fn worlds(&self) -> Vec<&str> {
        if self.worlds.is_empty() { vec!["model", "sim", "linux"] } else { self.worlds.iter().map(String::as_str).collect() }
    }

    /// The scenario file, once [`execute`] has checked that there is one.
    fn file(&self) -> PathBuf {
        resolve_path(&self.files[0])
    }

    /// All overrides of the file.
    fn sets(&self) -> Vec<String> {
        let runs = self.runs.map(|n| format!("runs={n}"));
        let within = self.within.as_ref().and_then(|within| match within {
            Within::Accuracy(percentage) => Some(format!("stop.within={percentage}")),
            Within::Time(_) => None,
        });
        self.set.iter().cloned().chain(runs).chain(within).collect()
    }

    /// Options that a comparison of two kernels does not have.
    fn refused_for_kernels(&self) -> Option<&'static str> {
        let given = [
            ("--runs", self.runs.is_some()),
            ("--packets", self.packets),
            ("--within", self.within.is_some()),
            ("--models", self.models),
            ("--set", self.files.is_empty() && !self.set.is_empty()),
            ("--seed", self.files.is_empty() && self.seed.is_some()),
        ];
        given.into_iter().find(|g| g.1).map(|g| g.0)
    }
}

/// Runs the scenario on all backends, and prints the results.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    if let ([a, b], true) = (args.kernel.as_slice(), args.worlds.is_empty()) {
        if let Some(option) = args.refused_for_kernels() {
            return Err(Failure::Usage(format!(
                "{option} is not for the comparison of two kernels; --set and --seed need FILES; with --worlds linux the table compares them"
            )));
        }
        let parallel = args.threads != Some(1);
        let options = Options { sets: args.set.clone(), seed: args.seed, parallel };
        return compare_kernels::execute([a, b], &args.files, &options, args.format);
    }
    if args.files.len() != 1 {
        return Err(Failure::Usage(format!(
            "expected one scenario file, got {}; only a comparison of two kernels (--kernel A --kernel B) has none or several",
            args.files.len()
        )));
    }
    for name in &args.worlds() {
        if forebay_backends::all().find(name).is_none() {
            return Err(Failure::Usage(format!("there is no backend `{name}`; `forebay list worlds` names them")));
        }
    }
    if !args.kernel.is_empty() && !args.worlds().contains(&"linux") {
        return Err(Failure::Usage("--kernel is for the backend `linux`: add it to --worlds, or leave --kernel out".into()));
    }
    args.kernel.iter().try_for_each(|name| forebay_backends::check_kernel(name)).map_err(Failure::Usage)?;
    match (&args.within, args.packets) {
        (Some(Within::Accuracy(_)), true) => {
            return Err(Failure::Usage("--within is a time with --packets, such as 10us".into()));
        }
        (Some(Within::Time(_)), false) => {
            return Err(Failure::Usage("--within is a percentage without --packets, such as 5%".into()));
        }
        _ => {}
    }
    // Errors of the scenario are reported as such, once.
    let plain = forebay_scenario::load(forebay_backends::all(), &args.file(), &args.sets(), args.seed)?.resolve()?;
    // Guests and namespaces of the other backends are removed before the process ends.
    let grace = if args.worlds().iter().all(|w| *w == "sim" || *w == "model") { interrupt::GRACE } else { TEARDOWN };
    interrupt::listen_or_end(Forced { grace, json: false, continues: false })?;
    if args.packets { packets::execute(args) } else { side_by_side(args, &plain) }
}

/// All configurations in the order of their columns: the closed forms, then the backends of each stack.
fn configurations(args: &Args) -> Vec<Configuration> {
    let with = |world: &str, stack: Option<&'static str>, kernel: Option<&String>| Configuration {
        world: world.to_owned(),
        stack,
        kernel: kernel.cloned(),
    };
    // True if the scenario can run on this stack. Several transports have stacks of their own.
    let chosen = |stack| Configuration { world: "sim".into(), stack: Some(stack), kernel: None }.scenario(args).is_ok();
    let stacks: Vec<Option<&'static str>> =
        if STACKS.into_iter().all(chosen) { STACKS.into_iter().map(Some).collect() } else { vec![None] };
    let mut all: Vec<Configuration> = args.worlds().iter().filter(|w| **w == "model").map(|w| with(w, None, None)).collect();
    for stack in stacks {
        for world in args.worlds().into_iter().filter(|w| *w != "model") {
            if world == "linux" && !args.kernel.is_empty() {
                all.extend(args.kernel.iter().map(|k| with(world, stack, Some(k))));
            } else {
                all.push(with(world, stack, None));
            }
        }
    }
    all
}

/// Fails if a backend or kernel that the command line names has no results; `present` are those that have. The default backends may be missing.
fn require_results(args: &Args, present: &[String]) -> Result<(), Failure> {
    // Closed forms that do not apply have the reason as their result.
    let named = |c: &Configuration| args.worlds.contains(&c.world) && c.world != "model";
    let wanted = |c: &Configuration| c.kernel.is_some() || named(c);
    let mut missing: Vec<String> = Vec::new();
    for [name, _] in configurations(args).iter().filter(|c| wanted(c)).map(Configuration::heads) {
        if !present.contains(&name) && !missing.contains(&name) {
            missing.push(name);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Machine(format!("no results of {}: the notes in the output name the reason", missing.join(", "))))
}

/// Results of a configuration.
struct Column {
    configuration: Configuration,
    /// One for each variant.
    variants: Vec<summary_table::Variant>,
    /// With `--models`, on all backends but theirs.
    closed_forms: Option<ClosedForms>,
}

impl Column {
    /// Without results.
    fn new(args: &Args, configuration: &Configuration, resolved: &Resolved) -> Column {
        let variant = |v: &forebay_scenario::Variant| summary_table::Variant { label: v.label.clone(), seeds: Vec::new() };
        Column {
            configuration: configuration.clone(),
            variants: resolved.variants.iter().map(variant).collect(),
            closed_forms: (args.models && configuration.world != "model").then(|| ClosedForms::of(resolved)),
        }
    }

    /// Adds a run of a variant. Returns a remark of the backend about its quality, if there is one.
    fn add(&mut self, variant: usize, outcome: Outcome) -> Option<String> {
        let remark = &outcome.report.remark;
        let remark = (!remark.is_empty()).then(|| format!("{}, seed {}: {remark}", outcome.info.variant(), outcome.info.seed()));
        if let Some(closed_forms) = &mut self.closed_forms {
            closed_forms.add(variant, &outcome.report);
        }
        self.variants[variant].seeds.push(outcome.summary);
        remark
    }
}

/// Results of all configurations.
#[derive(Default)]
struct Columns {
    all: Vec<Column>,
    /// Configurations without results, with the reason, and remarks of backends.
    notes: Vec<String>,
    /// Figures of `[stop]`.
    known: Vec<KnownFigure>,
}

/// Configurations that run the scenario, each with the scenario. The others become notes.
fn ready(args: &Args, notes: &mut Vec<String>) -> Vec<(Configuration, Resolved)> {
    let mut all = Vec::new();
    for configuration in configurations(args) {
        match configuration.scenario(args) {
            Ok(resolved) => all.push((configuration, resolved)),
            Err(errors) => notes.push(format!("{}: {}", configuration.name(), reasons(&errors, &configuration.world))),
        }
    }
    all
}

/// Runs all configurations for the whole duration.
fn whole(args: &Args) -> Result<Columns, Failure> {
    let mut columns = Columns::default();
    for (configuration, resolved) in ready(args, &mut columns.notes) {
        columns.add_whole(args, &configuration, &resolved)?;
    }
    Ok(columns)
}

impl Columns {
    /// Runs a configuration for the whole duration.
    fn add_whole(&mut self, args: &Args, configuration: &Configuration, resolved: &Resolved) -> Result<(), Failure> {
        let name = configuration.name();
        match run(args, configuration, resolved) {
            Ok(done) => {
                self.notes.extend(done.remarks.into_iter().map(|r| format!("{name}: {r}")));
                self.all.push(done.column);
            }
            Err(Failure::Engine(why)) => self.notes.push(format!("{name}: {why}")),
            Err(other) => return Err(other),
        }
        Ok(())
    }
}

/// Runs the simulator until the figures of `[stop]` are known, and the other backends for the same simulated time; without the table all for the whole
/// duration.
fn until_known(args: &Args, plain: &Resolved) -> Result<Columns, Failure> {
    let Some(mut stop) = plain.stop.clone() else { return whole(args) };
    let mut columns = Columns::default();
    let (models, ready): (Vec<_>, Vec<_>) = ready(args, &mut columns.notes).into_iter().partition(|(c, _)| c.world == "model");
    for (configuration, resolved) in &models {
        columns.add_whole(args, configuration, resolved)?;
    }
    // The first one is that to which the ratios are, and decides.
    let (mut order, others): (Vec<usize>, Vec<usize>) = (0..ready.len()).partition(|i| ready[*i].1.stop.is_some());
    if order.is_empty() {
        let text = "[stop] and --within need a backend that can end a run: add `sim` to --worlds";
        return Err(Failure::Usage(text.into()));
    }
    let deciding = order.len();
    // The table as it is written: a file with a single variant has no ratios of its own.
    let asked = plain.variants.first().is_none_or(|v| v.echo["stop"]["ratio"] != json!(false));
    stop.ratio = asked && deciding > 1;
    order.extend(others);
    let mut measured: Vec<Column> = ready.iter().map(|(c, resolved)| Column::new(args, c, resolved)).collect();
    let threads = args.threads.map_or(Host::here().cpus, usize::from);
    for v in 0..plain.variants.len() {
        let side = |i: &usize| {
            let (configuration, resolved) = &ready[*i];
            let name = configuration.name();
            let label = if plain.variants.len() > 1 { format!("{}, {name}", plain.variants[v].label) } else { name };
            Side { label, resolved: resolved.clone(), variant: v }
        };
        let sides: Vec<Side> = order.iter().map(side).collect();
        let watched = |labels: &[Side]| {
            let labels: Vec<String> = labels.iter().map(|s| s.label.clone()).collect();
            Display::new(progress(args), &labels)
        };
        let mut display = watched(&sides[..deciding]);
        let runs = run_until_known(&sides[..deciding], &stop, threads, interrupt::flag(), &mut |jobs, at| display.tick(jobs, at));
        display.clear();
        let mut runs: Vec<Option<Vec<Outcome>>> = runs?.into_iter().map(Some).collect();
        for side in &sides[deciding..] {
            let (configuration, _) = &ready[order[runs.len()]];
            forebay_backends::choose_kernel(configuration.kernel.clone());
            let mut display = watched(std::slice::from_ref(side));
            let reference = runs[0].as_deref().unwrap_or_default();
            let tick = &mut |jobs: &[Job], at| display.tick(jobs, at);
            let own = run_for_same_time(side, reference, threads, interrupt::flag(), tick).map_err(Failure::from);
            display.clear();
            runs.push(match own {
                Ok(own) => Some(own),
                Err(Failure::Engine(why)) => {
                    columns.notes.push(format!("{}: {why}", side.label));
                    None
                }
                Err(other) => return Err(other),
            });
        }
        if interrupt::requested() {
            return Err(Failure::Interrupted);
        }
        let present: Vec<(&Side, &[Outcome])> =
            sides.iter().zip(&runs).filter_map(|(side, runs)| Some((side, runs.as_deref()?))).collect();
        columns.known.extend(known_side_by_side(&stop, &present));
        for (i, outcome) in order.iter().zip(runs).flat_map(|(i, runs)| runs.into_iter().flatten().map(move |o| (*i, o))) {
            let remark = measured[i].add(v, outcome);
            columns.notes.extend(remark.map(|r| format!("{}: {r}", ready[i].0.name())));
        }
    }
    columns.all.extend(measured.into_iter().filter(|c| c.variants.iter().all(|v| !v.seeds.is_empty())));
    Ok(columns)
}

fn side_by_side(args: &Args, plain: &Resolved) -> Result<(), Failure> {
    let Columns { all: columns, notes, known } = until_known(args, plain)?;
    let present: Vec<String> = columns.iter().map(|c| c.configuration.heads()[0].clone()).collect();
    if args.format == NumberFormat::Json {
        let closed_forms = args.models.then(|| ClosedForms::of(plain));
        let mut document = document(plain, &columns, &notes, closed_forms.as_ref());
        if plain.stop.is_some() {
            document["known"] = json!(known);
        }
        print_data(&format!("{document:#}\n"))?;
        return require_results(args, &present);
    }
    let colour = style::stdout();
    let mut out = String::new();
    if !known.is_empty() {
        out.push_str(&sentences::render(&known_sentences(&known), colour));
        out.push('\n');
    }
    for (v, variant) in plain.variants.iter().enumerate() {
        let of: Vec<summary_table::Variant> = columns
            .iter()
            .filter_map(|c| c.variants.get(v))
            .map(|t| summary_table::Variant { label: t.label.clone(), seeds: t.seeds.clone() })
            .collect();
        let heads = |list: &[summary_table::Source]| {
            let line =
                |i: usize| -> Vec<String> { list.iter().map(|&(c, _)| columns[c].configuration.heads()[i].clone()).collect() };
            let groups: Vec<String> = list.iter().map(|&(c, g)| of[c].seeds[0].groups[g].name.clone()).collect();
            let several = list.iter().any(|c| c.1 > summary_table::FIRST);
            [line(0), line(1)].into_iter().chain(several.then_some(groups)).collect()
        };
        if plain.variants.len() > 1 {
            let _ = writeln!(out, "{}", paint(colour, NAME, &variant.label));
        }
        out.push_str(&summary_table::render_under(&of, heads, None, wrap::stdout(), colour));
        out.push('\n');
        let measured = columns.iter().filter(|c| v < c.variants.len()).filter_map(|c| Some((c, c.closed_forms.as_ref()?)));
        for (column, closed_forms) in measured.clone() {
            let beside = format!("closed forms beside {}", column.configuration.heads().join(" ").trim());
            let _ = writeln!(out, "{}", paint(colour, NAME, &beside));
            out.push_str(&closed_forms.table(v, true, colour));
        }
        if args.models && measured.count() == 0 {
            out.push_str(&ClosedForms::of(plain).table(v, false, colour));
        }
    }
    notes.iter().for_each(|n| _ = writeln!(out, "{}", paint(colour, style::WARNING, &escape::escape(n, colour))));
    print(&out)?;
    require_results(args, &present)
}

/// Runs all variants of a configuration with all seeds.
fn run(args: &Args, configuration: &Configuration, resolved: &Resolved) -> Result<Collector, Failure> {
    forebay_backends::choose_kernel(configuration.kernel.clone());
    let labels: Vec<String> = resolved.variants.iter().map(|v| v.label.clone()).collect();
    let column = Column::new(args, configuration, resolved);
    let mut collector = Collector { display: Display::new(progress(args), &labels), column, remarks: Vec::new() };
    let threads = args.threads.map_or(Host::here().cpus, usize::from);
    let result = run_all(resolved, &jobs(resolved), threads, interrupt::flag(), &mut collector);
    collector.display.clear();
    result?;
    if interrupt::requested() { Err(Failure::Interrupted) } else { Ok(collector) }
}

/// Progress on a terminal.
fn progress(args: &Args) -> ProgressFormat {
    if std::io::stderr().is_terminal() && args.format == NumberFormat::Table { ProgressFormat::Bar } else { ProgressFormat::None }
}

struct Collector {
    display: Display,
    column: Column,
    /// Remarks of backends about the quality of their runs.
    remarks: Vec<String>,
}

impl Watcher for Collector {
    type Error = Failure;

    fn tick(&mut self, jobs: &[Job], elapsed: Duration) {
        self.display.tick(jobs, elapsed);
    }

    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Failure> {
        let job = &jobs[outcome.job];
        self.display.run_done(job, &outcome);
        self.remarks.extend(self.column.add(job.variant(), outcome));
        Ok(())
    }
}

/// The reasons of a backend that does not run the scenario, or some of its variants.
fn reasons(errors: &Errors, world: &str) -> String {
    let refused = format!("the backend `{world}` does not run ");
    let all = errors.related().into_iter().flatten().map(|e| e.to_string().trim_start_matches(&refused).to_owned());
    // The refused variant is named once.
    let mut refused_variant = String::new();
    let mut one = |text: String| match text.split_once(": ") {
        Some((of, reason)) if of == refused_variant => reason.to_owned(),
        Some((of, _)) => {
            of.clone_into(&mut refused_variant);
            text
        }
        None => text,
    };
    format!("does not run {}", all.map(&mut one).collect::<Vec<_>>().join("; "))
}

/// The numbers for programs: by configuration, variant, run and transport group.
fn document(plain: &Resolved, columns: &[Column], notes: &[String], closed_forms: Option<&ClosedForms>) -> Value {
    let number = |v: Option<f64>| v.filter(|v| v.is_finite());
    let run = |s: &forebay_store::summary::Summary| {
        let groups = s.groups.iter().map(|g| {
            let numbers: Map<String, Value> = GROUP_METRICS.iter().map(|m| (m.name.into(), number((m.get)(g)).into())).collect();
            json!({"transport": g.name, "numbers": numbers})
        });
        let network: Map<String, Value> =
            NETWORK_METRICS.iter().map(|m| (m.name.into(), number((m.get)(&s.network)).into())).collect();
        json!({"groups": groups.collect::<Vec<_>>(), "network": network})
    };
    let column = |c: &Column| {
        let variant =
            |v: &summary_table::Variant| json!({"variant": v.label, "runs": v.seeds.iter().map(run).collect::<Vec<_>>()});
        let mut variants: Vec<Value> = c.variants.iter().map(variant).collect();
        if let Some(closed_forms) = &c.closed_forms {
            closed_forms.add_to(&mut variants);
        }
        json!({"world": c.configuration.world, "stack": c.configuration.stack, "kernel": c.configuration.kernel, "variants": variants})
    };
    let mut all = json!({"name": plain.name, "columns": columns.iter().map(column).collect::<Vec<_>>(), "notes": notes});
    if let Some(closed_forms) = closed_forms {
        let mut variants: Vec<Value> = plain.variants.iter().map(|v| json!({"variant": v.label})).collect();
        closed_forms.add_to(&mut variants);
        all["closed_forms"] = variants.into();
    }
    all
}
