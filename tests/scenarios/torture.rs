//! Random legal scenarios and connections, as `forebay torture` draws them: all invariants hold. The folder `tests/torture` has the cases that failed
//! once.

use forebay_torture::{Case, Kind, Verdict, Work, check};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Cases of [`random_cases_hold`].
const CASES: u64 = 96;

/// Checks a case; the error names it. A case that is cut was not checked: only `random` ones may be.
fn outcome(name: &str, case: &Case, random: bool) -> Result<Work, String> {
    match catch_unwind(AssertUnwindSafe(|| check(case))) {
        Ok(Verdict::Passed(work)) => Ok(work),
        Ok(Verdict::Cut(work)) if random => Ok(work),
        Ok(Verdict::Cut(_)) => Err(format!("{name} exceeds the limits of a case\n{}", case.text())),
        Ok(Verdict::Refused(why)) => Err(format!("{name} is refused: {why}\n{}", case.text())),
        Ok(Verdict::Failed(why)) => Err(format!("{name} fails: {why}\n{}", case.text())),
        Err(_) => Err(format!("{name} panics\n{}", case.text())),
    }
}

#[test]
fn former_failures_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("torture");
    let mut files: Vec<_> = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let failures: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let case = Case::read(&fs::read_to_string(file).expect("a text")).expect("a case");
            outcome(&file.display().to_string(), &case, false).err()
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn random_cases_hold() {
    let (mut total, mut failures) = (Work::default(), Vec::new());
    for number in 0..CASES {
        let Some(case) = Case::of(1, number) else { continue };
        match outcome(&format!("forebay torture --seed 1 --case {number}"), &case, true) {
            Ok(work) => total += work,
            Err(why) => failures.push(why),
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    // A quarter of the cases has hundreds of connections, and another one tens of thousands.
    assert!(total.connections > 300_000 && total.runs > CASES, "{total:?}");
}

/// Seed and number determine a case, whatever was drawn before.
#[test]
fn cases_repeat() {
    for number in [0, 1, 2, 3, 40] {
        let text = Case::of(9, number).expect("a case").text();
        assert_eq!(Case::of(9, number).expect("a case").text(), text);
        assert_ne!(Case::of(10, number).expect("a case").text(), text);
    }
}

/// A case is the same when it is read from its file.
#[test]
fn cases_roundtrip_as_files() {
    for number in 0..40 {
        let Some(case) = Case::of(3, number) else { continue };
        let read = Case::read(&case.text()).expect("a case");
        assert_eq!(read.text(), case.text());
        assert_eq!(read.kind() == Kind::Connections, case.kind() == Kind::Connections);
    }
}
