//! Parameters of TCP-TRIM; each ambiguity of its text is a parameter.

use super::threshold::Policy;
use crate::cc::fixed_point::{self, Arithmetic};
use crate::cc::{CcConfig, CcEntry};
use forebay_experiment::transport::Ecn;
use forebay_types::param::{Entry, Kind, Values, choices, optional};
use forebay_types::{QueueLen, Rate};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    pub(super) alpha: f64,
    pub(super) min_cwnd: f64,
    pub(super) rate: Option<Rate>,
    pub(super) buffer: Option<QueueLen>,
    pub(super) policy: Policy,
    pub(super) guard: f64,
    pub(super) cut: ReductionMode,
    pub(super) gap_in_flight: bool,
    pub(super) ssthresh: Ssthresh,
    pub(super) additive_only: bool,
    pub(super) seed: MinRttSource,
    /// Wait before probing (AD).
    pub(super) ad: bool,
    /// Wait after probing (AS).
    pub(super) wait_after: bool,
    pub(super) at_start: bool,
    pub(super) arithmetic: Arithmetic,
}

/// Frequency of reductions for RTTs above K (TRIM A1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReductionMode {
    /// On every such ACK.
    EveryAck,
    /// Once per round trip.
    EachRtt,
    /// On every such ACK, but by no more than a half per round trip.
    Capped,
}

/// Reductions that set the slow start threshold (TRIM A2), each including those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Ssthresh {
    None,
    /// Reductions for RTTs above K.
    Cut,
    /// Late probes.
    Late,
    /// Windows tuned by probes.
    All,
}

/// Initial estimate of the RTT on the empty path (TRIM A13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MinRttSource {
    IdleData,
    Handshake,
    HandshakeRaw,
    FirstSample,
}

// Values of the parameters.
const POLICY: &[(&str, Policy)] = &[("lower", Policy::Lower), ("mid", Policy::Mid), ("upper", Policy::Upper)];
const CUT: &[(&str, ReductionMode)] =
    &[("per-ack", ReductionMode::EveryAck), ("per-rtt", ReductionMode::EachRtt), ("per-ack-capped", ReductionMode::Capped)];
const GAP_IN_FLIGHT: &[(&str, bool)] = &[("any", true), ("idle", false)];
const SSTHRESH: &[(&str, Ssthresh)] =
    &[("all", Ssthresh::All), ("late", Ssthresh::Late), ("cut", Ssthresh::Cut), ("none", Ssthresh::None)];
const SEED: &[(&str, MinRttSource)] = &[
    ("idle-data", MinRttSource::IdleData),
    ("handshake", MinRttSource::Handshake),
    ("handshake-raw", MinRttSource::HandshakeRaw),
    ("first-sample", MinRttSource::FirstSample),
];
/// Waits before probing, and after it.
const WAITS: &[(&str, (bool, bool))] =
    &[("off", (false, false)), ("on", (true, true)), ("ad", (true, false)), ("as", (false, true))];

pub(in crate::cc) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "trim",
        summary: "TCP-TRIM: probes after gaps, also in the middle of a train, and keeps the RTT near a threshold; no marks needed",
        params: &[
            optional(
                "alpha",
                Kind::Float(1e-3, 1.0),
                "0.25",
                "weight of a new sample in the smoothed RTT, which is also the gap",
            ),
            optional(
                "min-cwnd",
                Kind::Float(1.0, 1000.0),
                "2.0",
                "floor of every TRIM reduction, and the window while probing, in segments",
            ),
            optional(
                "rate",
                Kind::Rate,
                "",
                "C: rate of the bottleneck. Default: of the narrowest switch port on the connection's path",
            ),
            optional("buffer", Kind::QueueLen, "", "B: buffer of the bottleneck. Default: of that port"),
            optional("k-policy", Kind::Choice(&choices::<3, _>(POLICY)), "lower", "position of K in its interval (Eq. 26)"),
            optional("k", Kind::Time, "", "K itself, instead of `k-policy`"),
            optional(
                "k-guard",
                Kind::Float(0.0, 1e6),
                "3.0",
                "K is at least this many packet times above the RTT of the empty path",
            ),
            optional(
                "reduction-mode",
                Kind::Choice(&choices::<3, _>(CUT)),
                "per-ack",
                "reductions while the RTT is above K: on every ACK; once per round trip; or on every ACK, at most by half per round trip",
            ),
            optional(
                "gap-scope",
                Kind::Choice(&choices::<2, _>(GAP_IN_FLIGHT)),
                "any",
                "pauses above the smoothed RTT that start probing: before any new segment, also in the middle of a train, or only with nothing unacknowledged. In the middle of a train a flow with a small window may probe in every round trip and stay at two segments",
            ),
            optional(
                "ssthresh-on-trim",
                Kind::Choice(&choices::<4, _>(SSTHRESH)),
                "all",
                "reductions that set ssthresh: all; cuts above K and late probes; cuts above K; none",
            ),
            optional("additive-only", Kind::Bool, "false", "additive growth below ssthresh too, instead of slow start"),
            optional(
                "min-rtt-seed",
                Kind::Choice(&choices::<4, _>(SEED)),
                "idle-data",
                "initial smallest RTT: that of a full data packet and its ACK on the empty path; of the handshake, corrected for the size of \
                 a data packet; of the handshake; the first sample of data",
            ),
            optional(
                "at",
                Kind::Choice(&choices::<4, _>(WAITS)),
                "off",
                "asynchronous timer: random waits before probing (AD) and after (AS), both, or one of them",
            ),
            optional("at-start", Kind::Bool, "true", "with AD, also wait before the first segment of a connection"),
            fixed_point::ARITHMETIC,
        ],
    },
    needs_marks: false,
    needs_sack: false,
    paces: false,
    plb: false,
    ecn: Ecn::Off,
    recovery: None,
    // Equations 1 and 3 take the RTT of every ACK, as the document's implementation does.
    adjust: Some(|c| {
        fixed_point::by_stack(c);
        c.timestamps = true;
    }),
    build: |v| CcConfig::Trim(build(v)),
};

fn build(v: &Values) -> Config {
    let (ad, wait_after) = v.choice("at", WAITS);
    Config {
        alpha: v.float("alpha"),
        min_cwnd: v.float("min-cwnd"),
        rate: v.opt_rate("rate"),
        buffer: v.opt_queue_len("buffer"),
        policy: v.opt_time("k").map_or_else(|| v.choice("k-policy", POLICY), |k| Policy::Explicit(k.0 as f64)),
        guard: v.float("k-guard"),
        cut: v.choice("reduction-mode", CUT),
        gap_in_flight: v.choice("gap-scope", GAP_IN_FLIGHT),
        ssthresh: v.choice("ssthresh-on-trim", SSTHRESH),
        additive_only: v.bool("additive-only"),
        seed: v.choice("min-rtt-seed", SEED),
        ad,
        wait_after,
        at_start: v.bool("at-start"),
        arithmetic: Arithmetic::of(v),
    }
}
