//! `forebay-bench linux`: the simulator's stack `linux` against the TCP of a Linux kernel, scenario by scenario and packet by packet.

mod connections;
mod dice;
mod measure;
mod random;
mod scenarios;
mod table;

use scenarios::{Case, cases};

/// Runs all scenarios, those whose name contains the word, the one in the file of that name, or some that are drawn, in both worlds; prints the table
/// and writes it.
pub(crate) fn execute(args: &[String]) -> Result<(), String> {
    if let Some((flag, rest)) = args.split_first()
        && flag == "--connections"
    {
        return connections::execute(rest);
    }
    let (mut out, mut word, mut around, mut drawn) = (None, None, None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--out" => out = Some(args.next().ok_or("--out: which file?")?.clone()),
            "--show" => around = Some(4),
            "--around" => around = Some(args.next().and_then(|n| n.parse().ok()).ok_or("--around: how many packets?")?),
            "--random" => {
                let mut number =
                    || args.next().and_then(|n| n.parse().ok()).ok_or("--random: which seed, and how many scenarios?");
                drawn = Some((number()?, number()?));
            }
            _ => word = Some(arg.clone()),
        }
    }
    let all = || drawn.map_or_else(cases, |(seed, count)| random::cases(seed, count));
    let chosen: Vec<Case> = match word {
        Some(file) if file.ends_with(".toml") => {
            let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
            vec![Case { name: file, text, cause: "" }]
        }
        word => all().into_iter().filter(|c| word.as_ref().is_none_or(|w| c.name.contains(w.as_str()))).collect(),
    };
    let mut rows = Vec::new();
    for case in &chosen {
        if around.is_some() {
            println!("{}", case.text);
        }
        match measure::both(&case.name, &case.text, around) {
            Ok(row) => {
                println!("{}", table::line(case, &row));
                rows.push((case, row));
            }
            Err(why) => println!("{}: {why}", case.name),
        }
    }
    println!("{}", table::summary(&rows));
    if let Some(out) = out {
        std::fs::write(&out, table::csv(&rows)).map_err(|e| format!("{out}: {e}"))?;
    }
    if rows.len() < chosen.len() { Err(format!("{} scenarios did not run", chosen.len() - rows.len())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole connections, from the SYN to the last ACK: where the table says that both worlds are the same to the nanosecond, they are.
    #[test]
    fn what_the_table_calls_identical_is() {
        if forebay_worlds::all().find("linux").is_none_or(|w| w.version().is_empty()) {
            return forebay_doctor::required::skip("kernel", "build it with `forebay kernel build`");
        }
        let table = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/linux-agreement.csv")).unwrap();
        let whole: Vec<&str> =
            table.lines().filter(|l| l.split(',').nth(3) == Some("all")).filter_map(|l| l.split(',').next()).collect();
        assert!(whole.len() >= 10, "{whole:?}");
        for case in cases().iter().filter(|c| whole.contains(&c.name.as_str())) {
            let row = measure::both(&case.name, &case.text, None).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{}", case.name);
        }
    }
}
