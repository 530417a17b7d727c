//! Analytic models: numbers in, numbers out. `forebay.model` documents them and names their results.
//!
//! Rates are bit/s, times s, sizes bytes, windows and queues packets. Errors name the argument as in Python.

use crate::errors;
use forebay_model::aimd::{self, Aimd};
use forebay_model::incast::{
    Branch, CongestionAvoidance, FirstWindow, HeadTimeouts, Incast, NstarRule, Params, Regime, TailMode,
};
use forebay_model::{ModelError, Pipe, ceilings, dctcp, trim};
use forebay_types::{Rate, Time};
use pyo3::prelude::*;

/// A refused argument on its way to Python.
pub(crate) struct Refused(ModelError);

impl From<ModelError> for Refused {
    fn from(e: ModelError) -> Refused {
        Refused(e)
    }
}

impl From<Refused> for PyErr {
    fn from(Refused(e): Refused) -> PyErr {
        errors::model(if e.argument == "n" { "senders" } else { e.argument }, e.message)
    }
}

fn refused(argument: &'static str, message: String) -> Refused {
    Refused(ModelError { argument, message })
}

/// bit/s.
fn rate(value: f64) -> Result<Rate, Refused> {
    if (Rate::MIN.0 as f64..=Rate::MAX.0 as f64).contains(&value) {
        return Ok(Rate(value.round() as u64));
    }
    Err(refused("rate", format!("is {value} bit/s; legal: {:e} to {:e}", Rate::MIN.0 as f64, Rate::MAX.0 as f64)))
}

/// Seconds, to a picosecond: `100e-6` becomes 100 us exactly, which the incast model's floors need.
fn seconds(argument: &'static str, value: f64, most: f64) -> Result<Time, Refused> {
    let ps = (value * 1e12).round();
    if value <= most && ps >= 1.0 {
        return Ok(Time(ps as u64));
    }
    Err(refused(argument, format!("is {value} s; legal: above 0, at most {most}")))
}

fn pipe(bps: f64, packet: u64, rtt: f64) -> Result<Pipe, Refused> {
    Ok(Pipe::new(rate(bps)?, packet, seconds("rtt", rtt, 100.0)?)?)
}

