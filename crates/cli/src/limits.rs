//! What runs may take: a forecast before they start, and what ends them when they take more.

use crate::failure::Failure;
use crate::style::{BOLD, paint};
use crate::table::scaled;
use forebay_exec::memory::{self, Limit};
use forebay_exec::{Forecast, Outlook, RealTime, outlook, surely_small};
use forebay_scenario::Resolved;
use forebay_units::{Bytes, Time};
use serde_json::{Value, json};
use std::time::Duration;

/// Part of the memory that results may take before their runs are ended: finishing them takes memory, too.
const FULL: f64 = 0.75;
/// What finishing takes at the most, whatever there is to finish: rows in their order, as columns, as pages of files. Measured.
const FINISHING: u64 = 90 << 20;
/// Of a limit below that, the part that results may take all the same.
const LEAST: f64 = 0.25;
/// The same where what is mapped counts, and not what is used: more is mapped than is used.
const FULL_MAPPED: f64 = 0.4;

/// Part of a processor that each thread gets below which a forecast says so. Our choice.
const SHARED: f64 = 0.8;

/// Limits on the command line.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Limits {
    /// End the runs when they take this much memory, such as 2GB, and keep what they have by then [default: three quarters of what there is]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// End the runs after this much time on the clock, such as 90s, and keep what they have by then
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_time: Option<Duration>,
    /// Run even what is not expected to fit into memory
    #[arg(long, short)]
    pub yes: bool,
}

fn size(text: &str) -> Result<u64, String> {
    let bytes: Bytes = text.parse().map_err(|e: forebay_units::QuantityError| e.to_string())?;
    if bytes.0 < 128_000_000 {
        return Err("at least 128MB: the program takes that much, most of it to write results".into());
    }
    Ok(bytes.0)
}

fn time(text: &str) -> Result<Duration, String> {
    let time: Time = text.parse().map_err(|e: forebay_units::QuantityError| e.to_string())?;
    Ok(Duration::from_secs_f64(time.as_secs_f64()))
}

impl Limits {
    /// Refuses runs that would not fit into memory. Small ones are not looked at.
    pub(crate) fn admit(&self, resolved: &Resolved, threads: usize) -> Result<(), Failure> {
        if self.yes || surely_small(resolved) {
            return Ok(());
        }
        let Some(limit) = self.limit() else { return Ok(()) };
        let f = match outlook(resolved, threads)? {
            Outlook::Cost(f) if f.memory > limit.bytes => f,
            // A backend that cannot start says so when it runs.
            Outlook::Cost(_) | Outlook::RealTime(_) | Outlook::Unknown(_) => return Ok(()),
        };
        Err(Failure::Usage(format!(
            "it would take about {}, and {} {}. Most of it, {}, goes to `{}`: lower it, run less at the same time with --threads, or say --yes",
            bytes(f.memory as f64),
            limit.by,
            bytes(limit.bytes as f64),
            bytes(f.costliest.1 as f64),
            f.costliest.0,
        )))
    }

    /// What the results may take at the most.
    fn limit(&self) -> Option<Limit> {
        let asked = self.max_memory.map(|bytes| Limit { bytes, by: "--max-memory allows", mapped: false });
        [asked, memory::limit()].into_iter().flatten().min_by_key(|l| l.bytes)
    }

    /// What watches over the runs.
    pub(crate) fn watch(&self) -> Watch {
        Watch { limit: self.limit(), max_time: self.max_time, asked: self.max_memory.is_some(), why: None }
    }
}

/// Ends runs that take too much.
pub(crate) struct Watch {
    limit: Option<Limit>,
    max_time: Option<Duration>,
    asked: bool,
    /// Why they were ended.
    why: Option<String>,
}

impl Watch {
    /// Whether the runs are to end, `elapsed` after their start; their reports would take `to_report` bytes beside what is there now.
    pub(crate) fn over(&mut self, elapsed: Duration, to_report: u64) -> bool {
        if self.why.is_none() {
            self.why = self.reason(elapsed, to_report);
        }
        self.why.is_some()
    }

    fn reason(&self, elapsed: Duration, to_report: u64) -> Option<String> {
        if let Some(max) = self.max_time.filter(|max| elapsed >= *max) {
            return Some(format!("ended after {:.1} s by --max-time", max.as_secs_f64()));
        }
        let full = |l: &Limit| match l.bytes as f64 {
            all if l.mapped => all * FULL_MAPPED,
            all => (all * FULL).min((all - FINISHING as f64).max(all * LEAST)),
        };
        let limit = self.limit?;
        let needed = (memory::used(limit) + to_report) as f64;
        let how = if self.asked { "by --max-memory" } else { "for lack of memory" };
        (needed > full(&limit)).then(|| format!("ended {how} at {} of {}", bytes(needed), bytes(limit.bytes as f64)))
    }

