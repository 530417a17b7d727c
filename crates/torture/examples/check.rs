//! Checks case files in this process, for Miri and sanitizers (`tools/memory-errors.sh`): `check FILE...`.

#![expect(clippy::print_stdout, reason = "progress of a run of minutes")]

use forebay_torture::{Case, Verdict, check};
use std::fs;

fn main() -> Result<(), String> {
    for file in std::env::args().skip(1) {
        let text = fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
        match check(&Case::read(&text)?) {
            Verdict::Passed(work) => println!("{file}: {} runs, {} transmissions", work.runs, work.transmissions),
            other => return Err(format!("{file}: {other:?}")),
        }
    }
    Ok(())
}
