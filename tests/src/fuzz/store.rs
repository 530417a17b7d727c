//! Results on disk.

use crate::fuzz::{folder, text};
use forebay_store::sweep::SweepDir;
use forebay_store::unit::{KeyHasher, UnitStore};
use forebay_store::{Manifest, RunDir, event_lines, losing_links, seal};
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

/// The file of a unit. An accepted file is read the same after it is written again.
pub(crate) fn unit(bytes: &[u8]) {
    let (folder, key) = (folder(), KeyHasher::of(b"fuzz"));
    let store = UnitStore::open(folder.path());
    let path = store.path(&key);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a temporary folder");
    fs::write(&path, bytes).expect("a temporary file");
    let Some(record) = store.get(&key, &[]) else { return };
    assert!(store.has(&key), "a unit that was read exists");
    store.put(&key, &record, &[], false).expect("a unit that was read can be written");
    assert_eq!(store.get(&key, &[]), Some(record));
}
