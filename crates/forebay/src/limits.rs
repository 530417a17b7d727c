//! Limits of runs: a forecast before they start, and the checks that end runs beyond a limit.

use crate::terminal::failure::Failure;
use crate::terminal::style::{BOLD, paint};
use crate::terminal::summary_table::scaled;
use forebay_runner::memory::{self, Limit};
use forebay_runner::{Forecast, Outlook, RealTime, needs_no_forecast, outlook};
use forebay_scenario::Resolved;
use forebay_types::{Bytes, Time};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Part of the memory that results may take before their runs are ended; finishing them takes memory too.
const FULL: f64 = 0.75;
/// Most memory that finishing takes beside the results: rows in their order, as columns, as pages of files. Measured.
const FINISHING: u64 = 90 << 20;
/// Part of a smaller limit that results may take in any case.
const LEAST_SHARE: f64 = 0.25;
/// The same for limits on mapped memory: more is mapped than is used.
const FULL_MAPPED: f64 = 0.4;

/// Fraction of the memory at which a run that does not end is abandoned. Finishing the other runs stays below it.
const ABANDON_AT: f64 = 0.97;

/// Time in which a run reacts to the end that `--max-memory` asked for, before it counts as one that does not end. A run writes tens of megabytes of
/// samples between two checks, so the first check beyond the limit may already find it full.
const REACTION: Duration = Duration::from_millis(500);

/// Part of a processor for each thread below which a forecast warns. Our choice.
const SHARED: f64 = 0.8;

/// Origin of the limit of `--max-memory`, as in [`Limit::by`].
const EXPLICIT: &str = "--max-memory allows";

/// Limits on the command line.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Limits {
    /// End the runs when they take this much memory, such as 2GB, and keep the results so far [default: three quarters of the available memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// End the runs after this much wall-clock time, such as 90s, and keep their results so far. Writing them may take a quarter of that
    /// time more, or ten seconds if that is longer; rows that are not written by then are left out, samples first
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_time: Option<Duration>,
    /// Run a scenario that is not expected to fit into memory
    #[arg(long, short)]
    pub yes: bool,
}

fn size(text: &str) -> Result<u64, String> {
    let bytes: Bytes = text.parse().map_err(|e: forebay_types::QuantityError| e.to_string())?;
    if bytes.0 < 128_000_000 {
        return Err("at least 128MB, which the program needs to write results".into());
    }
    Ok(bytes.0)
}

fn time(text: &str) -> Result<Duration, String> {
    let time: Time = text.parse().map_err(|e: forebay_types::QuantityError| e.to_string())?;
    Ok(Duration::from_secs_f64(time.as_secs_f64()))
}

/// Returns free memory to the system. The allocator of glibc keeps the memory that each thread freed, and forecasts, runs and the report are made by
/// different threads.
fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes no pointers and may be called at any time (malloc_trim(3)).
    unsafe {
        libc::malloc_trim(0);
    }
}

impl Limits {
    /// Refuses runs that would not fit into memory, including results on a file system in memory. Small runs are not checked.
    pub(crate) fn admit(&self, resolved: &Resolved, threads: usize, files: &Files<'_>) -> Result<(), Failure> {
        let held = files.in_memory();
        if self.yes || needs_no_forecast(resolved) && (held.is_none() || !observes(resolved)) {
            return Ok(());
        }
        // A backend that cannot start reports it when it runs.
        let outlook = outlook(resolved, threads)?;
        trim_heap();
        let Outlook::Cost(f) = outlook else { return Ok(()) };
        let samples = f.samples / f.runs.max(1) as f64;
        if samples > MOST_SAMPLES {
            return Err(Failure::Usage(format!(
                "a run would take about {}, idle time included; at most {} are taken. Set `duration`, a longer `every` in [observe], or pass --yes",
                counted(samples.round(), "sample"),
                counted(MOST_SAMPLES, "sample"),
            )));
        }
        let Some(limit) = self.limit() else { return Ok(()) };
        // A limit on address space does not count files, which are not mapped.
        let files_take = if held.is_none() || limit.mapped { 0.0 } else { files.bytes(&f) };
        let all = f.memory as f64 + files_take;
        if all <= limit.bytes as f64 {
            return Ok(());
        }
        if let Some((folder, kind)) = held.filter(|_| files_take > f.memory as f64) {
            return Err(Failure::Usage(format!(
                "it would take about {} of memory, more than the {} that {}. {} of it are results and samples in `{}`, which is also memory ({kind}): \
                 {}, observe less, or pass --yes",
                bytes(all),
                bytes(limit.bytes as f64),
                limit.by,
                bytes(files_take),
                folder.display(),
                files.remedy(),
            )));
        }
        Err(Failure::Usage(format!(
            "the runs would take about {} of memory, more than the {} that {}. Most of it, {}, is for `{}`: lower it, use fewer --threads, or pass --yes",
            bytes(all),
            bytes(limit.bytes as f64),
            limit.by,
            bytes(f.costliest.1 as f64),
            f.costliest.0,
        )))
    }

