//! Congestion control laws: the window rule alone. Loss detection, recovery, pacing of cuts and the signals are shared (`tcp/`).
//!
//! To add a law: one file here, a `mod` line and a line in the list of [`laws!`].

#[macro_use]
mod law;

mod cubic;
mod d2tcp;
mod dctcp;
mod hooks;
mod l2dct;
mod newreno;
mod pfabric;
mod reno;
pub mod slow_start;
#[cfg(test)]
mod testing;
mod trim;

pub use hooks::{Ack, CongestionControl, Event, Gate, Opportunity, Path, Reduction, Trigger, Window};
pub use law::Hooks;

use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Chosen;
use law::Optional;

laws! {
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
}

/// A law in the registry.
pub type LawEntry = forebay_experiment::registry::LawEntry<LawConfig>;

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static LawEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

/// The configuration of a law that an experiment names. Datagrams have none, and never ask what stands in its place.
///
/// # Errors
/// No law has that name.
pub fn build(law: &Chosen) -> Result<LawConfig, BuildError> {
    if *law == Chosen::NONE {
        return Ok(LawConfig::NewReno(Default::default()));
    }
    let entry = find(law.name).ok_or_else(|| BuildError::new("cc", format!("the simulator has no law `{}`", law.name)))?;
    Ok((entry.build)(&law.values))
}

/// The hooks: of the law in the enum, as [`CongestionControl`] describes them.
#[allow(missing_docs, reason = "described in the trait")]
impl Law {
    #[inline(always)]
    pub fn in_ack_event(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.in_ack_event(w, ack));
    }
    #[inline(always)]
    pub fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.pkts_acked(w, ack));
    }
    #[inline(always)]
    pub fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.cong_avoid(w, ack));
    }
    #[inline]
    pub fn ssthresh(&mut self, w: &Window, reduction: Reduction) -> f64 {
        each!(self, l => l.ssthresh(w, reduction))
    }
    #[inline]
    pub fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        each!(self, l => l.cwnd_event(w, event));
    }
    pub fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        each!(self, l => l.undo_cwnd(w, prior))
    }
    pub fn loss_outweighs_marks(&self) -> bool {
        each!(self, l => l.loss_outweighs_marks())
    }
    pub fn alpha(&self) -> f64 {
        each!(self, l => l.alpha())
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
    pub fn due(&self) -> u64 {
        each!(self, l => l.due())
    }
}
