//! Every numeric key runs at its smallest and largest legal value, with each pair of the other choices and flags, or is refused by an error
//! that names it. The lists come from the registries, so that new keys are covered automatically.
//!
//! The runs check debug assertions, arithmetic overflow, termination, and the balances of [`judge`].

#![expect(
    clippy::print_stdout,
    reason = "how many runs there were, for `--nocapture`; with FOREBAY_SHOW which of them, and every refusal"
)]

use crate::matrix::{ends as hosts_of, topology_text, workload_text};
use forebay_checks::{one, repository};
use forebay_experiment::profile::{PARAMS, PROFILES};
use forebay_experiment::report::{Cut, Report, RunError};
use forebay_experiment::{Experiment, topology, workload};
use forebay_param::{Entry, Kind, Param};
use forebay_scenario::{Scenario, Variant, ends};
use forebay_sim::{cc, run, shim};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// Transmissions of one run; the largest of these scenarios takes a twentieth.
const MOST_HOPS: u64 = 2_000_000;
/// Progress reports of one run, each after at most 100 000 activations.
const MOST_LOOKS: u32 = 40;
/// Messages, hosts and switches of a run above which a value is not run in every mode.
const LARGE: usize = 20_000;
/// Wall time of one run that never reaches the callback. Runs take milliseconds.
const LONGEST: Duration = Duration::from_secs(300);

/// Duration of runs, and of runs that would take too long with it.
const USUAL: &str = "duration = \"40ms\"";
const SHORT: &str = "duration = \"10us\"";

/// Recorded data: everything.
const OBSERVE: &str = "[observe]\nwarmup = \"2us\"\noccupancy = \"all\"\nqueue = { port = \"all\", every = \"1ms\" }\n\
                       tcp = { flows = [0, 1], every = \"1ms\" }\n";

/// The keys of a table and their values as TOML.
#[derive(Debug, Clone, Default)]
struct Table(Vec<(String, String)>);

impl Table {
    /// A table from `{ a = 1, b = [2, 3] }`, from lines `a = 1`, or from the name of a kind in quotes.
    fn of(text: &str) -> Table {
        let text = text.trim();
        if text.starts_with('"') {
            return Table(vec![("kind".to_owned(), text.to_owned())]);
        }
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
        let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
        for (at, c) in inner.char_indices().chain([(inner.len(), '\n')]) {
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                ',' | '\n' if depth == 0 => {
                    items.extend(inner[start..at].split_once('=').map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned())));
                    start = at + 1;
                }
                _ => {}
            }
        }
        Table(items)
    }

    fn with(&self, key: &str, value: &str) -> Table {
        let mut table = self.without(key);
        table.0.push((key.to_owned(), value.to_owned()));
        table
    }

    fn without(&self, key: &str) -> Table {
        Table(self.0.iter().filter(|(k, _)| k != key).cloned().collect())
    }

    fn inline(&self) -> String {
        let items: Vec<String> = self.0.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        format!("{{ {} }}", items.join(", "))
    }

    fn lines(&self) -> String {
        self.0.iter().map(|(k, v)| format!("{k} = {v}\n")).collect()
    }
}

/// A scenario whose tables can be changed one by one. `law`, `shim` and `queue` are tables of their own.
#[derive(Debug, Clone)]
struct Draft {
    topology: Table,
    transport: Table,
    law: Table,
    shim: Option<Table>,
    queue: Table,
    workload: Table,
    /// A second workload.
    more: &'static str,
}

/// The table of a [`Draft`] that a number belongs to.
#[derive(Debug, Clone, Copy)]
enum Place {
    Topology,
    Transport,
    Law,
    Shim,
    Queue,
    Workload,
}

impl Draft {
    /// Two senders that share a link of 100 Mbps for 40 ms, with losses, marks and timeouts.
    fn new() -> Draft {
        Draft {
            topology: Table::of(
                "kind = \"many-to-one\"\nsenders = 2\naccess = { rate = \"200Mbps\", delay = \"20us\" }\n\
                 bottleneck = { rate = \"100Mbps\", delay = \"20us\", buffer = \"20pkt\", queue = QUEUE }",
            ),
            transport: Table::of("stack = \"linux\"\nrto-min = \"2ms\"\nrto-initial = \"3ms\""),
            law: Table::of("\"newreno\""),
            shim: None,
            queue: Table::of("{ kind = \"dctcp-step\", k = \"5pkt\" }"),
            workload: Table::of("kind = \"long\""),
            more: "[[workload]]\nkind = \"incast\"\nblock = \"9KB\"\njitter = \"10us\"\ndeadline = \"4ms\"\n",
        }
    }