    /// What the page of the results may take, and who says so; `None` where nothing limits it.
    pub(crate) fn for_the_page(&self) -> Option<(u64, &'static str)> {
        let limit = self.limit?;
        let part = if limit.mapped { FULL_MAPPED } else { FULL };
        Some((((limit.bytes as f64 * part) as u64).saturating_sub(memory::used(limit)), limit.by))
    }

    /// Why the runs were ended, if they were.
    pub(crate) fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }
}

/// A forecast in words.
pub(crate) fn text(outlook: &Outlook, threads: usize, colour: bool) -> String {
    let line = match outlook {
        Outlook::Cost(f) => cost(f, threads),
        Outlook::RealTime(r) => real_time(r, threads),
        Outlook::Unknown(reason) => format!("none: {reason}"),
    };
    format!("{} {line}\n", paint(colour, BOLD, "forecast:"))
}

/// `3 runs`, `1 run`.
fn counted(n: f64, what: &str) -> String {
    format!("{} {what}{}", scaled(n, "").trim_end(), if n == 1.0 { "" } else { "s" })
}

/// Runs in real time, in words.
fn real_time(r: &RealTime, threads: usize) -> String {
    let workers = threads.clamp(1, r.runs.max(1) as usize);
    let lasts = match r.seconds {
        Some(s) => format!("{} on {}", clock(s), counted(workers as f64, "thread")),
        None => "each until all of its messages have arrived".to_owned(),
    };
    format!("{} in real time, {lasts}; messages, packets and memory depend on the machine", counted(r.runs as f64, "run"))
}

/// The cost of runs, in words.
fn cost(f: &Forecast, threads: usize) -> String {
    let about = if f.exact { "" } else { "about " };
    let of = memory::limit().map_or(String::new(), |l| format!(" ({} {})", l.by, bytes(l.bytes as f64)));
    let workers = threads.clamp(1, f.runs.max(1) as usize);
    let timeouts = match f.timeouts.round() {
        0.0 => String::new(),
        n => format!("{}{}, ", if f.timeouts_at_least { "at least " } else { "" }, counted(n, "timeout")),
    };
    // On a machine that others keep busy a second of a processor takes longer than one on the clock.
    let shared = if f.share < SHARED {
        format!(", of a machine that gives each {:.0} % of a processor now: {} of processor time", 100.0 * f.share, clock(f.busy))
    } else {
        String::new()
    };
    format!(
        "{}, {about}{}, {}, {timeouts}{}; memory {}{of}, results {}, {} on {}{shared}",
        counted(f.runs as f64, "run"),
        counted(f.messages.round(), "message"),
        counted(f.samples.round(), "sample"),
        counted(f.transmissions.round(), "packet transmission"),
        bytes(f.memory as f64),
        bytes(f.disk),
        clock(f.seconds),
        counted(workers as f64, "thread"),
    )
}

/// A forecast as fields of an event or a document.
pub(crate) fn fields(outlook: &Outlook) -> Value {
    let f = match outlook {
        Outlook::Cost(f) => f,
        Outlook::RealTime(r) => return json!({"runs": r.runs, "real_time": true, "wall_s": r.seconds}),
        Outlook::Unknown(reason) => return json!({"unknown": reason}),
    };
    json!({
        "runs": f.runs, "messages": f.messages.round(), "samples": f.samples.round(), "timeouts": f.timeouts.round(),
        "timeouts_at_least": f.timeouts_at_least, "packet_transmissions": f.transmissions.round(),
        "memory_bytes": f.memory, "memory_limit_bytes": memory::limit().map(|l| l.bytes), "disk_bytes": f.disk.round(),
        "wall_s": f.seconds, "processor_s": f.busy, "processor_share": f.share, "costliest_key": f.costliest.0, "exact": f.exact,
    })
}

/// Bytes for people.
fn bytes(n: f64) -> String {
    for (scale, unit) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")] {
        if n >= scale {
            let v = n / scale;
            return if v < 10.0 { format!("{v:.1} {unit}") } else { format!("{v:.0} {unit}") };
        }
    }
    format!("{:.0} kB", (n / 1e3).max(1.0))
}

/// Seconds for people.
fn clock(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "less than a second".into(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5_400.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        assert_eq!((size("2GB"), size("127MB").is_err(), size("much").is_err()), (Ok(2_000_000_000), true, true));
        assert_eq!((time("90s"), time("x").is_err()), (Ok(Duration::from_secs(90)), true));
        assert_eq!((bytes(1.5e9), bytes(48e6), bytes(10.0)), ("1.5 GB".into(), "48 MB".into(), "1 kB".into()));
        assert_eq!(
            (clock(0.2), clock(30.0), clock(600.0), clock(7200.0)),
            ("less than a second".into(), "30 s".into(), "10 minutes".into(), "2.0 hours".into())
        );
    }

    #[test]
    fn time_ends_runs() {
        let mut watch = Limits { max_time: Some(Duration::from_secs(5)), ..Limits::default() }.watch();
        assert!(!watch.over(Duration::from_secs(4), 0) && watch.over(Duration::from_secs(5), 0));
        assert!(watch.why().is_some_and(|w| w.contains("--max-time")));
    }
}
