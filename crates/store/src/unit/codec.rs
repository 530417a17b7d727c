//! File format of a unit's metrics: Parquet with a checksum over the whole file, which detects torn files.

use super::key::{KeyHasher, UnitKey};
use super::record::UnitRecord;
use super::table_record::KeptTable;
use crate::arrow_fields::text_type;
use crate::summary_table;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::sync::Arc;

/// Columns in front of the metrics.
const NAMES: usize = 7;

/// The file of a unit.
///
/// Our choice: plain values without statistics, dictionaries, compression or descriptions, which are many times longer than a row of numbers. A
/// file has one row per transport group, and a sweep has many files.
pub(super) fn encode(key: &UnitKey, record: &UnitRecord, kept: &[KeptTable]) -> Result<Vec<u8>, ParquetError> {
    let rows: Vec<_> = record.rows().collect();
    let batch = RecordBatch::try_new(summary_table::arrow_schema(), summary_table::arrays(&rows)?)?;
    let mut facts = vec![
        ("forebay.unit", key.to_string()),
        ("forebay.fingerprint", format!("{:016x}", record.fingerprint)),
        ("forebay.packet_hops", record.packet_hops.to_string()),
        ("forebay.end_ns", record.end_ns.to_string()),
        ("forebay.measured_from_ns", record.measured_from_ns.to_string()),
    ];
    facts.extend(kept.iter().map(|k| ("forebay.kept", k.to_string())));
    let facts = facts.into_iter().map(|(k, v)| KeyValue::new(k.to_owned(), v));
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(facts.collect()))
        .set_created_by(concat!("forebay ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options)?;
    writer.write(&batch)?;
    Ok(seal(&writer.into_inner()?))
}

/// Reads a file that [`encode`] wrote for `key`; `None` for anything else.
pub(super) fn decode(key: &UnitKey, bytes: Vec<u8>) -> Option<(UnitRecord, Vec<KeptTable>)> {
    if !is_whole(&bytes) {
        return None;
    }
    // The types that this version writes; other types are rejected here.
    let options = ArrowReaderOptions::new().with_schema(file_schema());
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes::Bytes::from(bytes), options).ok()?;
    let facts = builder.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let all = |name: &'static str| facts.iter().filter(move |f| f.key == name).filter_map(|f| f.value.as_deref());
    let fact = |name: &'static str| all(name).next();
    if fact("forebay.unit") != Some(key.to_string().as_str()) {
        return None;
    }
    let batches: Vec<RecordBatch> = builder.build().ok()?.collect::<Result<_, _>>().ok()?;
    let [batch] = batches.as_slice() else { return None };
    let mut record = rows(batch)?;
    record.fingerprint = u64::from_str_radix(fact("forebay.fingerprint")?, 16).ok()?;
    record.packet_hops = fact("forebay.packet_hops")?.parse().ok()?;
    record.end_ns = fact("forebay.end_ns")?.parse().ok()?;
    record.measured_from_ns = fact("forebay.measured_from_ns")?.parse().ok()?;
    let kept: Vec<KeptTable> = all("forebay.kept").map(|k| k.parse().ok()).collect::<Option<_>>()?;
    Some((record, kept))
}

/// As the table, but with plain text for names.
fn file_schema() -> SchemaRef {
    let schema = summary_table::arrow_schema();
    let plain = |f: &Arc<arrow_schema::Field>| {
        let data_type = if *f.data_type() == text_type() { DataType::Utf8 } else { f.data_type().clone() };
        arrow_schema::Field::new(f.name(), data_type, f.is_nullable())
    };
    Arc::new(arrow_schema::Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>()))
}

fn rows(batch: &RecordBatch) -> Option<UnitRecord> {
    let text = |column: usize, row: usize| Some(batch.column(column).as_string_opt::<i32>()?.value(row).to_owned());
    let n = batch.num_rows();
    if n == 0 {
        return None;
    }
    let metrics: Vec<_> =
        (NAMES..batch.num_columns()).map(|c| batch.column(c).as_primitive_opt::<Float64Type>()).collect::<Option<_>>()?;
    let value = |row: usize| metrics.iter().map(move |c| (!c.is_null(row)).then(|| c.value(row)));
    Some(UnitRecord {
        variant: text(0, 0)?,
        run: u32::try_from(batch.column(1).as_primitive_opt::<Int64Type>()?.value(0)).ok()?,
        seed: batch.column(2).as_primitive_opt::<UInt64Type>()?.value(0),
        world: text(3, 0)?,
        groups: (0..n).map(|row| text(4, row)).collect::<Option<_>>()?,
        classes: (0..n).map(|row| text(5, row)).collect::<Option<_>>()?,
        port: text(6, 0)?,
        values: (0..n).flat_map(value).collect(),
        ..UnitRecord::default()
    })
}

/// Length of the checksum.
const SUM: usize = 32;
/// End of a Parquet file: the length of the footer before it, and the magic.
const TAIL: usize = 8;

/// Inserts a checksum over all bytes between the columns and the footer, where Parquet readers never look: they locate the footer from the end and
/// the columns from the beginning.
fn seal(bytes: &[u8]) -> Vec<u8> {
    let (columns, footer) = bytes.split_at(footer_start(bytes).unwrap_or(bytes.len()));
    [columns, sum(columns, footer).as_bytes(), footer].concat()
}

/// Verifies the checksum of a file. It must precede all parsing: Parquet readers trust their input.
fn is_whole(bytes: &[u8]) -> bool {
    let Some((columns, rest)) = footer_start(bytes).and_then(|f| Some(bytes.split_at(f.checked_sub(SUM)?))) else { return false };
    let (found, footer) = rest.split_at(SUM);
    found == sum(columns, footer).as_bytes()
}

fn footer_start(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.len().checked_sub(TAIL)?;
    let length = u32::from_le_bytes(bytes[tail..tail + 4].try_into().ok()?);
    tail.checked_sub(length as usize)
}

fn sum(columns: &[u8], footer: &[u8]) -> String {
    KeyHasher::default().part("columns", columns).part("footer", footer).key().to_string()
}