    fn table(&mut self, place: Place) -> &mut Table {
        match place {
            Place::Topology => &mut self.topology,
            Place::Transport => &mut self.transport,
            Place::Law => &mut self.law,
            Place::Shim => self.shim.get_or_insert_default(),
            Place::Queue => &mut self.queue,
            Place::Workload => &mut self.workload,
        }
    }

    fn with(&self, place: Place, key: &str, value: &str) -> Draft {
        let mut draft = self.clone();
        let table = draft.table(place);
        *table = table.with(key, value);
        draft
    }

    fn text(&self) -> String {
        let mut out = format!("{USUAL}\n[topology]\n");
        out.push_str(&self.topology.lines().replace("QUEUE", &self.queue.inline()));
        let _ = write!(out, "[transport]\ncc = {}\n{}", self.law.inline(), self.transport.lines());
        if let Some(shim) = &self.shim {
            let _ = writeln!(out, "shim = {}", shim.inline());
        }
        let _ = write!(out, "[[workload]]\n{}{}{OBSERVE}", self.workload.lines(), self.more);
        out
    }
}

/// How a scenario ended.
enum Outcome {
    Refused(String),
    /// Completed, with this many messages, hosts and switches.
    Ran(usize),
    Failed(String),
    /// Stopped at a limit.
    Long,
    /// Did not return.
    Hangs,
}

/// The variants of a scenario, or the errors as a user reads them.
fn variants(text: &str) -> Result<Vec<Variant>, String> {
    let folder = repository().join("scenarios");
    let scenario = Scenario::from_text(forebay_worlds::all(), text, "ranges.toml", &folder, &[], None);
    scenario.and_then(|s| s.resolve()).map(|s| s.variants).map_err(|e| e.render())
}

fn attempt(text: &str, also: &dyn Fn(&Report) -> Result<(), String>) -> Outcome {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let variants = match variants(text) {
            Ok(variants) => variants,
            Err(errors) => return Outcome::Refused(errors),
        };
        let mut size = 0;
        for v in variants {
            match start(&v.config) {
                Err(RunError::Interrupted) => return Outcome::Long,
                Err(e) => return Outcome::Failed(format!("does not start: {e}")),
                Ok(report) => {
                    size += report.flows.len() + v.config.network.nodes.len();
                    if let Err(why) = judge(&v.config, &report).and_then(|()| also(&report)) {
                        return Outcome::Failed(why);
                    }
                }
            }
        }
        Outcome::Ran(size)
    }));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Outcome::Failed(format!("panics: {}", text.unwrap_or_default()))
    })
}

fn start(config: &Experiment) -> Result<Report, RunError> {
    let checked = config.check().map_err(|e| RunError::Unknown(e.to_string()))?;
    let mut looks = 0;
    let mut progress = |p: run::Progress| {
        looks += 1;
        if looks > MOST_LOOKS || p.packet_hops > MOST_HOPS { ControlFlow::Break(Cut::Abandon) } else { ControlFlow::Continue(()) }
    };
    run::run(checked, &mut progress)
}

/// Balances of every report.
fn judge(config: &Experiment, r: &Report) -> Result<(), String> {
    for f in &r.flows {
        let sane = f.cwnd_max.is_finite() && f.cwnd_max >= 0.0 && f.cut_alpha.is_none_or(|a| (0.0..=1.0).contains(&a));
        let ended = f.end.ps().is_none_or(|end| end >= f.start.0 && end <= r.end.0);
        let bytes = f.size_bytes == 0 || f.bytes_acked <= f.size_bytes;
        if !(sane && ended && bytes && f.segs_retx <= f.segs_sent) {
            return Err(format!("impossible: {f:?}"));
        }
    }
    for (id, p) in r.ports.iter().enumerate() {
        let port = &config.network.ports.as_slice()[id];
        let asked = p.sent_pkts + p.dropped_overflow + p.dropped_shared + p.dropped_early + p.cut_waiting;
        let percentiles = p.queue_percentiles.is_none_or(|q| q[0] <= q[1] && q[1] <= q[2] && q[2] <= p.queue_max_pkts);
        let queue = p.queue_mean_pkts.is_finite() && p.queue_mean_pkts <= f64::from(p.queue_max_pkts) + 1e-9;
        // Packets count as sent when they are queued.
        let carries = port.rate.0 as f64 / 8.0 * r.end.as_secs_f64() + (f64::from(p.queue_max_pkts) + 2.0) * 65_535.0;
        let waiting = p.arrived_pkts.abs_diff(asked);
        if !((0.0..=1.0).contains(&p.busy) && percentiles && queue && p.marked <= p.arrived_pkts && waiting == 0) {
            return Err(format!("impossible: {p:?}"));
        }
        let on_wire = p.sent_bytes as f64 - carries;
        if on_wire > 0.0 {
            return Err(format!("more than the link carries: {p:?}"));
        }
    }
    Ok(())
}

