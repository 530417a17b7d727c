//! Congestion controls, for the transport of the objective and for all, with the marking that they need.

use super::{Choice, Family, Subject, Transport};
use crate::install::{self, Step};

pub(super) fn add(s: &Subject, out: &mut Vec<Choice>) {
    let Some(own) = &s.group else { return };
    let several = s.all.len() > 1;
    let whose = if several { format!(" for {}", own.name) } else { String::new() };
    let scopes: Vec<(Option<&Transport>, String)> =
        if several { vec![(Some(own), whose.clone()), (None, " for all".to_owned())] } else { vec![(None, String::new())] };
    for k in [s.k(), s.k() / 3] {
        for (scope, words) in &scopes {
            let sets = [s.queues(&format!("{{kind=\"dctcp-step\",k=\"{k}pkt\"}}"), Some(k)), s.cc(*scope, "dctcp")].concat();
            let mut install = install::congestion_control("dctcp", s.present_cc(), scope.map(|t| t.name.as_str()), s.peers);
            install.push(install::marking(k));
            let name = format!("dctcp{words}, K = {k}");
            out.push(Choice { family: Family::Dctcp, name, sets, scales: Vec::new(), install, k: Some(k) });
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
    let k = s.k();
    let mut sets = s.queues(&format!("{{kind=\"dctcp-step\",k=\"{k}pkt\"}}"), Some(k));
    sets.push(format!("{}.shim=proboscis", own.key));
    let install = [install::proboscis(&own.name, s.peers), vec![install::marking(k)]].concat();
    let name = format!("ProBoSCIS below {}, K = {k}", own.name);
    out.push(Choice { family: Family::Proboscis, name, sets, scales: Vec::new(), install, k: Some(k) });
}

/// CUBIC with ECN at all hosts, and RED in the switches. Without effect on a link whose queue is its loss.
fn red(s: &Subject, out: &mut Vec<Choice>) {
    if s.is_lossy() {
        return;
    }
    let (min, max) = (s.k() / 2, s.k() * 3 / 2);
    let red = s.queues(&format!("{{kind=\"red\",min=\"{min}pkt\",max=\"{max}pkt\",p-max=0.1,gentle=true}}"), None);
    let sets = [red, s.cc(None, "cubic"), s.every_transport("ecn", "classic")].concat();
    let (low, high) = (u64::from(min) * 1500, u64::from(max) * 1500);
    let at = format!("hosts {} (both ends)", s.peers.ends(None));
    let install = vec![
        Step::sysctl(at.clone(), "net.ipv4.tcp_ecn", "1", "2", "stay without ECN until they are opened again"),
        Step::sysctl(at, "net.ipv4.tcp_congestion_control", "cubic", s.present_cc(), "keep their congestion control"),
        Step::words("switch, every port", format!("WRED with ECN: minimum {low} B, maximum {high} B, probability 10 %")),
    ];
    let name = format!("cubic with ECN for all, RED {min} to {max}");
    out.push(Choice { family: Family::Ecn, name, sets, scales: Vec::new(), install, k: None });
}
