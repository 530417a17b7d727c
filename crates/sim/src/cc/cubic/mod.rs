//! CUBIC: the rules of RFC 9438, or those of Linux, which differ where round trips are short and at the start of a connection.

mod linux;
mod rfc;

use super::fixed_point::{self, Arithmetic};
use super::{Ack, CcConfig, CcEntry, CongestionControl, Event, Reduction, Threshold, Window, slow_start};
use forebay_experiment::cc_state::CcState;
use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Transport;
use forebay_experiment::transport::{Ecn, Profile};
use forebay_types::param::{Entry, Kind, Param, Value, choices, optional};

/// Source of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    Rfc9438,
    Linux,
}

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// `None`: the stack's.
    rules: Option<Rules>,
    c: f64,
    beta: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    /// For the rules of Linux: exact to the bit, or with exact roots and the connection's smallest RTT.
    arithmetic: Arithmetic,
    /// Their ticks per second.
    hz: u32,
}

impl Config {
    /// Refuses a scale that the rules of Linux round to zero: `bic_scale` is a multiple of 10/1024 and a divisor.
    pub(super) fn check(&self) -> Result<(), BuildError> {
        if self.rules == Some(Rules::Linux) && self.c < LEAST_LINUX_C {
            let reason = format!(
                "`c` is {}; legal with `rules = \"linux\"`: {LEAST_LINUX_C} to {MOST_C}, as the kernel's `bic_scale` is a multiple of 10/1024; \
                 or use `rules = \"rfc9438\"`",
                self.c
            );
            return Err(BuildError::new("c", reason));
        }
        Ok(())
    }
}

/// The largest C.
const MOST_C: f64 = 100.0;

/// The smallest C with the rules of Linux: a `bic_scale` of 1.
const LEAST_LINUX_C: f64 = 10.0 / 1024.0;

/// State of one connection.
#[derive(Debug, Clone)]
pub enum Cubic {
    /// RFC 9438.
    Rfc(rfc::Cubic),
    /// Linux.
    Linux(linux::Cubic),
}

impl Cubic {
    pub(super) fn new(c: &Config) -> Cubic {
        match c.rules {
            Some(Rules::Linux) => Cubic::Linux(linux::Cubic::new(c)),
            Some(Rules::Rfc9438) | None => Cubic::Rfc(rfc::Cubic::new(c)),
        }
    }
}

impl CongestionControl for Cubic {
    type Sent = ();
    const IN_ACK_EVENT: bool = false;

    fn pkts_acked(&mut self, _w: &mut Window, ack: &Ack) {
        match self {
            Cubic::Rfc(cc) => cc.pkts_acked(ack),
            Cubic::Linux(cc) => cc.pkts_acked(ack),
        }
    }

    fn ignores_delay(&self, ack: &Ack) -> bool {
        matches!(self, Cubic::Linux(cc) if cc.ignores_delay(ack))
    }

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        if let Cubic::Linux(cc) = self {
            return cc.grow(w, ack, ack.grow);
        }
        let grow = if w.in_slow_start() { w.slow_start(ack.grow) } else { ack.grow };
        if grow <= 0.0 {
            return;
        }
        if let Cubic::Rfc(cc) = self {
            cc.grow(w, ack, grow);
        }
    }

    fn ssthresh(&mut self, w: &Window, cut: Reduction) -> Threshold {
        match self {
            Cubic::Rfc(cc) => cc.ssthresh(w, cut).into(),
            Cubic::Linux(cc) => cc.ssthresh(w).into(),
        }
    }

    fn window_after_marks(&self, from: f64, threshold: Threshold) -> Threshold {
        match self {
            Cubic::Rfc(cc) => cc.window_after_marks(from).into(),
            Cubic::Linux(_) => threshold,
        }
    }

    fn cwnd_event(&mut self, _w: &mut Window, event: Event) {
        match self {
            Cubic::Rfc(cc) => cc.event(event),
            Cubic::Linux(cc) => cc.event(event),
        }
    }

    fn state(&self, _mss: u32, state: &mut CcState) {
        match self {
            Cubic::Rfc(cc) => cc.columns(state),
            Cubic::Linux(cc) => cc.columns(state),
        }
    }

    fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        if let Cubic::Rfc(cc) = self {
            cc.undo(w);
        }
        w.cwnd.max(prior)
    }
}

//= https://www.rfc-editor.org/rfc/rfc9438#section-5.8
//# CUBIC does not increase its congestion window if a flow is application limited.
/// The stack `linux` has its own rules, and HyStart. Unused windows do not grow under the RFC, but do in ns-2.
fn adjust(c: &mut Transport) {
    fixed_point::by_stack(c);
    match c.profile {
        Profile::Linux => {
            c.slow_start = slow_start::Kind::Hystart;
            c.cc.fill("rules", Value::Text("linux".into()));
        }
        Profile::Rfc => c.cwnd_validation = true,
        Profile::Ns2 => {}
    }
}

const RULES: &[(&str, Rules)] = &[("rfc9438", Rules::Rfc9438), ("linux", Rules::Linux)];

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "cubic",
        summary: "cubic growth around the last window (RFC 9438, or as Linux)",
        params: &[
            optional(
                "rules",
                Kind::Choice(&choices::<2, _>(RULES)),
                "",
                "those of RFC 9438, or those of Linux tcp_cubic.c in its whole numbers; default: linux with stack = \"linux\", else rfc9438",
            ),
            Param {
                key: "c",
                kind: Kind::Float(1e-3, MOST_C),
                default: Some("0.4"),
                doc: "scaling constant C (RFC 9438 section 5); with `rules = \"linux\"` rounded to a multiple of 10/1024 (`bic_scale`), at \
                      least 0.009765625",
            },
            Param {
                key: "beta",
                kind: Kind::Float(0.1, 0.99),
                default: Some("0.7"),
                doc: "multiplicative decrease factor (RFC 9438 section 4.6)",
            },
            Param { key: "fast-convergence", kind: Kind::Bool, default: Some("true"), doc: "RFC 9438 section 4.7" },
            Param {
                key: "reno-friendly",
                kind: Kind::Bool,
                default: Some("true"),
                doc: "the Reno-friendly region of RFC 9438 section 4.3",
            },
            optional(
                "arithmetic",
                fixed_point::ARITHMETIC.kind,
                "",
                "with `rules = \"linux\"`: exact cube roots and the connection's smallest RTT, or the kernel's approximate roots and its \
                 smallest delay; default: linux with stack = \"linux\", otherwise paper",
            ),
            optional(
                "hz",
                Kind::Int(100, 1000),
                "1000",
                "with `rules = \"linux\"`: ticks in a second of the kernel's clock (CONFIG_HZ)",
            ),
        ],
    },
    needs_marks: false,
    needs_sack: false,
    paces: false,
    plb: false,
    ecn: Ecn::Off,
    recovery: None,
    adjust: Some(adjust),
    build: |v| {
        CcConfig::Cubic(Config {
            rules: v.opt_choice("rules", RULES),
            c: v.float("c"),
            beta: v.float("beta"),
            fast_convergence: v.bool("fast-convergence"),
            reno_friendly: v.bool("reno-friendly"),
            arithmetic: Arithmetic::of(v),
            hz: v.int("hz") as u32,
        })
    },
};