/// Next step after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Repeat without another key, because the value was refused.
    Other,
    /// Go to the next mode.
    Mode,
    /// Go to the next value, because the run was large or its thread still runs.
    Key,
}

/// Runs scenarios on a separate thread, so that a scenario that does not end fails with its name.
#[derive(Default)]
struct Bench {
    failures: Vec<String>,
    refusals: BTreeSet<String>,
    ran: usize,
}

impl Bench {
    fn attempt(&self, text: &str) -> Outcome {
        self.attempt_with(text, |_| Ok(()))
    }

    fn attempt_with(&self, text: &str, also: impl Fn(&Report) -> Result<(), String> + Send + 'static) -> Outcome {
        let (done, wait) = mpsc::channel();
        let own = text.to_owned();
        std::thread::spawn(move || {
            let _ = done.send(attempt(&own, &also));
        });
        // The thread of a hanging run continues until the program ends.
        wait.recv_timeout(LONGEST).unwrap_or(Outcome::Hangs)
    }

    /// Runs a scenario with a number at an end of its range, which may be refused by an error that names `key`.
    fn number(&mut self, name: &str, key: &str, text: &str) -> Next {
        self.named(name, &[key], text)
    }

    /// As [`Bench::number`], of a value that has these keys.
    fn named(&mut self, name: &str, keys: &[&str], text: &str) -> Next {
        if std::env::var_os("FOREBAY_SHOW").is_some() {
            println!("{name}");
        }
        match self.attempt(text) {
            Outcome::Ran(size) => {
                self.ran += 1;
                return if size > LARGE { Next::Key } else { Next::Mode };
            }
            Outcome::Long if text.contains(SHORT) => {
                self.failures.push(format!("{name}: does not end, even in {SHORT}\n{text}"));
                return Next::Key;
            }
            // A rate is so high that a run of the usual length has too much to do.
            Outcome::Long => return self.named(name, keys, &text.replacen(USUAL, SHORT, 1)),
            Outcome::Hangs => {
                self.failures.push(format!("{name}: not over after {LONGEST:?}\n{text}"));
                return Next::Key;
            }
            Outcome::Refused(errors) => {
                if !keys.iter().any(|key| errors.contains(&format!("`{key}`"))) {
                    self.failures.push(format!("{name}: the error does not name {keys:?}:\n{errors}"));
                }
                self.refusals.insert(format!("{name}:\n{errors}"));
                return Next::Other;
            }
            Outcome::Failed(why) => self.failures.push(format!("{name}: {why}\n{text}")),
        }
        Next::Mode
    }

    /// All numbers of `params`, each with every row of `modes`.
    fn params(&mut self, what: &str, place: Place, params: &[Param], mut modes: Vec<(String, Draft)>) {
        if let Err(errors) = variants(&modes[0].1.text()) {
            panic!("{what}: the example is not legal:\n{errors}");
        }
        modes.retain(|(_, draft)| variants(&draft.text()).is_ok());
        let keys: Vec<String> = modes[0].1.clone().table(place).0.iter().map(|(k, _)| k.clone()).collect();
        for p in params {
            let (values, before) = (ends(p.kind), self.ran);
            for value in &values {
                for (mode, draft) in &modes {
                    let name = format!("{what} {} = {value}{mode}", p.key);
                    if self.one(&name, place, (p, value), draft, (&keys, params)) == Next::Key {
                        break;
                    }
                }
            }
            if self.ran > before || values.is_empty() {
                continue;
            }
            // The range is narrower than that of the kind; the errors state it.
            let draft = &modes[0].1;
            let errors = values.iter().filter_map(|v| variants(&draft.with(place, p.key, v).text()).err());
            let stated: BTreeSet<String> = errors.flat_map(|e| stated(&e)).collect();
            for value in stated {
                self.number(&format!("{what} {} = {value}", p.key), p.key, &draft.with(place, p.key, &value).text());
            }
            if self.ran == before {
                self.failures.push(format!("{what} {}: refused at all ends of its range", p.key));
            }
        }
    }

