//! Reads `[sweep]`.

use super::axis::{Axis, Source, shorten};
use super::point::{Choice, Setting};
use super::space::{KEEPABLE, MAX_POINTS, MAX_SEEDS, Seeds, Sweep};
use crate::schema::fields::word;
use crate::text::doc::{Item, Node, Raw, TomlTable};
use crate::text::error::Sink;
use crate::text::keys::{Leaf, leaves};
use crate::text::message_text::{alternatives, did_you_mean, short};
use crate::text::source::At;
use std::collections::{HashMap, HashSet};

/// Keys of `[sweep]` that are not paths into the scenario.
const SECTION_KEYS: [&str; 5] = ["grid", "zip", "list", "seeds", "keep"];

/// Reads the section, and the axes from elsewhere, which replace axes of the same key.
pub(super) fn sweep(section: Option<&Item>, extra: &[Leaf], sink: &mut Sink) -> Option<Sweep> {
    let empty = TomlTable::default();
    let (at, table) = match section {
        None => (extra.first().map_or(At::default(), |l| l.key_at), &empty),
        Some(Item { node: Node { raw: Raw::Table(t), .. }, key_at, .. }) => (*key_at, t),
        Some(item) => {
            let message = format!("`sweep` must be a table, not {}", item.node.describe());
            sink.error(item.node.at, message, "write [sweep]", None);
            return None;
        }
    };
    let (own, bare): (Vec<Item>, Vec<Item>) = table.items.iter().cloned().partition(|i| SECTION_KEYS.contains(&i.key.as_str()));
    let get = |key: &str| own.iter().find(|i| i.key == key);
    let seeds = match get("seeds") {
        None => Some(None),
        Some(i) => seeds(&i.node, sink).map(Some),
    };
    let keep = get("keep").map_or(Some(Vec::new()), |i| keep(&i.node, sink));
    let bare = leaves(&TomlTable { items: bare }, false, sink);
    let grid = section_leaves(get("grid"), sink);
    let zip = section_leaves(get("zip"), sink);
    let list = get("list").map_or(Some(Vec::new()), |i| points(i, sink));
    let (mut grid, zip, list) = ([bare?, grid?].concat(), zip?, list?);
    for leaf in extra {
        match grid.iter_mut().find(|l| l.key == leaf.key) {
            Some(same) => *same = leaf.clone(),
            None => grid.push(leaf.clone()),
        }
    }
    distinct(&grid, &zip, &list, sink)?;
    let mut b = Builder { axes: Vec::new(), dimensions: Vec::new() };
    b.grid(&grid, sink)?;
    b.zip(&zip, sink)?;
    b.list(&list, get("list").map_or(at, |i| i.key_at), sink)?;
    if b.axes.is_empty() {
        let help = Some("name a key and its values: \"topology.senders\" = [8, 16, 32]".to_owned());
        sink.error(at, "[sweep] varies nothing", "no axis", help);
        return None;
    }
    let points = b.dimensions.iter().try_fold(1usize, |n, d| n.checked_mul(d.len()));
    if points.is_none_or(|n| n > MAX_POINTS) {
        let sizes: Vec<String> = b.dimensions.iter().map(|d| d.len().to_string()).collect();
        let number = points.map_or("too many".to_owned(), |n| n.to_string());
        let message = format!("the sweep has {number} points: {}", sizes.join(" x "));
        sink.error(at, message, format!("legal: at most {MAX_POINTS}"), None);
        return None;
    }
    shorten(&mut b.axes);
    Some(Sweep::new(b.axes, b.dimensions, seeds?, keep?))
}

/// `[sweep.grid]` or `[sweep.zip]`.
fn section_leaves(item: Option<&Item>, sink: &mut Sink) -> Option<Vec<Leaf>> {
    match item {
        None => Some(Vec::new()),
        Some(Item { node: Node { raw: Raw::Table(t), .. }, .. }) => leaves(t, false, sink),
        Some(item) => {
            let message = format!("`{}` must be a table of keys with lists, not {}", item.key, item.node.describe());
            sink.error(item.node.at, message, format!("write [sweep.{}]", item.key), None);
            None
        }
    }
}

