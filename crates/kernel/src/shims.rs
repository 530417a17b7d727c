//! Shims below TCP in a guest kernel (`driver/proboscis.h`): the supported shims of a scenario, encoded as in protocol frames. The classifiers of
//! packets are in `tags`.

use crate::tags;
use forebay_experiment::transport::{Chosen, Transport};
use forebay_shims::proboscis::{Config, Rules, Tcp, WORDS};
use forebay_types::{Rate, Time};

/// Numbers of a shim (`FB_SHIM` in `driver/protocol_frames.h`).
pub const SHIM: usize = 1 + WORDS;
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

/// The kind, and the rules as the guest decodes them.
fn proboscis(chosen: &Chosen, t: &Transport) -> Result<[u64; SHIM], String> {
    let c = Config::read(&chosen.values);
    if c.recent > Time::ZERO {
        return Err("the guest keeps nothing of the trains of other connections; legal: `recent = \"0s\"`".into());
    }
    let tcp = Tcp { mss: t.mss, ack_size: t.ack_size, ack_every: t.ack_every, rto_min: t.rto_min };
    let mut shim = [PROBOSCIS; SHIM];
    shim[1..].copy_from_slice(&Rules::new(&c, tcp).words());
    Ok(shim)
}

/// The rules of ProBoSCIS in the numbers of [`shim`]; `None`: they are those of no shim or of another one.
pub fn rules(shim: &[u64; SHIM]) -> Option<Rules> {
    let (kind, words) = shim.split_first()?;
    if *kind == PROBOSCIS { words.try_into().ok().map(Rules::from_words) } else { None }
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