    /// Runs a scenario that is legal, and whose messages all end.
    fn whole(&mut self, name: &str, text: &str) {
        let ended = |r: &Report| {
            let late = r.flows.iter().find(|f| f.size_bytes > 0 && f.end.is_never());
            late.map_or(Ok(()), |f| Err(format!("does not end: {f:?}")))
        };
        match self.attempt_with(text, ended) {
            Outcome::Ran(_) => self.ran += 1,
            Outcome::Refused(errors) => self.failures.push(format!("{name}: is refused:\n{errors}")),
            Outcome::Failed(why) => self.failures.push(format!("{name}: {why}\n{text}")),
            Outcome::Long => self.failures.push(format!("{name}: does not end\n{text}")),
            Outcome::Hangs => self.failures.push(format!("{name}: not over after {LONGEST:?}\n{text}")),
        }
    }

    /// One number in one mode of an example that has these keys in its table.
    fn one(&mut self, name: &str, place: Place, (p, value): (&Param, &str), draft: &Draft, all: (&[String], &[Param])) -> Next {
        let ((keys, params), key) = (all, p.key);
        let changed = draft.with(place, key, value);
        let next = self.number(name, key, &changed.text());
        if next != Next::Other {
            return next;
        }
        // Another key of the example may say the same thing, or exclude the value: without it the value may run.
        for other in keys.iter().filter(|k| *k != "kind" && *k != key) {
            let mut without = changed.clone();
            let table = without.table(place);
            *table = table.without(other);
            if variants(&without.text()).is_ok() {
                return self.number(name, key, &without.text());
            }
        }
        // Or it needs another key, or one that is no less or no more.
        let mut with = changed;
        for _ in 0..3 {
            let Err(errors) = variants(&with.text()) else { return self.number(name, key, &with.text()) };
            let named = |o: &&Param| o.key != key && errors.contains(&format!("`{}`", o.key));
            if let Some(other) = params.iter().find(named) {
                let same = std::mem::discriminant(&other.kind) == std::mem::discriminant(&p.kind);
                let value = if same { Some(value) } else { usual(other.kind) };
                with = value.map_or_else(|| with.clone(), |value| with.with(place, other.key, value));
            }
        }
        Next::Mode
    }

    fn finish(self, what: &str) {
        println!("{what}: {} runs, {} refusals", self.ran, self.refusals.len());
        if std::env::var_os("FOREBAY_SHOW").is_some() {
            self.refusals.iter().for_each(|r| println!("REFUSED {r}"));
        }
        assert!(self.failures.is_empty(), "{} failures:\n{}", self.failures.len(), self.failures.join("\n\n"));
        assert!(self.ran > 0, "{what}: nothing ran");
    }
}

/// The quantities that an error calls legal.
fn stated(errors: &str) -> Vec<String> {
    let texts = errors.split("legal:").skip(1).filter_map(|text| text.lines().next());
    let mut found = Vec::new();
    for text in texts {
        let words: Vec<&str> = text.split([' ', ',', ';']).collect();
        for (i, word) in words.iter().enumerate() {
            let unit = words.get(i + 1).copied().unwrap_or("");
            match word.find(|c: char| !c.is_ascii_digit()) {
                None if !word.is_empty() && unit.ends_with('B') => found.push(format!("\"{word}{unit}\"")),
                Some(at) if at > 0 => found.push(format!("\"{word}\"")),
                _ => {}
            }
        }
    }
    found
}

/// A value of a number for those that need one beside them.
fn usual(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Time | Kind::TimeDist => Some("\"1ms\""),
        Kind::Bytes | Kind::SizeDist => Some("\"20KB\""),
        _ => None,
    }
}

/// The choices and flags of parameters.
fn choices(params: &[Param]) -> Vec<(&'static str, Vec<String>)> {
    let of = |p: &Param| match p.kind {
        Kind::Choice(words) => Some((p.key, words.iter().map(|w| format!("\"{w}\"")).collect())),
        Kind::Bool => Some((p.key, vec!["false".to_owned(), "true".to_owned()])),
        _ => None,
    };
    params.iter().filter_map(of).collect()
}

