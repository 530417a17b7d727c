//! Features of scripts that a kernel lacks because only the simulator has them. They follow from the text alone, as for the simulator.

use crate::code;
use crate::command::{Effect, effects};
use crate::script::{Action, Script};
use crate::settings::Settings;

/// Parameters of a namespace, which a script may set to any value; others have no effect here.
const PARAMETERS: &[&str] = &[
    "tcp_rmem",
    "tcp_wmem",
    "tcp_reordering",
    "tcp_slow_start_after_idle",
    "tcp_early_retrans",
    "tcp_dsack",
    "tcp_frto",
    "tcp_mtu_probing",
    "tcp_min_snd_mss",
    "tcp_min_tso_segs",
    "tcp_tso_win_divisor",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_invalid_ratelimit",
    "tcp_autocorking",
    "tcp_moderate_rcvbuf",
    "tcp_notsent_lowat",
];

/// Features of `script` that a kernel lacks; `settings` are the script's, without its parameters. A watched script needs no values.
pub(crate) fn missing(script: &Script, settings: &Settings, watched: bool) -> Vec<String> {
    let mut all = match settings.transport() {
        Ok(transport) => forebay_linux::script::refused(&transport),
        Err(problem) => vec![problem],
    };
    let mut defined = Vec::new();
    for event in &script.events {
        if let Action::Command(text) = &event.action
            && effects(text).iter().any(|e| *e == Effect::Set("tcp_ecn".into(), "3".into()))
        {
            all.push("Accurate ECN, which Linux has since 6.18".into());
        }
        let Action::Code(text) = &event.action else { continue };
        for name in code::used(text).unwrap_or_default() {
            if !watched && ["exact_cwnd", "exact_ssthresh"].contains(&name.as_str()) && !defined.contains(&name) {
                all.push(format!("the value {name}, which a kernel does not report"));
            }
        }
        defined.extend(code::assigned(text));
    }
    all.dedup();
    all
}

/// Parameters of the guest: those of the script's settings, and those that its commands set.
pub(crate) fn parameters(script: &Script, settings: &mut Settings) -> Vec<(String, String)> {
    let mut own = Vec::new();
    for event in &script.events {
        let Action::Command(text) = &event.action else { continue };
        for effect in effects(text) {
            if let Effect::Set(name, value) = effect {
                settings.parameter(&name, &value);
                if PARAMETERS.contains(&name.as_str()) {
                    own.push((name, value));
                }
            }
        }
    }
    let mut all = settings.parameters();
    // Applications of a script are not delayed, as in the simulator.
    all.push(("tcp_wmem".into(), "4096 4194304 16777216".into()));
    all.extend(own);
    all
}
