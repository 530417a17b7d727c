//! A folder of results by key: `units/ab/<key>.parquet`, and beside it the kept tables, `<key>.flows.parquet`.

use super::codec::decode;
use super::files::UnitFiles;
use super::key::{KeyHasher, UnitKey};
use super::record::UnitRecord;
use super::table_record::KeptTable;
use crate::error::StoreError;
use crate::read::parquet_of;
use arrow_array::RecordBatch;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Folder of unfinished files.
const TEMPORARY: &str = "tmp";

/// Results of units, by key. It can be shared among threads and processes: every file gets its name only when it is complete.
///
/// Two processes that compute the same unit at the same time duplicate the work, and the second file replaces the first with equal contents.
///
/// **Durability.** A file is written under a temporary name and renamed, so that a killed process leaves complete files or none. Against a power
/// cut, [`UnitStore::put`] syncs units that were expensive to run. Other files are left to the operating system, which writes them within half a
/// minute: a sync per file would cost more than a short simulation. A file that a power cut tears fails its checksum and counts as missing.
#[derive(Debug, Clone)]
pub struct UnitStore {
    root: PathBuf,
}

impl UnitStore {
    /// The store in the folder `root`, which is created with the first result. Removes the half-written files of killed processes.
    pub fn open(root: &Path) -> UnitStore {
        forebay_platform::files::remove_unfinished(&root.join(TEMPORARY), |name| name == "unit");
        UnitStore { root: root.to_owned() }
    }

    /// Path of a unit's metrics.
    pub fn path(&self, key: &UnitKey) -> PathBuf {
        self.file(key, "parquet")
    }

    /// Path of a kept table of a unit.
    pub fn table_path(&self, key: &UnitKey, table: &str) -> PathBuf {
        self.file(key, &format!("{table}.parquet"))
    }

    fn file(&self, key: &UnitKey, extension: &str) -> PathBuf {
        let name = key.to_string();
        self.root.join(&name[..2]).join(format!("{name}.{extension}"))
    }

    /// The metrics of a unit; `None` when they are missing, damaged, or without one of these tables, intact. Each table is read once and hashed, which
    /// takes about a second for each gigabyte, and two without SHA instructions of the processor.
    pub fn get(&self, key: &UnitKey, tables: &[String]) -> Option<UnitRecord> {
        let (record, kept) = decode(key, fs::read(self.path(key)).ok()?)?;
        let there = |table: &String| {
            let kept = kept.iter().find(|k| k.table == *table)?;
            if kept.is_empty() {
                return Some(());
            }
            let found = KeyHasher::of_file(&self.table_path(key, table), kept.bytes).ok()?;
            (found == Some(kept.sum)).then_some(())
        };
        tables.iter().all(|t| there(t).is_some()).then_some(record)
    }

    /// True if the file of a unit's metrics exists. It may be damaged: this is for counts, where [`UnitStore::get`] would take too long.
    pub fn has(&self, key: &UnitKey) -> bool {
        self.path(key).is_file()
    }

    /// The kept tables of a unit; empty for a missing unit.
    pub fn kept(&self, key: &UnitKey) -> Vec<KeptTable> {
        fs::read(self.path(key)).ok().and_then(|b| decode(key, b)).map_or(Vec::new(), |d| d.1)
    }

    /// A kept table of a unit, verified by its hash, limited to the columns in `columns` if given. Empty for a table without rows.
    ///
    /// # Errors
    /// A table that is missing or damaged.
    pub fn table(&self, key: &UnitKey, table: &str, columns: Option<&[&str]>) -> Result<Vec<RecordBatch>, StoreError> {
        let path = self.table_path(key, table);
        let kept = self.kept(key).into_iter().find(|k| k.table == table);
        if kept.as_ref().is_some_and(KeptTable::is_empty) {
            return Ok(Vec::new());
        }
        let bytes = fs::read(&path).map_err(StoreError::io("read", &path))?;
        if kept.is_none_or(|k| k.sum != KeyHasher::of(&bytes)) {
            return Err(StoreError::Damaged { path, message: "its hash differs from the one recorded".into() });
        }
        parquet_of(&path, bytes::Bytes::from(bytes), columns)
    }

    /// Stores the metrics of a unit with these tables. With `sync` they are on disk when this returns.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn put(&self, key: &UnitKey, record: &UnitRecord, tables: &[(&str, RecordBatch)], sync: bool) -> Result<(), StoreError> {
        self.write_all(key, &UnitFiles::new(key, record, tables)?, sync)
    }

    /// Stores the files that another process computed.
    ///
    /// # Errors
    /// Files of another unit or damaged files, and errors of the file system.
    pub fn put_files(&self, key: &UnitKey, packed: &UnitFiles, sync: bool) -> Result<(), StoreError> {
        if !packed.is_whole(key) {
            return Err(StoreError::Damaged {
                path: self.path(key),
                message: "the files that another process sent are damaged".into(),
            });
        }
        self.write_all(key, packed, sync)
    }

    /// The files of a unit in this store; `None` when they are missing or damaged.
    pub fn packed(&self, key: &UnitKey) -> Option<UnitFiles> {
        let numbers = fs::read(self.path(key)).ok()?;
        let (_, kept) = decode(key, numbers.clone())?;
        let file = |k: &KeptTable| Some((k.table.clone(), fs::read(self.table_path(key, &k.table)).ok()?));
        let tables = kept.iter().filter(|k| !k.is_empty()).map(file).collect::<Option<_>>()?;
        Some(UnitFiles { tables, numbers }).filter(|p| p.is_whole(key))
    }

    fn write_all(&self, key: &UnitKey, packed: &UnitFiles, sync: bool) -> Result<(), StoreError> {
        for (table, bytes) in &packed.tables {
            self.write(&self.table_path(key, table), bytes, sync)?;
        }
        // Last, so that a unit with metrics is complete.
        self.write(&self.path(key), &packed.numbers, sync)
    }

    /// Writes a file atomically.
    fn write(&self, path: &Path, bytes: &[u8], sync: bool) -> Result<(), StoreError> {
        let wanted = self.root.join(TEMPORARY).join("unit");
        let (mut file, temporary) = create_beside(&wanted).map_err(StoreError::io("write", &wanted))?;
        let mut write = || -> io::Result<()> {
            file.write_all(bytes)?;
            if sync { file.sync_all() } else { Ok(()) }
        };
        if let Err(e) = write() {
            // The first error is reported.
            let _ = fs::remove_file(&temporary);
            return Err(StoreError::io("write", &temporary)(e));
        }
        let renamed = match fs::rename(&temporary, path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::rename(&temporary, path))
            }
            other => other,
        };
        renamed.map_err(|e| {
            let _ = fs::remove_file(&temporary);
            StoreError::io("rename a finished result to", path)(e)
        })
    }
}

/// Creates a temporary file beside `path`, and its folder if missing.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    match forebay_platform::files::create_beside(path, None) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            forebay_platform::files::create_beside(path, None)
        }
        other => other,
    }
}
