//! Directories of sweeps: changed tables, other versions and foreign reports are refused.

use forebay_store::summary::summarise;
use forebay_store::sweep::{SweepDir, SweepManifest, SweepRow, SweepTable};
use forebay_store::unit::{KeyHasher, UnitRecord};
use forebay_store::{Format, RunInfo, StoreError};
use std::fs;
use std::path::{Path, PathBuf};

/// A fresh directory, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("forebay-sweep-dir-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A finished sweep of one run, with its table in both formats.
fn write(path: &Path) -> SweepManifest {
    let (config, report) = (crate::common::config(1), crate::common::report(10));
    let info = RunInfo::new("a world", "v", 0, &config);
    let record = UnitRecord::new(&info, &report, &summarise(&info, &config, &report));
    let unit = KeyHasher::of(b"a");
    let row = || SweepRow { point: 0, keys: &[], unit, variant: "v", run: 0, groups: &record.groups, record: &record };
    let dir = SweepDir::create(path).unwrap();
    let mut manifest = SweepManifest {
        kind: SweepManifest::KIND.into(),
        manifest_version: SweepManifest::VERSION,
        finished: Some("2026-01-01T00:00:00Z".into()),
        ..SweepManifest::default()
    };
    let table = SweepTable::new(Vec::new());
    for format in [Format::Parquet, Format::Csv] {
        manifest.tables.push(table.write(path, format, [row()].into_iter()).unwrap());
    }
    dir.set_manifest(&manifest).unwrap();
    manifest
}

fn check(path: &Path) -> Result<(), StoreError> {
    SweepDir::open(path)?.check_tables()
}

#[test]
fn flips_in_sweeps_are_found() {
    let scratch = Scratch::new("flips");
    write(&scratch.0);
    check(&scratch.0).unwrap();
    for name in ["manifest.json", "summary.parquet", "summary.csv"] {
        let path = scratch.0.join(name);
        let whole = fs::read(&path).unwrap();
        let bits = whole.len() * 8;
        for bit in (0..bits).step_by((bits / 61) | 1) {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, flipped).unwrap();
            assert!(check(&scratch.0).is_err(), "bit {bit} of {name}");
        }
        fs::write(&path, whole).unwrap();
    }
    check(&scratch.0).unwrap();
    assert_eq!(SweepDir::open(&scratch.0).unwrap().table().unwrap()[0].num_rows(), 1);
}

#[test]
fn other_versions_of_sweeps_are_refused() {
    let scratch = Scratch::new("versions");
    let manifest = write(&scratch.0);
    for (step, age) in [(-1, "older"), (1, "newer")] {
        let mut other = manifest.clone();
        for table in &mut other.tables {
            table.schema_version = table.schema_version.checked_add_signed(step).unwrap();
        }
        let dir = SweepDir::open(&scratch.0).unwrap();
        dir.set_manifest(&other).unwrap();
        for e in [dir.check_tables().unwrap_err(), dir.table().unwrap_err()] {
            let e = e.to_string();
            assert!(e.contains("summary.parquet") && e.contains(&format!("is {age} than")), "{e}");
        }
    }
}

#[test]
fn foreign_report_is_kept() {
    let scratch = Scratch::new("report");
    write(&scratch.0);
    let page = scratch.0.join("report.html");
    fs::write(&page, "<!DOCTYPE html><html><head><meta name=\"generator\" content=\"forebay 0.2.0\">").unwrap();
    SweepDir::create(&scratch.0).unwrap();
    fs::write(&page, "mine").unwrap();
    assert!(matches!(SweepDir::create(&scratch.0), Err(StoreError::ForeignReport(path)) if path == page));
    #[cfg(unix)]
    {
        fs::remove_file(&page).unwrap();
        std::os::unix::fs::symlink("elsewhere.html", &page).unwrap();
        assert!(matches!(SweepDir::create(&scratch.0), Err(StoreError::ForeignReport(_))));
    }
}
