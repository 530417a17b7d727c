//! Columns of the table `tcp` with the state of congestion controls, and the values of one sample.
//!
//! A congestion control sets the columns that it has. The names are those of its specification, with the unit.

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CcValue {
    /// Whole number.
    Whole,
    /// Real number.
    Real,
    /// One of [`STATES`].
    State,
}

/// Column with a part of the state of congestion controls.
#[derive(Debug, Clone, Copy)]
pub struct CcColumn {
    /// Name, unique in the table.
    pub name: &'static str,
    /// Unit, as of other columns.
    pub unit: &'static str,
    /// Type.
    pub value: CcValue,
    /// Meaning in one sentence, with the congestion controls that set it.
    pub doc: &'static str,
}

const fn column(name: &'static str, unit: &'static str, value: CcValue, doc: &'static str) -> CcColumn {
    CcColumn { name, unit, value, doc }
}

/// Number of columns.
const COUNT: usize = 18;

/// All columns, in the order of the table. A column is null for congestion controls that do not set it, and while it has no value.
pub const COLUMNS: &[CcColumn; COUNT] = &[
    column("cc_state", "", CcValue::State, "state of bbr and bbr3, as draft-ietf-ccwg-bbr names it; bbr has one `ProbeBW`"),
    column("pacing_rate_bps", "bit/s", CcValue::Whole, "pacing rate that the congestion control sets: bbr, bbr3"),
    column("max_bw_bps", "bit/s", CcValue::Whole, "BBR.max_bw, the largest recent delivery rate: bbr, bbr3"),
    column("bw_bps", "bit/s", CcValue::Whole, "BBR.bw, the bandwidth in use: bbr, bbr3"),
    column("bw_shortterm_bps", "bit/s", CcValue::Whole, "BBR.bw_shortterm, the bound from losses: bbr3; null without a bound"),
    column(
        "min_rtt_ns",
        "ns",
        CcValue::Whole,
        "smallest RTT of the congestion control's window: bbr, bbr3; RTT without queueing (D): trim; null before the first sample",
    ),
    column("inflight_longterm_bytes", "B", CcValue::Whole, "BBR.inflight_longterm: bbr3; null without a bound"),
    column("inflight_shortterm_bytes", "B", CcValue::Whole, "BBR.inflight_shortterm: bbr3; null without a bound"),
    column("extra_acked_bytes", "B", CcValue::Whole, "BBR.extra_acked, the volume of aggregated ACKs: bbr, bbr3"),
    column("full_bw_bps", "bit/s", CcValue::Whole, "BBR.full_bw, the baseline of the search for a full pipe: bbr, bbr3"),
    column("full_bw_count", "1", CcValue::Whole, "BBR.full_bw_count, rounds without growth by a quarter: bbr, bbr3"),
    column("full_bw_reached", "1", CcValue::Whole, "BBR.full_bw_reached, 1 once the pipe was full: bbr, bbr3"),
    column("round_count", "1", CcValue::Whole, "BBR.round_count, round trips so far: bbr, bbr3"),
    column("idle_restart", "1", CcValue::Whole, "BBR.idle_restart, 1 after a pause of the application: bbr, bbr3"),
    column("w_max", "segments", CcValue::Real, "W_max, the window before the last reduction: cubic; null before it"),
    column("k_s", "s", CcValue::Real, "K, the time that the window needs to grow back to W_max: cubic; null outside an epoch"),
    column("w_est", "segments", CcValue::Real, "W_est, the window that Reno would have: cubic; null outside an epoch"),
    column("k_ns", "ns", CcValue::Whole, "K, the RTT above which the window is reduced: trim; null before the first sample"),
];

/// States of `cc_state`. The number of a state is its place.
pub const STATES: &[&str] =
    &["Startup", "Drain", "ProbeBW", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT"];

/// Word of a column without value: no number of a congestion control has these bits.
const NONE: u64 = u64::MAX;

/// State of a congestion control in one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CcState([u64; COUNT]);

impl Default for CcState {
    fn default() -> CcState {
        CcState([NONE; COUNT])
    }
}

impl CcState {
    /// Number of words of [`CcState::words`].
    pub const WORDS: usize = COUNT;

    fn place(name: &str) -> Option<usize> {
        let place = COLUMNS.iter().position(|c| c.name == name);
        debug_assert!(place.is_some(), "no column `{name}`");
        place
    }

    /// Sets column `name` to a whole number.
    pub fn whole(&mut self, name: &str, value: u64) {
        if let Some(place) = CcState::place(name) {
            debug_assert!(COLUMNS[place].value == CcValue::Whole);
            // The table has signed numbers.
            self.0[place] = value.min(i64::MAX as u64);
        }
    }

    /// Sets column `name` to a real number; one that is not finite stays null.
    pub fn real(&mut self, name: &str, value: f64) {
        if let (Some(place), true) = (CcState::place(name), value.is_finite()) {
            debug_assert!(COLUMNS[place].value == CcValue::Real);
            self.0[place] = value.to_bits();
        }
    }

    /// Sets `cc_state` to one of [`STATES`].
    pub fn state(&mut self, name: &str) {
        let number = STATES.iter().position(|s| *s == name);
        debug_assert!(number.is_some(), "no state `{name}`");
        if let (Some(place), Some(number)) = (CcState::place("cc_state"), number) {
            self.0[place] = number as u64;
        }
    }

    fn word(&self, name: &str) -> Option<u64> {
        Some(self.0[CcState::place(name)?]).filter(|w| *w != NONE)
    }

    /// Whole number in column `name`.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.word(name).and_then(|w| i64::try_from(w).ok())
    }

    /// Real number in column `name`.
    pub fn float(&self, name: &str) -> Option<f64> {
        self.word(name).map(f64::from_bits)
    }

    /// Name of the state in column `name`.
    pub fn text(&self, name: &str) -> Option<&'static str> {
        STATES.get(usize::try_from(self.word(name)?).ok()?).copied()
    }

    /// The values as words.
    pub fn words(&self) -> &[u64; COUNT] {
        &self.0
    }

    /// The values of [`CcState::words`]; columns without a word are null.
    pub fn of_words(words: &[u64]) -> CcState {
        let mut state = CcState::default();
        state.0.iter_mut().zip(words).for_each(|(to, from)| *to = *from);
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_columns() {
        let mut s = CcState::default();
        s.whole("round_count", 7);
        s.real("k_s", 0.25);
        s.real("w_max", f64::INFINITY);
        s.state("ProbeBW_UP");
        let s = CcState::of_words(s.words());
        assert_eq!((s.int("round_count"), s.float("k_s"), s.float("w_max")), (Some(7), Some(0.25), None));
        assert_eq!((s.text("cc_state"), s.int("max_bw_bps")), (Some("ProbeBW_UP"), None));
    }

    #[test]
    fn names_are_unique() {
        for (i, c) in COLUMNS.iter().enumerate() {
            assert!(COLUMNS[..i].iter().all(|other| other.name != c.name), "{}", c.name);
        }
    }
}
