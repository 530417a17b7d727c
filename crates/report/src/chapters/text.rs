//! Texts of a page: title, facts, scenarios and glossary.

use crate::page::{Dimension, Fact, Page, ScenarioText, Term};
use forebay_analysis::{Data, metrics};
use forebay_analysis::{count, list, number, quantity};
use forebay_store::schema::{FLOWS, PORTS, QUERIES, QUEUE, TCP, TIMEOUTS};
use forebay_store::{Manifest, RunDir, TableSchema};
use std::collections::BTreeSet;

/// Name of the scenario, or of all of them, once each.
pub(super) fn title(dirs: &[RunDir]) -> String {
    let mut names: Vec<String> = Vec::new();
    dirs.iter().map(|d| &d.manifest().name).for_each(|n| {
        if !names.contains(n) {
            names.push(n.clone())
        }
    });
    list(&names)
}

/// One line about the runs.
pub(super) fn summary(data: &Data, dirs: &[RunDir]) -> String {
    let mut parts = Vec::new();
    if dirs.len() > 1 {
        parts.push(count(dirs.len(), "result"));
    }
    parts.push(match (data.networks.len(), data.shared()) {
        (1, false) => data.subjects.first().map_or_else(String::new, |s| s.name.clone()),
        (n, false) => count(n, "variant"),
        (1, true) => format!("{} on one network", count(data.subjects.len(), "transport group")),
        (n, true) => format!("{} of {}", count(n, "variant"), count(data.subjects.len(), "transport group")),
    });
    let of = |n: usize| data.runs.iter().filter(|r| r.network == n).count();
    let seeds: BTreeSet<usize> = (0..data.networks.len()).map(of).collect();
    parts.push(match (seeds.first(), seeds.last()) {
        (Some(a), Some(b)) if a != b => format!("{a} to {b} seeds"),
        (Some(&a), _) => count(a, "seed") + if data.networks.len() > 1 && a > 0 { " each" } else { "" },
        _ => "no runs".into(),
    });
    let ends = || data.runs.iter().map(|r| r.end_ns as f64 * 1e-9);
    let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    if high > 0.0 {
        let (low, high) = (quantity(low, Dimension::Seconds), quantity(high, Dimension::Seconds));
        parts.push(if low == high { format!("{high} of simulated time") } else { format!("{low} to {high} of simulated time") });
    }
    parts.retain(|p| !p.is_empty());
    parts.join(", ")
}

/// `text` as one argument of a command line, in quotes where a shell would read it otherwise.
pub(super) fn argument(text: &str) -> String {
    // Fails only for a NUL byte, which no argument can hold.
    shlex::try_quote(text).map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}

/// Maximum number of results whose command is printed.
const MAX_EXPLAINED: usize = 3;

/// Commands that explain the results or search for a better configuration.
pub(super) fn next(dirs: &[RunDir]) -> Vec<String> {
    let explain =
        |d: &RunDir| format!("Causes of the slowest messages: `forebay explain {}`", argument(&d.path().display().to_string()));
    let mut out: Vec<String> = dirs.iter().take(MAX_EXPLAINED).map(explain).collect();
    if let [one] = dirs {
        out.push(format!(
            "Recommended change, with its cost for other traffic: `forebay advise {}`",
            argument(&one.manifest().scenario.file)
        ));
    }
    out
}

/// Origin of the numbers.
pub(super) fn facts(dirs: &[RunDir], labels: &[String]) -> Vec<Fact> {
    let mut out = Vec::new();
    for (dir, label) in dirs.iter().zip(labels) {
        let m = dir.manifest();
        let mut fact = |name: &str, value: String| {
            let label = if dirs.len() > 1 { format!("{label}: {name}") } else { name.to_owned() };
            out.push(Fact { label, value });
        };
        if !m.world.is_empty() {
            let version = if m.world_version.is_empty() { String::new() } else { format!(": {}", m.world_version) };
            fact("world", format!("{}{version}", m.world));
        }
        if !m.stacks.is_empty() {
            fact("stack", m.stacks.join(", "));
        }
        fact("fingerprint", m.fingerprint.clone());
        fact("forebay", m.forebay.clone());
        fact("started", m.started.replace('T', " ").replace('Z', " UTC"));
        fact("machine", format!("{} {}, {}", m.host.os, m.host.arch, count(m.host.cpus, "processor")));
        fact("speed", speed(m));
    }
    out
}

fn scaled(v: f64) -> String {
    match v {
        v if v >= 1e9 => format!("{} G", number(v / 1e9)),
        v if v >= 1e6 => format!("{} M", number(v / 1e6)),
        v if v >= 1e3 => format!("{} k", number(v / 1e3)),
        v => number(v),
    }
}

