//! Traces of whole connections and runs, recorded in `traces.csv`. A trace has each packet of a connection, and cwnd, ssthresh, alpha and the state of
//! recovery after each event. A line of the file has a few numbers of a trace and its hash, so that the diff shows which rule moved which path.
//!
//! Tests against the RFCs and the kernel say which behavior is right; traces show that no other line of it changes.
//! `FOREBAY_UPDATE=1 cargo test -p forebay-sim --test main traces::` rewrites the file.

mod connections;
mod options;
mod runs;

use forebay_types::mix;
use std::path::{Path, PathBuf};

/// Hash of a sequence of numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Hash(u64);

impl Hash {
    fn add(&mut self, number: u64) {
        self.0 = mix(self.0.rotate_left(5) ^ number.wrapping_add(0x9E37_79B9_7F4A_7C15));
    }

    fn add_text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.add(byte.into()));
    }
}

fn file(group: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{group}.csv"))
}

/// Compares `lines` with those of the file of this group, in which each line begins with the name of a case.
fn compare(group: &str, columns: &str, lines: &[String]) {
    let now = format!("# {columns}: see tests/traces/mod.rs; FOREBAY_UPDATE=1 rewrites it\n{}\n", lines.join("\n"));
    if std::env::var_os("FOREBAY_UPDATE").is_some() {
        std::fs::write(file(group), &now).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(file(group)).unwrap_or_default();
    let changed: Vec<&str> = now.lines().filter(|line| !recorded.lines().any(|r| r == *line)).collect();
    assert!(now == recorded, "changed, missing or superfluous lines in tests/traces/{group}.csv; now:\n{}", changed.join("\n"));
}
