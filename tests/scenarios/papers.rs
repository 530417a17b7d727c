//! The scenario files of the papers, each by itself, as a user runs it.

use forebay_experiment::report::Report;
use forebay_scenario::{Scenario, Variant};
use forebay_tests::{execute, repository};
use forebay_types::Time;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of a paper that is a scenario.
fn scenarios() -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
    };
    let papers = below(&repository().join("papers")).into_iter().filter(|p| p.is_dir());
    let mut found: Vec<PathBuf> = papers
        .flat_map(|paper| below(&paper))
        .filter(|file| file.extension().is_some_and(|e| e == "toml"))
        .filter(|file| fs::read_to_string(file).expect("a file").contains("\n[topology]\n"))
        .collect();
    found.sort();
    found
}

fn resolve(path: &Path) -> Vec<Variant> {
    let text = fs::read_to_string(path).expect("a file");
    let name = path.file_name().expect("a name").to_string_lossy();
    let folder = path.parent().expect("a folder");
    Scenario::from_text(forebay_backends::all(), &text, &name, folder, &[], None)
        .and_then(|s| s.resolve())
        .unwrap_or_else(|e| panic!("{}: {}", path.display(), e.render()))
        .variants
}

/// Runs the first millisecond.
fn begin(mut variant: Variant) -> Report {
    variant.config.duration = Some(Time::from_ms(1));
    variant.config.observe.warmup = Time::ZERO;
    execute(&variant.config)
}

#[test]
fn files_of_papers_run() {
    let files = scenarios();
    assert!(files.len() > 60, "{}", files.len());
    for path in files {
        for variant in resolve(&path) {
            let label = variant.label.clone();
            let report = begin(variant);
            assert!(report.end.0 > 0, "{} {label}", path.display());
        }
    }
}

/// ns-2 with the same file: connection 1 is spared in every seed, 3 to 5 have two timeouts.
#[test]
fn index_ties_spare_first_connection() {
    let path = repository().join("papers/trim/fig04.toml");
    for seed in 1..=3 {
        let mut newreno = resolve(&path).remove(0);
        newreno.config.seed = seed;
        let mut timeouts = [0u32; 5];
        execute(&newreno.config).flows.iter().for_each(|f| timeouts[f.conn_id as usize] += f.rtos);
        assert_eq!(timeouts, [0, 1, 2, 2, 2], "seed {seed}");
    }
}
