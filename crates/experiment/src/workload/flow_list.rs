//! Flow lists in common formats.
//!
//! * HPCC `flow.txt`: the number of flows, then `src dst priority dport bytes start` per line, hosts by index, start in seconds. HPCC's generator
//!   writes the number over its longer estimate, so that digits of the estimate can follow it.
//! * CSV with a header: columns `src`, `dst`, `bytes` and `start_s` (or `_ms`, `_us`, `_ns`, `_ps`) in any order. Others are ignored,
//!   unless their name is nearly that of one of these;
//!   hosts by name, or else by index. A column `deadline_s` (or `_ms`, ...) counts from the flow's start; empty: none. With the columns `id` and
//!   `after` a flow waits for others, and for pauses after them; its start is a further pause then.

use super::decimal::scaled;
use super::flow_dependencies::Dependencies;
use super::foreign_formats;
use super::lines::Lines;
use super::node_ids::NodeIds;
use super::times::LATEST;
use crate::network::Network;
use crate::topology;
use crate::traffic::{FlowDependency, ReplayFlow};
use forebay_types::param::nearest;
use forebay_types::{NodeId, Time};
use std::collections::HashMap;
use std::io::BufRead;

/// Formats that are read.
const LEGAL: &str = "legal: HPCC `flow.txt`, or CSV with a header such as `src,dst,bytes,start_s`";

/// Maximum number of flows of a list; each takes 32 bytes of memory.
pub(super) const MAX_FLOWS: u64 = 50_000_000;

/// Format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A first line with one number is HPCC, anything else CSV.
    Auto,
    Hpcc,
    Csv,
}

/// A list.
#[derive(Debug)]
pub(super) struct List {
    /// Its flows, sorted by start.
    pub flows: Vec<ReplayFlow>,
    /// Events that flows wait for.
    pub after: Vec<FlowDependency>,
    /// Format that was found.
    pub format: Format,
}

/// Reads a list, sorted by start; simultaneous flows keep their order. Errors are `line: message`, or a message about the whole file.
/// With `ids`, the hosts of an HPCC list are node ids of that topology.
pub(super) fn read(
    reader: impl BufRead,
    format: Format,
    (network, ids): (&Network, Option<NodeIds>),
    limit: u64,
) -> Result<List, String> {
    let mut lines = Lines::new(reader);
    let first = match lines.next() {
        Ok(Some(line)) => line.to_owned(),
        Ok(None) => return Err(" the file has no content".into()),
        Err(e) => return Err(at(&lines, &e)),
    };
    let hosts = Hosts::new(network, ids);
    let hpcc = match format {
        Format::Auto => first.bytes().all(|b| b.is_ascii_digit()),
        other => other == Format::Hpcc,
    };
    if !hpcc && let Some(kind) = foreign_formats::of_text(&first) {
        return Err(at(&lines, &format!("this file looks like {kind}, not like a list of flows; {LEGAL}")));
    }
    let (mut flows, after) = match hpcc {
        true => (hpcc_rows(&mut lines, &first, &hosts, limit)?, Vec::new()),
        false => csv_rows(&mut lines, &first, &hosts, limit)?,
    };
    let after = in_order(&flows, &after);
    flows.sort_by_key(|f| f.start);
    Ok(List { flows, after, format: if hpcc { Format::Hpcc } else { Format::Csv } })
}

/// Dependencies of flows by their places after sorting.
fn in_order(flows: &[ReplayFlow], after: &[FlowDependency]) -> Vec<FlowDependency> {
    if after.is_empty() {
        return Vec::new();
    }
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_by_key(|i| flows[*i as usize].start);
    let mut place = vec![0; flows.len()];
    order.iter().zip(0..).for_each(|(&i, at)| place[i as usize] = at);
    let moved = |d: &FlowDependency| FlowDependency {
        first: d.first.map(|first| place[first as usize]),
        waiting: place[d.waiting as usize],
        ..*d
    };
    after.iter().map(moved).collect()
}

fn at<R: BufRead>(lines: &Lines<R>, message: &str) -> String {
    format!("{}: {message}", lines.number())
}

