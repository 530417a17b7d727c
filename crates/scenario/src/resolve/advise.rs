//! `[advise]`: objective of `forebay advise`. It does not change a run, and results do not depend on it.

use crate::schema::cx::Cx;
use crate::schema::fields::Fields;
use crate::text::doc::TomlTable;
use crate::text::source::At;
use crate::text::words::{alternatives, did_you_mean};
use std::fmt;

/// Number to improve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Mean completion time.
    Mean,
    /// Median completion time.
    P50,
    /// 99th percentile of completion times.
    P99,
    /// Delivered payload per second.
    Goodput,
}

/// Names of the goals.
const GOALS: &[(&str, Goal)] = &[("mean", Goal::Mean), ("p50", Goal::P50), ("p99", Goal::P99), ("goodput", Goal::Goodput)];

/// Number to improve, for a class of traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objective {
    /// The number.
    pub goal: Goal,
    /// Name of the workload.
    pub class: String,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(GOALS.iter().find(|(_, goal)| goal == self).map_or("", |(word, _)| word))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.goal, self.class)
    }
}

impl Objective {
    /// Reads `p99 of reads`, for a scenario with these classes.
    ///
    /// # Errors
    /// The error, and the legal form.
    pub fn parse(text: &str, classes: &[&str]) -> Result<Objective, (String, String)> {
        let form = || {
            format!(
                "write \"p99 of CLASS\": {} of a class, here {}",
                alternatives(GOALS.iter().map(|g| g.0)),
                alternatives(classes.iter().copied())
            )
        };
        let Some((goal, class)) = text.trim().split_once(" of ") else {
            return Err((format!("the objective \"{text}\" is not of the form \"p99 of CLASS\""), form()));
        };
        let (goal, class) = (goal.trim(), class.trim());
        let Some((_, found)) = GOALS.iter().find(|(word, _)| *word == goal) else {
            return Err((format!("the objective names `{goal}`, which does not exist"), form()));
        };
        if !classes.contains(&class) {
            let meant = did_you_mean(class, classes.iter().copied()).map_or_else(form, |m| format!("{m} {}", form()));
            return Err((format!("the objective names the class `{class}`, which no workload has"), meant));
        }
        Ok(Objective { goal: *found, class: class.to_owned() })
    }
}

/// Reads `[advise]` of a scenario with these classes.
pub(crate) fn advise(cx: &mut Cx, section: Option<(At, &TomlTable)>, classes: &[&str]) -> Option<Objective> {
    let (at, table) = section?;
    let mut fields = Fields::new("[advise]", at, table);
    let item = fields.get("objective");
    fields.finish(&mut cx.sink);
    let item = item?;
    let Some(text) = item.node.text() else {
        let message = format!("`objective` must be a text, not {}", item.node.describe());
        cx.sink.error(item.node.at, message, "write \"p99 of CLASS\"", None);
        return None;
    };
    match Objective::parse(text, classes) {
        Ok(objective) => Some(objective),
        Err((message, help)) => {
            cx.sink.error(item.node.at, message, "no such objective", Some(help));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives() {
        let classes = ["reads", "copies"];
        let parse = |text| Objective::parse(text, &classes);
        let reads = |goal| Ok(Objective { goal, class: "reads".into() });
        assert_eq!(parse("p99 of reads"), reads(Goal::P99));
        assert_eq!(parse(" goodput of  reads "), reads(Goal::Goodput));
        assert_eq!(parse("mean of reads").unwrap().to_string(), "mean of reads");
        for (bad, word) in [("p99", "p99 of CLASS"), ("p98 of reads", "p98"), ("p99 of raeds", "raeds")] {
            let (message, help) = parse(bad).unwrap_err();
            assert!(message.contains(word), "{message}");
            assert!(help.contains("reads"), "{help}");
        }
    }
}
