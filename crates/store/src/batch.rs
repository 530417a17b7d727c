//! Conversion of rows to Arrow: the columns of a [`TableSchema`] become arrays, with units and descriptions as metadata. All files are written from
//! these arrays, and Python reads them without a copy.

use crate::arrow_fields::{field, optional_texts, text_type, texts, with_metadata};
use crate::column::{Column, Get, TableSchema};
use crate::run_info::RunInfo;
use crate::run_table::RunTable;
use crate::summary::Summary;
use crate::{schema, summary_table};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use forebay_experiment::cc_state::CcValue;
use forebay_experiment::report::Report;
use forebay_experiment::series::{Series, SeriesRow};
use forebay_experiment::shim_row::{ShimRow, ShimValue};
use std::sync::Arc;

/// The columns of a table of a run.
pub fn schema_of(table: RunTable) -> SchemaRef {
    match table {
        RunTable::Flows => arrow_schema(&schema::FLOWS),
        RunTable::Ports => arrow_schema(&schema::PORTS),
        RunTable::Queue => arrow_schema(&schema::QUEUE),
        RunTable::Tcp => arrow_schema(&schema::TCP),
        RunTable::Queries => arrow_schema(&schema::QUERIES),
        RunTable::Timeouts => arrow_schema(&schema::TIMEOUTS),
        RunTable::Goodput => arrow_schema(&schema::GOODPUT),
        RunTable::Events => arrow_schema(&schema::EVENTS),
        RunTable::Summary => summary_table::arrow_schema(),
    }
}

/// The rows of one table of a run; `None` for the summary, which is not a table of the report.
///
/// # Errors
/// None, short of more than 2^31 different names.
pub fn rows_of(table: RunTable, report: &Report, info: &RunInfo) -> Option<Result<RecordBatch, ArrowError>> {
    let mut all = None;
    visit(table, report, info, usize::MAX, &mut |batch| {
        all = Some(batch);
        Ok::<(), ()>(())
    })?
    .ok()?;
    Some(all.unwrap_or_else(|| Ok(RecordBatch::new_empty(schema_of(table)))))
}

/// Calls `f` with the rows of one table of a run, in batches that bound the memory of the conversion.
///
/// # Errors
/// The error of `f`.
pub fn each_batch<E>(
    table: RunTable,
    (info, report, summary): (&RunInfo, &Report, &Summary),
    f: &mut dyn FnMut(Result<RecordBatch, ArrowError>) -> Result<(), E>,
) -> Result<(), E> {
    visit(table, report, info, PIECE, f).unwrap_or_else(|| f(summary_table::batch(&[(info, summary)])))
}

/// Number of rows of one table of a run; `None` for the summary.
pub(crate) fn row_count(table: RunTable, report: &Report) -> Option<u64> {
    let rows = match table {
        RunTable::Flows => report.flows.len(),
        RunTable::Ports => report.ports.len(),
        RunTable::Queue => report.queue.len(),
        RunTable::Tcp => report.tcp.len(),
        RunTable::Queries => report.queries.len(),
        RunTable::Timeouts => report.timeouts.len(),
        RunTable::Goodput => report.deliveries.len(),
        RunTable::Events => report.events.len(),
        RunTable::Summary => return None,
    };
    Some(rows as u64)
}

/// Rows per batch. A batch of messages takes four megabytes.
const PIECE: usize = 1 << 13;

/// Maps each table to its rows in the report; `None` for the summary, which is not a table of the report.
fn visit<E>(
    table: RunTable,
    report: &Report,
    info: &RunInfo,
    piece: usize,
    f: &mut dyn FnMut(Result<RecordBatch, ArrowError>) -> Result<(), E>,
) -> Option<Result<(), E>> {
    let mut all = Pieces { info, piece, f };
    Some(match table {
        RunTable::Flows => all.of(&schema::FLOWS, &report.flows),
        RunTable::Ports => all.of(&schema::PORTS, &report.ports),
        RunTable::Queue => all.of_series(&schema::QUEUE, &report.queue),
        RunTable::Tcp => all.of_series(&schema::TCP, &report.tcp),
        RunTable::Queries => all.of(&schema::QUERIES, &report.queries),
        RunTable::Timeouts => all.of_series(&schema::TIMEOUTS, &report.timeouts),
        RunTable::Goodput => all.of(&schema::GOODPUT, &report.deliveries),
        RunTable::Events => all.of(&schema::EVENTS, &report.events),
        RunTable::Summary => return None,
    })
}

struct Pieces<'a, E> {
    info: &'a RunInfo,
    piece: usize,
    f: &'a mut dyn FnMut(Result<RecordBatch, ArrowError>) -> Result<(), E>,
}

