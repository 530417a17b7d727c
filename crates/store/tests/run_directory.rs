//! Run directories: contents, metadata and atomic publication.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Schema;
use forebay_store::summary::summarise;
use forebay_store::{
    Format, Manifest, Pace, RunDir, RunInfo, RunTable, RunWriter, StoreError, Target, TruncatedTable, schema_of, seal,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A fresh directory, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("forebay-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn entries(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn exact(path: PathBuf, force: bool) -> Target {
    Target::Exact { path, force }
}

fn add(writer: &mut RunWriter, run: u32, seed: u64, samples: u64) -> Result<(), StoreError> {
    let (config, report) = (crate::common::config(seed), crate::common::report(samples));
    let info = RunInfo::new("a world", "v", run, &config);
    writer.add(&info, &report, &summarise(&info, &config, &report))
}

fn write(target: Target, format: Format) -> Result<PathBuf, StoreError> {
    let mut writer = RunWriter::create(target, format)?;
    for run in 0..2 {
        add(&mut writer, run, u64::MAX, 100_000)?;
    }
    writer.finish(Manifest { name: "test".into(), ..Manifest::default() })
}

fn read(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().with_batch_size(1 << 20);
    reader.build().unwrap().map(Result::unwrap).collect()
}

#[test]
fn parquet_roundtrip() {
    let scratch = Scratch::new("parquet");
    let dir = write(exact(scratch.0.join("r"), false), Format::Parquet).unwrap();
    let flows = &read(&dir.join("flows.parquet"))[0];
    assert_eq!(flows.num_rows(), 4);
    let int = |name: &str| flows.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
    // 1 235 000 901 - 1 000 900 ps = 1 234 000.001 ns
    assert_eq!(int("fct_ns").value(0), 1_234_000);
    assert_eq!(int("start_ns").value(0), 1_000);
    assert!(int("fct_ns").is_null(1) && int("end_ns").is_null(1) && int("query_id").is_null(0) && int("deadline_ns").is_null(0));
    let names = flows.column_by_name("transport").unwrap().as_dictionary::<arrow_array::types::Int32Type>().clone();
    assert_eq!(names.values().as_string::<i32>().value(0), "a \"b\", c");
    let seed = flows.column_by_name("seed").unwrap().as_primitive::<arrow_array::types::UInt64Type>().clone();
    assert_eq!(seed.value(0), u64::MAX);
    for field in flows.schema().fields() {
        assert!(field.metadata().contains_key("unit") && !field.metadata()["description"].is_empty(), "{}", field.name());
    }
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(dir.join("flows.parquet")).unwrap()).unwrap();
    assert_eq!(file.schema().metadata()["forebay.schema_version"], "3");
    let samples: usize = read(&dir.join("queue.parquet")).iter().map(RecordBatch::num_rows).sum();
    assert_eq!(samples, 200_000);
    let tcp = &read(&dir.join("tcp.parquet"))[0];
    assert!(tcp.column_by_name("alpha").unwrap().is_null(0) && tcp.column_by_name("ssthresh").unwrap().is_null(0));
}

#[test]
fn csv_quoting_and_manifest_tables() {
    let scratch = Scratch::new("csv");
    let dir = write(exact(scratch.0.join("deep/er/r"), false), Format::Csv).unwrap();
    let flows = fs::read_to_string(dir.join("flows.csv")).unwrap();
    let mut lines = flows.lines();
    assert!(
        lines.next().unwrap().starts_with("variant,run,seed,world,flow_id,conn_id,class,transport,src,dst,size_bytes,start_ns")
    );
    assert!(
        lines.next().unwrap().starts_with("v,0,18446744073709551615,a world,0,0,background,\"a \"\"b\"\", c\",h0,h1,50000,1000,")
    );
    let manifest: Manifest = serde_json::from_str(&fs::read_to_string(dir.join("manifest.json")).unwrap()).unwrap();
    let tables: Vec<(&str, u64)> = manifest.tables.iter().map(|t| (t.file.as_str(), t.rows)).collect();
    assert_eq!(
        tables,
        [
            ("flows.csv", 4),
            ("ports.csv", 4),
            ("queue.csv", 200_000),
            ("tcp.csv", 2),
            ("queries.csv", 4),
            ("timeouts.csv", 2),
            ("goodput.csv", 2),
            ("events.csv", 4),
            ("summary.csv", 2)
        ]
    );
}

