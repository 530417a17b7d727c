//! Results on disk.

use crate::fuzz::{folder, text};
use forebay_store::sweep::SweepDir;
use forebay_store::unit::{KeyHasher, UnitStore, reseal};
use forebay_store::{Manifest, RunDir, event_lines, file_sum, losing_links, seal};
use std::fs;
use std::path::Path;

/// Writes a manifest, with a sum that fits it: without one, the sum alone would be tested.
fn write_manifest(folder: &Path, text: &str) {
    fs::write(folder.join(Manifest::FILE), seal(text)).expect("a temporary file");
}

/// The manifest of a run, in a folder without tables.
pub(crate) fn manifest(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let folder = folder();
    write_manifest(folder.path(), text);
    let Ok(dir) = RunDir::open(folder.path()) else { return };
    for table in &dir.manifest().tables {
        assert!(dir.table(&table.name).map_or(true, |batches| batches.is_empty()), "a table that is not there has rows");
    }
    let _ = (dir.check_files(), event_lines(&dir, None), losing_links(&dir));
}

/// The manifest of a sweep.
pub(crate) fn sweep_manifest(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let folder = folder();
    write_manifest(folder.path(), text);
    let _ = SweepDir::with_tables(folder.path()).map(|dir| dir.table().is_ok());
    // A damaged sweep is continued.
    let _ = SweepDir::create(folder.path()).map(|dir| dir.manifest().is_ok());
}

/// Manifest of a run with the table `flows`, and the sum of that table.
const TABLE: &str = include_str!("../../fuzz/manifest/small.json");
const SUM: &str = "09c6584fc7a47640ceaa75c81879f5173b6e1ec088bcf26a127dfa2c488cf45b";

/// The table `flows` of a run whose manifest has its sum. No more rows are read than the manifest counts.
pub(crate) fn table(bytes: &[u8]) {
    let folder = folder();
    let file = folder.path().join("flows.parquet");
    fs::write(&file, bytes).expect("a temporary file");
    let sum = file_sum(&file).expect("a temporary file");
    // The input to start from has the rows of two runs.
    let text = TABLE.replace(SUM, &sum).replacen("\"rows\": 2,", "\"rows\": 4,", 1);
    write_manifest(folder.path(), &text);
    let dir = RunDir::open(folder.path()).expect("a manifest with its sum");
    let rows = dir.manifest().tables.iter().find(|t| t.name == "flows").expect("the table").rows;
    if let Ok(batches) = dir.table("flows") {
        let read: u64 = batches.iter().map(|b| b.num_rows() as u64).sum();
        assert!(read == rows || batches.iter().all(|b| b.num_columns() == 0), "{read} of {rows} rows");
    }
}

/// The file of a unit, with a sum that fits. An accepted file is read the same after it is written again.
pub(crate) fn unit(bytes: &[u8]) {
    let (folder, key) = (folder(), KeyHasher::of(b"fuzz"));
    let store = UnitStore::open(folder.path());
    let path = store.path(&key);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a temporary folder");
    fs::write(&path, reseal(bytes)).expect("a temporary file");
    let Some(record) = store.get(&key, &[]) else { return };
    assert!(store.has(&key), "a unit that was read exists");
    store.put(&key, &record, &[], false).expect("a unit that was read can be written");
    assert_eq!(store.get(&key, &[]), Some(record));
}