impl<E> Pieces<'_, E> {
    fn of<R>(&mut self, table: &TableSchema<R>, rows: &[R]) -> Result<(), E> {
        let schema = arrow_schema(table);
        rows.chunks(self.piece).try_for_each(|rows| (self.f)(batch(table, &schema, rows, self.info)))
    }

    /// As [`Pieces::of`], for rows that may be on disk.
    fn of_series<R: SeriesRow>(&mut self, table: &TableSchema<R>, rows: &Series<R>) -> Result<(), E> {
        let schema = arrow_schema(table);
        let read =
            rows.pieces(self.piece, &mut |rows| (self.f)(batch(table, &schema, rows, self.info)).map_err(Failed::Receiver));
        match read {
            Ok(()) => Ok(()),
            Err(Failed::Receiver(e)) => Err(e),
            Err(Failed::Reading(e)) => (self.f)(Err(ArrowError::IoError(format!("a series cannot be read back: {e}"), e))),
        }
    }
}

/// Error that ended the conversion of a series.
enum Failed<E> {
    /// Error of the receiver of the rows.
    Receiver(E),
    Reading(std::io::Error),
}

impl<E> From<std::io::Error> for Failed<E> {
    fn from(e: std::io::Error) -> Failed<E> {
        Failed::Reading(e)
    }
}

/// The columns of a table, with units and descriptions.
pub fn arrow_schema<R>(table: &TableSchema<R>) -> SchemaRef {
    let fields: Vec<Field> = table
        .columns
        .iter()
        .map(|c| {
            let (data_type, nullable) = match c.get {
                Get::Int(_) | Get::Shim(_, ShimValue::Int(_)) | Get::Cc(_, CcValue::Whole) => (DataType::Int64, true),
                Get::Unsigned(_) => (DataType::UInt64, false),
                Get::Float(_) | Get::Cc(_, CcValue::Real) => (DataType::Float64, true),
                Get::Bool(_) => (DataType::Boolean, true),
                Get::Text(_) | Get::Shim(_, ShimValue::Text(_)) => (text_type(), false),
                Get::Name(_) | Get::Cc(_, CcValue::State) => (text_type(), true),
            };
            field(c.name, data_type, nullable, c.unit, c.doc)
        })
        .collect();
    with_metadata(fields, table.name, table.version, table.doc)
}

/// Rows as arrays; `schema` is the schema of the table, see [`arrow_schema()`].
///
/// # Errors
/// None for a table's own schema, short of more than 2^31 different names.
pub fn batch<R>(table: &TableSchema<R>, schema: &SchemaRef, rows: &[R], info: &RunInfo) -> Result<RecordBatch, ArrowError> {
    let arrays = table.columns.iter().map(|c| array(c, rows, info)).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(schema.clone(), arrays)
}

fn array<R>(column: &Column<R>, rows: &[R], info: &RunInfo) -> Result<ArrayRef, ArrowError> {
    Ok(match column.get {
        Get::Int(get) => Arc::new(rows.iter().map(|r| get(r, info)).collect::<Int64Array>()),
        Get::Unsigned(get) => Arc::new(rows.iter().map(|r| Some(get(r, info))).collect::<UInt64Array>()),
        Get::Float(get) => Arc::new(rows.iter().map(|r| get(r, info)).collect::<Float64Array>()),
        Get::Bool(get) => Arc::new(rows.iter().map(|r| get(r, info)).collect::<BooleanArray>()),
        Get::Text(get) => texts(rows.iter().map(|r| get(r, info)))?,
        Get::Name(get) => optional_texts(rows.iter().map(|r| get(r, info)))?,
        Get::Cc(of, CcValue::Whole) => Arc::new(rows.iter().map(|r| of(r).int(column.name)).collect::<Int64Array>()),
        Get::Cc(of, CcValue::Real) => Arc::new(rows.iter().map(|r| of(r).float(column.name)).collect::<Float64Array>()),
        Get::Cc(of, CcValue::State) => optional_texts(rows.iter().map(|r| of(r).text(column.name)))?,
        Get::Shim(of, ShimValue::Int(otherwise)) => {
            let value = |r| match of(r).and_then(|s: &ShimRow| s.get(column.name)) {
                Some(ShimValue::Int(value)) => value,
                _ => otherwise,
            };
            Arc::new(rows.iter().map(value).collect::<Int64Array>())
        }
        Get::Shim(of, ShimValue::Text(otherwise)) => {
            let value = |r| match of(r).and_then(|s: &ShimRow| s.get(column.name)) {
                Some(ShimValue::Text(value)) => value,
                _ => otherwise,
            };
            texts(rows.iter().map(value))?
        }
    })
}