/// W_m, N_m, W_m^{N_m}, E(W_n).
type Windows = (u64, u64, u64, f64);
/// Y_C, Y_C before the floor, T_C.
type Period = (u64, f64, f64);
/// Both k_alpha, q, E(k_min), P^O.
type TailTimeouts = (Option<u64>, Option<u64>, f64, Option<f64>, f64);
/// A_b, C tau, D_b unclipped, P_p, N_t, N^O.
type FirstRound = (f64, f64, f64, f64, f64, f64);
/// N', Y_F, T_F, T_B.
type Beyond = (u64, f64, f64, f64);
/// Goodput in bit/s and as a share, regime, timeouts a block, Y_B, intermediates.
type Goodput = (f64, f64, &'static str, f64, u64, Windows, Period, TailTimeouts, FirstRound, Option<Beyond>);

fn first_round(h: HeadTimeouts) -> FirstRound {
    (h.offered, h.served, h.excess, h.loss, h.late_flows, h.flows_in_timeout)
}

/// The incast model for one number of senders.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the model has that many")]
pub(crate) fn model_incast(
    senders: u64,
    rate: f64,
    rtt: f64,
    buffer: u64,
    block: u64,
    packet: u64,
    payload: u64,
    rto: f64,
    window: Option<u64>,
    tail: &str,
    nstar: &str,
) -> Result<Goodput, Refused> {
    let p = pipe(rate, packet, rtt)?;
    let rto = seconds("rto", rto, 1e6)?;
    let m = Incast::new(&Params { rate: p.rate(), packet, payload, rtt: p.rtt(), buffer, block, rto })?;
    let mode = match tail {
        "literal" => TailMode::Literal,
        "harmonic" => TailMode::Harmonic,
        "uniform" => TailMode::Uniform,
        "protected" => TailMode::Protected,
        other => return Err(refused("tail", format!("is `{other}`; legal: `literal`, `harmonic`, `uniform`, `protected`"))),
    };
    let rule = match nstar {
        "first" => NstarRule::First,
        "run3" => NstarRule::Run3,
        other => return Err(refused("nstar", format!("is `{other}`; legal: `first`, `run3`"))),
    };
    let CongestionAvoidance { windows: w, packets, packets_exact, duration, .. } = m.ca(senders)?;
    let t = m.tail(senders, mode)?;
    let free = m.goodput(senders, mode, rule)?;
    let mut beyond = match &free.branch {
        Branch::Below { .. } => None,
        Branch::Beyond { ca, packets, period, block } => Some((ca.windows.n, *packets, *period, *block)),
    };
    let mut timeouts = free.timeouts_per_block(m.block());
    let (mut share, mut regime) = (free.share, "unaffected");
    if let Some(window) = window {
        let limited = m.limited(senders, window, mode, rule)?;
        regime = match limited.regime {
            Regime::Latency => "latency",
            Regime::Link => "link",
            Regime::Equal => "equal",
            Regime::Unaffected => "unaffected",
        };
        if limited.regime != Regime::Unaffected {
            (share, timeouts, beyond) = (limited.share, 0.0, None);
        }
    }
    Ok((
        8.0 * share * m.ceiling(),
        share,
        regime,
        timeouts,
        m.block(),
        (w.overflow, w.losers, w.overflow_of_losers, w.mean_peak()),
        (packets, packets_exact.to_f64(), duration),
        (t.k_low, t.k_high, t.all_later, t.expected, t.probability),
        first_round(m.head(senders, FirstWindow::Inherited)?),
        beyond,
    ))
}

/// The incast model without block and timer.
fn start(bps: f64, rtt: f64, buffer: u64, packet: u64) -> Result<Incast, Refused> {
    let p = pipe(bps, packet, rtt)?;
    let params = Params { rate: p.rate(), packet, payload: packet, rtt: p.rtt(), buffer, block: 1, rto: Time::from_secs(1) };
    Ok(Incast::new(&params)?)
}

fn first_window(halved: Option<f64>) -> FirstWindow {
    halved.map_or(FirstWindow::Inherited, |floor| FirstWindow::Halved { floor })
}

/// `halved` is the floor of PRIN's first windows, under its Python name.
fn halving(e: ModelError) -> Refused {
    Refused(if e.argument == "floor" { ModelError { argument: "halved", ..e } } else { e })
}

/// N* in three ways.
type Nstar = (Option<u64>, Option<u64>, Option<f64>);

/// N* by its definition, the first of three in a row, and smoothed.
#[pyfunction]
pub(crate) fn model_nstar(rate: f64, rtt: f64, buffer: u64, packet: u64, halved: Option<f64>) -> Result<Nstar, Refused> {
    let m = start(rate, rtt, buffer, packet)?;
    let by = |rule| m.nstar_with(first_window(halved), rule).map_err(halving);
    let smooth = if halved.is_none() { m.nstar_smooth() } else { None };
    Ok((by(NstarRule::First)?, by(NstarRule::Run3)?, smooth))
}

/// The first round of a block.
#[pyfunction]
pub(crate) fn model_first_round(
    senders: u64,
    rate: f64,
    rtt: f64,
    buffer: u64,
    packet: u64,
    halved: Option<f64>,
) -> Result<FirstRound, Refused> {
    Ok(first_round(start(rate, rtt, buffer, packet)?.head(senders, first_window(halved)).map_err(halving)?))
}

/// Both bounds of K, N* and queue of the lower one, smallest buffer, K in use.
#[pyfunction]
pub(crate) fn model_trim(
    rate: f64,
    rtt: f64,
    buffer: f64,
    packet: u64,
    guard: f64,
) -> Result<(f64, f64, f64, f64, f64, f64), Refused> {
    let p = pipe(rate, packet, rtt)?;
    let k = trim::k_interval(&p, buffer)?;
    let used = trim::threshold(&p, buffer, guard)?;
    Ok((k.lower, k.upper, k.worst_flows, k.queue_at_lower, trim::smallest_buffer(&p), used))
}

/// The smallest queue after synchronized cuts.
#[pyfunction]
pub(crate) fn model_trim_queue(rate: f64, rtt: f64, flows: u64, k: f64, packet: u64) -> Result<f64, Refused> {
    Ok(trim::queue_after_cut(&pipe(rate, packet, rtt)?, flows, k)?)
}

/// An arbitrary round trip, for results that depend on the rate alone.
const ANY: f64 = 1e-3;

/// The AS wait: lower bound as printed, lower bound, upper end.
#[pyfunction]
pub(crate) fn model_trim_wait(rate: f64, flows: f64, window: f64, buffer: f64, packet: u64) -> Result<(f64, f64, f64), Refused> {
    let w = trim::as_wait(&pipe(rate, packet, ANY)?, flows, window, buffer)?;
    Ok((w.lower_printed, w.lower, w.upper))
}

/// N as a sender estimates it.
#[pyfunction]
pub(crate) fn model_trim_flows(rate: f64, probe_rtt: f64, packet: u64) -> Result<f64, Refused> {
    Ok(trim::estimated_flows(&pipe(rate, packet, ANY)?, probe_rtt)?)
}

/// W*, both alphas, largest and smallest queue, amplitude, period; smallest K, worst N, largest g.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "forebay.model names them")]
pub(crate) fn model_dctcp(
    rate: f64,
    rtt: f64,
    flows: u64,
    k: f64,
    packet: u64,
) -> Result<(f64, f64, f64, f64, f64, f64, f64, f64, f64, f64), Refused> {
    let p = pipe(rate, packet, rtt)?;
    let s = dctcp::steady_state(&p, flows, k)?;
    let (least, worst, gain) = (dctcp::threshold_guideline(&p), dctcp::worst_flows(&p, k)?, dctcp::gain_bound(&p, k)?);
    let queue = (s.queue_max, s.queue_min, s.amplitude);
    Ok((s.critical_window, s.alpha, s.alpha_exact, queue.0, queue.1, queue.2, s.period, least, worst, gain))
}

/// a / (1 - beta).
#[pyfunction]
pub(crate) fn model_weight(increase: f64, remaining: f64) -> Result<f64, Refused> {
    Ok(Aimd::new(increase, remaining)?.weight())
}

/// Remaining fraction of a window after DCTCP's reduction with a marked fraction of `alpha`.
#[pyfunction]
pub(crate) fn model_remaining(alpha: f64) -> Result<f64, Refused> {
    Aimd::dctcp(alpha)?;
    Ok(dctcp::window_after_cut(1.0, alpha)?)
}

/// Shares of flows with these increases and remaining fractions.
#[pyfunction]
pub(crate) fn model_shares(flows: Vec<(f64, f64)>) -> Result<Vec<f64>, Refused> {
    let flows = flows.into_iter().map(|(a, b)| Aimd::new(a, b)).collect::<Result<Vec<_>, _>>()?;
    Ok(aimd::shares(&flows)?)
}

/// Mean windows of DCTCP and of TCP under independent marks, and their ratio.
#[pyfunction]
pub(crate) fn model_random_marks(p: f64) -> Result<(f64, f64, f64), Refused> {
    let m = aimd::random_marks(p)?;
    Ok((m.dctcp, m.tcp, m.ratio))
}

/// The payload's share of the link, goodput in bit/s, goodput under a window, bytes of the pipe.
#[pyfunction]
pub(crate) fn model_ceilings(
    rate: f64,
    payload: u64,
    header: u64,
    window: Option<u64>,
    rtt: Option<f64>,
) -> Result<(f64, f64, Option<f64>, Option<u64>), Refused> {
    let link = self::rate(rate)?;
    let share = ceilings::payload_share(payload, header)?;
    let goodput = ceilings::goodput(link, payload, header)?;
    let rtt = rtt.map(|s| seconds("rtt", s, 1e6)).transpose()?;
    let bytes = rtt.map(|t| ceilings::bdp_bytes(link, t)).transpose()?;
    let limited = match (window, rtt) {
        (None, _) => None,
        (Some(w), Some(t)) => Some(ceilings::window_limited(link, payload, header, w, t)?),
        (Some(_), None) => return Err(refused("rtt", "is missing; a window limits by its round trip".into())),
    };
    Ok((share, goodput, limited, bytes))
}
