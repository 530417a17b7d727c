//! Shims below TCP in a guest kernel (`driver/proboscis.h`): the supported shims of a scenario, encoded as in protocol frames. The classifiers of
//! packets are in `tags`.

use crate::tags;
use forebay_experiment::transport::{Chosen, Transport};
use forebay_shims::proboscis::{Config, Rules, Tcp, WORDS};
use forebay_types::Time;

/// Numbers of a shim (`FB_SHIM` in `driver/protocol_frames.h`).
pub const SHIM: usize = 1 + WORDS;
/// `FB_SHIM_PROBOSCIS`.
pub const PROBOSCIS: u64 = 1;
/// `FB_SHIM_MISBEHAVING`.
pub const MISBEHAVING: u64 = 2;
/// Names of the shims that a guest has.
const SHIMS: [&str; 2] = ["proboscis", "misbehaving-receiver"];

/// The numbers of the shim below TCP of a transport; all 0 where it has none.
///
/// # Errors
/// A shim that the guest does not have, or not with the parameters of the scenario: the reason, and the legal values.
pub fn shim(t: &Transport) -> Result<[u64; SHIM], String> {
    let mut shim = [0; SHIM];
    for chosen in &t.shims {
        if chosen.name == "proboscis" {
            shim = proboscis(&rules_with(chosen, t))?;
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
    chosen_proboscis(t).is_some()
}

fn chosen_proboscis(t: &Transport) -> Option<&Chosen> {
    t.shims.iter().find(|s| s.name == "proboscis")
}

/// The rules of ProBoSCIS of a transport; `None`: it does not have this shim.
pub fn rules_of(t: &Transport) -> Option<Rules> {
    chosen_proboscis(t).map(|chosen| rules_with(chosen, t))
}

fn rules_with(chosen: &Chosen, t: &Transport) -> Rules {
    let tcp = Tcp { mss: t.mss, ack_size: t.ack_size, ack_every: t.ack_every, rto_min: t.rto_min };
    Rules::new(&Config::read(&chosen.values), tcp)
}

/// The kind, and the rules as the guest decodes them.
fn proboscis(rules: &Rules) -> Result<[u64; SHIM], String> {
    if rules.c.recent > Time::ZERO {
        return Err("the guest keeps nothing of the trains of other connections; legal: `recent = \"0s\"`".into());
    }
    Ok(encode(rules))
}

fn encode(rules: &Rules) -> [u64; SHIM] {
    let mut shim = [PROBOSCIS; SHIM];
    shim[1..].copy_from_slice(&rules.words());
    shim
}

/// Decodes the rules of ProBoSCIS from the numbers of [`shim`]; `None`: they are those of no shim or of another one. The budget of repeated probes is
/// not among the numbers: [`rules_of`] has it.
pub fn rules(shim: &[u64; SHIM]) -> Option<Rules> {
    let (kind, words) = shim.split_first()?;
    if *kind == PROBOSCIS { words.try_into().ok().map(Rules::from_words) } else { None }
}

/// Makes the shim with these numbers leave data of accepting hosts alone.
pub fn clear_answers(shim: &mut [u64; SHIM]) {
    if let Some(mut rules) = rules(shim) {
        rules.c.answers = false;
        *shim = encode(&rules);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only one number changes, and only where the shim is ProBoSCIS.
    #[test]
    fn answers_are_cleared() {
        let mut words = [1; WORDS];
        // The ends have three values.
        words[22] = 2;
        let mut shim = encode(&Rules::from_words(&words));
        let before = shim;
        clear_answers(&mut shim);
        let changed: Vec<usize> = (0..SHIM).filter(|&i| shim[i] != before[i]).collect();
        assert_eq!((changed.len(), rules(&before).unwrap().c.answers, rules(&shim).unwrap().c.answers), (1, true, false));
        let mut other = [MISBEHAVING; SHIM];
        clear_answers(&mut other);
        assert_eq!(other, [MISBEHAVING; SHIM]);
    }
}
