//! Runs scenarios and judges their results.

use super::draft::{Draft, Place, USUAL};
use forebay_experiment::Experiment;
use forebay_experiment::report::{EarlyEnd, Report, RunError};
use forebay_scenario::{Scenario, Variant, bounds};
use forebay_sim::run;
use forebay_tests::repository;
use forebay_types::param::{Kind, Param};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// Transmissions of one run; the largest of these scenarios takes a twentieth.
pub(super) const MOST_HOPS: u64 = 2_000_000;
/// Progress reports of one run, each after at most 100 000 activations.
pub(super) const MOST_LOOKS: u32 = 40;
/// Messages, hosts and switches of a run above which a value is not run in every mode.
pub(super) const LARGE: usize = 20_000;
/// Wall time of one run that never reaches the callback. Runs take milliseconds.
pub(super) const LONGEST: Duration = Duration::from_secs(300);
/// Duration of runs that would take too long with the default one.
pub(super) const SHORT: &str = "duration = \"10us\"";

/// Result of a scenario.
pub(super) enum Outcome {
    Refused(String),
    /// Completed, with this many messages, hosts and switches.
    Ran(usize),
    Failed(String),
    /// Stopped at a limit.
    Long,
    /// Did not return.
    Hangs,
}

/// The variants of a scenario, or the errors as a user reads them.
pub(super) fn variants(text: &str) -> Result<Vec<Variant>, String> {
    let folder = repository().join("scenarios");
    let scenario = Scenario::from_text(forebay_backends::all(), text, "ranges.toml", &folder, &[], None);
    scenario.and_then(|s| s.resolve()).map(|s| s.variants).map_err(|e| e.render())
}

pub(super) fn attempt(text: &str, also: &dyn Fn(&Report) -> Result<(), String>) -> Outcome {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let variants = match variants(text) {
            Ok(variants) => variants,
            Err(errors) => return Outcome::Refused(errors),
        };
        let mut size = 0;
        for v in variants {
            match start(&v.config) {
                Err(RunError::Interrupted) => return Outcome::Long,
                Err(e) => return Outcome::Failed(format!("does not start: {e}")),
                Ok(report) => {
                    size += report.flows.len() + v.config.network.nodes.len();
                    if let Err(why) = judge(&v.config, &report).and_then(|()| also(&report)) {
                        return Outcome::Failed(why);
                    }
                }
            }
        }
        Outcome::Ran(size)
    }));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Outcome::Failed(format!("panics: {}", text.unwrap_or_default()))
    })
}

pub(super) fn start(config: &Experiment) -> Result<Report, RunError> {
    let checked = config.check().map_err(|e| RunError::Unknown(e.to_string()))?;
    let mut looks = 0;
    let mut progress = |p: run::Progress| {
        looks += 1;
        if looks > MOST_LOOKS || p.packet_hops > MOST_HOPS {
            ControlFlow::Break(EarlyEnd::Discard)
        } else {
            ControlFlow::Continue(())
        }
    };
    run::run(checked, &mut progress)
}

/// Balances of every report.
pub(super) fn judge(config: &Experiment, r: &Report) -> Result<(), String> {
    for f in &r.flows {
        let sane = f.cwnd_max.is_finite() && f.cwnd_max >= 0.0 && f.reduction_alpha.is_none_or(|a| (0.0..=1.0).contains(&a));
        let ended = f.end.ps().is_none_or(|end| end >= f.start.0 && end <= r.end.0);
        let bytes = f.size_bytes == 0 || f.bytes_acked <= f.size_bytes;
        if !(sane && ended && bytes && f.segs_retx <= f.segs_sent) {
            return Err(format!("impossible: {f:?}"));
        }
    }
    for (id, p) in r.ports.iter().enumerate() {
        let port = &config.network.ports.as_slice()[id];
        let asked = p.sent_pkts + p.dropped_overflow + p.dropped_shared + p.dropped_early + p.cut_waiting;
        let percentiles = p.queue_percentiles.is_none_or(|q| q[0] <= q[1] && q[1] <= q[2] && q[2] <= p.queue_max_pkts);
        let queue = p.queue_mean_pkts.is_finite() && p.queue_mean_pkts <= f64::from(p.queue_max_pkts) + 1e-9;
        // Packets count as sent when they are queued.
        let carries = port.rate.0 as f64 / 8.0 * r.end.as_secs_f64() + (f64::from(p.queue_max_pkts) + 2.0) * 65_535.0;
        let waiting = p.arrived_pkts.abs_diff(asked);
        if !((0.0..=1.0).contains(&p.busy) && percentiles && queue && p.marked <= p.arrived_pkts && waiting == 0) {
            return Err(format!("impossible: {p:?}"));
        }
        let on_wire = p.sent_bytes as f64 - carries;
        if on_wire > 0.0 {
            return Err(format!("more than the link carries: {p:?}"));
        }
    }
    Ok(())
}

