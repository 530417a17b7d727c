//! Time of packets, made continuous where the clock of the capture was set back.

/// A clock that steps back further than this was set; smaller steps are packets that were captured by several processors or interfaces, ns.
const CLOCK_SET_NS: u64 = 1_000_000_000;

/// Later times are those of damaged captures, and are cut to this: the year 2116, so that sums of times fit, ns.
const LATEST_NS: u64 = 1 << 62;

/// The clock of a capture.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    newest: u64,
    shift: u64,
    steps: u64,
    largest: u64,
    first: Option<String>,
}

impl Clock {
    /// Time of a packet, ns.
    #[inline]
    pub(crate) fn time(&mut self, stamp: u64, place: impl FnOnce() -> String) -> u64 {
        let now = stamp.saturating_add(self.shift).min(LATEST_NS);
        if now >= self.newest {
            self.newest = now;
            return now;
        }
        let back = self.newest - now;
        if back <= CLOCK_SET_NS {
            return now;
        }
        self.steps += 1;
        self.largest = self.largest.max(back);
        self.first.get_or_insert_with(place);
        self.shift = self.shift.saturating_add(back);
        self.newest
    }

    /// Remark about the steps, if there are any.
    pub(crate) fn note(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let times = if self.steps == 1 { "once".into() } else { format!("{} times", self.steps) };
        let seconds = self.largest as f64 * 1e-9;
        Some(format!(
            "the clock of the capture steps back {times}, by up to {seconds:.3} s, first at {first}; later packets follow the last one before it. If the \
             files are captures of the same time, merge them first: `mergecap -w ALL FILE...`"
        ))
    }
}
