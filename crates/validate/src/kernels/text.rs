//! Result of a comparison of two kernels as text: the first line names the first difference, and details of each scenario follow.

use super::{Cause, Comparison, InputResult, ScenarioResult, ScriptDifference, StateDifference, Variable, packet_time};
use forebay_analysis::quantity;
use forebay_experiment::rows::PacketRow;
use forebay_kernel::c_source::{ItemKind, User};
use forebay_runner::trace_diff::Alignment;
use forebay_types::Time;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Most connections, variables and functions that a scenario lists; `json` has all.
const CONNECTIONS: usize = 4;
const VARIABLES: usize = 6;
const FUNCTIONS: usize = 4;
/// Variables of a scenario that are listed with their functions.
const EXPLAINED: usize = 2;
/// Changed functions and definitions in the first line.
const NAMED: usize = 2;
/// Most changed functions and definitions in the head.
const CHANGES: usize = 8;
/// Most figures of a scenario.
const FIGURES: usize = 8;

/// The whole text.
pub fn text(c: &Comparison) -> String {
    let mut out = format!("{}\n", headline(c));
    let names = [&c.kernels[0].0, &c.kernels[1].0];
    for (name, identity) in &c.kernels {
        let _ = writeln!(out, "  {name}: {identity}");
    }
    if c.same_program {
        out.push_str("  Both programs have the same bytes: the compiler made the same code.\n");
    }
    match &c.changes {
        None => out.push_str("  The sources of one of the kernels are unknown; functions are not looked up.\n"),
        Some(changes) if changes.is_empty() => out.push_str("  The code of TCP is the same in the sources of both.\n"),
        Some(changes) => {
            let all: Vec<String> = changes.iter().map(|(_, p)| format!("{} ({}:{})", p.name, p.file, p.line)).collect();
            let _ = writeln!(out, "  Different in the sources of {}: {}", names[1], few(&all, CHANGES));
        }
    }
    let changed: BTreeSet<&str> =
        c.changes.iter().flatten().filter(|c| c.0 == ItemKind::Function).map(|c| c.1.name.as_str()).collect();
    for (name, result) in c.results.iter().filter(|r| r.1.differs()) {
        match result {
            InputResult::Scenario(s) => scenario(&mut out, name, s, names, &changed),
            InputResult::Script(_, Some(difference)) => script(&mut out, name, difference, names),
            _ => {}
        }
    }
    let equal: Vec<String> = c.results.iter().filter(|r| ran(&r.1) && !r.1.differs()).map(|r| r.0.clone()).collect();
    if !equal.is_empty() {
        let _ = writeln!(out, "\nNo difference: {}", equal.join(", "));
    }
    for (name, result) in &c.results {
        if let InputResult::Skipped(why) = result {
            let _ = writeln!(out, "Not run: {name}: {why}");
        }
    }
    out
}

fn ran(result: &InputResult) -> bool {
    !matches!(result, InputResult::Skipped(_))
}

/// The first line.
pub fn headline(c: &Comparison) -> String {
    let [a, b] = [&c.kernels[0].0, &c.kernels[1].0];
    let total = c.results.iter().filter(|r| ran(&r.1)).count();
    let differing: Vec<&(String, InputResult)> = c.results.iter().filter(|r| r.1.differs()).collect();
    if differing.is_empty() {
        return format!("No difference between kernels {a} and {b} in {total} scenarios, {} packets.", packets(c));
    }
    // A scenario whose first difference is in a variable that a changed function writes shows the cause best.
    let direct = |r: &&&(String, InputResult)| matches!(&r.1, InputResult::Scenario(s) if s.causes.first().is_some_and(|c| c.chain.len() == 1));
    let first = differing.iter().find(direct).unwrap_or(&differing[0]);
    let (name, result) = (&first.0, &first.1);
    let how = match result {
        InputResult::Scenario(s) => match (s.causes.first(), s.states.first()) {
            (Some(cause), Some(state)) => format!("{} at {}", values(&cause.variable, state, [a, b]), at(state)),
            (_, Some(state)) => format!("{} at another time: {}", event(state), times(state, [a, b])),
            (_, None) => {
                let time = s.connections.iter().filter_map(packet_time).min().unwrap_or(Time::ZERO);
                format!("a packet at {:.9} s", time.as_secs_f64())
            }
        },
        InputResult::Script(_, Some(d)) => {
            let line = d.events.iter().flatten().map(|e| e.line).min().unwrap_or(0);
            format!("line {line} of the script")
        }
        _ => String::new(),
    };
    let changes: Vec<String> = c.changes.iter().flatten().map(|(_, p)| format!("{} ({})", p.name, p.file)).collect();
    let code = if changes.is_empty() { String::new() } else { format!(" Different code: {}.", few(&changes, NAMED)) };
    format!("Kernels {a} and {b} differ in {} of {total} scenarios: first in `{name}`: {how}.{code}", differing.len())
}