/// Next step after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Repeat without another key, because the value was refused.
    Other,
    /// Go to the next mode.
    Mode,
    /// Go to the next value, because the run was large or its thread still runs.
    Key,
}

/// Runs scenarios on a separate thread, so that a scenario that does not end fails with its name.
#[derive(Default)]
pub(super) struct Bench {
    pub(super) failures: Vec<String>,
    pub(super) refusals: BTreeSet<String>,
    pub(super) ran: usize,
}

impl Bench {
    pub(super) fn attempt(&self, text: &str) -> Outcome {
        self.attempt_with(text, |_| Ok(()))
    }

    pub(super) fn attempt_with(&self, text: &str, also: impl Fn(&Report) -> Result<(), String> + Send + 'static) -> Outcome {
        let (done, wait) = mpsc::channel();
        let own = text.to_owned();
        std::thread::spawn(move || {
            let _ = done.send(attempt(&own, &also));
        });
        // The thread of a hanging run continues until the program ends.
        wait.recv_timeout(LONGEST).unwrap_or(Outcome::Hangs)
    }

    /// Runs a scenario with a number at an end of its range, which may be refused by an error that names `key`.
    pub(super) fn number(&mut self, name: &str, key: &str, text: &str) -> Next {
        self.named(name, &[key], text)
    }

    /// As [`Bench::number`], of a value that has these keys.
    pub(super) fn named(&mut self, name: &str, keys: &[&str], text: &str) -> Next {
        if std::env::var_os("FOREBAY_SHOW").is_some() {
            println!("{name}");
        }
        match self.attempt(text) {
            Outcome::Ran(size) => {
                self.ran += 1;
                return if size > LARGE { Next::Key } else { Next::Mode };
            }
            Outcome::Long if text.contains(SHORT) => {
                self.failures.push(format!("{name}: does not end, even in {SHORT}\n{text}"));
                return Next::Key;
            }
            // A rate is so high that a run of the default length takes too long.
            Outcome::Long => return self.named(name, keys, &text.replacen(USUAL, SHORT, 1)),
            Outcome::Hangs => {
                self.failures.push(format!("{name}: not over after {LONGEST:?}\n{text}"));
                return Next::Key;
            }
            Outcome::Refused(errors) => {
                if !keys.iter().any(|key| errors.contains(&format!("`{key}`"))) {
                    self.failures.push(format!("{name}: the error does not name {keys:?}:\n{errors}"));
                }
                self.refusals.insert(format!("{name}:\n{errors}"));
                return Next::Other;
            }
            Outcome::Failed(why) => self.failures.push(format!("{name}: {why}\n{text}")),
        }
        Next::Mode
    }

    /// All numbers of `params`, each with every row of `modes`.
    pub(super) fn params(&mut self, what: &str, place: Place, params: &[Param], mut modes: Vec<(String, Draft)>) {
        if let Err(errors) = variants(&modes[0].1.text()) {
            panic!("{what}: the example is not legal:\n{errors}");
        }
        modes.retain(|(_, draft)| variants(&draft.text()).is_ok());
        let keys: Vec<String> = modes[0].1.clone().table(place).0.iter().map(|(k, _)| k.clone()).collect();
        for p in params {
            let (values, before) = (bounds(p.kind), self.ran);
            for value in &values {
                for (mode, draft) in &modes {
                    let name = format!("{what} {} = {value}{mode}", p.key);
                    if self.one(&name, place, (p, value), draft, (&keys, params)) == Next::Key {
                        break;
                    }
                }
            }
            if self.ran > before || values.is_empty() {
                continue;
            }
            // The range is narrower than that of the kind; the errors state it.
            let draft = &modes[0].1;
            let errors = values.iter().filter_map(|v| variants(&draft.with(place, p.key, v).text()).err());
            let stated: BTreeSet<String> = errors.flat_map(|e| stated(&e)).collect();
            for value in stated {
                self.number(&format!("{what} {} = {value}", p.key), p.key, &draft.with(place, p.key, &value).text());
            }
            if self.ran == before {
                self.failures.push(format!("{what} {}: refused at all ends of its range", p.key));
            }
        }
    }