#[test]
fn equal_runs_give_equal_files() {
    let scratch = Scratch::new("equal");
    let dirs = ["a", "b"].map(|n| write(exact(scratch.0.join(n), false), Format::Parquet).unwrap());
    for table in RunTable::ALL {
        let file = format!("{}.parquet", table.name());
        assert_eq!(fs::read(dirs[0].join(&file)).unwrap(), fs::read(dirs[1].join(&file)).unwrap(), "{file}");
    }
}

#[test]
fn an_unfinished_directory_disappears() {
    let scratch = Scratch::new("drop");
    let mut writer = RunWriter::create(exact(scratch.0.join("r"), false), Format::Parquet).unwrap();
    add(&mut writer, 0, 1, 10).unwrap();
    assert_eq!(scratch.entries().len(), 1, "only the sibling: {:?}", scratch.entries());
    assert!(!scratch.0.join("r").exists());
    drop(writer);
    assert!(scratch.entries().is_empty(), "{:?}", scratch.entries());
}

/// Truncation leaves the first rows of each table; small tables stay complete. Abandoned results are removed.
#[test]
fn writing_is_cut_or_abandoned() {
    let scratch = Scratch::new("paced");
    let (config, report) = (crate::common::config(1), crate::common::report(100_000));
    let info = RunInfo::new("a world", "v", 0, &config);
    let summary = summarise(&info, &config, &report);
    let samples = report.queue.len() as u64;
    let mut writer = RunWriter::create(exact(scratch.0.join("r"), false), Format::Parquet).unwrap();
    let mut batches = 0;
    let mut pace = || {
        batches += 1;
        if batches > 12 { Pace::Truncate } else { Pace::Continue }
    };
    let cut = writer.add_paced((&info, &report, &summary), &mut pace).unwrap();
    let [TruncatedTable { table: RunTable::Queue, written, rows }] = cut[..] else { panic!("{cut:?}") };
    assert!(rows == samples && written > 0 && written < samples && written % 8_192 == 0, "{cut:?}");
    assert_eq!(writer.add_paced((&info, &report, &summary), &mut || Pace::Continue).unwrap(), [], "the next run is written");
    let dir = RunDir::open(&writer.finish(Manifest::default()).unwrap()).unwrap();
    let rows_of = |name: &str| dir.table(name).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>() as u64;
    assert_eq!((rows_of("queue"), rows_of("summary")), (written + samples, 2));
    assert_eq!(rows_of("flows"), 2 * report.flows.len() as u64);

    let mut writer = RunWriter::create(exact(scratch.0.join("all"), false), Format::Csv).unwrap();
    let cut = writer.add_paced((&info, &report, &summary), &mut || Pace::Truncate).unwrap();
    assert!(cut.iter().all(|t| t.written == 0 && t.rows > 0) && cut.iter().any(|t| t.table == RunTable::Flows), "{cut:?}");
    drop(writer);
    let mut writer = RunWriter::create(exact(scratch.0.join("all"), false), Format::Csv).unwrap();
    let abandoned = writer.add_paced((&info, &report, &summary), &mut || Pace::Abandon);
    assert!(matches!(abandoned, Err(StoreError::Interrupted)));
    drop(writer);
    let writer = RunWriter::create(exact(scratch.0.join("all"), false), Format::Csv).unwrap();
    assert!(matches!(writer.finish_if(Manifest::default(), &|| false), Err(StoreError::Interrupted)));
    assert_eq!(scratch.entries(), ["r"]);
}

#[test]
fn force_replaces_only_results() {
    let scratch = Scratch::new("force");
    let path = scratch.0.join("r");
    write(exact(path.clone(), false), Format::Parquet).unwrap();
    assert!(matches!(write(exact(path.clone(), false), Format::Csv), Err(StoreError::Exists(_))));
    write(exact(path.clone(), true), Format::Csv).unwrap();
    assert!(path.join("flows.csv").exists() && !path.join("flows.parquet").exists());
    let foreign = scratch.0.join("photos");
    fs::create_dir(&foreign).unwrap();
    // An empty directory has nothing to lose.
    write(exact(foreign.clone(), false), Format::Csv).unwrap();
    fs::write(foreign.join("manifest.json"), "{\"kind\": \"album\"}").unwrap();
    assert!(matches!(write(exact(foreign.clone(), true), Format::Csv), Err(StoreError::NotARun(_))));
    assert_eq!(scratch.entries(), ["photos", "r"]);
}

