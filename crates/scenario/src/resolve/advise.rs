//! `[advise]`: objective of `forebay advise`. It does not change a run, and results do not depend on it.

use crate::schema::context::Cx;
use crate::schema::fields::Fields;
use crate::text::doc::TomlTable;
use crate::text::message_text::{alternatives, did_you_mean};
use crate::text::source::At;
use forebay_types::{Rate, Time};
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
    /// 99.9th percentile of completion times.
    P999,
    /// Fraction of messages that missed their deadline.
    DeadlineMisses,
    /// Time from the start of the first message to the end of the last one (makespan).
    Completion,
    /// Delivered payload per second.
    Goodput,
}

/// Names of the goals.
const GOALS: &[(&str, Goal)] = &[
    ("mean", Goal::Mean),
    ("p50", Goal::P50),
    ("p99", Goal::P99),
    ("p99.9", Goal::P999),
    ("deadline misses", Goal::DeadlineMisses),
    ("completion", Goal::Completion),
    ("goodput", Goal::Goodput),
];

/// Words before a limit.
const LIMIT_WORDS: [&str; 7] = [" at most ", " below ", " under ", " <= ", " at least ", " above ", " >= "];

/// Removes the words `the cheapest change that .. NUMBER` or `cheapest NUMBER`: an objective with a limit has this meaning anyway.
fn without_cheapest(text: &str) -> &str {
    let text = text.strip_prefix("the ").unwrap_or(text);
    let Some(rest) = text.strip_prefix("cheapest ") else { return text };
    // One word, a verb, is between `that` and the number.
    rest.strip_prefix("change that ").and_then(|r| r.split_once(' ')).map_or(rest, |(_, number)| number)
}

impl Goal {
    /// Returns true if a larger value is better.
    pub fn more_is_better(self) -> bool {
        self == Goal::Goodput
    }

    /// Reads a limit in the goal's unit: `2ms`, `5Gbps`, `0.1%`. Seconds, bits per second, or a fraction.
    fn limit(self, text: &str) -> Option<f64> {
        let text: String = text.split_whitespace().collect();
        match self {
            Goal::Goodput => text.parse::<Rate>().ok().map(|r| r.0 as f64),
            Goal::DeadlineMisses => {
                let value = match text.strip_suffix('%') {
                    Some(percent) => percent.parse::<f64>().ok()? / 100.0,
                    None => text.parse::<f64>().ok()?,
                };
                (0.0..=1.0).contains(&value).then_some(value)
            }
            _ => text.parse::<Time>().ok().map(|t| t.0 as f64 * 1e-12).filter(|s| *s > 0.0),
        }
    }
}

/// Number to improve, for a class of traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// The number.
    pub goal: Goal,
    /// Name of the workload.
    pub class: String,
    /// Value to meet at the least effort, with its text: seconds, bits per second, or a fraction. `None`: the best value.
    pub limit: Option<(f64, String)>,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(GOALS.iter().find(|(_, goal)| goal == self).map_or("", |(word, _)| word))
    }
}

/// The number and its class, without the limit.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.goal, self.class)
    }
}

impl Objective {
    /// Reads `p99 of reads`, or `p99 of reads at most 2ms`, for a scenario with these classes.
    ///
    /// # Errors
    /// The error, and the legal form.
    pub fn parse(text: &str, classes: &[&str]) -> Result<Objective, (String, String)> {
        let form = || {
            format!(
                "write \"p99 of CLASS\" or \"p99 of CLASS at most 2ms\" (the cheapest change to stay within it): {} of a class, here {}",
                alternatives(GOALS.iter().map(|g| g.0)),
                alternatives(classes.iter().copied())
            )
        };
        let asked = text.trim();
        let number = without_cheapest(asked);
        let (number, limit) = match LIMIT_WORDS.iter().find_map(|word| number.split_once(word)) {
            Some((number, limit)) => (number, Some(limit.trim())),
            None => (number, None),
        };
        let Some((goal, class)) = number.split_once(" of ") else {
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
        let limit = match limit {
            None if number.len() < asked.len() => {
                let message = format!("the objective \"{text}\" selects the cheapest change but has no limit");
                return Err((message, format!("write \"{} of {class} at most VALUE\"", goal)));
            }
            None => None,
            Some(value) => match found.limit(value) {
                Some(number) => Some((number, value.to_owned())),
                None => {
                    let example = match found {
                        Goal::Goodput => "a rate above 0, such as 5Gbps",
                        Goal::DeadlineMisses => "a percentage, such as 0.1%",
                        _ => "a time above 0, such as 2ms",
                    };
                    return Err((format!("the objective has the limit `{value}`"), format!("the limit of {goal} is {example}")));
                }
            },
        };
        Ok(Objective { goal: *found, class: class.to_owned(), limit })
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
    // The errors of the workloads or of the network are the causes.
    if classes.is_empty() {
        return None;
    }
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
        let reads = |goal| Ok(Objective { goal, class: "reads".into(), limit: None });
        assert_eq!(parse("p99 of reads"), reads(Goal::P99));
        assert_eq!(parse(" goodput of  reads "), reads(Goal::Goodput));
        assert_eq!(parse("mean of reads").unwrap().to_string(), "mean of reads");
        assert_eq!(parse("p99.9 of reads"), reads(Goal::P999));
        assert_eq!(parse("deadline misses of reads"), reads(Goal::DeadlineMisses));
        assert_eq!(parse("completion of reads"), reads(Goal::Completion));
        let meets = parse("the cheapest change that keeps p99 of reads at most 2 ms").unwrap();
        assert_eq!((meets.goal, meets.limit), (Goal::P99, Some((2e-3, "2 ms".to_owned()))));
        assert_eq!(parse("deadline misses of reads below 0.1%").unwrap().limit.unwrap().0, 1e-3);
        assert!(parse("p99 of reads at most 2").unwrap_err().1.contains("2ms"));
        assert!(parse("cheapest p99 of reads").unwrap_err().1.contains("at most"));
        for (bad, word) in [("p99", "p99 of CLASS"), ("p98 of reads", "p98"), ("p99 of raeds", "raeds")] {
            let (message, help) = parse(bad).unwrap_err();
            assert!(message.contains(word), "{message}");
            assert!(help.contains("reads"), "{help}");
        }
    }
}
