//! The summaries of runs as a table: one row per run and transport group, one column per metric.

use crate::RunInfo;
use crate::batch::{field, text_type, texts, with_metadata};
use crate::summary::{GROUP_METRICS, Metric, NETWORK_METRICS, Summary, Unit};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use std::sync::Arc;

/// Raised whenever a column changes its meaning, type or name or goes away.
pub(crate) const VERSION: u32 = 1;
/// What a row is.
pub(crate) const DOC: &str = "One row per run and transport group: the numbers of the printed table. Those of the network, which the \
                              groups of a run share, stand in each of its rows.";

/// A column that is not a metric: name, type, unit, description.
fn keys() -> Vec<(&'static str, DataType, &'static str, &'static str)> {
    vec![
        ("variant", text_type(), "", "variant of the scenario the row belongs to, such as its transport"),
        ("run", DataType::Int64, "1", "repetition within the variant, from 0"),
        ("seed", DataType::UInt64, "1", "seed of the repetition"),
        ("cc", text_type(), "", "name of the transport group"),
        ("port", text_type(), "", "port that the queue metrics are of"),
    ]
}

/// Name, unit and description of every metric column.
pub fn metric_columns() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let of = |name, unit: Unit, doc| (name, unit.symbol(), doc);
    let groups = GROUP_METRICS.iter().map(move |m| of(m.name, m.unit, m.doc));
    groups.chain(NETWORK_METRICS.iter().map(move |m| of(m.name, m.unit, m.doc)))
}

/// All columns: name, type, unit, description.
pub(crate) fn columns() -> Vec<(&'static str, DataType, &'static str, &'static str)> {
    keys().into_iter().chain(metric_columns().map(|(name, unit, doc)| (name, DataType::Float64, unit, doc))).collect()
}

/// The columns of the table.
pub fn arrow_schema() -> SchemaRef {
    let fields: Vec<Field> =
        columns().into_iter().map(|(name, t, unit, doc)| field(name, t.clone(), t == DataType::Float64, unit, doc)).collect();
    with_metadata(fields, "summary", VERSION, DOC)
}

/// The rows of several runs.
///
/// # Errors
/// None, short of more than 2^31 different names.
pub fn batch(runs: &[(&RunInfo, &Summary)]) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<(&RunInfo, &Summary, usize)> =
        runs.iter().flat_map(|&(info, s)| (0..s.groups.len()).map(move |g| (info, s, g))).collect();
    let mut arrays: Vec<ArrayRef> = vec![
        texts(rows.iter().map(|r| r.0.variant.as_str()))?,
        Arc::new(rows.iter().map(|r| Some(i64::from(r.0.run))).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|r| Some(r.0.seed)).collect::<UInt64Array>()),
        texts(rows.iter().map(|r| r.1.groups[r.2].name.as_str()))?,
        texts(rows.iter().map(|r| r.1.network.port.as_str()))?,
    ];
    arrays.extend(GROUP_METRICS.iter().map(|m| floats(&rows, m, |r| &r.1.groups[r.2])));
    arrays.extend(NETWORK_METRICS.iter().map(|m| floats(&rows, m, |r| &r.1.network)));
    RecordBatch::try_new(arrow_schema(), arrays)
}

fn floats<R, S>(rows: &[R], metric: &Metric<S>, of: impl Fn(&R) -> &S) -> ArrayRef {
    Arc::new(rows.iter().map(|r| (metric.get)(of(r))).collect::<Float64Array>())
}