    /// Runs a scenario that is legal, and whose messages all end.
    pub(super) fn whole(&mut self, name: &str, text: &str) {
        let ended = |r: &Report| {
            let late = r.flows.iter().find(|f| f.size_bytes > 0 && f.end.is_never());
            late.map_or(Ok(()), |f| Err(format!("does not end: {f:?}")))
        };
        match self.attempt_with(text, ended) {
            Outcome::Ran(_) => self.ran += 1,
            Outcome::Refused(errors) => self.failures.push(format!("{name}: is refused:\n{errors}")),
            Outcome::Failed(why) => self.failures.push(format!("{name}: {why}\n{text}")),
            Outcome::Long => self.failures.push(format!("{name}: does not end\n{text}")),
            Outcome::Hangs => self.failures.push(format!("{name}: not over after {LONGEST:?}\n{text}")),
        }
    }

    /// One number in one mode of an example that has these keys in its table.
    pub(super) fn one(
        &mut self,
        name: &str,
        place: Place,
        (p, value): (&Param, &str),
        draft: &Draft,
        all: (&[String], &[Param]),
    ) -> Next {
        let ((keys, params), key) = (all, p.key);
        let changed = draft.with(place, key, value);
        let next = self.number(name, key, &changed.text());
        if next != Next::Other {
            return next;
        }
        // Another key of the example may have the same effect, or exclude the value: without it the value may run.
        for other in keys.iter().filter(|k| *k != "kind" && *k != key) {
            let mut without = changed.clone();
            let table = without.table(place);
            *table = table.without(other);
            if variants(&without.text()).is_ok() {
                return self.number(name, key, &without.text());
            }
        }
        // Or it needs another key, or one that is no less or no more.
        let mut with = changed;
        for _ in 0..3 {
            let Err(errors) = variants(&with.text()) else { return self.number(name, key, &with.text()) };
            let named = |o: &&Param| o.key != key && errors.contains(&format!("`{}`", o.key));
            if let Some(other) = params.iter().find(named) {
                let same = std::mem::discriminant(&other.kind) == std::mem::discriminant(&p.kind);
                let value = if same { Some(value) } else { usual(other.kind) };
                with = value.map_or_else(|| with.clone(), |value| with.with(place, other.key, value));
            }
        }
        Next::Mode
    }

    pub(super) fn finish(self, what: &str) {
        println!("{what}: {} runs, {} refusals", self.ran, self.refusals.len());
        if std::env::var_os("FOREBAY_SHOW").is_some() {
            self.refusals.iter().for_each(|r| println!("REFUSED {r}"));
        }
        assert!(self.failures.is_empty(), "{} failures:\n{}", self.failures.len(), self.failures.join("\n\n"));
        assert!(self.ran > 0, "{what}: nothing ran");
    }
}

/// The quantities that an error calls legal.
pub(super) fn stated(errors: &str) -> Vec<String> {
    let texts = errors.split("legal:").skip(1).filter_map(|text| text.lines().next());
    let mut found = Vec::new();
    for text in texts {
        let words: Vec<&str> = text.split([' ', ',', ';']).collect();
        for (i, word) in words.iter().enumerate() {
            let unit = words.get(i + 1).copied().unwrap_or("");
            match word.find(|c: char| !c.is_ascii_digit()) {
                None if !word.is_empty() && unit.ends_with('B') => found.push(format!("\"{word}{unit}\"")),
                Some(at) if at > 0 => found.push(format!("\"{word}\"")),
                _ => {}
            }
        }
    }
    found
}

/// A value of a number for those that need one beside them.
pub(super) fn usual(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Time | Kind::TimeDist => Some("\"1ms\""),
        Kind::Bytes | Kind::SizeDist => Some("\"20KB\""),
        _ => None,
    }
}
