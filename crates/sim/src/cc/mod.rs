//! Congestion controls: window rules only. Loss detection, recovery, pacing of reductions and congestion signals are shared (`tcp/`).
//!
//! To add a congestion control: one file here, a `mod` line and a line in the list of `congestion_controls!`.

#[macro_use]
mod dispatch;

mod bbr;
mod bbr3;
mod congestion_control;
mod cubic;
mod d2tcp;
mod dctcp;
#[cfg(test)]
#[expect(unreachable_pub, reason = "the second example of docs/how-to/add-a-congestion-control.md, which is in no list")]
mod delay_target;
pub mod external_control;
mod fixed_point;
mod fixed_rate;
mod halving;
mod l2dct;
mod newreno;
mod pfabric;
mod prague;
mod rate_sample;
mod reno;
mod round_trip;
#[cfg(test)]
#[expect(unreachable_pub, reason = "the first example of docs/how-to/add-a-congestion-control.md, which is in no list")]
mod scalable;
mod sent_records;
pub mod slow_start;
#[cfg(test)]
mod testing;
mod threshold;
mod trim;
mod windowed_max;

pub use congestion_control::{
    Ack, Arrival, CongestionControl, Departure, Event, Gate, InNetwork, Loss, Opportunity, Outcome, Path, RecoveryKind,
    Reduction, Trigger, Window,
};
pub use dispatch::Hooks;
pub use round_trip::Round;
pub use threshold::Threshold;

use dispatch::OptionalHooks;
use forebay_experiment::cc_state::CcState;
use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Chosen;
use forebay_types::{Rate, Time, TimeOrNever};
use sent_records::{SegmentHooks, WithSentRecords};

congestion_controls! {
    /// Reno and NewReno: the same window rule; they differ in recovery.
    newreno::NewReno [reno newreno],
    /// CUBIC.
    cubic::Cubic in Box [cubic],
    /// DCTCP.
    dctcp::Dctcp [dctcp],
    /// L2DCT.
    l2dct::L2dct in Box [l2dct],
    /// D2TCP.
    d2tcp::D2tcp in Box [d2tcp],
    /// TCP-TRIM.
    trim::Trim in Box [trim],
    /// pFabric.
    pfabric::Pfabric [pfabric],
    /// BBR version 1.
    bbr::Bbr in WithSentRecords [bbr],
    /// BBR version 3.
    bbr3::Bbr3 in WithSentRecords [bbr3],
    /// Prague.
    prague::Prague in Box [prague],
    /// Null congestion control with a fixed rate.
    fixed_rate::FixedRate [fixed_rate],
    /// Null congestion control that halves its window for ever.
    halving::Halving [halving],
    /// Object of the caller.
    external_control::External [],
    /// Object of the caller that sets the pacing rate.
    external_control::PacedExternal [],
}

/// An entry of the registry.
pub type CcEntry = forebay_experiment::registry::CcEntry<CcConfig>;

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static CcEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

/// Builds the configuration of a congestion control that an experiment names. Datagrams have none; their placeholder is never called.
///
/// # Errors
/// No congestion control has that name, or it refuses its parameters.
pub fn build(cc: &Chosen) -> Result<CcConfig, BuildError> {
    if *cc == Chosen::NONE {
        return Ok(CcConfig::NewReno(Default::default()));
    }
    if let Some(config) = external_control::Config::find(cc.name) {
        return Ok(if config.paces() { CcConfig::PacedExternal(config) } else { CcConfig::External(config) });
    }
    let entry =
        find(cc.name).ok_or_else(|| BuildError::new("cc", format!("the simulator has no congestion control `{}`", cc.name)))?;
    let config = (entry.build)(&cc.values);
    config.check()?;
    Ok(config)
}

impl CcConfig {
    /// Refuses combinations of values that are legal one by one.
    fn check(&self) -> Result<(), BuildError> {
        match self {
            CcConfig::Cubic(c) => c.check(),
            _ => Ok(()),
        }
    }
}

