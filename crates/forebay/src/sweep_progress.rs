//! Progress of a sweep: one bar, or events.

use crate::interrupt;
use crate::limits::Watch;
use crate::terminal::failure::Failure;
use crate::terminal::output::remark;
use crate::terminal::progress::{JSON_EVERY, LogSchedule, ProgressFormat, STEPS, as_event, clock, event, log_line};
use crate::terminal::style;
use crate::terminal::summary_table::scaled;
use forebay_runner::sweep::{Done, Plan, Status, UnitRecord, Watcher, running};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::process;
use std::time::Instant;

/// Shows progress on standard error.
pub(crate) struct Display {
    kind: ProgressFormat,
    quiet: bool,
    bar: Option<ProgressBar>,
    minutes: LogSchedule,
    printed: Instant,
    hops: u64,
    watch: Watch,
    /// Time at which a limit ended the runs.
    ended: Option<Instant>,
}

impl Display {
    /// Starts the display; with `quiet` notes are left out. Ends the runs when `watch` requires it.
    pub(crate) fn new(kind: ProgressFormat, quiet: bool, watch: Watch) -> Display {
        let bar = (kind == ProgressFormat::Bar).then(|| {
            let colour = if style::stderr() { ".cyan" } else { "" };
            let template = format!("{{bar:32{colour}}} {{percent:>3}}%  {{msg}}");
            // The template is a constant; a default bar is still a bar.
            let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(STEPS).with_style(style)
        });
        Display { kind, quiet, bar, minutes: LogSchedule::default(), printed: Instant::now(), hops: 0, watch, ended: None }
    }

    /// Packet transmissions of the units that ran.
    pub(crate) fn hops(&self) -> u64 {
        self.hops
    }

    /// The limit that ended the runs.
    pub(crate) fn why(&self) -> Option<&str> {
        self.watch.why()
    }

    /// Ends the process if runs exceed the time that they have to end after a limit.
    fn abandon_late_runs(&mut self, s: &Status) {
        let ended = *self.ended.get_or_insert_with(Instant::now);
        if !self.watch.must_abandon(ended.elapsed()) {
            return;
        }
        self.clear();
        let why = self.why().unwrap_or_default();
        let text = format!(
            "{why}; {} runs did not end by themselves; {} of {} are done and kept: run the same command again to continue",
            s.running.len(),
            s.done,
            s.total
        );
        as_event(self.kind, Failure::Machine(text)).report();
        process::exit(1);
    }

    /// Removes the bar.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watcher for Display {
    fn checked(&mut self, points: usize, of: usize) {
        if self.watch.time_is_over() {
            interrupt::stop();
        }
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{points} of {of} points checked"));
        }
    }

    fn begins(&mut self, plan: &Plan) {
        let (sweep, units) = (plan.sweep().clone(), plan.units().to_vec());
        interrupt::report_panics(move || {
            let unit = units.get(running()?)?;
            let label = sweep.point(unit.point() as usize)?.label;
            Some(format!("point {} ({label}), variant {}, seed {}", unit.point(), unit.variant(), unit.seed()))
        });
        if self.kind == ProgressFormat::Json {
            let runs = plan.distinct().len();
            event(&json!({"event": "start", "name": plan.name(), "points": plan.sweep().len(), "runs": runs}));
            for text in plan.notes() {
                event(&json!({"event": "note", "text": text}));
            }
        }
        if !self.quiet && self.kind != ProgressFormat::Json {
            remark(plan.notes());
        }
    }

    fn tick(&mut self, s: &Status) {
        interrupt::note_done(s.done, s.total);
        if self.watch.exceeded(s.running.iter().map(|r| r.to_report).sum()) {
            interrupt::stop();
            self.abandon_late_runs(s);
        }
        let line = self.kind == ProgressFormat::Lines && self.minutes.due(s.elapsed);
        if self.bar.is_some() || line {
            let position = (s.fraction() * STEPS as f64) as u64;
            let found = if s.found > 0 { format!(" ({} already finished)", s.found) } else { String::new() };
            let rate = scaled(s.hops as f64 / s.elapsed.as_secs_f64().max(0.001), "pkt/s");
            let left = s.left_s().map_or(String::new(), |l| format!(", {} left", clock(l)));
            let message = format!("{} of {} runs{found}, {rate}{left}", s.done, s.total);
            if line {
                log_line(position, &message);
            }
            if let Some(bar) = &self.bar {
                bar.set_position(position);
                bar.set_message(message);
            }
        }
        if self.kind == ProgressFormat::Json && self.printed.elapsed() >= JSON_EVERY {
            self.printed = Instant::now();
            event(&json!({
                "event": "progress", "done": s.done, "total": s.total, "found": s.found, "fraction": s.fraction(),
                "packet_hops": s.hops, "packet_hops_per_s": s.hops as f64 / s.elapsed.as_secs_f64().max(0.001),
                "eta_s": s.left_s(),
            }));
        }
    }

    fn done(&mut self, plan: &Plan, index: usize, record: &UnitRecord, how: Done) {
        interrupt::note_one_done();
        let Done::Ran(wall) = how else { return };
        self.hops += record.packet_hops;
        if self.kind == ProgressFormat::Json {
            let unit = &plan.units()[index];
            event(&json!({
                "event": "run_done", "point": unit.point(), "variant": plan.names(unit).variant, "run": unit.run(), "seed": unit.seed(),
                "unit": unit.key().to_string(), "fingerprint": format!("{:016x}", record.fingerprint), "end_ns": record.end_ns,
                "packet_hops": record.packet_hops, "wall_s": wall.as_secs_f64(),
            }));
        }
    }

    fn limit(&self) -> Option<String> {
        self.why().map(str::to_owned)
    }
}
