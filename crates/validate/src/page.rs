//! The page `docs/internals/conformance.md`: rules, the code that implements them, the scripts that check it, and their outcomes.
//!
//! Rules are cited in duvet's format, at the code and in the scripts: `//= https://www.rfc-editor.org/rfc/rfc5681#section-3.1`, and below it
//! the sentence on lines that begin with `//#`.

use crate::Outcome;
use std::fmt::Write;
use std::path::Path;

/// A cited sentence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Number of the RFC.
    pub rfc: u32,
    /// `3.1`
    pub section: String,
    /// The sentence.
    pub text: String,
}

/// The citations in `text`, each with its line.
pub fn citations(text: &str) -> Vec<(usize, Rule)> {
    let mut all: Vec<(usize, Rule)> = Vec::new();
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(url) = line.strip_prefix("//= ") {
            let tail = url.trim().strip_prefix("https://www.rfc-editor.org/rfc/rfc");
            let parts = tail.and_then(|t| t.split_once("#section-"));
            open = false;
            if let Some((Ok(rfc), section)) = parts.map(|(n, s)| (n.parse(), s)) {
                all.push((i + 1, Rule { rfc, section: section.into(), text: String::new() }));
                open = true;
            }
        } else if let Some(words) = line.strip_prefix("//#")
            && open
        {
            if let Some((_, rule)) = all.last_mut() {
                let gap = if rule.text.is_empty() { "" } else { " " };
                rule.text += &format!("{gap}{}", words.trim());
            }
        } else {
            open = false;
        }
    }
    all
}

/// A script of the project: path, text, outcome.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Path from the root of the repository.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// Known cause of its failure.
    pub known: Option<String>,
}

/// A place in the code that cites a rule.
#[derive(Debug, Clone)]
pub struct Place {
    /// `crates/sim/src/tcp/sender/rto.rs`; line numbers change too often to be shown.
    pub path: String,
    /// The rule.
    pub rule: Rule,
}

/// Behavior of other simulators for a rule, as far as known.
#[derive(Debug, Clone)]
pub struct OtherSimulators {
    /// Number of the RFC, or nothing for a rule of one script.
    pub rfc: u32,
    /// The script; empty for the whole RFC.
    pub script: String,
    /// Behavior of ns-3.
    pub ns3: String,
    /// Behavior of htsim.
    pub htsim: String,
    /// Behavior of INET.
    pub inet: String,
    /// Source of this knowledge.
    pub source: String,
}

/// All citations in the Rust files below `folder`, whose path from the root of the repository is `name`.
pub fn places(folder: &Path, name: &str) -> std::io::Result<Vec<Place>> {
    let mut all = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(|e| e.file_name());
    for entry in entries {
        let path = entry.path();
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        // A link to a folder above would never end.
        if entry.file_type()?.is_dir() {
            all.extend(places(&path, &name)?);
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path)?;
            all.extend(citations(&text).into_iter().map(|(_, rule)| Place { path: name.clone(), rule }));
        }
    }
    Ok(all)
}

/// Outcome of a script with a Linux kernel.
#[derive(Debug, Clone)]
pub struct KernelOutcome {
    /// `rfc5681/slow-start.pkt`
    pub script: String,
    /// `passed`, `differs`, `not applicable`.
    pub result: String,
    /// Line of the difference, from 1.
    pub line: usize,
    /// Expectation of the script at this line, or its features that a kernel lacks.
    pub expected: String,
    /// Behavior of the kernel.
    pub got: String,
}

/// Differences between the scripts and a kernel.
pub fn differences(linux: &[KernelOutcome]) -> String {
    let count = |result: &str| linux.iter().filter(|o| o.result == result).count();
    let mut out = format!(
        "## Differences of Linux\n\n{} scripts pass with the kernel as well, {} are not applicable to it, {} differ. The table has the first line that differs:\n\n",
        count("passed"),
        count("not applicable"),
        count("differs")
    );
    let _ = writeln!(out, "| script | line | expected | Linux |\n|---|---|---|---|");
    for o in linux.iter().filter(|o| o.result == "differs") {
        let cell = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
        let _ = writeln!(
            out,
            "| [`{}`](../../tests/conform/{}) | {} | {} | {} |",
            o.script,
            o.script,
            o.line,
            cell(&o.expected),
            cell(&o.got)
        );
    }
    out
}

/// The table of rules.
pub fn table(scripts: &[Checked], places: &[Place], others_known: &[OtherSimulators], linux: &[KernelOutcome]) -> String {
    let mut rows: Vec<(Rule, &Checked)> = Vec::new();
    for script in scripts {
        rows.extend(citations(&script.text).into_iter().map(|(_, rule)| (rule, script)));
    }
    rows.sort_by(|a, b| {
        (a.0.rfc, key(&a.0.section), &a.0.text, &a.1.path).cmp(&(b.0.rfc, key(&b.0.section), &b.0.text, &b.1.path))
    });
    let mut out = String::new();
    let mut rfc = 0;
    for (rule, script) in &rows {
        if rule.rfc != rfc {
            rfc = rule.rfc;
            let _ = writeln!(out, "\n### RFC {rfc}\n\n| section | rule | code | script | result | Linux | ns-3 | htsim | INET |");
            let _ = writeln!(out, "|---|---|---|---|---|---|---|---|---|");
        }
        let code: Vec<String> = places
            .iter()
            .filter(|p| p.rule.rfc == rule.rfc && (p.rule.text.contains(&rule.text) || rule.text.contains(&p.rule.text)))
            .map(|p| format!("`{}`", p.path.trim_start_matches("crates/sim/src/")))
            .collect();
        let code = if code.is_empty() { "not cited".into() } else { code.join(", ") };
        let result = match (&script.outcome, &script.known) {
            (Outcome::Passed, _) => "passed".into(),
            (_, Some(reason)) => format!("**known to fail**: {reason}"),
            (Outcome::NotApplicable(what), _) => format!("not applicable: {}", what.join("; ")),
            _ => "**failed**".into(),
        };
        let others = others_known.iter().rev().find(|e| script.path.ends_with(&e.script) && !e.script.is_empty());
        let others = others.or(others_known.iter().find(|e| e.rfc == rule.rfc && e.script.is_empty()));
        let (a, b, c) = others.map_or(("unknown", "unknown", "unknown"), |e| (&e.ns3, &e.htsim, &e.inet));
        let name = script.path.trim_start_matches("tests/conform/");
        let text = rule.text.replace('|', "\\|");
        let kernel = linux.iter().find(|o| o.script == name).map_or("unknown", |o| &o.result);
        let _ = writeln!(
            out,
            "| {} | {text} | {code} | [`{name}`](../../{}) | {result} | {kernel} | {a} | {b} | {c} |",
            rule.section, script.path
        );
    }
    out
}

/// Sections in the order of their numbers.
fn key(section: &str) -> Vec<u32> {
    section.split('.').map(|n| n.parse().unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_found() {
        let text = "x\n//= https://www.rfc-editor.org/rfc/rfc5681#section-3.1\n//# one\n//# two\ncode\n//# stray";
        let found = citations(text);
        assert_eq!(found, [(2, Rule { rfc: 5681, section: "3.1".into(), text: "one two".into() })]);
    }
}