/// Calls of the hooks, as [`CongestionControl`] describes them.
///
/// Hooks of every ACK get a copy of its facts. Where the hook is inlined the copy costs nothing, and the facts stay in registers. A reference would
/// put all of them into memory (4 to 11 instructions per transmission in the benchmark cases s2 and s3).
#[allow(missing_docs, reason = "described in the trait")]
impl Cc {
    #[inline(always)]
    pub fn in_ack_event(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.in_ack_event(w, &{ *ack }));
    }
    #[inline(always)]
    pub fn fast_path_ack(&mut self, w: &mut Window, ack: &Ack, grows: bool) {
        each!(self, l => l.fast_path_ack(w, ack, grows));
    }
    #[inline(always)]
    pub fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.pkts_acked(w, &{ *ack }));
    }
    #[inline(always)]
    pub fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.cong_avoid(w, &{ *ack }));
    }
    #[inline]
    pub fn ssthresh(&mut self, w: &Window, reduction: Reduction) -> Threshold {
        each!(self, l => l.ssthresh(w, reduction))
    }
    pub fn window_after_marks(&self, from: f64, threshold: Threshold) -> Threshold {
        each!(self, l => l.window_after_marks(from, threshold))
    }
    #[inline]
    pub fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        each!(self, l => l.cwnd_event(w, event));
    }
    pub fn ignores_delay(&self, ack: &Ack) -> bool {
        each!(self, l => l.ignores_delay(ack))
    }
    pub fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        each!(self, l => l.undo_cwnd(w, prior))
    }
    pub fn reduces_on_loss_after_ecn(&self) -> bool {
        each!(self, l => l.reduces_on_loss_after_ecn())
    }
    pub fn burst_time(&self) -> Option<Time> {
        each!(self, l => l.burst_time())
    }
    pub fn alpha(&self) -> Option<f64> {
        each!(self, l => l.alpha())
    }
    pub fn state(&self, mss: u32, state: &mut CcState) {
        each!(self, l => l.state(mss, state));
    }
    pub fn path(&mut self, path: Path) {
        each!(self, l => l.path(path));
    }
    pub fn may_send(&mut self, w: &mut Window, at: &Opportunity) -> u64 {
        each!(self, l => l.may_send(w, at))
    }
    pub fn sent(&mut self, from: u64, to: u64, at: &Opportunity) {
        each!(self, l => l.sent(from, to, at));
    }
    pub fn due(&self) -> TimeOrNever {
        each!(self, l => l.due())
    }
    pub fn control(&mut self, w: &mut Window, ack: &Ack, outcome: &Outcome) {
        each!(self, l => l.control(w, ack, outcome));
    }
    pub fn limits_between_writes(&self) -> bool {
        each!(self, l => l.limits_between_writes())
    }
    pub fn marked_in_round(&self, ack: &Ack) -> Option<u16> {
        each!(self, l => l.marked_in_round(ack))
    }
    pub fn pacing_rate(&self, mss: u32) -> Rate {
        each!(self, l => l.pacing_rate(mss))
    }

    /// Hooks of segments, by the scoreboard's numbers, for congestion controls with records.
    pub fn segment_sent(&mut self, number: u64, at: &Departure) {
        each!(self, l => l.note_sent(number, at));
    }
    pub fn segment_arrived(&mut self, number: u64, at: &Arrival) {
        each!(self, l => l.note_arrival(number, at));
    }
    pub fn segment_lost(&mut self, number: u64, at: &Loss) {
        each!(self, l => l.note_loss(number, at));
    }
    /// Segments below `number` are acknowledged.
    pub fn forget(&mut self, number: u64) {
        each!(self, l => l.forget(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::profile::tests::config;

    /// Only a scoreboard distinguishes segments.
    #[test]
    fn entries_agree_with_hooks() {
        for entry in REGISTRY {
            let c = config("linux", entry.entry.name);
            assert_eq!(entry.needs_sack, c.cc.hooks().records(), "{}", entry.entry.name);
            assert_eq!(entry.paces, c.cc.hooks().paces(), "{}", entry.entry.name);
            assert_eq!(entry.plb, c.cc.counts_marked_rounds(), "{}", entry.entry.name);
        }
    }
}
