//! The project's own scripts, `tests/conform`, each of which quotes the rule that it holds the endpoints to; and the page about them.

use forebay_validate::page::{Checked, KernelOutcome, OtherSimulators, citations, differences, places, table};
use forebay_validate::{Case, Observation, Outcome, RunOptions, Stack, as_linux, cases, difference, run_text, watch_text};
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lines of a table in `tests/conform`: fields between semicolons, `#` begins a remark.
fn lines(file: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join("tests/conform").join(file)).unwrap();
    let rows = text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
    rows.map(|l| l.split(';').map(|f| f.trim().to_owned()).collect()).collect()
}

/// Every script, run.
fn checked() -> Vec<Checked> {
    let known = lines("known.csv");
    let folder = root().join("tests/conform");
    let one = |case: &Case| {
        let text = case.text().unwrap().to_owned();
        let path = Path::new(case.name()).strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let outcome = run_text(&text, &RunOptions { strict: true, ..RunOptions::default() });
        let known = known.iter().find(|k| path.ends_with(&k[0])).map(|k| k[1].clone());
        Checked { path, text, outcome, known }
    };
    cases(&[folder]).unwrap().iter().map(one).collect()
}

#[test]
fn every_script_passes() {
    let all = checked();
    assert!(all.len() >= 50, "{} scripts found", all.len());
    let mut wrong = Vec::new();
    for script in &all {
        match (&script.outcome, &script.known) {
            (Outcome::Passed, None) => {}
            (Outcome::Passed, Some(_)) => wrong.push(format!("{} passes: take it out of known.csv", script.path)),
            (Outcome::Failed { .. }, Some(_)) => {}
            (Outcome::Failed { line, expected, got }, None) => {
                wrong.push(format!("{}:{line}\n    expected {expected}\n    got      {got}", script.path));
            }
            (other, _) => wrong.push(format!("{}: {other:?}", script.path)),
        }
    }
    assert!(wrong.is_empty(), "{} of {} scripts:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn every_script_quotes_its_rule() {
    for script in checked() {
        let rules = citations(&script.text);
        assert!(!rules.is_empty(), "{} quotes no rule", script.path);
        assert!(rules.iter().all(|(_, r)| !r.text.is_empty()), "{}: a rule without a sentence", script.path);
        let folder = format!("tests/conform/rfc{}/", rules[0].1.rfc);
        assert!(script.path.starts_with(&folder), "{} is not in {folder}", script.path);
    }
}

/// A script that cannot fail tests nothing: when the peer's packets do not arrive, none passes.
#[test]
fn no_script_passes_without_its_peer() {
    for script in checked().iter().filter(|s| s.outcome == Outcome::Passed) {
        let read_shutdown: Vec<&str> =
            script.text.lines().filter(|l| !l.contains(" < ") || l.trim_start().starts_with("//")).collect();
        let outcome = run_text(&read_shutdown.join("\n"), &RunOptions { strict: true, ..RunOptions::default() });
        assert_ne!(outcome, Outcome::Passed, "{} passes without its peer", script.path);
    }
}

#[test]
fn two_runs_are_equal() {
    let outcomes = |all: Vec<Checked>| all.into_iter().map(|c| (c.path, c.outcome)).collect::<Vec<_>>();
    assert_eq!(outcomes(checked()), outcomes(checked()));
}

/// Outcomes of the scripts with a Linux kernel, from `linux.csv`.
fn in_linux() -> Vec<KernelOutcome> {
    let other = |f: Vec<String>| {
        let [script, result, line, expected, got] = f.try_into().unwrap_or_else(|f| panic!("linux.csv: five fields, not {f:?}"));
        KernelOutcome { script, result, line: line.parse().unwrap_or(0), expected, got }
    };
    lines("linux.csv").into_iter().map(other).collect()
}

/// Fields of a line must not hold what ends them.
fn field(text: &str) -> String {
    text.replace(';', ",").replace('\n', " ")
}

/// The release of this machine's kernel for guests; `None` where it cannot build one.
fn release() -> Option<String> {
    if let Err(why) = forebay_validate::kernel() {
        let fails = |c: &forebay_platform::doctor::Check| {
            matches!((c.look)(), forebay_platform::doctor::Finding::Fails { .. }) && c.title != "kernel"
        };
        let cannot = forebay_kernel::doctor::PART.checks.iter().any(fails);
        assert!(cannot, "this machine can build a kernel: {why}");
        forebay_platform::doctor::requirements::skip("kernel", &why);
        return None;
    }
    Some(forebay_validate::release().unwrap())
}

/// Holds `file` in `tests/conform` to `new`, whose first line names the kernel; or writes it.
fn hold(file: &str, release: &str, new: &str, what: &str) {
    let path = root().join("tests/conform").join(file);
    if std::env::var_os("FOREBAY_UPDATE").is_some() {
        std::fs::write(&path, new).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap();
    if current.lines().next() != Some(&format!("# {release}")) {
        return forebay_platform::doctor::requirements::skip("kernel", &format!("{file} is of another kernel than {release}"));
    }
    let differs = current.lines().zip(new.lines()).find(|(a, b)| a != b);
    assert!(
        current == new,
        "tests/conform/{file} is not {what}: set FOREBAY_UPDATE=1 to rewrite it if the difference is right\n{differs:#?}"
    );
}

/// The same input for the simulator's stack `linux` and for a kernel, to the end of every script. Compares the times of all packets to the
/// nanosecond, and state, window, threshold, counters and back-off after each packet of the peer. Differences are in `stack-linux.csv`, with their
/// causes.
#[test]
fn stack_linux_equals_kernel() {
    let Some(release) = release() else { return };
    let causes = lines("stack-linux.csv");
    let mut new = format!("# {release}\n# script; the simulator's stack `linux`; the kernel; cause\n");
    let mut compared = 0;
    let mut all = cases(&["tests/conform", "tests/connections"].map(|folder| root().join(folder))).unwrap();
    all.sort_by(|a, b| a.name().cmp(b.name()));
    for case in all {
        let text = as_linux(case.text().unwrap());
        let path = Path::new(case.name()).strip_prefix(root().join("tests")).unwrap().to_string_lossy().into_owned();
        let watch = |of| watch_text(&text, &RunOptions { of, ..RunOptions::default() });
        let (ours, theirs) = match (watch(Stack::Simulator), watch(Stack::Linux)) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(Outcome::NotApplicable(_)), _) | (_, Err(Outcome::NotApplicable(_))) => continue,
            (ours, theirs) => panic!("{path}: {:?} {:?}", ours.err(), theirs.err()),
        };
        assert!(!ours.is_empty(), "{path}: nothing is compared");
        compared += 1;
        if let Some((a, b)) = difference(&ours, &theirs) {
            let show = |seen: Option<&Observation>| field(&seen.map_or_else(|| "nothing".into(), Observation::to_string));
            let cause = causes.iter().find(|c| c[0] == path).map_or("unknown", |c| &c[3]);
            new += &format!("{path}; {}; {}; {cause}\n", show(a), show(b));
        }
    }
    assert!(compared >= 240, "{compared} scripts compared");
    hold("stack-linux.csv", &release, &new, "where the stack `linux` and the kernel part");
}

