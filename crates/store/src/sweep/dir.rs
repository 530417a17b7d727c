//! The directory of a sweep.

use super::manifest::SweepManifest;
use super::table;
use crate::error::StoreError;
use crate::file::write_atomic;
use crate::listed_file::{check_sum, plain_file};
use crate::manifest::{Manifest, TableRecord};
use crate::read::{check_version, parquet, read_manifest};
use crate::seal::seal;
use crate::unit::UnitStore;
use arrow_array::RecordBatch;
use forebay_platform::files::TEMPORARY;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Folder of the results of its runs.
const UNITS: &str = "units";

/// Page of the report.
const REPORT: &str = "report.html";

/// Part of the head of every page that forebay writes, before its version. A sweep replaces only such pages.
pub const PAGE_GENERATOR: &str = "<meta name=\"generator\" content=\"forebay ";

/// Bytes at the beginning of a page that include its head.
const HEAD: u64 = 4_096;

/// True if nothing is at `path`, or a page that forebay wrote.
fn may_replace_report(path: &Path) -> Result<bool, StoreError> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(e) => return Err(StoreError::io("inspect", path)(e)),
        Ok(found) if !found.is_file() => return Ok(false),
        Ok(_) => {}
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.map_err(StoreError::io("read", path))?;
    Ok(head.windows(PAGE_GENERATOR.len()).any(|part| part == PAGE_GENERATOR.as_bytes()))
}

/// A directory with the results of a sweep, complete or not.
#[derive(Debug, Clone)]
pub struct SweepDir {
    path: PathBuf,
}

impl SweepDir {
    /// The directory at `path`, created if missing. A directory with a sweep in it is continued, also when its
    /// manifest is damaged; units that both sweeps share are reused, and tables and report of the earlier one are replaced.
    ///
    /// # Errors
    /// A path that holds other files, a report that forebay did not write, and errors of the file system.
    pub fn create(path: &Path) -> Result<SweepDir, StoreError> {
        let dir = SweepDir { path: path.to_owned() };
        let taken = match fs::read_dir(path) {
            Ok(entries) => entries
                .flatten()
                .any(|e| !e.file_name().to_string_lossy().starts_with(&*format!("{}{TEMPORARY}", Manifest::FILE))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => true,
            Err(e) => return Err(StoreError::io("read", path)(e)),
        };
        let ours = match dir.manifest() {
            Ok(_) => true,
            // It is written again. The runs are in files with sums of their own.
            Err(StoreError::Damaged { .. }) => dir.path.join(UNITS).is_dir(),
            Err(_) => false,
        };
        if taken && !ours {
            return Err(StoreError::NotARun(path.to_owned()));
        }
        fs::create_dir_all(path).map_err(StoreError::io("create", path))?;
        let report = path.join(REPORT);
        if !may_replace_report(&report)? {
            return Err(StoreError::ForeignReport(report));
        }
        Ok(dir)
    }

    /// A directory with a sweep, which may be incomplete.
    ///
    /// # Errors
    /// A path that is not such a directory.
    pub fn begun(path: &Path) -> Result<SweepDir, StoreError> {
        let dir = SweepDir { path: path.to_owned() };
        dir.manifest().map(|_| dir)
    }

    /// A directory with all results of a sweep.
    ///
    /// # Errors
    /// A path that is not such a directory, and an incomplete sweep.
    pub fn open(path: &Path) -> Result<SweepDir, StoreError> {
        let dir = SweepDir { path: path.to_owned() };
        match dir.manifest()?.finished {
            Some(_) => Ok(dir),
            None => Err(StoreError::Unfinished(path.to_owned())),
        }
    }

    /// A directory with tables of a sweep: of all its runs, or of those done when a limit ended it.
    ///
    /// # Errors
    /// A path that is not such a directory, and a sweep without tables.
    pub fn with_tables(path: &Path) -> Result<SweepDir, StoreError> {
        let dir = SweepDir::begun(path)?;
        if dir.manifest()?.partial.is_empty() { SweepDir::open(path) } else { Ok(dir) }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its manifest.
    ///
    /// # Errors
    /// A file that is missing, damaged, or of another version of the layout.
    pub fn manifest(&self) -> Result<SweepManifest, StoreError> {
        read_manifest(&self.path, SweepManifest::KIND, SweepManifest::VERSION)
    }

    /// Writes the manifest. If it lists no results, tables and report of an earlier sweep are removed.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn set_manifest(&self, manifest: &SweepManifest) -> Result<(), StoreError> {
        let path = self.path.join(Manifest::FILE);
        let text = serde_json::to_string_pretty(manifest)
            .map_err(|e| StoreError::Encode { path: path.clone(), message: e.to_string() })?;
        self.add_file(Manifest::FILE, seal(&text).as_bytes())?;
        if manifest.finished.is_none() && manifest.partial.is_empty() {
            for name in ["summary.parquet", "summary.csv", REPORT] {
                let path = self.path.join(name);
                match fs::remove_file(&path) {
                    Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(StoreError::io("remove", &path)(e)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Writes a file atomically and syncs it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn add_file(&self, name: &str, contents: &[u8]) -> Result<(), StoreError> {
        write_atomic(&self.path.join(name), contents)
    }

    /// Results of the runs, by key.
    pub fn units(&self) -> UnitStore {
        UnitStore::open(&self.path.join(UNITS))
    }

    /// Checks the sum and the version of every table. The kept tables of the runs have sums of their own, which are compared when a sweep is continued
    /// or the table is read.
    ///
    /// # Errors
    /// The first table that is missing, damaged, or has another version.
    pub fn check_tables(&self) -> Result<(), StoreError> {
        self.manifest()?.tables.iter().try_for_each(|record| self.file(record).map(drop))
    }

    /// Path of a table with the version of this program and the sum in the manifest.
    fn file(&self, record: &TableRecord) -> Result<PathBuf, StoreError> {
        let path = plain_file(&self.path, &record.file)?;
        check_version(&path, record, table::VERSION)?;
        check_sum(&path, &record.sha256)?;
        Ok(path)
    }

    /// Summary of all runs, in the order of the points, as in `summary.parquet`.
    ///
    /// # Errors
    /// A file that is missing, damaged, or has another version.
    pub fn table(&self) -> Result<Vec<RecordBatch>, StoreError> {
        let name = "summary.parquet";
        let manifest = self.manifest()?;
        let missing =
            || StoreError::Damaged { path: self.path.join(Manifest::FILE), message: format!("it does not list `{name}`") };
        let record = manifest.tables.iter().find(|t| t.file == name).ok_or_else(missing)?;
        parquet(&self.file(record)?, None)
    }
}