/// Values of a variable on both kernels; states of the congestion avoidance with their names.
fn shown(variable: &Variable) -> [String; 2] {
    let name = |v: i128| {
        let states = ["open", "disorder", "cwr", "recovery", "loss"];
        let state = usize::try_from(v).ok().filter(|_| variable.name == "icsk_ca_state").and_then(|v| states.get(v));
        state.map_or_else(|| v.to_string(), |state| format!("{v} ({state})"))
    };
    variable.values.map(name)
}

/// Packets on the first kernel.
fn packets(c: &Comparison) -> usize {
    let of = |r: &InputResult| match r {
        InputResult::Scenario(s) => s.packets[0],
        InputResult::Script(events, _) => *events,
        InputResult::Skipped(_) => 0,
    };
    c.results.iter().map(|r| of(&r.1)).sum()
}

/// `dctcp_alpha` of dctcp is 1024 in A and 960 in B
fn values(variable: &Variable, state: &StateDifference, names: [&String; 2]) -> String {
    let of = if variable.structure.is_some() { format!(" of {}", state.cc) } else { String::new() };
    let [x, y] = shown(variable);
    format!("`{}`{of} is {x} in {} and {y} in {}", variable.name, names[0], names[1])
}

fn event(state: &StateDifference) -> String {
    match (state.timeout, state.receiver) {
        (true, _) => "a timeout".to_owned(),
        (false, true) => format!("packet {} at the receiver", state.place),
        (false, false) => format!("ACK {} at the sender", state.place),
    }
}

fn at(state: &StateDifference) -> String {
    format!("{:.9} s, after {} of connection {}", state.time().as_secs_f64(), event(state), state.conn_id)
}

fn times(state: &StateDifference, names: [&String; 2]) -> String {
    let one = |i: usize| {
        let time = state.times[i].map_or_else(|| "missing".to_owned(), |t| format!("{:.9} s", t.as_secs_f64()));
        format!("{time} in {}", names[i])
    };
    format!("{}, {}", one(0), one(1))
}

fn scenario(out: &mut String, name: &str, s: &ScenarioResult, names: [&String; 2], changed: &BTreeSet<&str>) {
    let differing = s.connections.iter().filter(|c| c.first.is_some()).count();
    let in_packets = match differing {
        0 => "all packets are the same, states differ".to_owned(),
        n => format!("packets of {n} of {} connections differ", s.connections.len()),
    };
    let _ = writeln!(out, "\n{name}: {in_packets}");
    if let Some(state) = s.states.first() {
        let _ = writeln!(out, "  First different state: {}", at(state));
        if state.variables.is_empty() {
            let _ = writeln!(out, "    {}", times(state, names));
        }
        for (i, cause) in s.causes.iter().take(VARIABLES).enumerate() {
            variable(out, cause, state, names);
            if i < EXPLAINED {
                functions(out, cause, changed);
            }
        }
        if s.causes.len() > VARIABLES {
            let rest: Vec<String> = s.causes[VARIABLES..].iter().map(|c| c.variable.name.clone()).collect();
            let _ = writeln!(out, "    also: {}", few(&rest, CHANGES));
        }
    }
    let mut first: Vec<&Alignment> = s.connections.iter().filter(|c| c.first.is_some()).collect();
    first.sort_by_key(|c| (packet_time(c), c.conn_id));
    for (i, c) in first.iter().take(CONNECTIONS).enumerate() {
        packet_difference(out, c, names);
        if i == 0 && !s.at_packet.is_empty() {
            let all: Vec<String> = s.at_packet.iter().map(|v| format!("{} {}, {}", v.name, v.values[0], v.values[1])).collect();
            let _ = writeln!(out, "    state before it: {}", few_by(&all, CHANGES, "; "));
        }
    }
    if first.len() > CONNECTIONS {
        let _ = writeln!(out, "  and {} more connections", first.len() - CONNECTIONS);
    }
    if s.effects.is_empty() {
        out.push_str("  Effect: none on goodput, completion times and counters\n");
        return;
    }
    out.push_str("  Effect:\n");
    for effect in s.effects.iter().take(FIGURES) {
        let one = |v: Option<f64>| v.map_or_else(|| "none".to_owned(), |v| quantity(v, effect.unit));
        let change = match effect.values {
            [Some(a), Some(b)] if a != 0.0 => format!(" ({:+.2} %)", (b / a - 1.0) * 100.0),
            _ => String::new(),
        };
        let group = if effect.group.is_empty() { String::new() } else { format!("{}: ", effect.group) };
        let _ = writeln!(out, "    {group}{} {} -> {}{change}", effect.label, one(effect.values[0]), one(effect.values[1]));
    }
    if s.effects.len() > FIGURES {
        let _ = writeln!(out, "    and {} more figures", s.effects.len() - FIGURES);
    }
}