#[test]
fn kernel_outcomes_are_current() {
    let Some(release) = release() else { return };
    let options = RunOptions { of: Stack::Linux, strict: true, ..RunOptions::default() };
    let mut new = format!("# {release}\n# script; result; line; what the script says; what the kernel does\n");
    for script in checked() {
        let path = script.path.trim_start_matches("tests/conform/");
        new += &match run_text(&script.text, &options) {
            Outcome::Passed => format!("{path}; passed; ; ; \n"),
            Outcome::NotApplicable(what) => format!("{path}; not applicable; ; {}; \n", field(&what.join(", "))),
            Outcome::Failed { line, expected, got } => {
                format!("{path}; differs; {line}; {}; {}\n", field(&expected), field(&got))
            }
            Outcome::Invalid(problem) => panic!("{path}: {problem:?}"),
        };
    }
    hold("linux.csv", &release, &new, "what the kernel does");
}

#[test]
fn the_page_is_current() {
    let elsewhere: Vec<OtherSimulators> = lines("elsewhere.csv")
        .into_iter()
        .map(|f| OtherSimulators {
            rfc: f[0].parse().unwrap(),
            script: f[1].clone(),
            ns3: f[2].clone(),
            htsim: f[3].clone(),
            inet: f[4].clone(),
            source: f[5].clone(),
        })
        .collect();
    let (all, linux) = (checked(), in_linux());
    let code = places(&root().join("crates/sim/src"), "crates/sim/src").unwrap();
    let page = root().join("docs/internals/conformance.md");
    let old = std::fs::read_to_string(&page).unwrap();
    let mark = "<!-- generated below -->\n";
    let head = old.split(mark).next().unwrap();
    let passed = all.iter().filter(|s| s.outcome == Outcome::Passed).count();
    let sources: String =
        elsewhere.iter().map(|e| format!("* RFC {} {}: {}\n", e.rfc, e.script, e.source)).collect::<Vec<_>>().join("");
    let new = format!(
        "{head}{mark}\n{} scripts, {passed} of which pass.\n{}\n{}\n## Sources on the other simulators\n\n{sources}",
        all.len(),
        table(&all, &code, &elsewhere, &linux),
        differences(&linux)
    );
    if std::env::var_os("FOREBAY_UPDATE").is_some() {
        std::fs::write(&page, &new).unwrap();
    }
    let current = std::fs::read_to_string(&page).unwrap();
    assert!(current == new, "docs/internals/conformance.md is not what the scripts give: regenerate it with FOREBAY_UPDATE=1");
}
