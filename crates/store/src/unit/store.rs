//! A folder of results by key: `units/ab/<key>.parquet`, and beside it the tables that were kept, `<key>.flows.parquet`.

use super::codec::decode;
use super::files::UnitFiles;
use super::key::{KeyHasher, UnitKey};
use super::record::UnitRecord;
use super::table_record::KeptTable;
use crate::error::StoreError;
use crate::read::parquet_of;
use crate::stale_files;
use arrow_array::RecordBatch;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Folder of files that are being written.
const TEMPORARY: &str = "tmp";

/// Results of units, by key. Safe to share among threads, and among processes: every file appears under its name only when it is whole.
///
/// Two processes that compute the same unit at the same time do the work twice, and the second file replaces the first, which says the
/// same.
///
/// **Durability.** A file is written under another name and renamed, so that a process that is killed leaves whole files or none. Against
/// a power cut, [`UnitStore::put`] syncs units that were expensive to run. The rest is left to the operating system, which writes it within half
/// a minute: syncing every file would cost more than a short simulation. What a power cut takes or tears is noticed, by a sum over
/// the file, and counts as not there.
#[derive(Debug, Clone)]
pub struct UnitStore {
    root: PathBuf,
}

impl UnitStore {
    /// The store in the folder `root`, which is created when the first result is put there. Removes what killed processes left half
    /// written.
    pub fn open(root: &Path) -> UnitStore {
        stale_files::remove(&root.join(TEMPORARY), OsStr::new("unit"));
        UnitStore { root: root.to_owned() }
    }

    /// Path of a unit's numbers.
    pub fn path(&self, key: &UnitKey) -> PathBuf {
        self.file(key, "parquet")
    }

    /// Path of a table that was kept for a unit.
    pub fn table_path(&self, key: &UnitKey, table: &str) -> PathBuf {
        self.file(key, &format!("{table}.parquet"))
    }

    fn file(&self, key: &UnitKey, extension: &str) -> PathBuf {
        let name = key.to_string();
        self.root.join(&name[..2]).join(format!("{name}.{extension}"))
    }

    /// The numbers of a unit; `None` when they are not there, broken, or without one of these tables. Of the tables only the length is
    /// looked at.
    pub fn get(&self, key: &UnitKey, tables: &[String]) -> Option<UnitRecord> {
        let (record, kept) = decode(key, fs::read(self.path(key)).ok()?)?;
        let there = |table: &String| {
            let kept = kept.iter().find(|k| k.table == *table)?;
            if kept.is_empty() {
                return Some(());
            }
            (fs::metadata(self.table_path(key, table)).ok()?.len() == kept.bytes).then_some(())
        };
        tables.iter().all(|t| there(t).is_some()).then_some(record)
    }

    /// Whether there is a file of a unit's numbers, which may be broken: for counts, where [`UnitStore::get`] would take too long.
    pub fn has(&self, key: &UnitKey) -> bool {
        self.path(key).is_file()
    }

    /// The tables that were kept for a unit; none for one that is not there.
    pub fn kept(&self, key: &UnitKey) -> Vec<KeptTable> {
        fs::read(self.path(key)).ok().and_then(|b| decode(key, b)).map_or(Vec::new(), |d| d.1)
    }

    /// A table that was kept for a unit, checked against its hash; of the columns called `columns` only, if they are given. Nothing for a
    /// table without rows.
    ///
    /// # Errors
    /// A table that is not there or not whole.
    pub fn table(&self, key: &UnitKey, table: &str, columns: Option<&[&str]>) -> Result<Vec<RecordBatch>, StoreError> {
        let path = self.table_path(key, table);
        let kept = self.kept(key).into_iter().find(|k| k.table == table);
        if kept.as_ref().is_some_and(KeptTable::is_empty) {
            return Ok(Vec::new());
        }
        let bytes = fs::read(&path).map_err(StoreError::io("read", &path))?;
        if kept.is_none_or(|k| k.sum != KeyHasher::of(&bytes)) {
            return Err(StoreError::Damaged { path, message: "it is not what was written".into() });
        }
        parquet_of(&path, bytes::Bytes::from(bytes), columns)
    }

    /// Keeps the numbers of a unit, and these tables. With `sync` they are on disk when this returns.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn put(&self, key: &UnitKey, record: &UnitRecord, tables: &[(&str, RecordBatch)], sync: bool) -> Result<(), StoreError> {
        self.write_all(key, &UnitFiles::new(key, record, tables)?, sync)
    }

    /// Keeps what another process made.
    ///
    /// # Errors
    /// Files that are not those of this unit, or not whole; and when the system refuses.
    pub fn put_files(&self, key: &UnitKey, packed: &UnitFiles, sync: bool) -> Result<(), StoreError> {
        if !packed.is_whole(key) {
            return Err(StoreError::Damaged { path: self.path(key), message: "what another process sent is not whole".into() });
        }
        self.write_all(key, packed, sync)
    }

    /// The files of a unit as they are in this store; `None` when it is not there or not whole.
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
        // Last: a unit whose numbers are there is complete.
        self.write(&self.path(key), &packed.numbers, sync)
    }

    /// A file appears under its name when it is whole.
    fn write(&self, path: &Path, bytes: &[u8], sync: bool) -> Result<(), StoreError> {
        let wanted = self.root.join(TEMPORARY).join("unit");
        let (mut file, temporary) = create_beside(&wanted).map_err(StoreError::io("write", &wanted))?;
        let mut write = || -> io::Result<()> {
            // Released with the file.
            let _ = file.try_lock();
            file.write_all(bytes)?;
            if sync { file.sync_all() } else { Ok(()) }
        };
        if let Err(e) = write() {
            // The first failure is the one to tell.
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

/// Creates a temporary file beside `path`, and its folder when there is none.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    match forebay_platform::files::create_beside(path, None) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            forebay_platform::files::create_beside(path, None)
        }
        other => other,
    }
}
