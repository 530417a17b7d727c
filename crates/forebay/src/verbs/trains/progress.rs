//! Progress of reading captures, by bytes.

use crate::terminal::progress::{JSON_EVERY, LogSchedule, ProgressFormat, STEPS, clock, event, log_line};
use crate::terminal::style;
use crate::terminal::summary_table::scaled_symbol;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// Shows progress on standard error.
pub(super) struct Progress {
    kind: ProgressFormat,
    bar: Option<ProgressBar>,
    minutes: LogSchedule,
    began: Instant,
    printed: Instant,
    /// Bytes of all captures; `None` if one of them is a pipe.
    total: Option<u64>,
    /// Bytes of the captures that are done.
    done: u64,
}

impl Progress {
    /// Starts the display for these files.
    pub(super) fn new(kind: ProgressFormat, captures: &[PathBuf]) -> Progress {
        let size = |path: &PathBuf| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|m| m.len());
        let bar = (kind == ProgressFormat::Bar).then(|| {
            let colour = if style::stderr() { ".cyan" } else { "" };
            let template = format!("{{bar:32{colour}}} {{percent:>3}}%  {{msg}}");
            // The template is a constant; a default bar is still a bar.
            let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(STEPS).with_style(style)
        });
        let total = captures.iter().map(size).sum();
        let now = Instant::now();
        Progress { kind, bar, minutes: LogSchedule::default(), began: now, printed: now, total, done: 0 }
    }

    /// Redraws: `bytes` of the current file are read.
    pub(super) fn tick(&mut self, bytes: u64) {
        let read = self.done + bytes;
        let elapsed = self.began.elapsed();
        let fraction = self.total.map(|total| read as f64 / total.max(1) as f64);
        if self.kind == ProgressFormat::Json {
            if self.printed.elapsed() >= JSON_EVERY {
                self.printed = Instant::now();
                event(&json!({"event": "progress", "bytes": read, "total": self.total, "fraction": fraction}));
            }
            return;
        }
        let line = self.kind == ProgressFormat::Lines && self.minutes.due(elapsed);
        if self.bar.is_none() && !line {
            return;
        }
        let seconds = elapsed.as_secs_f64();
        let rate = scaled_symbol(read as f64 / seconds.max(0.001), "B/s");
        let left = fraction
            .filter(|f| *f > 0.005)
            .map_or(String::new(), |f| format!(", {} left", clock(seconds * (1.0 - f).max(0.0) / f)));
        let message = format!("{} read, {rate}{left}", scaled_symbol(read as f64, "B"));
        let position = (fraction.unwrap_or(0.0) * STEPS as f64) as u64;
        if line {
            log_line(position, &message);
        } else if let Some(bar) = &self.bar {
            bar.set_position(position);
            bar.set_message(message);
        }
    }

    /// A file of `bytes` is done.
    pub(super) fn file_done(&mut self, bytes: u64) {
        self.done += bytes;
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
