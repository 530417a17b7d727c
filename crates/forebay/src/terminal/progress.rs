//! Progress of runs: bars for a person, one line per minute for a log, one JSON object per line for a program (fields in `docs/reference/results.md`),
//! or nothing.

use crate::terminal::escape::escape;
use crate::terminal::failure::Failure;
use crate::terminal::style;
use crate::terminal::summary_table::{decimals, scaled};
use forebay_runner::{Job, Outcome, State};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// More variants than this share one bar.
const MAX_BARS: usize = 12;
/// Length of a bar in steps, finer than any terminal.
pub(crate) const STEPS: u64 = 1_000;
/// Time between two JSON events of a run.
pub(crate) const JSON_EVERY: Duration = Duration::from_millis(500);
/// Time between two lines in a log, and before the first one.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// Formats of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressFormat {
    /// One bar per variant
    Bar,
    /// One line per minute
    Lines,
    /// One JSON object per line
    Json,
    /// No progress output
    None,
}

/// Shows progress on standard error.
pub(crate) enum Display {
    /// Bars, each with its variant (`None`: all together).
    Bars(MultiProgress, Vec<(Option<usize>, ProgressBar)>),
    /// Lines.
    Lines(LogSchedule),
    /// Events, the variants' names, and when progress was last printed.
    Json(Vec<String>, Instant),
    /// Nothing.
    Silent,
}

/// Schedule of the lines, by the time since the start.
#[derive(Debug, Default)]
pub(crate) struct LogSchedule {
    printed: u32,
}

impl LogSchedule {
    /// True if a line is due now; the next is a minute later.
    pub(crate) fn due(&mut self, elapsed: Duration) -> bool {
        let due = elapsed >= LINE_EVERY * (self.printed + 1);
        if due {
            self.printed = (elapsed.as_secs() / LINE_EVERY.as_secs()) as u32;
        }
        due
    }
}

/// Writes one line for a log.
pub(crate) fn log_line(position: u64, message: &str) {
    // A closed standard error is no reason to lose the results.
    let _ = writeln!(io::stderr().lock(), "{:>3} %: {}", position * 100 / STEPS, escape(message, false));
}

/// Writes one event.
pub(crate) fn event(value: &Value) {
    // A closed standard error is no reason to lose the results.
    let _ = writeln!(io::stderr().lock(), "{}", escape(&value.to_string(), false));
}

/// The failure in the format of the progress: as an event it is reported at once.
pub(crate) fn as_event(kind: ProgressFormat, failure: Failure) -> Failure {
    if kind != ProgressFormat::Json || matches!(failure, Failure::Reported(_)) {
        return failure;
    }
    match &failure {
        Failure::Interrupted => event(&json!({"event": "interrupted"})),
        Failure::Stopped { done, total } => event(&json!({"event": "interrupted", "done": done, "total": total})),
        other => event(&json!({"event": "error", "message": other.text(false)})),
    }
    Failure::Reported(failure.number())
}

impl Display {
    /// Starts to show the progress of `variants`.
    pub(crate) fn new(kind: ProgressFormat, variants: &[String]) -> Display {
        match kind {
            ProgressFormat::None => Display::Silent,
            ProgressFormat::Lines => Display::Lines(LogSchedule::default()),
            ProgressFormat::Json => Display::Json(variants.to_vec(), Instant::now()),
            ProgressFormat::Bar => {
                let multi = MultiProgress::new();
                let width = variants.iter().map(|v| v.chars().count()).max().unwrap_or(0).clamp(3, 24);
                let colour = if style::stderr() { ".cyan" } else { "" };
                let template = format!("{{prefix:{width}!}} {{bar:32{colour}}} {{percent:>3}}%  {{msg}}");
                // The template is a constant except for numbers; a default bar is still a bar.
                let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
                let bar =
                    |name: &str| multi.add(ProgressBar::new(STEPS).with_style(style.clone()).with_prefix(escape(name, false)));
                let mut bars = Vec::new();
                if variants.len() <= MAX_BARS {
                    bars.extend(variants.iter().enumerate().map(|(i, name)| (Some(i), bar(name))));
                }
                if variants.len() != 1 {
                    bars.push((None, bar("all")));
                }
                Display::Bars(multi, bars)
            }
        }
    }

