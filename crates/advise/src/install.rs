//! Installation of changes: commands with their reversal, and persistence.
//!
//! The commands contain placeholders: SUBNET (destination prefix), DEVICE (interface), PORT, CGROUP. Facts about the kernel are those of Linux 6.12.

use crate::peers::{Peers, Reach};
use forebay_types::Rate;

/// One step of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Machines: `hosts h0 to h39`, `switch`.
    pub place: String,
    /// Shell commands, or one setting in words for a switch or an application.
    pub run: Vec<String>,
    /// Commands that restore the former state; empty for a setting in words.
    pub undo: Vec<String>,
    /// Step that repeats the setting after a reboot; empty if none is needed.
    pub keep: String,
    /// Effect on connections that are open now.
    pub open: String,
}

/// Placeholder of a route: the present one, with its gateway and attributes.
const ROUTE: &str = "$(ip -4 route show exact SUBNET)";

impl Step {
    /// Setting in words at a switch or in an application.
    pub(crate) fn words(place: &str, what: String) -> Step {
        Step { place: place.to_owned(), run: vec![what], ..Step::default() }
    }

    /// `place: command; command`.
    pub fn line(&self) -> String {
        format!("{}: {}", self.place, self.run.join("; "))
    }

    /// Sysctl of the hosts. `former` is the kernel's default, which the reversal restores.
    pub(crate) fn sysctl(place: String, key: &str, value: &str, former: &str, open: &str) -> Step {
        let quote = |v: &str| if v.contains(' ') { format!("\"{v}\"") } else { v.to_owned() };
        Step {
            place,
            run: vec![format!("sysctl -w {key}={}", quote(value))],
            undo: vec![format!("sysctl -w {key}={}", quote(former))],
            keep: format!("write `{key} = {value}` to /etc/sysctl.d/90-forebay.conf"),
            open: open.to_owned(),
        }
    }

    /// Attribute of the routes to a destination.
    pub(crate) fn route(place: String, attribute: &str, open: &str) -> Step {
        let name = attribute.split(' ').next().unwrap_or_default();
        Step {
            place,
            run: vec![format!("ip route change {ROUTE} {attribute}")],
            // The attribute may be followed by `lock`, which `ip` prints after the name.
            undo: vec![format!("ip route change $(ip -4 route show exact SUBNET | sed -E 's/ {name} (lock )?[^ ]+//')")],
            keep: "add the command to the hook of your network configuration that brings the interface up".into(),
            open: open.to_owned(),
        }
    }

    /// Queueing discipline of the hosts' interfaces.
    pub(crate) fn qdisc(place: String, name: &str) -> Step {
        Step {
            place,
            run: vec![format!("tc qdisc replace dev DEVICE root {name}")],
            undo: vec!["tc qdisc del dev DEVICE root".into()],
            keep: format!("write `net.core.default_qdisc = {name}` to /etc/sysctl.d/90-forebay.conf"),
            open: "change at once".into(),
        }
    }

    /// BPF program of this project.
    fn attach(place: String, program: &str, scope: &str, params: &str) -> Step {
        Step {
            place,
            run: vec![format!("forebay attach {program} {scope}{params}")],
            undo: vec![format!("forebay detach {program}")],
            keep: "run the command as a service at boot".into(),
            open: "keep their congestion control; --live changes them too".into(),
        }
    }
}