    /// Limit of the memory for results.
    fn limit(&self) -> Option<Limit> {
        let explicit = self.max_memory.map(|bytes| Limit { bytes, by: EXPLICIT, mapped: false });
        [explicit, memory::limit()].into_iter().flatten().min_by_key(|l| l.bytes)
    }

    /// Limits of the runs of a command that began at `began`.
    pub(crate) fn watch(&self, began: Instant) -> Watch {
        let explicit = self.max_memory.is_some();
        Watch { limit: self.limit(), max_time: self.max_time, began, explicit, folder: None, reported: 0, why: None }
    }
}

/// Most samples of a run, as of a scenario with a duration: 10 GB.
const MOST_SAMPLES: f64 = 200e6;

/// True if samples are taken; a small scenario may have many.
fn observes(resolved: &Resolved) -> bool {
    resolved
        .variants
        .iter()
        .map(|v| &v.config.observe)
        .any(|o| !o.queue_series.is_empty() || !o.tcp_series.is_empty() || o.timeouts)
}

/// Places of results.
pub(crate) enum Files<'a> {
    /// Tables, and samples that are not yet in tables, into this folder.
    Results(&'a Path),
    /// Only samples, during a run, into the system's folder for temporary files.
    Samples(PathBuf),
}

impl Files<'_> {
    /// The folder, if it is in memory, and its kind of file system.
    fn in_memory(&self) -> Option<(&Path, &'static str)> {
        let folder = match self {
            Files::Results(folder) => folder,
            Files::Samples(folder) => folder.as_path(),
        };
        memory::file_system_in_memory(folder).map(|kind| (folder, kind))
    }

    fn bytes(&self, f: &Forecast) -> f64 {
        match self {
            Files::Results(_) => f.disk + f.spilled,
            Files::Samples(_) => f.spilled,
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Files::Results(_) => "choose a folder on a disk with --out",
            Files::Samples(_) => "set TMPDIR to a folder on a disk",
        }
    }
}

/// Shortest time that writing may take after --max-time.
const WRITING: Duration = Duration::from_secs(10);

/// Ends runs that exceed a limit.
pub(crate) struct Watch {
    limit: Option<Limit>,
    max_time: Option<Duration>,
    /// Start of the command.
    began: Instant,
    explicit: bool,
    /// Folder of the results, if it is in memory.
    folder: Option<PathBuf>,
    /// Memory of the reports at the last check, bytes.
    reported: u64,
    /// The reason, if a limit ended the runs.
    why: Option<String>,
}

impl Watch {
    /// Sets the folder of the results. Files there count as memory if its file system is in memory.
    pub(crate) fn writes_to(&mut self, folder: &Path) {
        let in_memory = memory::file_system_in_memory(folder).is_some();
        self.folder = std::fs::canonicalize(folder).ok().filter(|_| in_memory);
    }

    /// True if the runs must end; their reports would take `to_report` bytes in addition to the memory in use.
    ///
    /// Until the next check the memory can grow as it did since the last one, by much on a loaded machine. A message that has not ended takes about as much
    /// as its row, so the growth of the reports counts twice.
    pub(crate) fn exceeded(&mut self, to_report: u64) -> bool {
        if self.why.is_none() {
            let growth = 2 * to_report.saturating_sub(self.reported);
            self.why = self.reason(self.began.elapsed(), to_report + growth);
            self.reported = to_report;
        }
        self.why.is_some()
    }

    /// As [`Watch::exceeded`], by time alone. Writing results takes memory temporarily, which must not end the runs.
    pub(crate) fn time_is_over(&mut self) -> bool {
        if self.why.is_none() {
            self.why = self.out_of_time(self.began.elapsed());
        }
        self.why.is_some()
    }

    fn out_of_time(&self, elapsed: Duration) -> Option<String> {
        let max = self.max_time.filter(|max| elapsed >= *max)?;
        Some(format!("ended after {:.1} s by --max-time", max.as_secs_f64()))
    }