fn hpcc_rows<R: BufRead>(lines: &mut Lines<R>, first: &str, hosts: &Hosts<'_>, limit: u64) -> Result<Vec<ReplayFlow>, String> {
    let stale = lines.has_trailing_blank();
    let announced = match first.parse::<u64>() {
        Ok(n) if n <= limit => n,
        Ok(n) => return Err(at(lines, &format!("announces {n} flows; at most {limit} are supported"))),
        Err(_) => return Err(at(lines, &format!("`{first}` is not the number of flows that starts an HPCC list"))),
    };
    let mut flows = Vec::new();
    loop {
        let row = match lines.next() {
            Ok(Some(line)) => {
                let mut fields = [""; 6];
                let mut count = 0;
                for field in line.split_ascii_whitespace() {
                    if let Some(slot) = fields.get_mut(count) {
                        *slot = field;
                    }
                    count += 1;
                }
                if count == 6 {
                    let [src, dst, _, _, bytes, start] = fields;
                    Row { src, dst, bytes, start, power: 12, deadline: "", deadline_power: 0, id: "", after: "" }
                        .flow(|t| hosts.by_index(t))
                } else {
                    Err(format!("{count} fields; a flow is `src dst priority dport bytes start`, six numbers"))
                }
            }
            Ok(None) => break,
            Err(e) => Err(e),
        };
        flows.push(row.map_err(|e| at(lines, &e))?);
        if flows.len() as u64 > limit {
            return Err(at(lines, &format!("more than {limit} flows")));
        }
        if flows.len() as u64 > announced {
            return Err(at(lines, &format!("more flows than the {announced} that the first line announces")));
        }
    }
    // The generator writes its estimate with a blank behind it, and later the true number over its beginning.
    let overwritten = stale || first.len() > 1 && first.starts_with(&flows.len().to_string());
    if (flows.len() as u64) < announced && !overwritten {
        return Err(at(lines, &format!("the list ends after {} of {announced} flows: is the file truncated?", flows.len())));
    }
    if flows.is_empty() {
        return Err(at(lines, "the list has no flows"));
    }
    Ok(flows)
}

/// Flows of a list, and the events that they wait for.
type Rows = (Vec<ReplayFlow>, Vec<FlowDependency>);

fn csv_rows<R: BufRead>(lines: &mut Lines<R>, header: &str, hosts: &Hosts<'_>, limit: u64) -> Result<Rows, String> {
    let columns = Columns::parse(header).map_err(|e| at(lines, &e))?;
    let mut dependencies = columns.after.is_some().then(Dependencies::default);
    let mut flows = Vec::new();
    loop {
        let row = match lines.next() {
            Ok(Some(line)) => columns.row(line).and_then(|row| {
                if let Some(dependencies) = &mut dependencies {
                    dependencies.add(row.id, row.after)?;
                }
                row.flow(|t| hosts.by_name(t))
            }),
            Ok(None) => break,
            Err(e) => Err(e),
        };
        flows.push(row.map_err(|e| at(lines, &e))?);
        if let Some(dependencies) = &mut dependencies {
            dependencies.set_line(lines.number());
        }
        if flows.len() as u64 > limit {
            return Err(at(lines, &format!("more than {limit} flows")));
        }
    }
    if flows.is_empty() {
        return Err(at(lines, "the list has no flows"));
    }
    let after = dependencies.map_or(Ok(Vec::new()), |d| d.resolve(&flows))?;
    Ok((flows, after))
}

/// Fields of one flow; `power` is the power of ten that converts the unit of `start` into picoseconds.
struct Row<'a> {
    src: &'a str,
    dst: &'a str,
    bytes: &'a str,
    start: &'a str,
    power: i32,
    deadline: &'a str,
    deadline_power: i32,
    id: &'a str,
    after: &'a str,
}

impl Row<'_> {
    fn flow(&self, host: impl Fn(&str) -> Result<NodeId, String>) -> Result<ReplayFlow, String> {
        let (src, dst) = (host(self.src)?, host(self.dst)?);
        if src == dst {
            return Err(format!("host `{}` sends to itself", self.src));
        }
        let bytes = scaled(self.bytes, 0).map_err(|e| format!("size `{}` {e}", self.bytes))?;
        if bytes.value == 0 || !bytes.exact {
            return Err(format!("size `{}` is not a whole number of bytes, at least 1", self.bytes));
        }
        // Digits below a picosecond are rounded: programs print times with 16 digits.
        let start = Time(scaled(self.start, self.power).map_err(|e| format!("start `{}` {e}", self.start))?.value);
        if start > LATEST {
            return Err(format!("start `{}` is beyond the end of simulated time, {}", self.start, LATEST));
        }
        let deadline = self.deadline(start)?;
        Ok(ReplayFlow { start, src, dst, bytes: bytes.value, deadline })
    }

    fn deadline(&self, start: Time) -> Result<Time, String> {
        if self.deadline.is_empty() {
            return Ok(Time::NEVER);
        }
        let after = scaled(self.deadline, self.deadline_power).map_err(|e| format!("deadline `{}` {e}", self.deadline))?.value;
        if after == 0 || after > LATEST.0 {
            return Err(format!("deadline `{}` is not a time after the start; leave it empty for none", self.deadline));
        }
        Ok(start.saturating_add(Time(after)))
    }
}