/// `[[sweep.list]]`.
fn points(item: &Item, sink: &mut Sink) -> Option<Vec<(At, Vec<Leaf>)>> {
    let Raw::Array(nodes) = &item.node.raw else {
        let message = format!("`list` must be a list of tables, not {}", item.node.describe());
        sink.error(item.node.at, message, "write [[sweep.list]], with two brackets", None);
        return None;
    };
    let mut list = Vec::new();
    for node in nodes {
        let Raw::Table(t) = &node.raw else {
            let message = format!("a point of `list` must be a table, not {}", node.describe());
            sink.error(node.at, message, "write { \"topology.senders\" = 8 }", None);
            continue;
        };
        list.extend(leaves(t, true, sink).map(|l| (node.at, l)));
    }
    if nodes.is_empty() {
        sink.error(item.node.at, "`list` has no points", "an empty list", None);
    }
    (list.len() == nodes.len() && !nodes.is_empty()).then_some(list)
}

/// Checks that no point sets a key twice.
fn distinct(grid: &[Leaf], zip: &[Leaf], list: &[(At, Vec<Leaf>)], sink: &mut Sink) -> Option<()> {
    let mut seen: Vec<&str> = Vec::new();
    let mut ok = true;
    let mut once = |l: &Leaf, ok: &mut bool, others: &[&str]| {
        if others.contains(&l.key.as_str()) {
            sink.error(l.key_at, format!("the sweep varies `{}` twice", short(&l.key)), "varied before", None);
            *ok = false;
        }
    };
    for l in grid.iter().chain(zip) {
        once(l, &mut ok, &seen);
        seen.push(&l.key);
    }
    for (_, leaves) in list {
        let mut all = seen.clone();
        for l in leaves {
            once(l, &mut ok, &all);
            all.push(&l.key);
        }
    }
    ok.then_some(())
}

struct Builder {
    axes: Vec<Axis>,
    dimensions: Vec<Vec<Choice>>,
}

impl Builder {
    /// Adds an axis with these values and returns its index.
    fn axis(&mut self, key: &str, source: Source, values: &[&Node]) -> usize {
        self.axes.push(Axis::new(key.to_owned(), source, values));
        self.axes.len() - 1
    }

    fn grid(&mut self, leaves: &[Leaf], sink: &mut Sink) -> Option<()> {
        let mut ok = true;
        for l in leaves {
            let Some(values) = values(l, true, sink) else {
                ok = false;
                continue;
            };
            let axis = self.axis(&l.key, Source::Grid, &values.iter().collect::<Vec<_>>());
            let one = |(i, n): (usize, &Node)| vec![Setting::new(&l.key, l.key_at, n.clone(), axis, i)];
            self.dimensions.push(values.iter().enumerate().map(one).collect());
        }
        ok.then_some(())
    }

    /// Adds lists of equal length, whose values change together.
    fn zip(&mut self, leaves: &[Leaf], sink: &mut Sink) -> Option<()> {
        let lists: Vec<(&Leaf, Option<&[Node]>)> = leaves.iter().map(|l| (l, values(l, false, sink))).collect();
        let lists: Vec<(&Leaf, &[Node])> = lists.into_iter().map(|(l, v)| v.map(|v| (l, v))).collect::<Option<_>>()?;
        let Some((first, length)) = lists.first().map(|(l, v)| (l, v.len())) else { return Some(()) };
        let mut ok = true;
        for (l, v) in lists.iter().filter(|(_, v)| v.len() != length) {
            let message =
                format!("`{}` has {} values and `{}` {length}; those of [sweep.zip] change together", l.key, v.len(), first.key);
            sink.error(l.node.at, message, format!("expected {length} values"), None);
            ok = false;
        }
        if !ok {
            return None;
        }
        let rows: Vec<Vec<(&Leaf, &Node)>> = (0..length).map(|i| lists.iter().map(|(l, v)| (*l, &v[i])).collect()).collect();
        self.rows(Source::Zip, &rows, leaves.first().map_or(At::default(), |l| l.node.at), sink)
    }

    fn list(&mut self, points: &[(At, Vec<Leaf>)], at: At, sink: &mut Sink) -> Option<()> {
        let rows: Vec<Vec<(&Leaf, &Node)>> = points.iter().map(|(_, l)| l.iter().map(|l| (l, &l.node)).collect()).collect();
        if rows.is_empty() { Some(()) } else { self.rows(Source::List, &rows, at, sink) }
    }

