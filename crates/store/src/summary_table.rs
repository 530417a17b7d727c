//! The summaries of runs as a table: one row per run and transport group, one column per metric.

use crate::RunInfo;
use crate::arrow_fields::{field, text_type, texts, with_metadata};
use crate::schema::WORLD;
use crate::summary::{Dimension, GROUP_METRICS, GroupSummary, NETWORK_METRICS, Summary};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use std::sync::Arc;

/// Raised when a column changes its meaning, type or name or is removed.
pub(crate) const VERSION: u32 = 3;
/// Meaning of a row.
pub(crate) const DOC: &str = "One row per run and transport group: the metrics of the printed table. Network metrics, which the groups \
                              of a run share, are repeated in each of its rows. A backend that predicts instead of running, such as \
                              the closed forms, fills the metrics that its models give; all others are null.";

/// Columns that are not metrics: name, type, unit, description.
fn keys() -> Vec<(&'static str, DataType, &'static str, &'static str)> {
    vec![
        ("variant", text_type(), "", "variant of the scenario, such as its transport"),
        ("run", DataType::Int64, "1", "repetition within the variant, from 0"),
        ("seed", DataType::UInt64, "1", "seed of the repetition"),
        ("world", text_type(), "", WORLD),
        ("transport", text_type(), "", "name of the transport group"),
        (
            "class",
            text_type(),
            "",
            "name of the workload in rows of a sweep about one of several workloads of a group; empty for the whole group, whose row then has no \
             completion times",
        ),
        ("port", text_type(), "", "port of the queue metrics"),
    ]
}

/// Name, unit and description of every metric column.
pub fn metric_columns() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let of = |name, unit: Dimension, doc| (name, unit.symbol(), doc);
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
    let of = |g: &GroupSummary, s: &Summary| -> Vec<Option<f64>> {
        let group = GROUP_METRICS.iter().map(|m| (m.get)(g));
        group.chain(NETWORK_METRICS.iter().map(|m| (m.get)(&s.network))).collect()
    };
    let values: Vec<Vec<Option<f64>>> = runs.iter().flat_map(|&(_, s)| s.groups.iter().map(move |g| of(g, s))).collect();
    let groups = runs.iter().flat_map(|&(info, s)| s.groups.iter().map(move |g| (info, s, g)));
    let rows = groups.zip(&values).map(|((info, s, g), values)| Row {
        variant: &info.variant,
        run: info.run,
        seed: info.seed,
        world: &info.world,
        transport: &g.name,
        class: "",
        port: &s.network.port,
        values,
    });
    RecordBatch::try_new(arrow_schema(), arrays(&rows.collect::<Vec<_>>())?)
}

/// One row.
pub(crate) struct Row<'a> {
    pub variant: &'a str,
    pub run: u32,
    pub seed: u64,
    pub world: &'a str,
    pub transport: &'a str,
    /// Name of the workload; empty for the whole group.
    pub class: &'a str,
    pub port: &'a str,
    /// The metrics in the order of the columns.
    pub values: &'a [Option<f64>],
}

/// The columns of these rows.
pub(crate) fn arrays(rows: &[Row]) -> Result<Vec<ArrayRef>, ArrowError> {
    let mut arrays: Vec<ArrayRef> = vec![
        texts(rows.iter().map(|r| r.variant))?,
        Arc::new(rows.iter().map(|r| Some(i64::from(r.run))).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|r| Some(r.seed)).collect::<UInt64Array>()),
        texts(rows.iter().map(|r| r.world))?,
        texts(rows.iter().map(|r| r.transport))?,
        texts(rows.iter().map(|r| r.class))?,
        texts(rows.iter().map(|r| r.port))?,
    ];
    let metrics = GROUP_METRICS.len() + NETWORK_METRICS.len();
    let column =
        |m: usize| Arc::new(rows.iter().map(|r| r.values.get(m).copied().flatten()).collect::<Float64Array>()) as ArrayRef;
    arrays.extend((0..metrics).map(column));
    Ok(arrays)
}