    /// Redraws.
    pub(crate) fn tick(&mut self, jobs: &[Job], elapsed: Duration) {
        match self {
            Display::Silent => {}
            Display::Lines(minutes) => {
                if minutes.due(elapsed) {
                    let states: Vec<State> = jobs.iter().map(Job::state).collect();
                    let (position, message) = line(&states, elapsed);
                    log_line(position, &message);
                }
            }
            Display::Bars(_, bars) => {
                for (variant, bar) in bars {
                    let states: Vec<State> =
                        jobs.iter().filter(|j| variant.is_none_or(|v| v == j.variant())).map(Job::state).collect();
                    let (position, message) = line(&states, elapsed);
                    bar.set_position(position);
                    bar.set_message(message);
                }
            }
            Display::Json(names, last) => {
                if last.elapsed() >= JSON_EVERY {
                    *last = Instant::now();
                    for (job, s) in jobs.iter().map(|j| (j, j.state())).filter(|(_, s)| s.running) {
                        event(&progress_event(&names[job.variant()], job, &s, elapsed));
                    }
                }
            }
        }
    }

    /// Reports the end of a run.
    pub(crate) fn run_done(&mut self, job: &Job, outcome: &Outcome) {
        if let Display::Json(names, _) = self {
            event(&json!({
                "event": "run_done", "variant": names[job.variant()], "run": job.run(), "seed": job.seed(),
                "fingerprint": format!("{:016x}", outcome.report.fingerprint), "end_ns": outcome.report.end.as_ns(),
                "packet_hops": outcome.report.packet_hops, "wall_s": outcome.wall.as_secs_f64(),
            }));
        }
    }

    /// Removes the bars.
    pub(crate) fn clear(&mut self) {
        if let Display::Bars(multi, _) = self {
            // A terminal that is gone needs no clearing.
            let _ = multi.clear();
        }
    }
}

/// Position and message of a bar over `jobs`.
fn line(jobs: &[State], elapsed: Duration) -> (u64, String) {
    let Some(start) = jobs.iter().filter_map(|j| j.started).min() else { return (0, "waiting".into()) };
    let seconds = elapsed.saturating_sub(start).as_secs_f64();
    let hops: u64 = jobs.iter().map(|j| j.hops).sum();
    let mut message = format!("{}, {}", scaled(hops as f64 / seconds.max(0.001), "pkt/s"), simulated(jobs));
    // Work without a known end has no position: the message has the simulated time.
    let known: Option<f64> = jobs.iter().map(|j| j.fraction).sum();
    let Some(sum) = known else { return (0, message) };
    let fraction = sum / jobs.len() as f64;
    if fraction >= 1.0 {
        message = "done".into();
    } else if let Some(left) = left(seconds, fraction) {
        message.push_str(&format!(", {} left", clock(left)));
    }
    ((fraction * STEPS as f64) as u64, message)
}

/// Simulated time of the active run that is furthest behind.
fn simulated(jobs: &[State]) -> String {
    let under_way = jobs.iter().filter(|j| j.running).min_by_key(|j| j.now_ps);
    match under_way.map(|j| (j.now_ps as f64 * 1e-12, j.end_ps)) {
        None => "between two runs".into(),
        Some((now, None)) => format!("{now:.3} s simulated"),
        Some((now, Some(end))) => {
            let end = end as f64 * 1e-12;
            format!("{now:.*} of {end} s simulated", decimals(end, 4))
        }
    }
}

/// Seconds left when `fraction` took `seconds`; `None` too early to tell.
fn left(seconds: f64, fraction: f64) -> Option<f64> {
    (fraction > 0.005).then(|| seconds * (1.0 - fraction) / fraction)
}

/// Seconds for people.
pub(crate) fn clock(seconds: f64) -> String {
    let s = seconds.ceil() as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{}:{:02} min", s / 60, s % 60),
        _ => format!("{}:{:02} h", s / 3600, s / 60 % 60),
    }
}

fn progress_event(variant: &str, job: &Job, s: &State, elapsed: Duration) -> Value {
    let seconds = elapsed.saturating_sub(s.started.unwrap_or_default()).as_secs_f64();
    json!({
        "event": "progress", "variant": variant, "run": job.run(), "seed": job.seed(),
        "sim_ns": s.now_ps / 1_000, "end_ns": s.end_ps.map(|e| e / 1_000), "fraction": s.fraction,
        "packet_hops": s.hops, "packet_hops_per_s": s.hops as f64 / seconds.max(0.001),
        "done": s.done, "total": s.total, "eta_s": s.fraction.and_then(|f| left(seconds, f)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_minute() {
        let mut minutes = LogSchedule::default();
        let due = [0, 59, 60, 61, 119, 120, 300, 301, 360].map(|s| minutes.due(Duration::from_secs(s)));
        assert_eq!(due, [false, false, true, false, false, true, true, false, true]);
    }

    #[test]
    fn time_left() {
        assert_eq!(left(10.0, 0.25), Some(30.0));
        assert_eq!(left(10.0, 0.0), None);
        assert_eq!((clock(4.2), clock(61.0), clock(7300.0)), ("5 s".into(), "1:01 min".into(), "2:01 h".into()));
    }
}
