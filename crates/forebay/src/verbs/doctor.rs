//! `forebay doctor`: missing parts of this machine, with the commands that install them.

use super::check::TextFormat;
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use crate::terminal::style::{self, BOLD, DIM, ERROR, NAME, paint};
use forebay_platform::doctor::{Finding, Fix, Package, Part, install};
use serde_json::{Value, json};
use std::fmt::Write;

/// All parts of the program that depend on the machine.
static PARTS: &[&Part] = &[&forebay_kernel::doctor::PART, &super::hosts::PART];

/// Check this machine, and print commands that fix it
///
/// The exit code is 1 if a check fails.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check only this feature, such as linux
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(PARTS.iter().map(|p| p.name)))]
    part: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

/// A part, and the findings of its checks.
type Found = (&'static Part, Vec<(&'static str, Finding)>);

/// Runs all checks and prints the findings.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let parts = PARTS.iter().filter(|p| args.part.as_ref().is_none_or(|name| name == p.name));
    let found: Vec<Found> = parts.map(|p| (*p, p.checks.iter().map(|c| (c.title, (c.look)())).collect())).collect();
    print(&match args.format {
        TextFormat::Text => text(&found, style::stdout()),
        TextFormat::Json => format!("{:#}\n", Value::from(found.iter().map(json_of).collect::<Vec<_>>())),
    })?;
    let fails = found.iter().flat_map(|f| &f.1).any(|(_, f)| matches!(f, Finding::Fails { .. }));
    if fails { Err(Failure::Reported(1)) } else { Ok(()) }
}

fn text(found: &[Found], colour: bool) -> String {
    let width = found.iter().flat_map(|f| &f.1).map(|c| c.0.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (at, (part, checks)) in found.iter().enumerate() {
        let gap = if at > 0 { "\n" } else { "" };
        let _ = writeln!(out, "{gap}{}", paint(colour, BOLD, part.title));
        for (title, finding) in checks {
            let (word, style, text) = match finding {
                Finding::Works(text) => ("works   ", NAME, text),
                Finding::Fails { wrong, .. } => ("fails   ", ERROR, wrong),
                Finding::Unknown(why) => ("unknown ", DIM, why),
            };
            let _ = writeln!(out, "  {}  {title:width$}  {text}", paint(colour, style, word));
            if let Finding::Fails { fix, .. } = finding {
                let _ = writeln!(out, "            {:width$}  {} {}", "", paint(colour, BOLD, "fix:"), fix.text());
            }
        }
        let packages = packages(checks);
        if packages.len() > 1 {
            let _ = writeln!(out, "  All packages at once: {}", install(&packages));
        }
    }
    out
}

/// Missing packages.
fn packages(checks: &[(&'static str, Finding)]) -> Vec<Package> {
    let package = |f: &Finding| match f {
        Finding::Fails { fix: Fix::Install(package), .. } => Some(*package),
        _ => None,
    };
    checks.iter().filter_map(|c| package(&c.1)).collect()
}

/// A part for programs.
fn json_of((part, checks): &Found) -> Value {
    let check = |(title, finding): &(&str, Finding)| match finding {
        Finding::Works(text) => json!({"check": title, "state": "works", "found": text}),
        Finding::Fails { wrong, fix } => json!({"check": title, "state": "fails", "found": wrong, "fix": fix.text()}),
        Finding::Unknown(why) => json!({"check": title, "state": "unknown", "found": why}),
    };
    json!({"part": part.name, "title": part.title, "checks": checks.iter().map(check).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::{Found, PARTS, json_of, text};
    use forebay_platform::doctor::{Finding, Package};

    #[test]
    fn findings_list_fixes_and_packages() {
        let package = |name| Package { debian: name, fedora: name };
        let found: Vec<Found> = vec![(
            PARTS[0],
            vec![
                ("gcc", Finding::Works("gcc 12".into())),
                ("flex", Finding::missing("flex is missing", package("flex"))),
                ("bc", Finding::missing("bc is missing", package("bc"))),
                ("kernel", Finding::fails("no kernel has been built", "forebay kernel build")),
                ("guests", Finding::Unknown("this needs gcc".into())),
            ],
        )];
        let text = text(&found, false);
        for line in [
            "works     gcc     gcc 12",
            "fails     kernel  no kernel has been built",
            "fix: forebay kernel build",
            "unknown   guests",
        ] {
            assert!(text.contains(line), "{line:?} in\n{text}");
        }
        assert!(
            text.lines().last().unwrap().starts_with("  All packages at once:") && text.ends_with("bc flex\n")
                || text.contains("Fedora bc flex")
        );
        assert_eq!(json_of(&found[0])["checks"][1]["state"], "fails");
    }
}
