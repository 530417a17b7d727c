//! The first line that a person reads: one scenario each in `answers/`, and what it must say.

mod scratch;

use scratch::{Scratch, forebay, text};

/// The lines that a run of a scenario ends with.
fn answer(test: &str, name: &str, more: &[&str]) -> Vec<String> {
    let scratch = Scratch::new(&format!("answer-{test}"));
    let file = format!("{}/tests/answers/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let out = forebay(&scratch.0, &[&["run", &file, "--out", "out"], more].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    text(&out.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn what_finished_nothing_beside_others_starved() {
    let said = answer("unfinished", "starved", &[]);
    let first = &said[0];
    assert!(first.starts_with("dctcp: storage finished 0 of 1 queries; starved by others at bottleneck ("), "{said:#?}");
    // Its times are not missing: they are longer than the run.
    assert!(said.iter().any(|l| l.starts_with("query completion p99") && l.contains("≥ 1.00")), "{said:#?}");
    assert!(said.iter().any(|l| l.starts_with("≥ at least")), "{said:#?}");
    assert!(said.iter().any(|l| l == "world: sim, stack: linux"), "{said:#?}");
}

#[test]
fn what_starved_stays_in_a_comparison() {
    let scratch = Scratch::new("answer-compared");
    let file = format!("{}/tests/answers/starved.toml", env!("CARGO_MANIFEST_DIR"));
    for (dir, cc) in [("a", "dctcp"), ("b", "cubic")] {
        let cc = format!("transport.group.0.cc={cc}");
        let out = forebay(&scratch.0, &["run", &file, "--out", dir, "--set", &cc, "--quiet", "--no-report"]);
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
    let out = forebay(&scratch.0, &["report", "a", "b"]);
    let said = text(&out.stdout);
    assert!(said.starts_with("a/dctcp: storage finished 0 of 1 queries; starved by others at bottleneck ("), "{said}");
    // It is behind in the times of queries too, instead of being left out.
    assert!(said.contains("at least 1 s"), "{said}");
}

#[test]
fn what_the_closed_forms_predict_is_said_without_an_interval() {
    let said = answer("predicted", "model", &["--world", "model"]);
    // After the remark that one run stands for all.
    assert!(said.iter().any(|l| l.starts_with("A query takes 237 ms in the median")), "{said:#?}");
    assert!(!said.iter().any(|l| l.contains('±')), "{said:#?}");
    assert!(said.iter().any(|l| l == "world: model, stack: ns2"), "{said:#?}");
}

#[test]
fn one_seed_is_called_so() {
    let said = answer("one-seed", "starved", &[]);
    assert!(said.iter().any(|l| l == "There is one seed only: how much of this is chance is unknown."), "{said:#?}");
}
