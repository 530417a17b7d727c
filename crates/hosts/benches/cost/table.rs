//! The tables of docs/internals/hosts.md.

use crate::load::Load;
use crate::programs::{Inside, Run};
use crate::{FLOWS, Subject};
use forebay_hosts::catalog::Kind;
use std::fmt::Write;

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Of processor time the least of the rounds: what else the machine does only ever adds to it.
fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

fn who(s: &Subject) -> String {
    match (s.ours, s.kind) {
        (false, _) => format!("{} (of the kernel)", s.name),
        (true, Kind::CongestionControl) => format!("`{}`", s.name),
        (true, Kind::Shim) => format!("`{}` below reno", s.name),
    }
}

pub(crate) fn text(
    subjects: &[Subject],
    loads: &[Vec<Vec<Load>>],
    connects: &[Vec<f64>],
    inside: &[(Subject, Inside)],
) -> String {
    let mut out = String::new();
    let line = "|---".repeat(2 * FLOWS.len() + 2);
    let _ = write!(out, "| |");
    FLOWS.iter().for_each(|f| {
        let _ = write!(out, " {f}: Mbit/s |");
    });
    FLOWS.iter().for_each(|f| {
        let _ = write!(out, " {f}: ns/KB |");
    });
    let _ = writeln!(out, " us a connection |\n{line}|");
    for ((s, by_flows), connects) in subjects.iter().zip(loads).zip(connects) {
        let _ = write!(out, "| {} |", who(s));
        for rounds in by_flows {
            let _ = write!(out, " {:.0} |", median(rounds.iter().map(|l| l.mbit)));
        }
        for rounds in by_flows {
            let _ = write!(out, " {:.0} |", least(rounds.iter().map(|l| l.cpu_ns_per_kb)));
        }
        let _ = writeln!(out, " {:.0} |", least(connects.iter().copied()));
    }
    let _ = writeln!(out, "\n| | an ACK | a packet sent | a packet received | ns a run at the sender |\n|---|---|---|---|---|");
    for (s, i) in inside {
        let of = |sender: bool, names: &'static [&str]| {
            i.runs.iter().filter(move |r| r.at_sender == sender && names.iter().any(|n| r.name.contains(n)))
        };
        let each = |r: &Run| r.ns as f64 / r.times as f64;
        // Hooks that run once for an ACK; how many ACKs there are cannot be said, because the kernel merges those that wait.
        let ack: f64 = of(true, &["_in_ack", "_cong_avoi", "_pkts_acked", "ingress"]).map(each).sum();
        let total = |runs: &mut dyn Iterator<Item = &Run>| runs.map(|r| r.ns).sum::<u64>() as f64 / i.packets.max(1) as f64;
        let (sent, got) = (total(&mut of(true, &["egress", "_min_tso"])), total(&mut of(false, &[""])));
        let often = i.runs.iter().filter(|r| r.at_sender && 200 * r.times > i.packets);
        let mut runs: Vec<String> = often.map(|r| format!("{} {:.0}", r.name, each(r))).collect();
        runs.sort();
        let number = |ns: f64| if ns < 0.5 { "-".into() } else { format!("{ns:.0}") };
        let _ = writeln!(out, "| `{}` | {} | {} | {} | {} |", s.name, number(ack), number(sent), number(got), runs.join(", "));
    }
    out
}
