//! Results by key: a stored unit is read back unchanged, or not at all.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use forebay_store::summary::summarise;
use forebay_store::unit::{KeyHasher, RunNames, UnitKey, UnitRecord, UnitStore, summary};
use forebay_store::{RecordBatch, RunInfo, RunTable, rows_of};
use forebay_types::{GroupId, IndexVec};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::path::PathBuf;

/// A fresh directory, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("forebay-units-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sample() -> UnitRecord {
    let (config, report) = (crate::common::config(u64::MAX), crate::common::report(100));
    let info = RunInfo::new("a world", "a variant", 3, &config);
    let record = UnitRecord::new(&info, &report, &summarise(&info, &config, &report));
    assert!(record.values.iter().any(Option::is_none) && record.values.iter().any(Option::is_some), "both kinds of values");
    record
}

fn key(name: &str) -> UnitKey {
    KeyHasher::of(name.as_bytes())
}

#[test]
fn stored_units_read_back_equal() {
    let scratch = Scratch::new("put");
    let store = UnitStore::open(&scratch.0);
    let (record, k) = (sample(), key("a"));
    assert!(store.get(&k, &[]).is_none());
    store.put(&k, &record, &[], true).unwrap();
    assert_eq!(store.get(&k, &[]), Some(record));
    // The store holds no other unit.
    assert!(store.get(&key("b"), &[]).is_none());
    fs::copy(store.path(&k), scratch.0.join("stolen")).unwrap();
    fs::create_dir_all(store.path(&key("b")).parent().unwrap()).unwrap();
    fs::rename(scratch.0.join("stolen"), store.path(&key("b"))).unwrap();
    assert!(store.get(&key("b"), &[]).is_none(), "a file under another's name");
    assert_eq!(fs::read_dir(scratch.0.join("tmp")).unwrap().count(), 0);
}

#[test]
fn tables_are_kept() {
    let scratch = Scratch::new("kept");
    let store = UnitStore::open(&scratch.0);
    let (config, report) = (crate::common::config(1), crate::common::report(100));
    let info = RunInfo::new("a world", "v", 0, &config);
    let flows = rows_of(RunTable::Flows, &report, &info).unwrap().unwrap();
    let (record, k, names) = (sample(), key("a"), ["flows".to_owned()]);
    store.put(&k, &record, &[], false).unwrap();
    assert!(store.get(&k, &names).is_none(), "without the table it is not what was asked for");
    store.put(&k, &record, &[("flows", flows.clone())], false).unwrap();
    assert_eq!(store.get(&k, &names), Some(record.clone()));
    let back = store.table(&k, "flows", None).unwrap();
    assert_eq!((back[0].num_rows(), back[0].column_by_name("fct_ns")), (flows.num_rows(), flows.column_by_name("fct_ns")));
    assert_eq!(store.kept(&k)[0].rows, flows.num_rows() as u64);
    let part = store.table(&k, "flows", Some(&["fct_ns"])).unwrap();
    assert_eq!((part[0].num_columns(), part[0].column_by_name("fct_ns")), (1, flows.column_by_name("fct_ns")));
    let empty = (key("b"), [("queue", flows.slice(0, 0))], ["queue".to_owned()]);
    store.put(&empty.0, &record, &empty.1, false).unwrap();
    assert!(store.get(&empty.0, &empty.2).is_some() && store.table(&empty.0, "queue", None).unwrap().is_empty());
    assert!(!store.table_path(&empty.0, "queue").exists(), "nothing to write");
    let path = store.table_path(&k, "flows");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(store.get(&k, &names).is_none() && store.get(&k, &[]).is_some(), "a damaged table counts as missing");
    assert!(store.table(&k, "flows", None).unwrap_err().to_string().contains("differs from the one recorded"));
    bytes.truncate(middle);
    fs::write(&path, &bytes).unwrap();
    assert!(store.get(&k, &names).is_none() && store.get(&k, &[]).is_some());
    assert!(rows_of(RunTable::Summary, &report, &info).is_none());
}

/// A unit with a kept table counts as missing after a flip of any bit of its two files.
#[test]
fn flips_in_kept_tables_are_found() {
    let scratch = Scratch::new("flips");
    let store = UnitStore::open(&scratch.0);
    let (config, report) = (crate::common::config(1), crate::common::report(100));
    let info = RunInfo::new("a world", "v", 0, &config);
    let flows = rows_of(RunTable::Flows, &report, &info).unwrap().unwrap();
    let (k, names) = (key("a"), ["flows".to_owned()]);
    store.put(&k, &sample(), &[("flows", flows)], false).unwrap();
    let mut flips = 0;
    for path in [store.path(&k), store.table_path(&k, "flows")] {
        let whole = fs::read(&path).unwrap();
        let bits = whole.len() * 8;
        // An odd step reaches all bits of a byte.
        for bit in (0..bits).step_by((bits / 200) | 1) {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, flipped).unwrap();
            assert!(store.get(&k, &names).is_none(), "bit {bit} of {}", path.display());
            flips += 1;
        }
        fs::write(&path, whole).unwrap();
    }
    assert!(flips > 300 && store.get(&k, &names).is_some(), "{flips}");
}

