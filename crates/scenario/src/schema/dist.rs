//! Distributions of sizes and times, and size tables.

use crate::schema::context::Cx;
use crate::schema::limits::{MAX_BYTES, MAX_TIME};
use crate::schema::mixture::{self, mixture};
use crate::schema::quantity;
use crate::text::doc::{Item, Node, Raw};
use crate::text::load;
use crate::text::message_text::{alternatives, did_you_mean, grouped, short};
use forebay_types::{SizeDist, SizeTable, Time, TimeDist};
use std::sync::Arc;

/// Built-in size tables: name, contents, source (also in the files themselves).
pub(crate) const BUILT_IN: &[(&str, &str, &str)] = &[
    ("websearch", include_str!("../../../../data/cdf/websearch.cdf"), "web search cluster, DCTCP publication (SIGCOMM 2010)"),
    ("datamining", include_str!("../../../../data/cdf/datamining.cdf"), "data mining cluster, VL2 publication (SIGCOMM 2009)"),
];

/// Distribution by its form in the file, without types.
enum Shape<'n> {
    Const(&'n Node),
    One(&'n Item),
    Two(&'n Item, &'n Node, &'n Node),
}

fn shape<'n>(cx: &mut Cx, what: &str, node: &'n Node, forms: &[&str]) -> Option<Shape<'n>> {
    let Raw::Table(t) = &node.raw else { return Some(Shape::Const(node)) };
    let help = Some(format!("a distribution has exactly one of the keys {}", alternatives(forms.iter().copied())));
    let [item] = t.items.as_slice() else {
        cx.sink.error(node.at, format!("{what} has {} keys", t.items.len()), "expected one key", help);
        return None;
    };
    if !forms.contains(&item.key.as_str()) {
        let label = match item.key.as_str() {
            "table" | "file" | "sizes" if forms.contains(&"cdf") => "a table is given as `cdf`".into(),
            key => did_you_mean(key, forms.iter().copied()).unwrap_or_else(|| "unknown distribution".into()),
        };
        cx.sink.error(item.key_at, format!("{what}: there is no distribution `{}`", short(&item.key)), label, help);
        return None;
    }
    if !item.key.ends_with("uniform") {
        return Some(Shape::One(item));
    }
    match &item.node.raw {
        Raw::Array(a) if a.len() == 2 => Some(Shape::Two(item, &a[0], &a[1])),
        _ => {
            let message = format!("{what}: `{}` needs a smallest and a largest value, not {}", item.key, item.node.describe());
            cx.sink.error(item.node.at, message, "expected a list of two", None);
            None
        }
    }
}

/// Reads a distribution of sizes.
pub(crate) fn sizes(cx: &mut Cx, what: &str, node: &Node) -> Option<SizeDist> {
    if let Some(text) = node.text()
        && (BUILT_IN.iter().any(|b| b.0 == text) || text.ends_with(".cdf") || text.ends_with(".txt"))
    {
        let advice = format!("write {{ cdf = \"{}\" }}", short(text));
        cx.sink.error(node.at, format!("{what} is a size or a distribution, not the name of a table"), advice, None);
        return None;
    }
    mixture_named(cx, what, node)?;
    match shape(cx, what, node, &["uniform", "log-uniform", "exponential", "cdf", "mixture"])? {
        Shape::Const(n) => quantity::bytes(cx, what, n).map(|b| SizeDist::Const(b.0)),
        Shape::One(item) if item.key == "cdf" => table(cx, what, &item.node).map(SizeDist::Table),
        Shape::One(item) if item.key == "mixture" => {
            let m = mixture(cx, what, &item.node, false, sizes, SizeDist::mean)?;
            Some(SizeDist::Mixture(Arc::new(m)))
        }
        Shape::One(item) => quantity::bytes(cx, what, &item.node).map(|b| SizeDist::Exponential(b.0)),
        Shape::Two(item, lo, hi) => {
            let (lo_b, hi_b) = (quantity::bytes(cx, what, lo), quantity::bytes(cx, what, hi));
            let (lo, hi) = (lo_b?.0, hi_b?.0);
            ordered(cx, what, item, lo, hi)?;
            Some(if item.key == "uniform" { SizeDist::Uniform(lo, hi) } else { SizeDist::LogUniform(lo, hi) })
        }
    }
}