#[test]
fn default_directories_are_numbered() {
    let scratch = Scratch::new("numbers");
    let target = || Target::Numbered { parent: scratch.0.clone(), name: "incast".into() };
    // Both open at the same time: the number is only taken at the end.
    let first = RunWriter::create(target(), Format::Csv).unwrap();
    let second = RunWriter::create(target(), Format::Csv).unwrap();
    assert_eq!(second.finish(Manifest::default()).unwrap(), scratch.0.join("incast-1"));
    assert_eq!(first.finish(Manifest::default()).unwrap(), scratch.0.join("incast-2"));
    assert_eq!(scratch.entries(), ["incast-1", "incast-2"]);
}

#[test]
fn blocking_file_is_named() {
    let scratch = Scratch::new("file");
    fs::write(scratch.0.join("f"), "x").unwrap();
    let error = write(exact(scratch.0.join("f/r"), false), Format::Csv).unwrap_err();
    assert!(error.to_string().contains("f/r") && error.help().contains("--out"), "{error}");
    assert!(matches!(write(exact(scratch.0.join("f"), true), Format::Csv), Err(StoreError::NotARun(_))));
}

/// Both formats read back as written: same columns, values, nulls and metadata.
#[test]
fn directories_read_back() {
    let scratch = Scratch::new("back");
    let parquet = RunDir::open(&write(exact(scratch.0.join("p"), false), Format::Parquet).unwrap()).unwrap();
    let csv = RunDir::open(&write(exact(scratch.0.join("c"), false), Format::Csv).unwrap()).unwrap();
    assert_eq!(parquet.manifest().name, "test");
    for table in RunTable::ALL {
        let (p, c) = (whole(&parquet, table), whole(&csv, table));
        assert_eq!(p.num_rows(), c.num_rows(), "{table:?}");
        assert_eq!((heads(&p.schema()), heads(&c.schema())), (heads(&schema_of(table)), heads(&p.schema())));
        for (name, (a, b)) in p.schema().fields().iter().map(|f| f.name()).zip(p.columns().iter().zip(c.columns())) {
            assert_eq!(plain(a), plain(b), "{table:?}.{name}");
        }
    }
    assert!(parquet.table("no-such").unwrap().is_empty());
}

#[test]
fn unreadable_files_are_named() {
    let scratch = Scratch::new("damaged");
    assert!(matches!(RunDir::open(&scratch.0).unwrap_err(), StoreError::NoResults(_)));
    assert!(matches!(RunDir::open(&scratch.0.join("none")).unwrap_err(), StoreError::NoResults(_)));
    let dir = write(exact(scratch.0.join("c"), false), Format::Csv).unwrap();
    fs::write(dir.join("queries.csv"), "query_id,start_ns\n0,1\n1,x\n").unwrap();
    let e = RunDir::open(&dir).unwrap().table("queries").unwrap_err().to_string();
    assert!(e.contains("queries.csv") && e.contains("SHA-256"), "{e}");
    let mut manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(dir.join("manifest.json")).unwrap()).unwrap();
    for table in manifest["tables"].as_array_mut().unwrap() {
        let sum = Sha256::digest(fs::read(dir.join(table["file"].as_str().unwrap())).unwrap());
        table["sha256"] = sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    }
    manifest.as_object_mut().unwrap().remove("sha256");
    fs::write(dir.join("manifest.json"), seal(&serde_json::to_string_pretty(&manifest).unwrap())).unwrap();
    let e = RunDir::open(&dir).unwrap().table("queries").unwrap_err().to_string();
    assert!(e.contains("queries.csv") && e.contains("line 3") && e.contains("start_ns"), "{e}");
    fs::write(dir.join("manifest.json"), "{\"kind\": \"forebay-run\", \"manifest_version\": 99}").unwrap();
    let e = RunDir::open(&dir).unwrap_err().to_string();
    assert!(e.contains("99"), "{e}");
    fs::write(dir.join("manifest.json"), "{\"kind\": \"forebay-run\", \"manifest_version\": 1}").unwrap();
    let e = RunDir::open(&dir).unwrap_err().to_string();
    assert!(e.contains("layout 1 is older"), "{e}");
}

