//! Timestamps: those of a script begin at another value and tick at another rate than the endpoint's.

use crate::script::{Options, Segment};

/// Pairs of timestamps.
pub(super) struct Stamps {
    /// The script's value and the endpoint's, latest last.
    known: Vec<(u32, u32)>,
    /// A tick of the script's, ns.
    tick: i64,
    /// ns.
    tolerance: i64,
}

impl Stamps {
    pub(super) fn new(tick: i64, tolerance: i64) -> Stamps {
        Stamps { known: Vec::new(), tick, tolerance }
    }

    /// A segment of the endpoint with the timestamps of the script.
    pub(super) fn back(&self, segment: &Segment) -> Segment {
        let mut segment = segment.clone();
        if let (Some(Options { ts: Some((val, _)), .. }), Some(&(script, own))) = (&mut segment.options, self.known.first()) {
            *val = script.wrapping_add((i64::from(val.wrapping_sub(own)) / self.tick) as u32);
        }
        segment
    }

    /// A segment of the script that arrives at `now`, ps, with echoed timestamps of the endpoint.
    pub(super) fn translate(&self, segment: &Segment, now: u64) -> Segment {
        let mut segment = segment.clone();
        if let Some(Options { ts: Some((_, echo)), .. }) = &mut segment.options
            && *echo != 0
        {
            let exact = self.known.iter().rev().find(|s| s.0 == *echo).map(|s| s.1);
            *echo = exact.unwrap_or_else(|| match self.known.first() {
                Some(&(script, own)) => own.wrapping_add((i64::from(echo.wrapping_sub(script) as i32) * self.tick) as u32),
                None => (now / 1000) as u32,
            });
        }
        segment
    }

    /// Records the timestamps of an expected segment and of the sent one.
    pub(super) fn note(&mut self, expected: &Segment, got: &Segment) {
        let of = |s: &Segment| s.options.as_ref().and_then(|o| o.ts).map(|t| t.0);
        if let (Some(script), Some(own)) = (of(expected), of(got)) {
            self.known.push((script, own));
        }
    }

    /// True if the options agree; timestamps agree by the time between them. The first pair has been [noted](Stamps::note).
    pub(super) fn same(&self, expected: &Options, got: &Options) -> bool {
        let stamps = match (expected.ts, got.ts) {
            (None, None) => true,
            (Some((val, ecr)), Some((own, echo))) => {
                let (script0, own0) = self.known[0];
                let expected = i64::from(val.wrapping_sub(script0) as i32) * self.tick;
                let got = i64::from(own.wrapping_sub(own0));
                ecr == echo && (expected - got).abs() <= self.tolerance + self.tick
            }
            _ => false,
        };
        stamps && Options { ts: None, ..expected.clone() } == Options { ts: None, ..got.clone() }
    }
}
