//! Hashes of the results of small random cases, to compare processors (`tools/processors.sh`).
//!
//! `digests --first COUNT` takes the first COUNT cases that are small, `digests NUMBER...` these cases. Each line has the number of a case and its digest.

#![expect(clippy::print_stdout, reason = "lines that a script compares")]

use forebay_torture::{Case, Digest, digest};

/// Seed of the cases.
const SEED: u64 = 40;

fn of(number: u64) -> Result<Option<(u64, Digest)>, String> {
    let Some(case) = Case::of(SEED, number) else { return Ok(None) };
    let digest = digest(&case).map_err(|why| format!("forebay torture --seed {SEED} --case {number}: {why}"))?;
    Ok(digest.map(|digest| (number, digest)))
}

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().map_err(|e| format!("{text}: {e}"));
    let digests: Vec<_> = match args.as_slice() {
        [first, count] if first == "--first" => {
            let count = usize::try_from(number(count)?).map_err(|e| e.to_string())?;
            (0..).map(of).filter_map(Result::transpose).take(count).collect::<Result<_, _>>()?
        }
        numbers => numbers.iter().map(|n| of(number(n)?)).filter_map(Result::transpose).collect::<Result<_, _>>()?,
    };
    for (number, Digest { work, rows }) in digests {
        println!("{number} {} {} {rows:016x}", work.runs, work.transmissions);
    }
    Ok(())
}
