//! Shims below TCP in a guest kernel (`driver/proboscis.h`): the supported shims of a scenario, encoded as in protocol frames. The classifiers of
//! packets are in `tags`.

use crate::tags;
use forebay_experiment::transport::{Chosen, Transport};
use forebay_types::{Rate, Time};

/// Numbers of a shim (`FB_SHIM` in `driver/protocol_frames.h`).
pub const SHIM: usize = 28;
/// `FB_SHIM_PROBOSCIS`.
pub const PROBOSCIS: u64 = 1;
/// `FB_SHIM_MISBEHAVING`.
pub const MISBEHAVING: u64 = 2;
/// Place of `answers` among the numbers (`FB_PB_ANSWERS`).
const ANSWERS: usize = 27;
/// Name of the shim with columns in the table of messages.
const WITH_COLUMNS: &str = "proboscis";
/// Names of the shims that a guest has.
const SHIMS: [&str; 2] = [WITH_COLUMNS, "misbehaving-receiver"];

/// The numbers of the shim below TCP of a transport; all 0 where it has none.
///
/// # Errors
/// A shim that the guest does not have, or not with the parameters of the scenario: the reason, and the legal values.
pub fn shim(t: &Transport) -> Result<[u64; SHIM], String> {
    let mut shim = [0; SHIM];
    for chosen in &t.shims {
        if chosen.name == "proboscis" {
            shim = proboscis(chosen, t)?;
        } else if chosen.name == "misbehaving-receiver" {
            shim[0] = MISBEHAVING;
            shim[1] = chosen.values.int("ack-division").unsigned_abs();
            if chosen.values.bytes("ack-ahead").0 > 0 {
                let reason =
                    "the guest's `misbehaving-receiver` divides ACKs only; legal: `ack-ahead = \"0B\"`, or `world = \"sim\"`";
                return Err(reason.into());
            }
        } else if !tags::SHIMS.contains(&chosen.name) {
            let legal: Vec<&str> = tags::SHIMS.into_iter().chain(SHIMS).collect();
            return Err(format!("the guest has no shim `{}`; legal: {}", chosen.name, legal.join(", ")));
        }
    }
    Ok(shim)
}

/// Returns true if a transport has a shim that reports columns of the table of messages.
pub fn reports_columns(t: &Transport) -> bool {
    t.shims.iter().any(|s| s.name == WITH_COLUMNS)
}

/// The first number of `names` that `word` is.
fn place(word: &str, names: &[&str]) -> u64 {
    names.iter().position(|name| *name == word).unwrap_or(0) as u64
}

/// In the order of `enum fb_proboscis_param`.
fn proboscis(chosen: &Chosen, t: &Transport) -> Result<[u64; SHIM], String> {
    let v = &chosen.values;
    if v.time("recent") > Time::ZERO {
        return Err("the guest keeps nothing of the trains of other connections; legal: `recent = \"0s\"`".into());
    }
    let int = |key| v.int(key).unsigned_abs();
    let real = |key| v.float(key).to_bits();
    let time = |key| v.time(key).0;
    // If not every packet is acknowledged, a single segment waits for the receiver's timer (crates/sim/src/shim/proboscis/config.rs).
    let floor = v.opt_int("floor").map_or(if t.ack_every > 1 { 2 } else { 1 }, i64::unsigned_abs);
    Ok([
        PROBOSCIS,
        int("gamma"),
        real("k"),
        real("kappa1"),
        real("kappa2"),
        int("icwnd"),
        real("g"),
        real("alpha-init"),
        time("tick"),
        time("beta1"),
        time("beta2"),
        time("beta3"),
        time("max-time"),
        int("probe-retry-cap"),
        int("probe-burst"),
        v.opt_bytes("elephant-bytes").map_or(u64::MAX, |b| b.0),
        v.opt_bytes("probe-size").map_or(u64::from(t.ack_size), |b| b.0),
        place(&v.text("hold-on"), &["insufficient", "any"]),
        place(&v.text("release-window"), &["newest", "original"]),
        u64::from(v.bool("lost-as-marked")),
        u64::from(v.bool("no-shrink")),
        place(&v.text("ecn-mode"), &["shim", "guest"]),
        u64::from(v.bool("peer-has-shim")),
        place(&v.text("ends"), &["both", "opener", "acceptor"]),
        u64::from(t.mss),
        floor * u64::from(t.mss),
        v.opt_time("restart-after").unwrap_or(t.rto_min).0,
        u64::from(v.bool("answers")),
    ])
}

