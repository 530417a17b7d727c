//! Dedicated queues of a transport, and the share of the switch's memory that one port may take.

use super::congestion::ecn_step;
use super::{Choice, Family, Subject};
use crate::install::{self, Step};
use crate::peers::Reach;

/// Class of service of a dedicated queue.
const SERVICE_CLASS: u8 = 5;

pub(super) fn add(s: &Subject, out: &mut Vec<Choice>) {
    own_queues(s, out);
    buffers(s, out);
}

/// Dedicated queue for the class's transport if others share the ports: by weight with DCTCP or the present congestion control, or by priority.
fn own_queues(s: &Subject, out: &mut Vec<Choice>) {
    let Some(own) = s.group.as_ref().filter(|t| s.all.len() > 1 && !t.shim && !s.is_lossy()) else { return };
    let name = &own.name;
    let mut add = |words: &str, queue: &dyn Fn(u32) -> String, cc: Option<&str>, switch: String, k: Option<u32>| {
        let tag = format!("{}.shim={{kind=\"service\",class={SERVICE_CLASS}}}", own.key);
        let cc_sets = cc.map_or_else(Vec::new, |cc| s.cc(Some(own), cc));
        let mut install = vec![dscp(s, name)];
        install.extend(cc.map_or_else(Vec::new, |cc| install::congestion_control(cc, s.present_cc(), Some(name), s.peers)));
        install.push(Step::words("switch, all ports", format!("DSCP CS{SERVICE_CLASS} to a queue of its own; {switch}")));
        let sets = [s.queues(false, queue, |k| k), cc_sets, vec![tag]].concat();
        let name = format!("own queue for {name}, {words}");
        out.push(Choice { family: Family::OwnQueue, name, sets, scales: Vec::new(), install, k });
    };
    add(
        &format!("half of each port (dwrr), dctcp, K = {}", s.k_range(|k| k)),
        &|k| format!("{{kind=\"dwrr\",weights=[1,1],ks=[\"{k}pkt\"]}}"),
        Some("dctcp"),
        format!("DWRR with equal weights; on that queue ECN marking: {}", s.by_rate(ecn_step)),
        Some(s.k()),
    );
    let halves = |_| "{kind=\"dwrr\",weights=[1,1]}".to_owned();
    add("half of each port (dwrr)", &halves, None, "DWRR with equal weights".into(), None);
    let first = |_| "{kind=\"strict-priority\",queues=2}".to_owned();
    add("served first", &first, None, "strict priority over the others".into(), None);
}

/// DSCP of a transport's packets in both directions, as `service` tags data and ACKs.
fn dscp(s: &Subject, name: &str) -> Step {
    let place = format!("hosts {} (both ends)", s.peers.ends(Some(name)));
    let rule = |direction: &str| format!("POSTROUTING -p tcp --{direction} PORT -j DSCP --set-dscp-class CS{SERVICE_CLASS}");
    let all = |action: &str| -> Vec<String> {
        ["sport", "dport"].iter().map(|d| format!("iptables -t mangle -{action} {}", rule(d))).collect()
    };
    let mut step = Step { place, run: all("A"), undo: all("D"), ..Step::default() };
    if s.peers.reach(name) != Reach::Hosts {
        step.place += ", PORT of the service";
    }
    step.keep = "save the rules with iptables-save".into();
    step.open = "change at once".into();
    step
}

fn buffers(s: &Subject, out: &mut Vec<Choice>) {
    let topology = &s.echo["topology"];
    let shared = topology["shared-buffer"].is_string() || topology["shared-switch"].is_string();
    if !shared || topology["shared-per-port"].is_string() {
        return;
    }
    let now = topology["shared-alpha"].as_f64();
    for alpha in [0.25, 1.0, 4.0, 8.0].into_iter().filter(|a| Some(*a) != now) {
        let share = 100.0 * alpha / (1.0 + alpha);
        let text = format!(
            "dynamic threshold factor (alpha) {alpha} for the ports' queues: one busy port may take {share:.0} % of the memory"
        );
        out.push(Choice {
            family: Family::Buffer,
            name: format!("buffer alpha {alpha}"),
            sets: vec![format!("topology.shared-alpha={alpha}")],
            scales: Vec::new(),
            install: vec![Step::words("switch", text)],
            k: None,
        });
    }
}