/// Positions of the columns.
struct Columns {
    count: usize,
    src: usize,
    dst: usize,
    bytes: usize,
    start: usize,
    power: i32,
    deadline: Option<usize>,
    deadline_power: i32,
    id: Option<usize>,
    after: Option<usize>,
}

const DEADLINE_COLUMNS: &[(&str, i32)] =
    &[("deadline_s", 12), ("deadline_ms", 9), ("deadline_us", 6), ("deadline_ns", 3), ("deadline_ps", 0)];
const START_COLUMNS: &[(&str, i32)] = &[("start_s", 12), ("start_ms", 9), ("start_us", 6), ("start_ns", 3), ("start_ps", 0)];

const SOURCE_COLUMNS: &[&str] = &["src", "source"];
const DESTINATION_COLUMNS: &[&str] = &["dst", "destination"];
const SIZE_COLUMNS: &[&str] = &["bytes", "size", "size_bytes"];
/// Columns that are not read. `forebay trains` writes the start of the connection or that of the data beside the start that counts.
const UNUSED_COLUMNS: &[&str] = &["opened_ns", "data_ns"];

fn legal_columns() -> impl Iterator<Item = &'static str> {
    let times = [START_COLUMNS, DEADLINE_COLUMNS].into_iter().flatten().map(|c| c.0);
    let names = [SOURCE_COLUMNS, DESTINATION_COLUMNS, SIZE_COLUMNS].into_iter().flatten().copied();
    names.chain(times).chain(["id", "after"]).chain(UNUSED_COLUMNS.iter().copied())
}

/// The error for a column whose name is nearly that of a legal one: a misspelt optional column would be lost. Other columns are ignored.
fn misspelt_column(name: &str) -> Option<String> {
    let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    let hint = match nearest(&name, legal_columns()) {
        _ if name == "deadline" => "it has no unit. ".into(),
        // Many short names are alike.
        meant => format!("did you mean `{}`? ", meant.filter(|meant| name.len() > 5 || *meant == "after")?),
    };
    let legal = "src, dst, bytes, start_s (or _ms, _us, _ns, _ps), deadline_s (or _ms, ...), id, after";
    Some(format!("there is no column `{name}`; {hint}Legal: {legal}; rename a column that has another meaning"))
}

impl Columns {
    fn parse(header: &str) -> Result<Columns, String> {
        let names: Vec<String> = header.split(',').map(|n| unquote(n).to_ascii_lowercase().replace('-', "_")).collect();
        let find = |what: &str, legal: &[&str]| -> Result<usize, String> {
            let mut found = names.iter().enumerate().filter(|(_, n)| legal.contains(&n.as_str()));
            match (found.next(), found.next()) {
                (Some((i, _)), None) => Ok(i),
                (Some((_, a)), Some((_, b))) => Err(format!("columns `{a}` and `{b}` both mean the {what}; keep one")),
                (None, _) => {
                    let whole: Vec<&str> = legal.iter().copied().filter(|l| l.ends_with("_s")).collect();
                    if names.len() == 1 && header.contains([';', '\t']) {
                        return Err("the header has no commas: separate columns with commas".into());
                    }
                    if names.len() == 1 && header.split_ascii_whitespace().count() == 6 {
                        return Err(
                            "six fields without a header; an HPCC list begins with a line with the number of flows".into()
                        );
                    }
                    if let Some(name) = names.iter().find(|n| whole.iter().any(|l| **n == l[..l.len() - 2])) {
                        return Err(format!("the column `{name}` has no unit; write one of {}", legal.join(", ")));
                    }
                    let slip = names.iter().find(|n| nearest(n, legal.iter().copied()).is_some());
                    let hint = slip.map_or(String::new(), |n| format!(" (`{n}` is not it)"));
                    Err(format!("no column for the {what}{hint}; the header must name one of {}", legal.join(", ")))
                }
            }
        };
        let start_names: Vec<&str> = START_COLUMNS.iter().map(|c| c.0).collect();
        let start = find("start", &start_names)?;
        let power = START_COLUMNS.iter().find(|c| c.0 == names[start]).map_or(12, |c| c.1);
        let mut deadlines =
            names.iter().enumerate().filter_map(|(i, n)| DEADLINE_COLUMNS.iter().find(|c| c.0 == n).map(|c| (i, *c)));
        let deadline = deadlines.next();
        if let (Some((_, a)), Some((_, b))) = (deadline, deadlines.next()) {
            return Err(format!("columns `{}` and `{}` both mean the deadline; keep one", a.0, b.0));
        }
        let (id, after) = (names.iter().position(|n| n == "id"), names.iter().position(|n| n == "after"));
        if after.is_some() && id.is_none() {
            return Err("the column `after` lists ids of flows, and there is no column `id`".into());
        }
        let (src, dst, bytes) =
            (find("source", SOURCE_COLUMNS)?, find("destination", DESTINATION_COLUMNS)?, find("size", SIZE_COLUMNS)?);
        // Programs write a comma behind the last column.
        let unknown = names.iter().filter(|name| !name.is_empty() && !legal_columns().any(|legal| legal == name.as_str()));
        if let Some(error) = unknown.filter_map(|name| misspelt_column(name)).next() {
            return Err(error);
        }
        Ok(Columns {
            count: names.len(),
            src,
            dst,
            bytes,
            start,
            power,
            deadline: deadline.map(|d| d.0),
            deadline_power: deadline.map_or(0, |d| d.1.1),
            id,
            after,
        })
    }

