//! htsim's connection matrix (`.cm`): connections that start at a time, or by a trigger that other connections fire when they end.
//!
//! Since November 2023 `start` is in picoseconds; before, it was in microseconds, and `ConnectionMatrix::save` still writes them.

use crate::FileError;
use crate::fabric::Node;
use crate::flow_set::{After, Flow, FlowSet};
use crate::quantity;
use crate::tokens::words_of_lines;
use forebay_types::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Unit of `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StartUnit {
    /// Picoseconds, if no start has a decimal point.
    #[default]
    Auto,
    Picoseconds,
    Microseconds,
}

/// A connection of the file.
#[derive(Debug)]
struct Connection {
    line: usize,
    src: u32,
    dst: u32,
    id: u64,
    bytes: u64,
    start: Option<Time>,
    trigger: Option<u64>,
    fires: Vec<u64>,
}

/// A trigger of the file.
#[derive(Debug)]
struct Trigger {
    line: usize,
    /// Number of connections that a barrier waits for.
    barrier: Option<u64>,
    multishot: bool,
}

/// Reads a matrix. `hosts` are the hosts of the network in the order of their numbers.
///
/// # Errors
/// Words that are unknown, counts that differ from the header, and triggers that flows of a scenario cannot follow.
pub(crate) fn read(
    file: &str,
    text: &str,
    hosts: &[Node],
    unit: StartUnit,
    notes: &mut Vec<String>,
) -> Result<FlowSet, FileError> {
    let (mut nodes, mut counts) = (None, BTreeMap::new());
    let mut connections: Vec<Connection> = Vec::new();
    let mut triggers: BTreeMap<u64, Trigger> = BTreeMap::new();
    for (line, words) in words_of_lines(text) {
        let error = |e: String| FileError::at(file, line, e);
        match words[0] {
            "Nodes" => nodes = Some(integer::<usize>("Nodes", words.get(1)).map_err(error)?),
            name @ ("Connections" | "Triggers" | "Failures") => {
                let count = integer::<usize>(name, words.get(1)).map_err(error)?;
                counts.insert(name, (line, count));
            }
            "trigger" => {
                let (id, trigger) = trigger(line, &words[1..]).map_err(error)?;
                if triggers.insert(id, trigger).is_some() {
                    return Err(error(format!("trigger {id} is defined twice")));
                }
            }
            "failure" => {
                return Err(error(
                    "failures of links are not read; remove the line, and add [[topology.failure]] to the scenario".into(),
                ));
            }
            first if first.contains("->") => connections.push(connection(line, &words, unit).map_err(error)?),
            other => return Err(error(format!("`{other}` begins no line of a connection matrix"))),
        }
    }
    let nodes = nodes.ok_or_else(|| FileError::of(file, "the header has no `Nodes`"))?;
    if nodes > hosts.len() {
        return Err(FileError::of(
            file,
            format!("{nodes} nodes, and the network has {} hosts; use the .topo of this matrix", hosts.len()),
        ));
    }
    for (name, found) in [("Connections", connections.len()), ("Triggers", triggers.len())] {
        match counts.get(name) {
            Some(&(line, count)) if count != found => {
                return Err(FileError::at(file, line, format!("{name} {count}, and the file has {found}; correct the number")));
            }
            None if found > 0 => {
                return Err(FileError::of(file, format!("the header has no `{name}`, and the file has {found}")));
            }
            _ => {}
        }
    }
    if connections.is_empty() {
        return Err(FileError::of(file, "the matrix has no connections"));
    }
    for c in &connections {
        if let Some(host) = [c.src, c.dst].into_iter().find(|h| *h as usize >= nodes) {
            return Err(FileError::at(file, c.line, format!("host {host}; the file has hosts 0 to {}", nodes.saturating_sub(1))));
        }
    }
    let set = flows(file, &connections, &triggers, hosts)?;
    notes.push(format!(
        "{file}: {} connections start within {} (`start` in {})",
        connections.len(),
        set.last_start(),
        match unit {
            StartUnit::Microseconds => "us",
            StartUnit::Auto | StartUnit::Picoseconds => "ps; older files have us: --start-unit us",
        }
    ));
    Ok(set)
}

fn integer<T: std::str::FromStr>(name: &str, text: Option<&&str>) -> Result<T, String> {
    let text = text.ok_or_else(|| format!("`{name}` has no value"))?;
    text.parse().map_err(|_| format!("{name}: `{text}` is not an integer in range"))
}

/// Reads the start of a connection.
fn start(text: Option<&&str>, unit: StartUnit) -> Result<Time, String> {
    let text = text.ok_or("`start` has no value")?;
    match unit {
        StartUnit::Auto if text.contains(['.', 'e', 'E']) => Err(format!(
            "start {text} is not an integer, so the file may count microseconds: give --start-unit us or --start-unit ps"
        )),
        StartUnit::Auto | StartUnit::Picoseconds => quantity::time_in(text, "ps"),
        StartUnit::Microseconds => quantity::time_in(text, "us"),
    }
}

fn connection(line: usize, words: &[&str], unit: StartUnit) -> Result<Connection, String> {
    let (src, dst) = words[0].split_once("->").unwrap_or_default();
    let end = |t: &str| t.parse::<u32>().map_err(|_| format!("`{}` is not `source->destination`", words[0]));
    let mut c =
        Connection { line, src: end(src)?, dst: end(dst)?, id: 0, bytes: 0, start: None, trigger: None, fires: Vec::new() };
    let mut size = None;
    let mut i = 1;
    while let Some(&word) = words.get(i) {
        let value = words.get(i + 1);
        match word {
            "start" => c.start = Some(start(value, unit)?),
            "size" => size = Some(integer::<u64>(word, value)?),
            "id" => c.id = integer(word, value)?,
            "trigger" => c.trigger = Some(integer(word, value)?),
            "send_done_trigger" | "recv_done_trigger" => c.fires.push(integer(word, value)?),
            "prio" => drop(integer::<i64>(word, value)?),
            "addon" => {
                return Err(
                    "`addon` adds bytes to a connection at each trigger, and flows have one size; write a connection for each"
                        .into(),
                );
            }
            other => {
                return Err(format!(
                    "`{other}` is not a word of a connection; legal: start, size, id, trigger, send_done_trigger, recv_done_trigger, prio"
                ));
            }
        }
        i += 2;
    }
    c.bytes = size.ok_or("the connection has no `size`")?;
    match (c.start, c.trigger) {
        _ if c.src == c.dst => Err(format!("host {} sends to itself", c.src)),
        _ if c.bytes == 0 => {
            Err("`size 0` is an endless connection; remove it, and add a workload of kind `long` to the scenario".into())
        }
        _ if words.contains(&"id") && c.id == 0 => Err("`id 0`: ids begin with 1".into()),
        (Some(_), Some(_)) => Err("the connection has both `start` and `trigger`".into()),
        (None, None) => Err("the connection has neither `start` nor `trigger`".into()),
        _ => Ok(c),
    }
}

fn trigger(line: usize, words: &[&str]) -> Result<(u64, Trigger), String> {
    let (mut id, mut kind, mut count) = (0, None, 0);
    let mut i = 0;
    while let Some(&word) = words.get(i) {
        match word {
            "id" => id = integer(word, words.get(i + 1))?,
            "count" => count = integer(word, words.get(i + 1))?,
            "oneshot" | "multishot" | "barrier" => {
                if kind.replace(word).is_some() {
                    return Err("the trigger has two kinds".into());
                }
                i += 1;
                continue;
            }
            other => return Err(format!("`{other}` is not a word of a trigger; legal: id, oneshot, multishot, barrier, count")),
        }
        i += 2;
    }
    let kind = kind.ok_or("the trigger has no kind; legal: oneshot, multishot, barrier")?;
    if id == 0 {
        return Err("the trigger has no `id`, at least 1".into());
    }
    if (kind == "barrier") != (count > 0) {
        return Err("`count`, at least 1, belongs to `barrier`".into());
    }
    Ok((id, Trigger { line, barrier: (kind == "barrier").then_some(count), multishot: kind == "multishot" }))
}

/// Connections as flows that wait for those that fire their trigger.
fn flows(file: &str, all: &[Connection], triggers: &BTreeMap<u64, Trigger>, hosts: &[Node]) -> Result<FlowSet, FileError> {
    let mut firing: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for (i, c) in all.iter().enumerate() {
        if c.id > 0 && !ids.insert(c.id) {
            return Err(FileError::at(file, c.line, format!("id {} is used twice", c.id)));
        }
        for t in &c.fires {
            firing.entry(*t).or_default().push(i);
        }
    }
    let dependent = all.iter().any(|c| c.trigger.is_some());
    let mut set = FlowSet { flows: Vec::with_capacity(all.len()), dependent };
    for (i, c) in all.iter().enumerate() {
        let mut after = Vec::new();
        if let Some(id) = c.trigger {
            let error = |e: String| FileError::at(file, c.line, e);
            let trigger = triggers.get(&id).ok_or_else(|| error(format!("trigger {id} is not defined")))?;
            let by = firing.get(&id).ok_or_else(|| error(format!("no connection fires trigger {id}")))?;
            check(trigger, by.len()).map_err(|e| FileError::at(file, trigger.line, format!("trigger {id}: {e}")))?;
            for &b in by {
                let other = &all[b];
                if other.dst != c.src && other.src != c.src {
                    return Err(error(format!(
                        "host {} neither sends nor receives {}->{} (line {}), and would not know of its end: a flow waits for flows of its own source",
                        c.src, other.src, other.dst, other.line
                    )));
                }
                after.push(After { flow: Some(b as u64), pause: Time::ZERO });
            }
        }
        let node = |host: u32| hosts[host as usize];
        set.flows.push(Flow {
            src: node(c.src),
            dst: node(c.dst),
            bytes: c.bytes,
            start: c.start.unwrap_or(Time::ZERO),
            class: None,
            id: i as u64,
            after,
        });
    }
    Ok(set)
}

/// Checks that a trigger that `by` connections fire is one that waits for all of them.
fn check(trigger: &Trigger, by: usize) -> Result<(), String> {
    match trigger.barrier {
        Some(count) if count != by as u64 => {
            Err(format!("count {count}, and {by} connections fire it: flows wait for all of them"))
        }
        None if by > 1 => Err(format!(
            "{} by the first of {by} connections: flows wait for all of them; write `barrier count {by}` if that is meant",
            if trigger.multishot { "it is fired again and again, first" } else { "it is fired" }
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Vec<Node> {
        (0..16).map(|id| Node { kind: "h", id }).collect()
    }

    fn parse(text: &str, unit: StartUnit) -> Result<(FlowSet, Vec<String>), String> {
        let mut notes = Vec::new();
        read("x.cm", text, &hosts(), unit, &mut notes).map(|set| (set, notes)).map_err(|e| e.to_string())
    }

    #[test]
    fn starts_in_picoseconds_are_exact() {
        let (set, notes) = parse(
            "Nodes 16\nConnections 2\n0->13 start 16777217 size 2000000\r\n1->2 id 7 start 0 size 5 prio 3\n",
            StartUnit::Auto,
        )
        .unwrap();
        assert_eq!(set.lists()[0].1, "src,dst,bytes,start_ps\nh0,h13,2000000,16777217\nh1,h2,5,0\n");
        assert!(notes[0].contains("2 connections start within 16.777217us"), "{notes:?}");
    }

    #[test]
    fn decimal_start_needs_a_unit() {
        let text = "Nodes 16\nConnections 1\n0->13 start 1.5 size 20\n";
        assert!(parse(text, StartUnit::Auto).unwrap_err().starts_with("x.cm:3: start 1.5 is not an integer"));
        assert_eq!(parse(text, StartUnit::Microseconds).unwrap().0.flows[0].start, Time::from_ns(1500));
    }

    #[test]
    fn triggers_are_dependencies() {
        let text = "Nodes 16\nConnections 4\nTriggers 2\n0->5 id 1 start 0 size 2000000 send_done_trigger 7\n5->9 id 2 trigger 7 size 10000\n\
                    9->5 id 3 start 4 size 9 recv_done_trigger 8\n5->3 id 4 trigger 8 size 1\ntrigger id 7 oneshot\ntrigger id 8 barrier count 1\n";
        let (set, _) = parse(text, StartUnit::Auto).unwrap();
        assert_eq!(
            set.lists()[0].1,
            "id,src,dst,bytes,start_ps,after\n0,h0,h5,2000000,0,\n1,h5,h9,10000,0,0\n2,h9,h5,9,4,\n3,h5,h3,1,0,2\n"
        );
    }

    #[test]
    fn errors_name_the_line() {
        let head = "Nodes 16\nConnections 2\nTriggers 1\n";
        for (text, error) in [
            ("Connections 0\n".to_owned(), "x.cm: the header has no `Nodes`"),
            ("Nodes 17\nConnections 0\n".to_owned(), "x.cm: 17 nodes, and the network has 16 hosts"),
            ("Nodes 16\nConnections 2\n0->1 start 0 size 5\n".to_owned(), "x.cm:2: Connections 2, and the file has 1"),
            ("Nodes 16\nConnections 1\n0->16 start 0 size 5\n".to_owned(), "x.cm:3: host 16"),
            ("Nodes 16\nConnections 1\n0->1 start 0 size 0\n".to_owned(), "x.cm:3: `size 0` is an endless connection"),
            ("Nodes 16\nConnections 1\n0->1 start 0\n".to_owned(), "x.cm:3: the connection has no `size`"),
            ("Nodes 16\nConnections 1\n0->1 size 5\n".to_owned(), "x.cm:3: the connection has neither"),
            ("Nodes 16\nConnections 1\n0->1 start 0 size 5 msgid 1\n".to_owned(), "x.cm:3: `msgid` is not a word"),
            ("Nodes 16\nfailure switch_type AGG switch_id 0 link_id 1\n".to_owned(), "x.cm:2: failures of links"),
            (
                format!("{head}0->1 id 1 start 0 size 5 send_done_trigger 3\n2->3 id 2 trigger 3 size 5\ntrigger id 3 oneshot\n"),
                "x.cm:5: host 2 neither sends nor receives 0->1 (line 4)",
            ),
            (
                format!("{head}0->1 id 1 start 0 size 5\n0->3 id 2 trigger 3 size 5\ntrigger id 3 oneshot\n"),
                "x.cm:5: no connection fires trigger 3",
            ),
            (
                format!(
                    "{head}0->1 id 1 start 0 size 5 send_done_trigger 3\n0->3 id 2 trigger 3 size 5\ntrigger id 3 barrier count 2\n"
                ),
                "x.cm:6: trigger 3: count 2, and 1 connections fire it",
            ),
            (
                format!("{head}0->1 id 1 start 0 size 5\n0->3 id 1 start 0 size 5\ntrigger id 3 oneshot\n"),
                "x.cm:5: id 1 is used twice",
            ),
            (
                format!("{head}0->1 id 1 start 0 size 5\n0->3 id 2 start 0 size 5\ntrigger id 3\n"),
                "x.cm:6: the trigger has no kind",
            ),
        ] {
            let found = parse(&text, StartUnit::Auto).unwrap_err();
            assert!(found.starts_with(error), "{text:?}: {found}");
        }
    }
}