/// Reads a distribution of times.
pub(crate) fn times(cx: &mut Cx, what: &str, node: &Node) -> Option<TimeDist> {
    mixture_named(cx, what, node)?;
    match shape(cx, what, node, &["uniform", "log-uniform", "exponential", "mixture"])? {
        Shape::Const(n) => quantity::time(cx, what, n, MAX_TIME).map(TimeDist::Const),
        Shape::One(item) if item.key == "mixture" => {
            let m = mixture(cx, what, &item.node, true, times, TimeDist::mean)?;
            Some(TimeDist::Mixture(Arc::new(m)))
        }
        Shape::One(item) => quantity::time(cx, what, &item.node, MAX_TIME).map(TimeDist::Exponential),
        Shape::Two(item, lo, hi) => {
            let (lo_t, hi_t) = (quantity::time(cx, what, lo, MAX_TIME), quantity::time(cx, what, hi, MAX_TIME));
            let (a, b) = (lo_t?, hi_t?);
            ordered(cx, what, item, a, b)?;
            if item.key == "uniform" {
                return Some(TimeDist::Uniform(a, b));
            }
            if a == Time::ZERO {
                cx.sink.error(
                    lo.at,
                    format!("{what}: a log-uniform distribution cannot start at zero"),
                    "must be above zero",
                    None,
                );
                return None;
            }
            Some(TimeDist::LogUniform(a, b))
        }
    }
}

/// Refuses the bare name of a mixture, with advice.
fn mixture_named(cx: &mut Cx, what: &str, node: &Node) -> Option<()> {
    let Some(name) = node.text().filter(|t| mixture::BUILT_IN.iter().any(|b| b.name == *t)) else { return Some(()) };
    let advice = format!("write {{ mixture = \"{name}\" }}");
    cx.sink.error(node.at, format!("{what} is a value or a distribution, not the name of a mixture"), advice, None);
    None
}

fn ordered<T: PartialOrd>(cx: &mut Cx, what: &str, item: &Item, lo: T, hi: T) -> Option<()> {
    if lo <= hi {
        return Some(());
    }
    cx.sink.error(item.node.at, format!("{what}: the smallest value is above the largest"), "write [smallest, largest]", None);
    None
}

/// Reads a built-in table, or a file relative to the scenario, and adds a note about it.
fn table(cx: &mut Cx, what: &str, node: &Node) -> Option<Arc<SizeTable>> {
    let name = quantity::text(cx, what, node)?;
    mixture_named(cx, what, node)?;
    if let Some(t) = cx.tables.get(name) {
        return Some(t.clone());
    }
    let built_in = BUILT_IN.iter().find(|b| b.0 == name);
    let text = match built_in {
        Some((_, text, _)) => Ok((*text).to_owned()),
        None => load::read(&cx.file(name), "size table"),
    };
    let parsed = text.and_then(|t| SizeTable::parse(&t, name).map_err(|e| e.to_string()));
    match parsed {
        Ok(t) if t.mean() > MAX_BYTES as f64 || t.mean() < 1.0 => {
            cx.sink.error(node.at, format!("{}: the mean is {} B", short(name), grouped(t.mean())), "legal: 1 B to 1 PB", None);
            None
        }
        Ok(t) => {
            // A file may have another unit than its author expects.
            if built_in.is_none() {
                cx.note(format!("{name}: mean {} B, {} points", grouped(t.mean()), t.points().len()));
            }
            let t = Arc::new(t);
            cx.tables.insert(name.to_owned(), t.clone());
            Some(t)
        }
        Err(message) => {
            let names = || BUILT_IN.iter().map(|b| b.0);
            let label = did_you_mean(name, names()).unwrap_or_else(|| "cannot be used".into());
            let help = format!("built-in tables: {}; anything else is a file relative to the scenario", alternatives(names()));
            cx.sink.error(node.at, message, label, Some(help));
            None
        }
    }
}
