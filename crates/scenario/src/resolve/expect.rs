//! `[[expect]]`: expected ranges of metrics, which `forebay run` judges.

use crate::schema::context::Cx;
use crate::schema::fields::Fields;
use crate::schema::quantity;
use crate::text::doc::{Item, Node, Raw};
use crate::text::error::{Errors, Sink};
use crate::text::load::Scenario;
use crate::text::message_text::short;
use crate::text::source::At;
use forebay_experiment::dimension::Dimension;
use forebay_types::{Bytes, Rate, Time};

/// Maximum number of expectations. Our choice.
const MAX_EXPECTATIONS: usize = 1000;

/// Expected range of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// Column of the table `summary`.
    pub metric: String,
    /// Transport group, or variant, that it is about; `None`: each one that has the metric.
    pub transport: Option<String>,
    /// Workload that it is about; `None`: all of the group.
    pub workload: Option<String>,
    /// Least legal value.
    pub low: Bound,
    /// Greatest legal value.
    pub high: Bound,
    /// Source of the range, such as a section of a standard; empty without one.
    pub source: String,
    /// Positions of its keys, for errors.
    pub places: Places,
}

/// Positions of the keys of an expectation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Places {
    metric: At,
    transport: At,
    workload: At,
    between: At,
}

/// End of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Value in seconds, bit/s, bytes or as a fraction where it has a unit; otherwise in the unit of the metric.
    pub value: f64,
    /// Dimension of its unit; `None` for a bare number.
    pub unit: Option<Dimension>,
}

/// Key of an expectation, for errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectKey {
    /// `metric`
    Metric,
    /// `transport`
    Transport,
    /// `workload`
    Workload,
    /// `between`
    Between,
}

impl Scenario {
    /// Error at a key of an expectation, whose value is not possible. `suggested` is the name that was probably meant, and `help` the advice.
    pub fn expectation_error(
        &self,
        of: &Expectation,
        key: ExpectKey,
        message: String,
        suggested: Option<&str>,
        help: String,
    ) -> Errors {
        let mut sink = Sink::new(self.sources.clone());
        let at = match key {
            ExpectKey::Metric => of.places.metric,
            ExpectKey::Transport => of.places.transport,
            ExpectKey::Workload => of.places.workload,
            ExpectKey::Between => of.places.between,
        };
        let label = suggested.map_or_else(|| "not possible here".into(), |name| format!("did you mean `{name}`?"));
        sink.error(at, message, label, Some(help));
        match sink.finish::<()>(None) {
            Ok(()) => unreachable!("the sink has an error"),
            Err(errors) => errors,
        }
    }
}

/// Reads `[[expect]]`.
pub(crate) fn expect(cx: &mut Cx, item: Option<&Item>) -> Option<Vec<Expectation>> {
    let Some(item) = item else { return Some(Vec::new()) };
    let Raw::Array(list) = &item.node.raw else {
        cx.sink.error(
            item.node.at,
            format!("`expect` must be a list of tables, not {}", item.node.describe()),
            "write [[expect]]",
            None,
        );
        return None;
    };
    if list.len() > MAX_EXPECTATIONS {
        cx.sink.error(
            item.node.at,
            format!("`expect` has {} entries", list.len()),
            format!("legal: at most {MAX_EXPECTATIONS}"),
            None,
        );
        return None;
    }
    let read: Vec<Option<Expectation>> = list.iter().map(|node| one(cx, node)).collect();
    read.into_iter().collect()
}

fn one(cx: &mut Cx, node: &Node) -> Option<Expectation> {
    let mut fields = Fields::of_node("[[expect]]", node, &mut cx.sink)?;
    let (metric, between) = (fields.get("metric"), fields.get("between"));
    let [transport, workload, source] = ["transport", "workload", "source"].map(|key| fields.get(key));
    fields.finish(&mut cx.sink);
    for (key, found, example) in [
        ("metric", metric, "metric = \"fct_small_p99_s\": a column of the table `summary`"),
        ("between", between, "between = [\"0s\", \"5ms\"]: least and greatest legal value"),
    ] {
        if found.is_none() {
            cx.sink.error(node.at, format!("[[expect]] has no `{key}`"), "is required", Some(format!("write {example}")));
        }
    }
    let mut text = |key: &str, item: Option<&Item>| match item {
        None => Some((None, node.at)),
        Some(i) => quantity::text(cx, &format!("`{key}`"), &i.node).map(|t| (Some(t.to_owned()), i.node.at)),
    };
    let metric = text("metric", metric);
    let (transport, workload, source) = (text("transport", transport), text("workload", workload), text("source", source));
    let (low, high, between_at) = band(cx, between?)?;
    let (metric, metric_at) = metric?;
    let ((transport, transport_at), (workload, workload_at), (source, _)) = (transport?, workload?, source?);
    Some(Expectation {
        metric: metric?,
        transport,
        workload,
        low,
        high,
        source: source.unwrap_or_default(),
        places: Places { metric: metric_at, transport: transport_at, workload: workload_at, between: between_at },
    })
}

/// Reads `between`.
fn band(cx: &mut Cx, item: &Item) -> Option<(Bound, Bound, At)> {
    let example =
        || Some("write between = [0.9, 1.0], [\"0s\", \"5ms\"], or [\"1Gbps\", inf] for a range without upper end".to_owned());
    let ends = match &item.node.raw {
        Raw::Array(ends) if ends.len() == 2 => ends,
        _ => {
            let message = format!("`between` must be a list of two values, not {}", item.node.describe());
            cx.sink.error(item.node.at, message, "expected [least, greatest]", example());
            return None;
        }
    };
    let (low, high) = (bound(cx, &ends[0]), bound(cx, &ends[1]));
    let (low, high) = (low?, high?);
    if let (Some(a), Some(b)) = (low.unit, high.unit)
        && a != b
    {
        let message = format!("`between` begins with {} and ends with {}", a.name(), b.name());
        cx.sink.error(item.node.at, message, "two different units", example());
        return None;
    }
    if low.value.is_nan() || high.value.is_nan() || low.value > high.value {
        cx.sink.error(item.node.at, "`between` contains no value", "the first value must not exceed the second one", example());
        return None;
    }
    Some((low, high, item.node.at))
}

fn bound(cx: &mut Cx, node: &Node) -> Option<Bound> {
    let plain = |value: f64| Some(Bound { value, unit: None });
    let text = match &node.raw {
        Raw::Int(i) => return plain(*i as f64),
        Raw::Float(f) => return plain(*f),
        Raw::Text(text) => text.trim(),
        _ => "",
    };
    if let Some(percent) = text.strip_suffix('%').and_then(|p| p.trim().parse::<f64>().ok()) {
        return Some(Bound { value: percent / 100.0, unit: Some(Dimension::Fraction) });
    }
    if let Ok(time) = text.parse::<Time>() {
        return Some(Bound { value: time.0 as f64 * 1e-12, unit: Some(Dimension::Seconds) });
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some(Bound { value: rate.0 as f64, unit: Some(Dimension::BitsPerSecond) });
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return Some(Bound { value: bytes.0 as f64, unit: Some(Dimension::Bytes) });
    }
    let message = match &node.raw {
        Raw::Text(text) => format!("`between` holds the text \"{}\"", short(text)),
        _ => format!("`between` holds {}", node.describe()),
    };
    let help =
        "legal: a number in the unit of the metric, inf, or a text with a unit, such as \"5ms\", \"1Gbps\", \"64KB\" or \"95%\"";
    cx.sink.error(node.at, message, "not a value", Some(help.to_owned()));
    None
}