/// The same run has another name in another comparison.
#[test]
fn rows_take_requested_names() {
    let (config, report) = (crate::common::config(1), crate::common::report(100));
    let info = RunInfo::new("a world", "v", 0, &config);
    let flows = rows_of(RunTable::Flows, &report, &info).unwrap().unwrap();
    let text = |batch: &RecordBatch, column: &str| -> Vec<String> {
        let codes = batch.column_by_name(column).unwrap().as_dictionary::<Int32Type>();
        let names = codes.values().as_string::<i32>();
        codes.keys().iter().map(|k| names.value(k.unwrap() as usize).to_owned()).collect()
    };
    let record = sample();
    let groups: IndexVec<GroupId, String> = record.groups.iter().map(|g| format!("{g} renamed")).collect();
    let names = RunNames { variant: "other", run: 7, groups: (&record.groups, &groups) };
    let renamed = names.apply(&flows).unwrap();
    assert_eq!((renamed.schema(), renamed.num_rows()), (flows.schema(), flows.num_rows()));
    assert_eq!(text(&renamed, "variant"), vec!["other"; flows.num_rows()]);
    let before: Vec<String> = text(&flows, "transport").iter().map(|t| format!("{t} renamed")).collect();
    assert_eq!(text(&renamed, "transport"), before);
    let run = renamed.column_by_name("run").unwrap().as_primitive::<Int64Type>();
    assert!(run.values().iter().all(|r| *r == 7));
    assert_eq!(renamed.column_by_name("fct_ns"), flows.column_by_name("fct_ns"));
    let numbers = summary(&[(&record, names)]).unwrap();
    assert_eq!(
        (text(&numbers, "variant"), text(&numbers, "transport")),
        (vec!["other".to_owned(); groups.len()], groups.into_vec())
    );
}

/// A power cut leaves files short, or with blocks of zeros; a bad disk does worse.
#[test]
fn torn_files_are_not_read() {
    let scratch = Scratch::new("torn");
    let store = UnitStore::open(&scratch.0);
    let (record, k) = (sample(), key("a"));
    store.put(&k, &record, &[], false).unwrap();
    let whole = fs::read(store.path(&k)).unwrap();
    let try_with = |bytes: &[u8], what: String| {
        fs::write(store.path(&k), bytes).unwrap();
        let got = store.get(&k, &[]);
        assert!(got.is_none(), "{what}");
    };
    for length in (0..whole.len()).step_by(37) {
        try_with(&whole[..length], format!("cut at {length}"));
    }
    for block in [64, 512, 4096] {
        for start in (0..whole.len()).step_by(block) {
            let mut bytes = whole.clone();
            bytes[start..(start + block).min(whole.len())].fill(0);
            if bytes != whole {
                try_with(&bytes, format!("{block} zeros at {start}"));
            }
        }
    }
    for i in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[i] ^= 1 << (i % 8);
        try_with(&bytes, format!("a bit of byte {i}"));
    }
    try_with(b"", "nothing".into());
    try_with(b"PAR1", "a beginning".into());
    fs::write(store.path(&k), &whole).unwrap();
    assert_eq!(store.get(&k, &[]), Some(record), "whole again");
    // Other programs can read it.
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(store.path(&k)).unwrap()).unwrap().build().unwrap();
    let rows: usize = reader.map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(rows, 1);
}

#[test]
fn many_threads_one_unit() {
    let scratch = Scratch::new("threads");
    let stores = [UnitStore::open(&scratch.0), UnitStore::open(&scratch.0)];
    let record = sample();
    std::thread::scope(|scope| {
        for t in 0..4 {
            let (store, record) = (&stores[t % 2], &record);
            scope.spawn(move || {
                for i in 0..50 {
                    let k = key(&format!("{}", i % 5));
                    if t < 2 {
                        store.put(&k, record, &[], false).unwrap();
                    } else {
                        let got = store.get(&k, &[]);
                        assert!(got.is_none() || got.as_ref() == Some(record));
                    }
                }
            });
        }
    });
    assert!((0..5).all(|i| stores[0].get(&key(&i.to_string()), &[]).as_ref() == Some(&record)));
}