    fn row<'a>(&self, line: &'a str) -> Result<Row<'a>, String> {
        let (power, deadline_power) = (self.power, self.deadline_power);
        let mut row = Row { src: "", dst: "", bytes: "", start: "", power, deadline: "", deadline_power, id: "", after: "" };
        let mut count = 0;
        for (i, field) in line.split(',').enumerate() {
            count = i + 1;
            match i {
                i if i == self.src => row.src = unquote(field),
                i if i == self.dst => row.dst = unquote(field),
                i if i == self.bytes => row.bytes = unquote(field),
                i if i == self.start => row.start = unquote(field),
                i if Some(i) == self.deadline => row.deadline = unquote(field),
                i if Some(i) == self.id => row.id = unquote(field),
                i if Some(i) == self.after => row.after = unquote(field),
                _ => {}
            }
        }
        if count != self.count {
            return Err(format!("{count} fields, but the header has {}", self.count));
        }
        Ok(row)
    }
}

fn unquote(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|f| f.strip_suffix('"')).unwrap_or(field)
}

/// Lookup of hosts by name or index.
struct Hosts<'a> {
    nodes: Vec<NodeId>,
    names: HashMap<&'a str, NodeId>,
    ids: Option<NodeIds>,
}

impl<'a> Hosts<'a> {
    fn new(network: &'a Network, ids: Option<NodeIds>) -> Hosts<'a> {
        let nodes = topology::hosts(network);
        let names = nodes.iter().map(|&n| (network.nodes[n].name.as_str(), n)).collect();
        Hosts { nodes, names, ids }
    }

    fn by_index(&self, text: &str) -> Result<NodeId, String> {
        if let Some(ids) = &self.ids {
            let place = ids.place(text)?;
            let missing =
                || format!("node `{text}` is host {place} of the topology in `nodes`; this network has {}", self.nodes.len());
            return self.nodes.get(place).copied().ok_or_else(missing);
        }
        let host = text.parse::<usize>().ok().and_then(|i| self.nodes.get(i));
        host.copied()
            .ok_or_else(|| format!("there is no host `{text}`; hosts are numbered 0 to {}", self.nodes.len().saturating_sub(1)))
    }

    fn by_name(&self, text: &str) -> Result<NodeId, String> {
        if let Some(&host) = self.names.get(text) {
            return Ok(host);
        }
        self.by_index(text).map_err(|e| {
            // Node order makes the hint independent of the order of a hash map.
            let mut known: Vec<_> = self.names.iter().map(|(name, node)| (*node, *name)).collect();
            known.sort_unstable();
            match nearest(text, known.into_iter().map(|k| k.1)) {
                Some(n) => format!("there is no host `{text}`; did you mean `{n}`?"),
                None => e,
            }
        })
    }
}

#[cfg(test)]
#[path = "flow_list_tests.rs"]
mod tests;