    /// Adds a dimension whose choices set several keys at once.
    fn rows(&mut self, source: Source, rows: &[Vec<(&Leaf, &Node)>], at: At, sink: &mut Sink) -> Option<()> {
        let mut keys: Vec<&str> = Vec::new();
        for (l, _) in rows.iter().flatten() {
            if !keys.contains(&l.key.as_str()) {
                keys.push(&l.key);
            }
        }
        let base = self.axes.len();
        let mut each: Vec<Vec<&Node>> = vec![Vec::new(); keys.len()];
        // Indexed, because lists may be long.
        let mut known: Vec<HashMap<String, usize>> = vec![HashMap::new(); keys.len()];
        let mut dimension: Vec<Choice> = Vec::new();
        let mut picks: HashMap<Vec<(usize, usize)>, usize> = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            let (mut choice, mut pick) = (Vec::new(), Vec::new());
            for (l, node) in row {
                let axis = keys.iter().position(|k| *k == l.key).unwrap_or(0);
                let value = *known[axis].entry(node.json().to_string()).or_insert_with(|| {
                    each[axis].push(node);
                    each[axis].len() - 1
                });
                pick.push((axis, value));
                choice.push(Setting::new(&l.key, l.key_at, (*node).clone(), base + axis, value));
            }
            pick.sort_unstable();
            if let Some(j) = picks.insert(pick, i) {
                let at = row.first().map_or(at, |(_, n)| n.at);
                sink.error(
                    at,
                    format!("`{}` has the same point twice: numbers {j} and {i}", source.name()),
                    "listed before",
                    None,
                );
                return None;
            }
            dimension.push(choice);
        }
        for (key, values) in keys.iter().zip(&each) {
            self.axis(key, source, values);
        }
        self.dimensions.push(dimension);
        Some(())
    }
}

/// Values of an axis: a list, not empty, and without duplicates if `once`.
fn values<'a>(leaf: &'a Leaf, once: bool, sink: &mut Sink) -> Option<&'a [Node]> {
    let Raw::Array(nodes) = &leaf.node.raw else {
        let last = leaf.key.rsplit('.').next().unwrap_or("");
        // A typing error in one of the section's own keys is reported here.
        let advice =
            did_you_mean(last, SECTION_KEYS).filter(|_| last == leaf.key).unwrap_or_else(|| "expected a list of values".into());
        let help =
            Some(format!("write \"{}\" = [value, value]; own keys of [sweep]: {}", short(&leaf.key), alternatives(SECTION_KEYS)));
        sink.error(
            leaf.node.at,
            format!("`{}` must be a list of values, not {}", short(&leaf.key), leaf.node.describe()),
            advice,
            help,
        );
        return None;
    };
    if nodes.is_empty() {
        sink.error(leaf.node.at, format!("`{}` has no values", short(&leaf.key)), "an empty list", None);
        return None;
    }
    let mut ok = true;
    let mut seen = HashSet::new();
    for n in nodes.iter().filter(|_| once) {
        if !seen.insert(n.json().to_string()) {
            sink.error(n.at, format!("`{}` lists {} twice", short(&leaf.key), n.describe()), "listed before", None);
            ok = false;
        }
    }
    ok.then_some(nodes)
}

fn seeds(node: &Node, sink: &mut Sink) -> Option<Seeds> {
    let legal = format!("legal: a number of seeds, 1 to {MAX_SEEDS}, or a list of up to {MAX_SEEDS} different seeds");
    match &node.raw {
        Raw::Int(n) if (1..=MAX_SEEDS as i64).contains(n) => Some(Seeds::Count(u32::try_from(*n).ok()?)),
        Raw::Array(nodes) if !nodes.is_empty() && nodes.len() <= MAX_SEEDS => {
            let mut list = Vec::new();
            let mut seen = HashSet::new();
            for n in nodes {
                match n.raw {
                    Raw::Int(i) if i >= 0 && seen.insert(i) => list.push(i.cast_unsigned()),
                    Raw::Int(i) if i >= 0 => sink.error(n.at, format!("`seeds` lists {i} twice"), "listed before", None),
                    _ => sink.error(n.at, format!("a seed is {}", n.describe()), "legal: an integer, at least 0", None),
                }
            }
            (list.len() == nodes.len()).then_some(Seeds::List(list))
        }
        _ => {
            sink.error(node.at, format!("`seeds` is {}", node.describe()), legal, None);
            None
        }
    }
}

fn keep(node: &Node, sink: &mut Sink) -> Option<Vec<String>> {
    let Raw::Array(nodes) = &node.raw else {
        let message = format!("`keep` must be a list of tables, not {}", node.describe());
        sink.error(node.at, message, "write keep = [\"flows\"]", None);
        return None;
    };
    let mut list: Vec<String> = Vec::new();
    let mut ok = true;
    for n in nodes {
        match word(n, "the table to keep", KEEPABLE, sink) {
            Some(name) if list.iter().any(|l| l == name) => {
                sink.error(n.at, format!("`keep` lists {name} twice"), "listed before", None);
                ok = false;
            }
            Some(name) => list.push(name.to_owned()),
            None => ok = false,
        }
    }
    ok.then_some(list)
}