/// A variable with its values.
fn variable(out: &mut String, cause: &Cause, state: &StateDifference, names: [&String; 2]) {
    let v = &cause.variable;
    let place = v.structure.as_ref().map_or_else(String::new, |s| format!(" (struct {s}, {})", state.cc));
    let [x, y] = shown(v);
    let _ = writeln!(out, "    {}{place}: {x} in {}, {y} in {}", v.name, names[0], names[1]);
}

/// Functions that use a variable, changed ones first.
fn functions(out: &mut String, cause: &Cause, changed: &BTreeSet<&str>) {
    let named = |u: &User| {
        let mark = if changed.contains(u.place.name.as_str()) { ", changed" } else { "" };
        format!("{} ({}:{}{mark})", u.place.name, u.place.file, u.place.line)
    };
    for (label, writes) in [("written by", true), ("read by", false)] {
        let mut users: Vec<&User> = cause.users.iter().filter(|u| if writes { u.writes } else { u.reads && !u.writes }).collect();
        users.sort_by_key(|u| !changed.contains(u.place.name.as_str()));
        if !users.is_empty() {
            let _ = writeln!(out, "      {label} {}", few(&users.into_iter().map(named).collect::<Vec<_>>(), FUNCTIONS));
        }
    }
    if cause.chain.len() > 1 {
        let _ = writeln!(out, "      calls between the change and it: {}", cause.chain.join(" - "));
    }
}

fn packet_difference(out: &mut String, c: &Alignment, names: [&String; 2]) {
    let Some(d) = &c.first else { return };
    let kind = if d.back { "ACK" } else { "data packet" };
    let _ = writeln!(
        out,
        "  First different packet of connection {}: {kind} {}, after {} equal packets",
        c.conn_id, d.place, c.alike
    );
    let wide = names.iter().map(|n| n.len()).max().unwrap_or(0);
    for (name, packet) in names.iter().zip(&d.packet) {
        let _ = writeln!(out, "    {name:wide$}  {}", packet.as_ref().map_or_else(|| "missing".to_owned(), show));
    }
}

/// A packet in one line.
fn show(p: &PacketRow) -> String {
    let flags = [(p.syn, " SYN"), (p.fin, " FIN"), (p.ece, " ECE"), (p.cwr, " CWR"), (p.ce, " CE")];
    let flags: String = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
    let number = if p.back { format!("ack {}", p.number) } else { format!("seq {} length {}", p.number, p.payload) };
    format!("{:.9} s  {number}{flags}", Time(p.time_ps).as_secs_f64())
}

fn script(out: &mut String, name: &str, difference: &ScriptDifference, names: [&String; 2]) {
    let _ = writeln!(out, "\n{name} (packet script; line and time of each event):");
    if let Some(before) = &difference.before {
        let _ = writeln!(out, "  both  {before}");
    }
    for (name, event) in names.iter().zip(&difference.events) {
        let _ = writeln!(out, "  {name}  {}", event.as_ref().map_or_else(|| "nothing more".to_owned(), ToString::to_string));
    }
}

fn few(all: &[String], most: usize) -> String {
    few_by(all, most, ", ")
}

/// The first of `all`, and the number of the others.
fn few_by(all: &[String], most: usize, separator: &str) -> String {
    let shown = all[..all.len().min(most)].join(separator);
    if all.len() > most { format!("{shown}{separator}and {} more", all.len() - most) } else { shown }
}