/// A manifest whose JSON is changed, with the right sum.
fn edit_manifest(dir: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = dir.join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut manifest);
    manifest.as_object_mut().unwrap().remove("sha256");
    fs::write(&path, seal(&serde_json::to_string_pretty(&manifest).unwrap())).unwrap();
}

#[test]
fn other_table_versions_are_refused() {
    let scratch = Scratch::new("versions");
    let dir = write(exact(scratch.0.join("r"), false), Format::Csv).unwrap();
    for (i, table) in RunTable::ALL.into_iter().enumerate() {
        for (step, age) in [(-1, "older"), (1, "newer")] {
            let shift = |by: i64| {
                edit_manifest(&dir, |m| {
                    let version = &mut m["tables"][i]["schema_version"];
                    *version = (version.as_i64().unwrap() + by).into();
                });
            };
            shift(step);
            let run = RunDir::open(&dir).unwrap();
            for e in [run.check_files().unwrap_err(), run.table(table.name()).unwrap_err()] {
                let e = e.to_string();
                assert!(e.contains(&format!("{}.csv", table.name())) && e.contains(&format!("is {age} than")), "{e}");
            }
            shift(-step);
        }
    }
    RunDir::open(&dir).unwrap().check_files().unwrap();
}

/// Reading everything fails after any single bit of any file is flipped.
#[test]
fn flipped_bits_are_found() {
    let scratch = Scratch::new("flips");
    for (name, format) in [("p", Format::Parquet), ("c", Format::Csv)] {
        let mut writer = RunWriter::create(exact(scratch.0.join(name), false), format).unwrap();
        add(&mut writer, 0, 1, 1_000).unwrap();
        writer.add_capture("capture-v-0.pcapng", |out| out.write_all(&[7; 5_000])).unwrap();
        let dir = writer.finish(Manifest::default()).unwrap();
        assert_eq!(RunDir::open(&dir).unwrap().manifest().captures.len(), 1);
        let read = || -> Result<(), StoreError> {
            let run = RunDir::open(&dir)?;
            run.check_files()
        };
        read().unwrap();
        let mut flips = 0;
        for path in fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
            let whole = fs::read(&path).unwrap();
            let bits = whole.len() * 8;
            // A prime number of places, so that all bits of a byte are met.
            for bit in (0..bits).step_by((bits / 61).max(1)) {
                let mut flipped = whole.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                fs::write(&path, flipped).unwrap();
                assert!(read().is_err(), "bit {bit} of {}", path.display());
                flips += 1;
            }
            fs::write(&path, whole).unwrap();
        }
        read().unwrap();
        assert!(flips > 500, "{flips}");
    }
}

fn whole(dir: &RunDir, table: RunTable) -> RecordBatch {
    let batches = dir.table(table.name()).unwrap();
    let schema = schema_of(table);
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    // The first rows are enough of the long series.
    let first = batches.into_iter().next().unwrap_or_else(|| RecordBatch::new_empty(schema));
    first.slice(0, rows.min(100).min(first.num_rows()))
}

/// Names, types and descriptions.
fn heads(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|f| format!("{} {} {:?}", f.name(), f.data_type(), f.metadata().get("description"))).collect()
}

/// Values as text: dictionaries may number their names differently.
fn plain(array: &ArrayRef) -> Vec<String> {
    let names = array.as_dictionary_opt::<arrow_array::types::Int32Type>().map(|d| d.values().as_string::<i32>().clone());
    (0..array.len())
        .map(|i| match &names {
            _ if array.is_null(i) => "null".into(),
            Some(names) => names.value(array.as_dictionary::<arrow_array::types::Int32Type>().keys().value(i) as usize).into(),
            None => format!("{:?}", array.slice(i, 1)),
        })
        .collect()
}