/// Rows of choices, by index, that hold every pair of values of two keys at least once.
fn pairwise(keys: &[(&'static str, Vec<String>)]) -> Vec<Vec<usize>> {
    let mut open = BTreeSet::new();
    for (i, (_, a)) in keys.iter().enumerate() {
        for (j, (_, b)) in keys.iter().enumerate().skip(i + 1) {
            (0..a.len()).for_each(|x| (0..b.len()).for_each(|y| _ = open.insert((i, x, j, y))));
        }
    }
    let mut rows = Vec::new();
    while let Some(&(i, x, j, y)) = open.first() {
        let mut row: Vec<Option<usize>> = vec![None; keys.len()];
        (row[i], row[j]) = (Some(x), Some(y));
        for k in 0..keys.len() {
            if row[k].is_some() {
                continue;
            }
            let gain = |value: usize| {
                let pair = |(l, other): (usize, &Option<usize>)| {
                    let other = (*other)?;
                    let pair = if l < k { (l, other, k, value) } else { (k, value, l, other) };
                    open.contains(&pair).then_some(())
                };
                row.iter().enumerate().filter_map(pair).count()
            };
            // The first of the best.
            let best = (0..keys[k].1.len()).rev().max_by_key(|&v| gain(v));
            row[k] = best;
        }
        let row: Vec<usize> = row.into_iter().map(|v| v.unwrap_or(0)).collect();
        for (i, &x) in row.iter().enumerate() {
            row.iter().enumerate().skip(i + 1).for_each(|(j, &y)| _ = open.remove(&(i, x, j, y)));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        rows.extend(keys.first().into_iter().flat_map(|k| 0..k.1.len()).map(|v| vec![v]));
    }
    rows
}

/// `draft` as it is, and with every pair of the choices of `params` and the three stacks, as far as they are legal together.
fn modes(draft: &Draft, place: Place, params: &[Param]) -> Vec<(String, Draft)> {
    let mut keys = choices(params);
    keys.push(("stack", PROFILES.iter().map(|p| format!("\"{p}\"")).collect()));
    let mut all = vec![(String::new(), draft.clone())];
    for row in pairwise(&keys) {
        let (mut name, mut now) = (String::new(), draft.clone());
        for ((key, values), choice) in keys.iter().zip(row) {
            let at = if *key == "stack" { Place::Transport } else { place };
            let next = now.with(at, key, &values[choice]);
            if variants(&next.text()).is_ok() {
                let _ = write!(name, ", {key} = {}", values[choice]);
                now = next;
            }
        }
        all.push((name, now));
    }
    all
}

/// Whether this build has the overflow checks that these tests need.
#[test]
fn builds_with_overflow_checks() {
    assert!(std::hint::black_box(cfg!(debug_assertions)), "debug assertions are off in this build");
    let most = std::hint::black_box(u64::MAX);
    assert!(catch_unwind(|| std::hint::black_box(most + 1)).is_err(), "arithmetic wraps in this build");
}

#[test]
fn congestion_controls_at_both_ends() {
    let mut bench = Bench::default();
    for entry in cc::REGISTRY {
        let Entry { name, params, .. } = entry.entry;
        let mut draft = Draft::new();
        draft.law = Table::of(&format!("\"{name}\""));
        let modes = modes(&draft, Place::Law, params);
        bench.params(name, Place::Law, params, modes);
    }
    bench.finish("congestion controls");
}

#[test]
fn shims_at_both_ends() {
    let mut bench = Bench::default();
    for entry in shim::REGISTRY {
        let Entry { name, params, .. } = entry.entry;
        let mut draft = Draft::new();
        draft.shim = Some(Table::of(&match name {
            "pias" => "{ kind = \"pias\", table = \"websearch\" }".to_owned(),
            _ => format!("\"{name}\""),
        }));
        let modes = modes(&draft, Place::Shim, params);
        bench.params(name, Place::Shim, params, modes);
    }
    bench.finish("shims");
}

#[test]
fn queues_at_both_ends() {
    let mut bench = Bench::default();
    for queue in forebay_queues::REGISTRY {
        let Entry { name, params, .. } = queue.entry;
        let mut draft = Draft::new();
        draft.queue = Table::of(queue.example);
        draft.law = Table::of("\"cubic\"");
        draft.transport = draft.transport.with("ecn", "\"classic\"");
        let mut modes = modes(&draft, Place::Queue, params);
        let mut unlimited = draft.clone();
        unlimited.topology = Table::of(&draft.topology.lines().replace("buffer = \"20pkt\", ", ""));
        modes.push((", no buffer".to_owned(), unlimited.clone()));
        unlimited.topology = unlimited.topology.with("host-queue", "QUEUE");
        modes.push((", host-queue".to_owned(), unlimited));
        bench.params(name, Place::Queue, params, modes);
    }
    bench.finish("queues");
}

#[test]
fn transport_keys_at_both_ends() {
    let mut bench = Bench::default();
    let draft = Draft::new();
    let modes = modes(&draft, Place::Transport, PARAMS);
    bench.params("transport", Place::Transport, PARAMS, modes);
    bench.finish("transport");
}

#[test]
fn workloads_at_both_ends() {
    let mut bench = Bench::default();
    let (first, second, last) = hosts_of("many-to-one");
    for w in workload::REGISTRY {
        let Entry { name, params, .. } = w.entry;
        // Between two hosts: the most connections of a pair are enough.
        let text =
            workload_text(name).replacen("\"all\"\n", "\"FIRST\"\n", 1).replacen("\"all\"\npattern", "\"LAST\"\npattern", 1);
        let text = text.replace("pattern = \"permutation\"\n", "").replace("pattern = \"permutation\"", "");
        let text = text.replace("FIRST", first).replace("SECOND", second).replace("LAST", last);
        let mut draft = Draft::new();
        draft.topology = Table::of(topology_text("many-to-one", "QUEUE").trim_start_matches("[topology]\n"));
        draft.workload = Table::of(&format!("kind = \"{name}\"\n{text}"));
        let modes = modes(&draft, Place::Workload, params);
        bench.params(name, Place::Workload, params, modes);
    }
    bench.finish("workloads");
}

/// Rates, delays, segments and windows at their ends, in pairs, with every congestion control: all bytes arrive.
#[test]
fn networks_at_both_ends() {
    let mut bench = Bench::default();
    let own = |values: [&str; 2]| values.map(str::to_owned).to_vec();
    let keys = [
        ("rate", own(["10Kbps", "10Tbps"])),
        ("delay", ["0s", "1ps", "10s"].map(str::to_owned).to_vec()),
        ("mss", own(["64", "65000"])),
        ("init-cwnd", own(["1", "10000"])),
        ("rcv-wnd", own(["\"65000B\"", "\"1GiB\""])),
        ("handshake", own(["false", "true"])),
        ("bottleneck", own(["10Kbps", "10Tbps"])),
    ];
    for entry in cc::REGISTRY {
        for row in pairwise(&keys) {
            let value: Vec<&str> = row.iter().zip(&keys).map(|(&v, k)| k.1[v].as_str()).collect();
            let [rate, mut delay, mss, first, window, handshake, bottleneck] = value[..] else { unreachable!() };
            // A link that sends a byte in less than a picosecond needs a delay.
            if delay == "0s" && (rate == "10Tbps" || bottleneck == "10Tbps") {
                delay = "1ps";
            }
            let text = format!(
                "duration = \"48h\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\n\
                 access = {{ rate = \"{rate}\", delay = \"{delay}\" }}\n\
                 bottleneck = {{ rate = \"{bottleneck}\", delay = \"{delay}\", buffer = \"30pkt\", \
                 queue = {{ kind = \"dctcp-step\", k = \"5pkt\" }} }}\n\
                 [transport]\ncc = \"{}\"\nmss = {mss}\ninit-cwnd = {first}\nrcv-wnd = {window}\nhandshake = {handshake}\n\
                 rto-min = \"100s\"\nrto-initial = \"500s\"\nrto-max = \"1h\"\n\
                 [[workload]]\nkind = \"long\"\nsize = \"{}B\"\n",
                entry.entry.name,
                40 * mss.parse::<u64>().unwrap_or(1)
            );
            bench.whole(&format!("{}, {}", entry.entry.name, value.join(" ")), &text);
        }
    }
    bench.finish("networks");
}

/// Errors of a scenario that must be refused.
fn refusal(text: &str) -> String {
    match variants(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors,
    }
}

/// Three flows of CUBIC with the rules of Linux, whose `bic_scale` is a whole number of 10/1024.
fn small_c(law: &str) -> String {
    format!(
        "duration = \"300ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 3\naccess = {{ rate = \"1Gbps\", delay = \"50us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"50us\", buffer = \"60pkt\" }}\n[transport]\nstack = \"linux\"\ncc = {law}\n\
         [[workload]]\nkind = \"long\"\n"
    )
}

#[test]
fn cubic_refuses_scale_of_zero() {
    for arithmetic in ["linux", "paper"] {
        for c in ["0.001", "0.00488", "0.005", "0.00976"] {
            let law = format!("{{ kind = \"cubic\", rules = \"linux\", arithmetic = \"{arithmetic}\", c = {c} }}");
            let errors = refusal(&small_c(&law));
            for part in ["`c` is", "legal with `rules = \"linux\"`: 0.009765625 to 100", "ranges.toml:9:", "rfc9438"] {
                assert!(errors.contains(part), "{part}: {errors}");
            }
        }
        // The least scale, and a small one of the other rules.
        for law in ["rules = \"linux\", c = 0.009765625", "rules = \"rfc9438\", c = 0.001"] {
            let o = one(&small_c(&format!("{{ kind = \"cubic\", arithmetic = \"{arithmetic}\", {law} }}")), &[]);
            // 300 ms of 1 Gbps carry 37.5 MB, 3 % of which are headers.
            let acked: u64 = o.report.acked.iter().sum();
            assert!((32_000_000..37_000_000).contains(&acked), "{arithmetic} {law}: {acked} bytes");
        }
    }
    // The default of the stack `linux`.
    assert!(refusal(&small_c("{ kind = \"cubic\", c = 0.001 }")).contains("`c` is 0.001"));
}

/// Goodput of one flow over a path of `rate`, bps.
fn goodput(law: &str, rate: &str, extra: &str) -> f64 {
    let text = format!(
        "duration = \"2ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"{rate}\", delay = \"300ns\" }}\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"300ns\", buffer = \"2000pkt\" }}\n[transport]\ncc = \"{law}\"\nmss = 9000\n\
         rcv-wnd = \"100MB\"\n{extra}[[workload]]\nkind = \"long\"\n"
    );
    let o = one(&text, &[]);
    o.report.acked.iter().sum::<u64>() as f64 * 8.0 / o.report.end.as_secs_f64()
}

#[test]
fn bbr_fills_links_of_terabits() {
    for rate in ["2Tbps", "3Tbps", "5Tbps", "10Tbps"] {
        let [cubic, bbr, bbr3] = ["cubic", "bbr", "bbr3"].map(|law| goodput(law, rate, "") / 1e9);
        println!("{rate}: cubic {cubic:.0}, bbr {bbr:.0}, bbr3 {bbr3:.0} Gbps");
        assert!(bbr > 0.95 * cubic && bbr3 > 0.95 * cubic, "{rate}: cubic {cubic:.0}, bbr {bbr:.0}, bbr3 {bbr3:.0} Gbps");
    }
}

#[test]
fn bbr_starts_from_largest_window() {
    for law in ["bbr", "bbr3"] {
        let goodput = goodput(law, "1Tbps", "init-cwnd = 10000\nhandshake = false\n") / 1e9;
        assert!((900.0..1000.0).contains(&goodput), "{law}: {goodput} Gbps");
    }
}

/// An incast through ProBoSCIS with this period of its timer.
fn with_tick(tick: &str) -> String {
    format!(
        "duration = \"60ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 4\naccess = {{ rate = \"1Gbps\", delay = \"20us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", buffer = \"40pkt\", queue = {{ kind = \"dctcp-step\", k = \"10pkt\" }} }}\n\
         [transport]\ncc = \"dctcp\"\nshim = {{ kind = \"proboscis\", tick = \"{tick}\" }}\n[[workload]]\nkind = \"incast\"\n\
         block = \"30KB\"\nrounds = 3\n"
    )
}

#[test]
fn proboscis_refuses_tick_below_microsecond() {
    for tick in ["0s", "1ps", "999999ps"] {
        let errors = refusal(&with_tick(tick));
        assert!(
            errors.contains("`tick` is") && errors.contains("legal: 1us or longer") && errors.contains("ranges.toml:9:"),
            "{errors}"
        );
    }
    // The same answer as with the default, which is longer than the run needs.
    for tick in ["1us", "1ms"] {
        let o = one(&with_tick(tick), &[]);
        assert!(
            o.report.flows.len() == 12 && o.report.flows.iter().all(|f| f.bytes_acked == 30_000),
            "{tick}: {:?}",
            o.report.flows
        );
    }
}

#[test]
fn fixed_timeouts_outlast_a_packet() {
    let text = |rto: &str| {
        format!(
            "{USUAL}\n[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = {{ rate = \"1Gbps\", delay = \"5us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"5us\" }}\n[transport]\nack-size = 50\nrto-rule = \"fixed\"\n\
                 rto-min = \"{rto}\"\n[[workload]]\nkind = \"long\"\n"
        )
    };
    for rto in ["1ps", "399ns"] {
        let errors = refusal(&text(rto));
        assert!(
            errors.contains("`rto-min` is") && errors.contains("400ns or longer") && errors.contains("ranges.toml:10:"),
            "{errors}"
        );
    }
    assert!(variants(&text("400ns")).is_ok());
}

#[test]
fn clocks_of_zero_are_refused() {
    for key in ["rto-granularity", "timestamp-clock", "rto-min", "rto-initial"] {
        let draft = Draft::new().with(Place::Transport, key, "\"0s\"");
        let errors = refusal(&draft.text());
        assert!(errors.contains(&format!("`{key}` is zero")) && errors.contains("legal: above zero"), "{errors}");
    }
}

/// What a topology needs beside its kind; its links are `LINK` until a test fills them in.
fn topology_table(kind: &str) -> Table {
    let text = topology_text(kind, "QUEUE");
    Table::of(text.trim_start_matches("[topology]\n"))
}

/// The ends of a link's own keys, each beside usual values of the others.
fn link_ends() -> Vec<(&'static str, String)> {
    let usual = Table::of("rate = \"500Mbps\"\ndelay = \"5us\"\nbuffer = \"30pkt\"");
    let ends_of = |key: &'static str, kind: Kind| ends(kind).into_iter().map(move |value| (key, value));
    let delays = ["\"0s\"", "\"1ps\"", "\"10s\"", "\"60s\""].map(|d| ("delay", d.to_owned()));
    let all = ends_of("rate", Kind::Rate).chain(ends_of("buffer", Kind::QueueLen)).chain(delays);
    all.map(|(key, value)| (key, usual.with(key, &value).inline())).collect()
}

/// A message from the first host to the last, or between all hosts.
fn messages(topology: &str, all: bool) -> Table {
    let (first, _, last) = hosts_of(topology);
    let (from, to, pattern) = if all { ("all", "all", "permutation") } else { (first, last, "pairwise") };
    Table::of(&format!("kind = \"long\"\nfrom = \"{from}\"\nto = \"{to}\"\npattern = \"{pattern}\"\nsize = \"40KB\""))
}

#[test]
fn topologies_at_both_ends() {
    let mut bench = Bench::default();
    for t in topology::REGISTRY {
        let Entry { name, params, .. } = t.entry;
        let mut draft = Draft::new();
        draft.topology = topology_table(name);
        draft.more = "";
        draft.workload = messages(name, true);
        let mut others = Vec::new();
        for p in params {
            let number = |value: &str| format!("{name} {} = {value}", p.key);
            match p.kind {
                Kind::Int(least, _) => {
                    let value = least.to_string();
                    bench.number(&number(&value), p.key, &draft.with(Place::Topology, p.key, &value).text());
                }
                // Its errors name the key of the link, or the link.
                Kind::Link => link_ends().iter().for_each(|(key, link)| {
                    let text = draft.with(Place::Topology, p.key, link).text();
                    bench.named(&number(link), &[p.key, key], &text);
                }),
                _ => others.push(*p),
            }
        }
        let shared = draft.with(Place::Topology, "shared-buffer", "\"90KB\"");
        let mut modes = modes(&draft, Place::Topology, params);
        modes.push((", shared".to_owned(), shared));
        bench.params(name, Place::Topology, &others, modes);
    }
    bench.finish("topologies");
}

/// Times and numbers outside the registries: of the run, of failures, of damage and of what is observed.
#[test]
fn other_keys_at_both_ends() {
    let mut bench = Bench::default();
    let (least, most) = (forebay_experiment::faults::BIT_ERRORS.0, forebay_experiment::faults::BIT_ERRORS.1);
    let bits: Vec<String> = [least, most].iter().map(|b| format!("{b:e}")).collect();
    // A key, its values, and the line that it stands in.
    let cases: [(&str, &[&str], &str); 10] = [
        ("duration", &["1ps", "1us", "4800h"], "duration = \"VALUE\""),
        ("warmup", &["0s", "1ps", "39999999999ps", "4800h"], "[observe]\nwarmup = \"VALUE\""),
        ("every", &["1ps", "1ns", "1us", "48h"], "[observe]\nqueue = { port = \"all\", every = \"VALUE\" }"),
        ("every", &["1ps", "1ns", "48h"], "[observe]\ntcp = { flows = [0, 1], every = \"VALUE\" }"),
        ("down", &["0s", "1ps", "39999999999ps", "4800h"], "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"VALUE\""),
        ("up", &["0s", "1000001ps", "4800h"], "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"1us\"\nup = \"VALUE\""),
        (
            "reroute",
            &["0s", "1ps", "48h"],
            "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"1ms\"\nup = \"9ms\"\nreroute = \"VALUE\"",
        ),
        ("bit-errors", &[&bits[0], &bits[1]], "[[topology.corruption]]\nport = \"bottleneck\"\nbit-errors = VALUE"),
        ("far", &["0s", "1ps", "9s", "60s", "5124h"], "topology.far = \"s0: VALUE\""),
        ("seed", &["0", "9223372036854775807"], "seed = VALUE"),
    ];
    let mut draft = Draft::new();
    draft.workload = Table::of("kind = \"long\"\nsize = \"60KB\"");
    let plain = draft.text().replace("deadline = \"4ms\"", "rounds = 2").replace(OBSERVE, "");
    for (key, values, line) in cases {
        for value in values {
            let line = line.replace("VALUE", value);
            let text = match key {
                "duration" => plain.replacen(USUAL, &line, 1),
                "far" => plain.replacen("senders = 2\n", &format!("senders = 2\n{}\n", line.trim_start_matches("topology.")), 1),
                "seed" => format!("{line}\n{plain}"),
                _ => format!("{plain}{line}\n"),
            };
            bench.number(&format!("{key} = {value}"), key, &text);
        }
    }
    bench.finish("other keys");
}
