//! Congestion control laws: the window rule alone. Loss detection, recovery, pacing of cuts and the signals are shared (`tcp/`).
//!
//! To add a law: one file here, one line in [`REGISTRY`], one variant in [`LawConfig`] and [`Law`].

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

pub use cubic::Cubic;
pub use d2tcp::D2tcp;
pub use dctcp::Dctcp;
pub use hooks::{Ack, CongestionControl, Event, Opportunity, Path, Trigger, Window};
pub use l2dct::L2dct;
pub use newreno::NewReno;
pub use pfabric::Pfabric;
pub use trim::Trim;

use crate::config::{Recovery, TcpConfig};
use forebay_param::{Entry, Values};

/// A law and its parameters, as configured.
#[derive(Debug, Clone, PartialEq)]
pub enum LawConfig {
    /// Reno and NewReno: the same window rule; they differ in recovery.
    NewReno(newreno::Config),
    /// CUBIC.
    Cubic(cubic::Config),
    /// DCTCP.
    Dctcp(dctcp::Config),
    /// L2DCT.
    L2dct(l2dct::Config),
    /// D2TCP.
    D2tcp(d2tcp::Config),
    /// TCP-TRIM.
    Trim(trim::Config),
    /// pFabric.
    Pfabric(pfabric::Config),
}

/// A law and its state. An enum, so that an ACK costs no indirect call.
#[derive(Debug, Clone)]
pub enum Law {
    /// Reno and NewReno.
    NewReno(NewReno),
    /// CUBIC. Boxed, as are all laws larger than the common ones, so that connections of the others stay small.
    Cubic(Box<Cubic>),
    /// DCTCP.
    Dctcp(Dctcp),
    /// L2DCT.
    L2dct(Box<L2dct>),
    /// D2TCP.
    D2tcp(Box<D2tcp>),
    /// TCP-TRIM.
    Trim(Box<Trim>),
    /// pFabric.
    Pfabric(Pfabric),
}

/// A law in the registry.
#[derive(Debug, Clone, Copy)]
pub struct LawEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Whether the law needs packets to be marked; a scenario without a marking queue is refused.
    pub needs_marks: bool,
    /// ECN mode the law runs with unless the scenario says otherwise: "off", "classic" or "dctcp".
    pub ecn: &'static str,
    /// Recovery the law brings to a stack without SACK; `None`: the stack's own.
    pub recovery: Option<Recovery>,
    /// Other properties of the stack that belong to the law; the scenario's own keys still win.
    pub adjust: Option<fn(&mut TcpConfig)>,
    /// Builds the configuration from checked parameters.
    pub build: fn(&Values) -> LawConfig,
}

/// All laws, in the order `forebay list` shows them.
pub const REGISTRY: &[LawEntry] =
    &[reno::ENTRY, newreno::ENTRY, cubic::ENTRY, dctcp::ENTRY, l2dct::ENTRY, d2tcp::ENTRY, trim::ENTRY, pfabric::ENTRY];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static LawEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

impl LawConfig {
    /// A fresh law for one connection.
    pub fn start(&self) -> Law {
        match self {
            LawConfig::NewReno(c) => Law::NewReno(NewReno::new(c)),
            LawConfig::Cubic(c) => Law::Cubic(Box::new(Cubic::new(c))),
            LawConfig::Dctcp(c) => Law::Dctcp(Dctcp::new(c)),
            LawConfig::L2dct(c) => Law::L2dct(Box::new(L2dct::new(c))),
            LawConfig::D2tcp(c) => Law::D2tcp(Box::new(D2tcp::new(c))),
            LawConfig::Trim(c) => Law::Trim(Box::new(Trim::new(c))),
            LawConfig::Pfabric(c) => Law::Pfabric(Pfabric::new(c)),
        }
    }

    /// Whether the law decides at every opportunity to send how much new data may leave. The others do not pay for the question.
    pub fn gates(&self) -> bool {
        matches!(self, LawConfig::Trim(_))
    }

    /// Whether its slow start is the ordinary one, for which there is a choice of [`slow_start`].
    pub fn ordinary_slow_start(&self) -> bool {
        !matches!(self, LawConfig::Pfabric(_))
    }

    /// Whether the law is to be told of its connection's path.
    pub fn wants_path(&self) -> bool {
        matches!(self, LawConfig::Trim(_))
    }
}

/// Forwards a hook to the law in the enum.
macro_rules! each {
    ($self:ident, $law:ident => $call:expr) => {
        match $self {
            Law::NewReno($law) => $call,
            Law::Cubic($law) => $call,
            Law::Dctcp($law) => $call,
            Law::L2dct($law) => $call,
            Law::D2tcp($law) => $call,
            Law::Trim($law) => $call,
            Law::Pfabric($law) => $call,
        }
    };
}

impl CongestionControl for Law {
    fn hears(&self) -> (bool, bool) {
        each!(self, l => l.hears())
    }
    #[inline(always)]
    fn in_ack_event(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.in_ack_event(w, ack));
    }
    #[inline(always)]
    fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.pkts_acked(w, ack));
    }
    #[inline(always)]
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        each!(self, l => l.cong_avoid(w, ack));
    }
    #[inline]
    fn ssthresh(&mut self, w: &Window, trigger: Trigger) -> f64 {
        each!(self, l => l.ssthresh(w, trigger))
    }
    #[inline]
    fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        each!(self, l => l.cwnd_event(w, event));
    }
    fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        each!(self, l => l.undo_cwnd(w, prior))
    }
    fn loss_outweighs_marks(&self) -> bool {
        each!(self, l => l.loss_outweighs_marks())
    }
    fn path(&mut self, path: Path) {
        each!(self, l => l.path(path));
    }
    fn may_send(&mut self, w: &mut Window, at: &Opportunity) -> u64 {
        each!(self, l => l.may_send(w, at))
    }
    fn sent(&mut self, from: u64, to: u64, at: &Opportunity) {
        each!(self, l => l.sent(from, to, at));
    }
    fn due(&self) -> u64 {
        each!(self, l => l.due())
    }
    fn alpha(&self) -> f64 {
        each!(self, l => l.alpha())
    }
}
