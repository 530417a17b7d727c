//! Congestion controls, for the transport of the objective and for all, with the marking that they need.

use super::{Choice, Family, Subject, Transport};
use crate::install::{self, Step};
use crate::peers::Reach;

pub(super) fn add(s: &Subject, out: &mut Vec<Choice>) {
    let Some(own) = &s.group else { return };
    let several = s.all.len() > 1;
    let whose = if several { format!(" for {}", own.name) } else { String::new() };
    let scopes: Vec<(Option<&Transport>, String)> =
        if several { vec![(Some(own), whose.clone()), (None, " for all".to_owned())] } else { vec![(None, String::new())] };
    for part in [1, 3] {
        let k = |common: u32| common / part;
        for (scope, words) in &scopes {
            let sets = [s.marking(k), s.cc(*scope, "dctcp")].concat();
            let mut install = install::congestion_control("dctcp", s.present_cc(), scope.map(|t| t.name.as_str()), s.peers);
            install.push(install::marking(s.by_rate(|common| ecn_step(k(common)))));
            let name = format!("dctcp{words}, K = {}", s.k_range(k));
            out.push(Choice { family: Family::Dctcp, name, sets, scales: Vec::new(), install, k: Some(k(s.k())) });
        }
    }
    red(s, out);
    // As the scenario: BBR's rate samples need SACK.
    if s.text("recovery").is_none_or(|r| r == "rack" || r == "sack") {
        for (scope, words) in &scopes {
            let install = install::congestion_control("bbr", s.present_cc(), scope.map(|t| t.name.as_str()), s.peers);
            out.push(Choice {
                family: Family::Bbr,
                name: format!("bbr{words}"),
                sets: s.cc(*scope, "bbr"),
                scales: Vec::new(),
                install,
                k: None,
            });
        }
    }
    out.push(Choice {
        family: Family::Trim,
        name: format!("trim{whose}"),
        sets: s.cc(Some(own), "trim"),
        scales: Vec::new(),
        install: install::trim(s.rate, &own.name, s.peers),
        k: None,
    });
    proboscis(s, own, out);
}

/// ProBoSCIS for the transport of the objective; for all if other transports connect the same hosts, since the program works on packets to a destination.
fn proboscis(s: &Subject, own: &Transport, out: &mut Vec<Choice>) {
    let only = s.peers.reach(&own.name) != Reach::Processes;
    let below: Vec<&Transport> = s.all.iter().filter(|t| !only || t.key == own.key).collect();
    if below.iter().any(|t| t.shim) {
        return;
    }
    let mut sets = s.marking(|k| k);
    sets.extend(below.iter().map(|t| format!("{}.shim=proboscis", t.key)));
    let whose = (below.len() == 1).then_some(own.name.as_str());
    let install = vec![install::proboscis(whose, s.peers), install::marking(s.by_rate(ecn_step))];
    let name = format!("ProBoSCIS below {}, K = {}", whose.unwrap_or("all"), s.k_range(|k| k));
    out.push(Choice { family: Family::Proboscis, name, sets, scales: Vec::new(), install, k: Some(s.k()) });
}

/// Marking at a threshold of `k` packets, as switches express it.
pub(super) fn ecn_step(k: u32) -> String {
    let bytes = u64::from(k) * 1500;
    format!("minimum = maximum = {bytes} B ({k} packets)")
}

/// CUBIC with ECN at all hosts, and RED in the switches. Without effect on a link whose queue is its loss.
fn red(s: &Subject, out: &mut Vec<Choice>) {
    if s.is_lossy() {
        return;
    }
    let (min, max) = (|k: u32| k / 2, |k: u32| k * 3 / 2);
    let queue = |k: u32| format!("{{kind=\"red\",min=\"{}pkt\",max=\"{}pkt\",p-max=0.1,gentle=true}}", min(k), max(k));
    let sets = [s.queues(false, queue, min), s.cc(None, "cubic"), s.every_transport("ecn", "classic")].concat();
    let wred = s.by_rate(|k| format!("minimum {} B, maximum {} B", u64::from(min(k)) * 1500, u64::from(max(k)) * 1500));
    let at = format!("hosts {} (both ends)", s.peers.ends(None));
    let install = vec![
        Step::sysctl(at.clone(), "net.ipv4.tcp_ecn", "1", "2", "stay without ECN until they are opened again"),
        Step::sysctl(at, "net.ipv4.tcp_congestion_control", "cubic", s.present_cc(), "keep their congestion control"),
        Step::words("switch, every port", format!("WRED with ECN, probability 10 %: {wred}")),
    ];
    let range = if s.rates().len() > 1 { "by link rate".to_owned() } else { format!("{} to {}", min(s.k()), max(s.k())) };
    let name = format!("cubic with ECN for all, RED {range}");
    out.push(Choice { family: Family::Ecn, name, sets, scales: Vec::new(), install, k: None });
}
