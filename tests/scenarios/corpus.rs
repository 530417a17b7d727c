//! Every input in the corpus is read without a panic and in time.

use forebay_store::unit::{KeyHasher, UnitRecord, UnitStore};
use forebay_tests::fuzz::{TARGETS, target};
use forebay_tests::repository;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest time of an input, ten times the longest that was seen in a build without optimization.
const LONGEST: Duration = Duration::from_secs(20);
/// Most bytes of the corpus.
const MOST: u64 = 2_000_000;

/// Lines of `targets.txt`: a target and its folders.
fn listed() -> Vec<(String, Vec<PathBuf>)> {
    let text = fs::read_to_string(repository().join("tests/fuzz/targets.txt")).expect("the list of targets");
    let line = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let name = words.next().expect("a name");
        (name, words.map(|folder| repository().join(folder)).collect())
    };
    text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(line).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
    found.sort();
}

#[test]
fn every_target_has_a_corpus() {
    let names: BTreeSet<String> = listed().into_iter().map(|l| l.0).collect();
    for t in TARGETS {
        assert!(names.contains(t.name), "{} is not in tests/fuzz/targets.txt", t.name);
    }
    for (name, folders) in listed() {
        let mut inputs = Vec::new();
        folders.iter().for_each(|f| files(f, &mut inputs));
        assert!(!inputs.is_empty(), "{name} has no input");
    }
}

#[test]
fn corpus_is_small() {
    let mut all = Vec::new();
    files(&repository().join("tests/fuzz"), &mut all);
    let bytes: u64 = all.iter().map(|f| fs::metadata(f).expect("a file").len()).sum();
    assert!(bytes <= MOST, "{bytes} bytes in tests/fuzz");
}

#[test]
fn corpus_is_read_in_time() {
    for (name, folders) in listed() {
        // Targets of real hosts need the feature `bpf`.
        let Some(target) = target(&name) else { continue };
        let mut inputs = Vec::new();
        folders.iter().for_each(|f| files(f, &mut inputs));
        for input in inputs {
            let bytes = fs::read(&input).expect("an input");
            let begin = Instant::now();
            (target.run)(&bytes);
            let seconds = begin.elapsed();
            assert!(seconds < LONGEST, "{name}: {} takes {seconds:?}", input.display());
        }
    }
}

/// The seed of the target `unit` is a file that this version reads. `FOREBAY_UPDATE=1` writes it.
#[test]
fn seed_of_units_is_current() {
    let (seed, key) = (repository().join("tests/fuzz/unit/small.parquet"), KeyHasher::of(b"fuzz"));
    let folder = tempfile::tempdir().expect("a folder");
    let store = UnitStore::open(folder.path());
    let record = UnitRecord {
        variant: "newreno".into(),
        world: "sim".into(),
        groups: ["newreno".to_owned(), "newreno".to_owned()].into_iter().collect(),
        classes: vec![String::new(), "web".into()],
        port: "bottleneck".into(),
        values: vec![Some(1.5); 2 * forebay_store::summary_table::metric_columns().count()],
        ..UnitRecord::default()
    };
    store.put(&key, &record, &[], false).expect("a unit");
    if std::env::var_os("FOREBAY_UPDATE").is_some() {
        fs::create_dir_all(seed.parent().expect("a folder")).expect("a folder");
        fs::copy(store.path(&key), &seed).expect("a copy");
    }
    fs::copy(&seed, store.path(&key)).expect("the seed");
    assert_eq!(store.get(&key, &[]), Some(record), "FOREBAY_UPDATE=1 regenerates the seed");
}
