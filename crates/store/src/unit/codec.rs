//! File format of a unit's metrics: Parquet with a checksum over the whole file, which detects torn files.

use super::key::{KeyHasher, UnitKey};
use super::record::UnitRecord;
use super::table_record::KeptTable;
use crate::column_places;
use crate::summary_table;
use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::sync::{Arc, LazyLock};

/// Version of the format, a fact of the file. Files of other versions count as missing. Version 1 had a column for each metric, and no such fact.
const VERSION: &str = "2";

/// Columns of a file. The metrics are one list: a column for each of them would take longer to write than a short run takes.
static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let metrics = DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)));
    let [text, int] = [DataType::Utf8, DataType::Int64];
    let columns = [
        ("variant", text.clone()),
        ("run", int),
        ("seed", DataType::UInt64),
        ("world", text.clone()),
        ("transport", text.clone()),
        ("class", text.clone()),
        ("port", text),
        ("metrics", metrics),
    ];
    Arc::new(Schema::new(columns.map(|(name, data_type)| Field::new(name, data_type, false)).to_vec()))
});

/// Names of the metrics in the order of the list, separated by spaces: a fact of the file.
static METRICS: LazyLock<String> = LazyLock::new(|| summary_table::metric_columns().map(|m| m.0).collect::<Vec<_>>().join(" "));

/// The file of a unit.
///
/// Our choice: plain values without statistics, dictionaries, compression or descriptions, which are many times longer than a row of numbers. A
/// file has one row per transport group, and a sweep has many files.
pub(super) fn encode(key: &UnitKey, record: &UnitRecord, kept: &[KeptTable]) -> Result<Vec<u8>, ParquetError> {
    encode_version(VERSION, key, record, kept)
}

fn encode_version(version: &str, key: &UnitKey, record: &UnitRecord, kept: &[KeptTable]) -> Result<Vec<u8>, ParquetError> {
    let batch = batch(record)?;
    let mut facts = vec![
        ("forebay.unit", key.to_string()),
        ("forebay.unit_version", version.to_owned()),
        ("forebay.metrics", METRICS.clone()),
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

/// The rows of a unit.
fn batch(record: &UnitRecord) -> Result<RecordBatch, ParquetError> {
    let rows: Vec<_> = record.rows().collect();
    let mut metrics = ListBuilder::new(Float64Builder::with_capacity(record.values.len()));
    for row in &rows {
        row.values.iter().for_each(|value| metrics.values().append_option(*value));
        metrics.append(true);
    }
    let columns: Vec<ArrayRef> = vec![
        texts(rows.iter().map(|r| r.variant)),
        Arc::new(rows.iter().map(|r| Some(i64::from(r.run))).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|r| Some(r.seed)).collect::<UInt64Array>()),
        texts(rows.iter().map(|r| r.world)),
        texts(rows.iter().map(|r| r.transport)),
        texts(rows.iter().map(|r| r.class)),
        texts(rows.iter().map(|r| r.port)),
        Arc::new(metrics.finish()),
    ];
    Ok(RecordBatch::try_new(SCHEMA.clone(), columns)?)
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Reads a file that [`encode`] wrote for `key`; `None` for anything else.
pub(super) fn decode(key: &UnitKey, bytes: Vec<u8>) -> Option<(UnitRecord, Vec<KeptTable>)> {
    if !is_whole(&bytes) {
        return None;
    }
    // The types that this version writes; other types are rejected here.
    let options = ArrowReaderOptions::new().with_schema(SCHEMA.clone());
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes::Bytes::from(bytes), options).ok()?;
    let facts = builder.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let all = |name: &'static str| facts.iter().filter(move |f| f.key == name).filter_map(|f| f.value.as_deref());
    let fact = |name: &'static str| all(name).next();
    let expected =
        [("forebay.unit", key.to_string()), ("forebay.unit_version", VERSION.into()), ("forebay.metrics", METRICS.clone())];
    if expected.iter().any(|(name, value)| fact(name) != Some(value.as_str())) {
        return None;
    }
    column_places::check(builder.metadata()).ok()?;
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

fn rows(batch: &RecordBatch) -> Option<UnitRecord> {
    let column = |name: &str| batch.column_by_name(name);
    let text = |name: &str, row: usize| Some(column(name)?.as_string_opt::<i32>()?.value(row).to_owned());
    let n = batch.num_rows();
    if n == 0 {
        return None;
    }
    let lists: &ListArray = column("metrics")?.as_list_opt()?;
    let values = |row: usize| -> Option<Vec<Option<f64>>> {
        let list = lists.value(row);
        let list = list.as_primitive_opt::<Float64Type>()?;
        // A metric without a value is null in the files that are written, never NaN.
        let legal = list.len() == UnitRecord::width() && !list.iter().flatten().any(f64::is_nan);
        legal.then(|| list.iter().collect())
    };
    Some(UnitRecord {
        variant: text("variant", 0)?,
        run: u32::try_from(column("run")?.as_primitive_opt::<Int64Type>()?.value(0)).ok()?,
        seed: column("seed")?.as_primitive_opt::<UInt64Type>()?.value(0),
        world: text("world", 0)?,
        groups: (0..n).map(|row| text("transport", row)).collect::<Option<_>>()?,
        classes: (0..n).map(|row| text("class", row)).collect::<Option<_>>()?,
        port: text("port", 0)?,
        values: (0..n).map(values).collect::<Option<Vec<_>>>()?.concat(),
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

/// `file` with a checksum that fits, in place of the one that it has. For tests and fuzz targets, which change a file and let the reader parse it.
pub fn reseal(file: &[u8]) -> Vec<u8> {
    let Some(end) = footer_start(file).and_then(|f| f.checked_sub(SUM)) else { return file.to_vec() };
    let (columns, rest) = file.split_at(end);
    seal(&[columns, rest.get(SUM..).unwrap_or_default()].concat())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_with_nan_is_damaged() {
        let key = KeyHasher::of(b"nan");
        let of = |value: f64| UnitRecord {
            groups: vec!["dctcp".to_owned()].into(),
            classes: vec![String::new()],
            values: vec![Some(value); UnitRecord::width()],
            ..UnitRecord::default()
        };
        let read = |record: &UnitRecord| decode(&key, encode(&key, record, &[]).unwrap());
        assert!(read(&of(1.5)).is_some() && read(&of(f64::NAN)).is_none());
    }

    #[test]
    fn resealed_files_are_whole() {
        let parts = |columns: &[u8]| [columns, &[b'x'; SUM], &[7, 7, 7], &3u32.to_le_bytes(), b"PAR1"].concat();
        let (one, other) = (parts(b"columns"), parts(b"others"));
        assert!(!is_whole(&one) && !is_whole(&other));
        for file in [one, other] {
            let sealed = reseal(&file);
            assert!(is_whole(&sealed) && sealed.len() == file.len());
            assert_eq!(reseal(&sealed), sealed);
        }
        assert_eq!(reseal(b"short"), b"short");
    }

    #[test]
    fn other_versions_are_refused() {
        let key = KeyHasher::of(b"a");
        let values = (0..UnitRecord::width()).map(|i| (i % 3 > 0).then_some(i as f64)).collect();
        let (groups, classes) = (vec!["cubic".to_owned()].into(), vec![String::new()]);
        let record = UnitRecord { groups, classes, values, seed: u64::MAX, ..UnitRecord::default() };
        let read = |version: &str| decode(&key, encode_version(version, &key, &record, &[]).unwrap());
        assert_eq!(read(VERSION), Some((record.clone(), Vec::new())));
        for other in ["1", "3", ""] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