fn speed(m: &Manifest) -> String {
    format!(
        "{} packet transmissions in {}, {} per second on {}",
        scaled(m.packet_hops as f64),
        quantity(m.wall_s, Dimension::Seconds),
        scaled(m.packet_hops_per_s),
        count(m.threads, "thread")
    )
}

/// Notes of the scenario reader, each once.
pub(super) fn notes(dirs: &[RunDir], labels: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    // Missing results come first.
    for (dir, label) in dirs.iter().zip(labels).filter(|(d, _)| !d.manifest().partial.is_empty()) {
        let of = if dirs.len() > 1 { format!("{label}: ") } else { String::new() };
        out.push(format!("{of}{}", dir.manifest().partial));
    }
    for (dir, label) in dirs.iter().zip(labels) {
        for note in &dir.manifest().scenario.notes {
            let everywhere = dirs.iter().all(|d| d.manifest().scenario.notes.contains(note));
            let text = if everywhere { note.clone() } else { format!("{label}: {note}") };
            if !out.contains(&text) {
                out.push(text);
            }
        }
    }
    out
}

/// The scenarios as files, and with all defaults.
pub(super) fn scenarios(dirs: &[RunDir]) -> Vec<ScenarioText> {
    let one = |dir: &RunDir| {
        let s = &dir.manifest().scenario;
        let resolved = s.variants.iter().map(|v| (v.variant.clone(), forebay_scenario::toml(&v.resolved)));
        ScenarioText { file: s.file.clone(), text: s.text.clone(), overrides: s.overrides.clone(), resolved: resolved.collect() }
    };
    dirs.iter().map(one).collect()
}

/// Glossary of a page: its metrics, then the columns behind its figures.
pub(super) fn glossary(page: &Page) -> Vec<Term> {
    let mut out: Vec<Term> = Vec::new();
    let first = |label: &str| label.split(", ").next().unwrap_or(label).to_owned();
    for row in &page.table.rows {
        let metric = metrics().find(|m| row.help.starts_with(m.doc) && m.unit == row.unit);
        let symbol = metric.map_or("", |m| m.unit.symbol());
        out.push(Term { name: row.label.clone(), unit: plain(symbol), text: row.help.clone() });
    }
    let ids: Vec<&str> = page.sections.iter().flat_map(|s| &s.figures).map(|f| f.id.as_str()).collect();
    let mut add = |wanted: bool, term: Option<Term>| {
        if let Some(term) = term.filter(|t| wanted && out.iter().all(|o| first(&o.name) != t.name)) {
            out.push(term);
        }
    };
    let has = |part: &str| ids.iter().any(|id| id.contains(part));
    let fct = has("fct");
    add(fct, column(&FLOWS, "fct_ns", "completion time"));
    add(fct || has("slowdown"), column(&FLOWS, "ideal_fct_ns", "ideal completion time"));
    add(has("slowdown"), column(&FLOWS, "slowdown", "slowdown"));
    add(has("cdf-queries"), column(&QUERIES, "qct_ns", "query completion time"));
    add(has("queue"), column(&QUEUE, "pkts", "queue"));
    add(has("queue-over-time"), column(&QUEUE, "marks", "mark"));
    add(has("queue-over-time"), column(&QUEUE, "drops", "drop"));
    add(has("timeouts") || has("queue-over-time"), column(&FLOWS, "rtos", "timeout"));
    add(has("timeouts"), column(&TIMEOUTS, "rto_ns", "timeout duration"));
    for (name, title) in [("cwnd", "congestion window"), ("alpha", "alpha"), ("srtt_ns", "smoothed round-trip time")] {
        add(has("connections"), column(&TCP, name, title));
    }
    add(has("topology"), column(&PORTS, "utilization", "utilization"));
    add(has("topology"), column(&PORTS, "queue_max_pkts", "largest queue"));
    out
}

/// A column of a table as a glossary entry, in seconds where the table has nanoseconds.
fn column<R>(table: &TableSchema<R>, name: &str, title: &str) -> Option<Term> {
    let c = table.columns.iter().find(|c| c.name == name)?;
    let unit = if c.unit == "ns" { "s".to_owned() } else { plain(c.unit) };
    Some(Term { name: title.into(), unit, text: format!("{} (column `{}` of `{}`)", c.doc, c.name, table.name) })
}

/// The schema uses 1 for values without a unit.
fn plain(symbol: &str) -> String {
    if symbol == "1" { String::new() } else { symbol.to_owned() }
}