    /// True if runs that have not ended after a limit must be abandoned. `since` is the time since the limit, or since another run ended: it exceeds
    /// [`Watch::slack`], or memory is full. The machine's memory may run out at any moment; beyond `--max-memory` there usually is more, so that runs
    /// have [`REACTION`] to end and keep their results.
    pub(crate) fn must_abandon(&self, since: Duration) -> bool {
        let full = |l: Limit| (memory::used(l) + self.in_files(l)) as f64 >= l.bytes as f64 * ABANDON_AT;
        let reacts = |l: &Limit| l.by == EXPLICIT && since < REACTION;
        self.slack().is_some_and(|slack| since >= slack) || self.limit.filter(|l| !reacts(l)).is_some_and(full)
    }

    /// Bytes of results in files in memory.
    fn in_files(&self, limit: Limit) -> u64 {
        self.folder.as_ref().filter(|_| !limit.mapped).map_or(0, |folder| memory::held_by_files(folder))
    }

    /// Time after --max-time in which runs end and results are written.
    pub(crate) fn slack(&self) -> Option<Duration> {
        self.max_time.map(|max| (max / 4).max(WRITING))
    }

    /// Time left until all results must be written; `None` without a limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        let (max, slack) = (self.max_time?, self.slack()?);
        Some(max.saturating_add(slack).saturating_sub(self.began.elapsed()))
    }

    /// True if the time to write results is over.
    pub(crate) fn overdue(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }

    fn reason(&self, elapsed: Duration, to_report: u64) -> Option<String> {
        if let Some(why) = self.out_of_time(elapsed) {
            return Some(why);
        }
        let full = |l: &Limit| match l.bytes as f64 {
            all if l.mapped => all * FULL_MAPPED,
            all => (all * FULL).min((all - FINISHING as f64).max(all * LEAST_SHARE)),
        };
        let limit = self.limit?;
        let files = self.in_files(limit);
        let needed = (memory::used(limit) + files + to_report) as f64;
        let how = if self.explicit { "by --max-memory" } else { "for lack of memory" };
        let of_it = match &self.folder {
            Some(folder) if files > 0 => {
                format!(", {} of it results in `{}`, which is also memory", bytes(files as f64), folder.display())
            }
            _ => String::new(),
        };
        (needed > full(&limit)).then(|| format!("ended {how} at {} of {}{of_it}", bytes(needed), bytes(limit.bytes as f64)))
    }

    /// Memory for the report, and the origin of the limit; `None` without a limit.
    pub(crate) fn report_memory(&self) -> Option<(u64, &'static str)> {
        trim_heap();
        let limit = self.limit?;
        let part = if limit.mapped { FULL_MAPPED } else { FULL };
        Some((((limit.bytes as f64 * part) as u64).saturating_sub(memory::used(limit)), limit.by))
    }

    /// The limit that ended the runs.
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
    let of = memory::limit().map_or(String::new(), |l| format!(" of {} that {}", bytes(l.bytes as f64), l.by));
    let workers = threads.clamp(1, f.runs.max(1) as usize);
    let timeouts = match f.timeouts.round() {
        0.0 => String::new(),
        n => format!("{}{}, ", if f.timeouts_at_least { "at least " } else { "" }, counted(n, "timeout")),
    };
    // On a busy machine a second of processor time takes longer than one on the clock.
    let shared = if f.share < SHARED {
        format!(
            " ({} of processor time; under the present load each thread gets {:.0} % of a core)",
            clock(f.busy),
            100.0 * f.share
        )
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
    fn runs_react_before_they_are_abandoned() {
        // This process takes more than one byte.
        let limits = Limits { max_memory: Some(1), ..Limits::default() };
        let mut watch = limits.watch(Instant::now());
        assert!(watch.exceeded(0));
        assert!(!watch.must_abandon(Duration::ZERO) && watch.must_abandon(REACTION));
        // At once where the machine has no more.
        let machine = Limit { bytes: 1, by: "the machine has", mapped: false };
        let watch = Watch { limit: Some(machine), ..Limits::default().watch(Instant::now()) };
        assert!(watch.must_abandon(Duration::ZERO));
    }

    #[test]
    fn time_ends_runs() {
        let limits = Limits { max_time: Some(Duration::from_secs(3_600)), ..Limits::default() };
        let mut watch = limits.watch(Instant::now());
        assert!(!watch.exceeded(0) && !watch.overdue() && watch.slack() == Some(Duration::from_secs(900)));
        let limits = Limits { max_time: Some(Duration::ZERO), ..limits };
        let mut watch = limits.watch(Instant::now());
        assert!(watch.exceeded(0) && !watch.overdue() && watch.slack() == Some(WRITING));
        assert!(watch.why().is_some_and(|w| w.contains("--max-time")));
        assert_eq!(Limits::default().watch(Instant::now()).left(), None);
    }
}