/// ProBoSCIS as encoded in frames, for backends other than the guest.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "named as the scenario's keys")]
pub struct Proboscis {
    pub gamma: u64,
    pub k: f64,
    pub kappa1: f64,
    pub kappa2: f64,
    pub icwnd: u64,
    pub g: f64,
    pub alpha_init: f64,
    pub tick: Time,
    pub beta1: Time,
    pub beta2: Time,
    pub beta3: Time,
    pub max_time: Time,
    pub probe_retry_cap: u64,
    pub probe_burst: u64,
    pub elephant_bytes: Option<u64>,
    pub probe_size: u64,
    /// `hold-on = "any"`.
    pub hold_severe: bool,
    /// `release-window = "original"`.
    pub release_original: bool,
    pub lost_as_marked: bool,
    pub no_shrink: bool,
    /// `ecn-mode = "guest"`.
    pub guest_ecn: bool,
    pub peer_has_shim: bool,
    /// `ends` is not `both`.
    pub one_end: bool,
    pub mss: u64,
    /// Bytes of the least window.
    pub least: u64,
    pub restart_after: Time,
    pub answers: bool,
}

impl Proboscis {
    /// From the numbers of [`shim`]; `None`: they are those of no shim.
    pub fn read(shim: &[u64; SHIM]) -> Option<Proboscis> {
        let [kind, gamma, k, kappa1, kappa2, icwnd, g, alpha_init, tick, beta1, beta2, beta3, max_time, rest @ ..] = *shim;
        let [
            cap,
            burst,
            elephant,
            probe_size,
            hold,
            release,
            lost,
            no_shrink,
            ecn,
            peer,
            ends,
            mss,
            least,
            restart_after,
            answers,
        ] = rest;
        let [k, kappa1, kappa2, g, alpha_init] = [k, kappa1, kappa2, g, alpha_init].map(f64::from_bits);
        let [tick, beta1, beta2, beta3, max_time] = [tick, beta1, beta2, beta3, max_time].map(Time);
        (kind == PROBOSCIS).then_some(Proboscis {
            gamma,
            k,
            kappa1,
            kappa2,
            icwnd,
            g,
            alpha_init,
            tick,
            beta1,
            beta2,
            beta3,
            max_time,
            probe_retry_cap: cap,
            probe_burst: burst,
            elephant_bytes: (elephant != u64::MAX).then_some(elephant),
            probe_size,
            hold_severe: hold != 0,
            release_original: release != 0,
            lost_as_marked: lost != 0,
            no_shrink: no_shrink != 0,
            guest_ecn: ecn != 0,
            peer_has_shim: peer != 0,
            one_end: ends != 0,
            mss,
            least,
            restart_after: Time(restart_after),
            answers: answers != 0,
        })
    }
}

/// Makes the shim with these numbers leave data of accepting hosts alone.
pub fn clear_answers(shim: &mut [u64; SHIM]) {
    shim[ANSWERS] = 0;
}

/// Picoseconds in which a host whose link has `rate` may repeat one probe of a transport with these numbers of a shim.
pub fn cost_of_probe(t: &Transport, shim: &[u64; SHIM], rate: Rate) -> u64 {
    let budget = t.shims.iter().find(|s| s.name == "proboscis").map_or(1.0, |s| s.values.float("probe-budget"));
    (rate.tx_time(shim[16]).0 as f64 / budget).ceil() as u64
}

/// Period of the hosts' timers of a shim with these numbers.
pub fn period(shim: &[u64; SHIM]) -> Time {
    Time(shim[8])
}