/// Steps that give the connections of one transport, or of all, a congestion control of the kernel instead of the present one.
pub(crate) fn congestion_control(cc: &str, present: &str, own: Option<&str>, peers: &Peers) -> Vec<Step> {
    let both_ends = cc == "dctcp";
    let at = if both_ends { peers.ends(own) } else { peers.senders(own) };
    let place = if both_ends { format!("hosts {at} (both ends)") } else { format!("hosts {at} (senders)") };
    let reach = own.map_or(Reach::Hosts, |own| peers.reach(own));
    let mut out = Vec::new();
    match (reach, cc) {
        // DCTCP's receiver echoes each mark, so that the program runs at both ends.
        (Reach::Hosts | Reach::Routes, "dctcp") => {
            let scope = if own.is_some() { "--dst SUBNET" } else { "--default" };
            out.push(Step::attach(place, "dctcp", scope, ""));
        }
        (Reach::Processes, "dctcp") => {
            out.push(Step::attach(format!("{place}, cgroup of {}", own.unwrap_or("all")), "dctcp", "--cgroup CGROUP", ""));
        }
        (Reach::Hosts, _) => {
            let mut step = Step::sysctl(
                place,
                "net.ipv4.tcp_congestion_control",
                cc,
                present,
                "keep their congestion control: restart the services",
            );
            step.run.insert(0, format!("modprobe tcp_{cc}"));
            step.keep += &format!(" and `tcp_{cc}` to /etc/modules-load.d/forebay.conf");
            out.push(step);
        }
        (Reach::Routes, _) => {
            let mut step = Step::route(place, &format!("congctl {cc}"), "keep their congestion control: restart the services");
            step.run.insert(0, format!("modprobe tcp_{cc}"));
            out.push(step);
        }
        (Reach::Processes, _) => {
            let mut step = Step::words(
                &format!("application {}", own.unwrap_or_default()),
                format!(
                    "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"{cc}\") on its sockets: other traffic connects the same hosts, and a \
                     sysctl or route would change it too"
                ),
            );
            step.open = "keep their congestion control".into();
            out.push(step);
        }
    }
    out
}

/// Steps that attach TRIM at the sending hosts, behind a bottleneck of `rate`.
pub(crate) fn trim(rate: Rate, own: &str, peers: &Peers) -> Vec<Step> {
    // A full packet on Ethernet: 1500 bytes and 38 bytes of overhead. Three of them are the guard of `trim` in scenarios.
    let packet_ps = rate.tx_time(1538).0;
    let guard = (3 * packet_ps).div_ceil(1_000_000);
    let scope = if peers.reach(own) == Reach::Processes { "--cgroup CGROUP" } else { "--dst SUBNET" };
    let place = format!("hosts {} (senders)", peers.senders(Some(own)));
    let params = format!(" --param packet_ps={packet_ps} --param guard={guard}");
    let mut step = Step::attach(place.clone(), "trim", scope, &params);
    step.open = "keep their congestion control".into();
    let watch = Step::words(&place, "experimental, so watch it: forebay watch trim --rollback-on 'rtt-p99>2'".into());
    vec![step, watch]
}

/// Step that attaches ProBoSCIS at both ends of one transport's connections, or of all.
pub(crate) fn proboscis(own: Option<&str>, peers: &Peers) -> Step {
    let place = format!("hosts {} (both ends)", peers.ends(own));
    let step = Step::attach(place, "proboscis", "--dst SUBNET", "");
    Step { open: "are not changed".into(), ..step }
}

/// ECN marking of a switch at these thresholds.
pub(crate) fn marking(thresholds: String) -> Step {
    let place = "switch, ports towards the hosts and between switches";
    Step::words(place, format!("ECN marking with probability 100 %: {thresholds}"))
}

/// Minimum RTO of all connections of the sending hosts.
///
/// The kernel reads the route's value at each computation of the RTO (`tcp_rto_min`), so open connections follow.
pub(crate) fn rto_min(min: &str, peers: &Peers) -> Vec<Step> {
    let place = format!("hosts {} (senders)", peers.senders(None));
    vec![Step::route(place, &format!("rto_min {min}"), "follow at their next RTT sample")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_is_changed_with_its_gateway() {
        let step = Step::route("hosts h0".into(), "rto_min 10ms", "follow");
        assert_eq!(step.line(), "hosts h0: ip route change $(ip -4 route show exact SUBNET) rto_min 10ms");
        assert!(step.undo[0].contains("rto_min"));
    }
}
