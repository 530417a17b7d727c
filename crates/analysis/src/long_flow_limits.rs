//! Limits of long flows: receive window, send buffer, a link, a policer, or the congestion control.
//!
//! The first two are counted at the sender, as `tcpi_rwnd_limited` and `tcpi_sndbuf_limited` of Linux. In the remaining time the congestion window
//! limits the flow. Either a link on its path is full, or a policer drops packets above its rate, or the congestion control does not use the path.

use crate::active_use::ActiveUse;
use crate::data::{Data, Flow, Port};
use crate::dimension::Dimension;
use crate::format::quantity;
use crate::paths::Paths;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum part of the time in which a limit is named. Our choice.
const NAMED: f64 = 0.1;
/// Part of the time from which on nothing else is named. Our choice.
const MOSTLY: f64 = 0.9;
/// Minimum ratio of the goodput of a flow to its maximum pacing rate at which that rate limits it. Our choice: slow start and losses take the rest.
const PACED: f64 = 0.9;
/// Minimum utilization of a full link. Our choice, as for starvation.
const FULL: f64 = 0.8;
/// Utilization from which on a link between switches has no capacity left, and below which it carries ACKs only. Our choice.
const SATURATED: f64 = 0.95;
const IDLE: f64 = 0.1;
/// Maximum difference between the utilizations of two links that are equally full. Our choice.
const EQUALLY_FULL: f64 = 0.01;

/// Limits of the long flows of a workload of a subject.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Limits {
    /// Number of flows, over all seeds.
    pub flows: usize,
    /// True for one flow in each seed.
    pub single: bool,
    /// Part of their time in which the receive window limited them.
    pub rwnd: f64,
    /// Part of their time in which the send buffer limited them.
    pub sndbuf: f64,
    /// Maximum pacing rate, bit/s, if it limits them.
    pub paced: Option<f64>,
    /// Number and rate, bit/s, of the equal links of which the only flow has one, if it fills that.
    pub one_of: Option<(usize, f64)>,
    /// Index of the busiest port on their paths.
    pub busiest: Option<usize>,
    /// Used fraction of its capacity while they run.
    pub used: f64,
    /// True if they start late.
    pub partial: bool,
    /// True if the interfaces of their sending hosts are full, which they do not share with other hosts.
    pub own: bool,
    /// True if the paths differ between seeds: the mean utilization of a link says little about one run.
    pub draws: bool,
    /// Links between switches that carry traffic, where the network chooses among several.
    pub fabric: Option<Fabric>,
    /// True if every flow crosses a full link of a host, which all paths between two hosts have in common.
    pub full_at_hosts: bool,
    /// Number and smallest utilization of the full links that only some of the flows cross, where no full link carries all of them.
    pub several: Option<(usize, f64)>,
}

/// Part of the whole time of a flow in which a window or buffer of its end limited it.
pub(crate) fn self_limited(data: &Data, f: &Flow) -> f64 {
    let time = (f.acked_ns.unwrap_or(data.runs[f.run].end_ns) - f.start_ns).max(1) as f64 * 1e-9;
    (f.rwnd_limited_s.unwrap_or(0.0) + f.sndbuf_limited_s.unwrap_or(0.0)) / time
}

/// Limits of the endless flows of a subject, of one workload if given. `None` without any, and where senders do not count them.
pub(crate) fn limits(data: &Data, subject: usize, class: Option<u32>) -> Option<Limits> {
    let own = |f: &&Flow| {
        f.subject == subject && f.size == 0 && f.greedy && f.rwnd_limited_s.is_some() && (class.is_none() || f.class == class)
    };
    let mut paths = Paths::of(data, data.subjects[subject].network);
    let (mut time, mut acked, mut branches, mut own_links, mut out) = (0.0, 0.0, false, true, Limits::default());
    out.full_at_hosts = true;
    let mut interfaces = BTreeSet::new();
    // Flows by the ports that all connections between their hosts cross.
    let mut crossing: BTreeMap<usize, usize> = BTreeMap::new();
    // Messages for which the run is too short arrive at any time, and say little about a link.
    let active = ActiveUse::of(data, data.subjects[subject].network, |f| own(&f) && !f.unreachable);
    let used = |p: &usize| active.used(*p);
    for f in data.flows.iter().filter(own) {
        out.flows += 1;
        time += (data.runs[f.run].end_ns - f.start_ns).max(0) as f64 * 1e-9;
        acked += f.acked as f64 * 8.0;
        out.rwnd += f.rwnd_limited_s.unwrap_or(0.0);
        out.sndbuf += f.sndbuf_limited_s.unwrap_or(0.0);
        let Some((from, to)) = data.ends(f) else { continue };
        let choice = paths.choice(from, to);
        branches |= !choice.is_empty();
        out.one_of = choice.first().map(|p| (choice.len(), data.ports[*p].rate_bps));
        let ports = paths.ports(from, to);
        ports.iter().filter(|p| used(p) >= SATURATED).for_each(|p| *crossing.entry(*p).or_default() += 1);
        let at_host = |p: &&usize| !(data.ports[**p].from_switch && data.ports[**p].to_switch);
        out.full_at_hosts &= ports.iter().filter(at_host).any(|p| used(p) >= FULL);
        let way = [ports, choice].concat();
        let busiest = way.into_iter().chain(out.busiest).max_by(|a, b| used(a).total_cmp(&used(b)));
        let own = paths.ports(from, to).first().copied().filter(|p| data.ports[*p].from == from);
        interfaces.extend(own);
        own_links &= own.is_some_and(|p| used(&p) >= FULL);
        out.busiest = busiest;
    }
    let network = data.subjects[subject].network;
    let seeds = data.runs.iter().filter(|r| r.network == network).count();
    (out.draws, out.single) = (branches && seeds > 1, out.flows <= seeds);
    let hosts_bps = interfaces.iter().map(|p| data.ports[*p].rate_bps).sum();
    // A full link that all flows cross limits them, whatever the use of the others.
    let common = crossing.values().any(|n| *n == out.flows);
    out.fabric = fabric(data, network, hosts_bps).filter(|_| branches && !common);
    out.several = (crossing.len() > 1 && !common)
        .then(|| (crossing.len(), crossing.keys().map(used).fold(f64::INFINITY, f64::min)))
        .filter(|_| out.busiest.is_some_and(|p| crossing.contains_key(&p)));
    // Behind a full interface a port that is busier is another bottleneck: the interface has capacity to spare. Of equally full ones the longer queue
    // shows it.
    let interface = interfaces.into_iter().max_by(|a, b| used(a).total_cmp(&used(b))).filter(|_| own_links);
    let queue = |p: &usize| data.ports[*p].queue_mean;
    let shared = |p: usize, i: &usize| used(&p) > used(i) + EQUALLY_FULL || used(&p) >= used(i) && queue(&p) > queue(i);
    let own = interface.filter(|i| out.busiest.is_some_and(|p| p == *i || !shared(p, i)));
    let busiest = own.or(out.busiest);
    (out.flows > 0 && time > 0.0).then(|| Limits {
        own: own.is_some(),
        busiest,
        used: busiest.map_or(0.0, |p| used(&p)),
        partial: active.is_partial(),
        rwnd: (out.rwnd / time).min(1.0),
        sndbuf: (out.sndbuf / time).min(1.0),
        one_of: out.one_of.filter(|(_, rate)| out.single && acked >= FULL * rate * time),
        paced: data.subjects[subject].max_pacing_bps.filter(|most| acked >= PACED * most * time),
        ..out
    })
}

/// Use of the links between switches.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Fabric {
    /// Number of links with traffic, and of full ones.
    pub links: usize,
    pub full: usize,
    /// Smallest, mean and largest utilization.
    pub least: f64,
    pub mean: f64,
    pub most: f64,
    /// Rate of the interfaces of the sending hosts, bit/s.
    pub hosts_bps: f64,
}

/// Links between switches with traffic.
fn fabric(data: &Data, network: usize, hosts_bps: f64) -> Option<Fabric> {
    let ports = data.ports.iter().filter(|p| p.network == network && p.from_switch && p.to_switch);
    let mut used: Vec<f64> = ports.map(|p| p.utilization).filter(|u| *u > IDLE).collect();
    used.sort_unstable_by(f64::total_cmp);
    let full = used.iter().filter(|u| **u >= SATURATED).count();
    let mean = used.iter().sum::<f64>() / used.len().max(1) as f64;
    Some(Fabric { links: used.len(), full, least: *used.first()?, mean, most: *used.last()?, hosts_bps })
}

impl Limits {
    /// True if something else than a full link limits them.
    pub(crate) fn is_other_than_link(&self, data: &Data) -> bool {
        self.rwnd.max(self.sndbuf) >= NAMED
            || !self.draws && self.port(data).is_some_and(|p| self.used < FULL || p.policed_bps.is_some())
    }

    /// End of a sentence about the flows.
    pub(crate) fn words(&self, data: &Data) -> Option<String> {
        let them = if self.single { "it" } else { "them" };
        let part = |v: f64| quantity(v, Dimension::Fraction);
        if let Some(most) = self.paced {
            return Some(format!("the **maximum pacing rate** of {} limits {them}", quantity(most, Dimension::BitsPerSecond)));
        }
        let ends: Vec<String> = [(self.rwnd, "receive window"), (self.sndbuf, "send buffer")]
            .iter()
            .filter(|(v, _)| *v >= NAMED)
            .map(|(v, what)| format!("the **{what}** limits {them} for {} of the time", part(*v)))
            .collect();
        let unused = self.port(data).filter(|_| !self.draws && self.used < FULL);
        match (ends.is_empty(), unused) {
            (true, Some(p)) => Some(format!("the **congestion window** limits {them}{}", self.unused_part(p))),
            (true, None) => self.full_link(data),
            (false, Some(p)) if self.rwnd + self.sndbuf < MOSTLY => {
                Some(format!("{}, the congestion window for the rest{}", ends.join(", "), self.unused_part(p)))
            }
            // The full link has the rest of the time.
            (false, None) if self.rwnd + self.sndbuf < MOSTLY => {
                let rest = self.port(data).filter(|p| !self.draws && p.policed_bps.is_none());
                let link = rest.map(|p| format!(", {} ({}) for the rest", p.name, self.utilized()));
                Some(ends.join(", ") + &link.unwrap_or_default())
            }
            (false, _) => Some(ends.join(", ")),
        }
    }

    /// The full link or the policer that limits them.
    pub(crate) fn place(&self, data: &Data) -> Option<String> {
        self.port(data).filter(|p| p.policed_bps.is_some() || self.used >= FULL)?;
        self.full_link(data)
    }

    /// The full link that limits them. Where flows collide on some links of several, the others have capacity to spare.
    fn full_link(&self, data: &Data) -> Option<String> {
        let port = self.port(data)?;
        let used = quantity(self.used, Dimension::Fraction);
        if let Some(rate) = policer_rate(port) {
            return Some(format!("limited by the **policer** at {} ({used} of {rate} used)", port.name));
        }
        if let Some((links, rate)) = self.one_of {
            let rate = quantity(rate, Dimension::BitsPerSecond);
            return Some(format!(
                "limited by **one of {links}** equal links ({rate} each): a hash assigns each connection to one of them"
            ));
        }
        Some(match self.collide() {
            Some(f) => {
                let part = |v: f64| quantity(v, Dimension::Fraction);
                let full = if f.full > 0 {
                    let are = if f.full == 1 { "is" } else { "are" };
                    format!("**{} of {}** links between switches {are} full", f.full, f.links)
                } else {
                    String::new()
                };
                let spread = format!("{} to {} utilized, {} on average", part(f.least), part(f.most), part(f.mean));
                let links =
                    if full.is_empty() { format!("links between switches are {spread}") } else { format!("{full} ({spread})") };
                format!("the links of the sending hosts carry {}: {links}", quantity(f.hosts_bps, Dimension::BitsPerSecond))
            }
            _ if self.own => format!("limited by the link of the sending host, {} ({})", port.name, self.utilized()),
            _ if self.several.is_some() => {
                let (links, least) = self.several.unwrap_or_default();
                let part = |v: f64| quantity(v, Dimension::Fraction);
                let (least, most) = (part(least), self.utilized());
                let range = if most.starts_with(&least) { most } else { format!("{least} to {most}") };
                let others = if links == 2 { "another link".to_owned() } else { format!("{} other links", links - 1) };
                format!("limited by {} and {others} ({range})", port.name)
            }
            _ => format!("limited by {} ({}{})", port.name, rate_over_time(port), self.utilized()),
        })
    }

    /// The links between switches, if flows collide on some of them while others have capacity to spare.
    fn collide(&self) -> Option<Fabric> {
        let some = |f: &Fabric| f.mean < FULL || !self.own && (1..f.links).contains(&f.full);
        // With other paths in each seed, means hide a full link between switches; but a full link of a host is the limit in all of them.
        let hidden = self.draws && !self.full_at_hosts;
        self.fabric.filter(|f| (f.most >= FULL || hidden) && some(f))
    }

    /// Short text for a table.
    pub(crate) fn cell(&self, data: &Data) -> String {
        let part = |v: f64| quantity(v, Dimension::Fraction);
        match self.port(data) {
            _ if self.paced.is_some() => "maximum pacing rate".to_owned(),
            _ if self.rwnd.max(self.sndbuf) >= NAMED => {
                let of = [(self.rwnd, "receive window"), (self.sndbuf, "send buffer")];
                let named = of.iter().filter(|(v, _)| *v >= NAMED).map(|(v, what)| format!("{what} {}", part(*v)));
                named.collect::<Vec<_>>().join(", ")
            }
            Some(port) if port.policed_bps.is_some() && self.used >= FULL => format!("policer at {}", port.name),
            Some(port) if port.policed_bps.is_some() => format!("congestion window, policer at {}", port.name),
            Some(_) if self.one_of.is_some() => "one of several equal links".to_owned(),
            Some(port) if self.used >= FULL && self.own => format!("own link {}", port.name),
            Some(_) if self.used >= FULL && self.collide().is_some() => "links between switches".to_owned(),
            Some(_) if self.used >= FULL && self.several.is_some() => "several links".to_owned(),
            Some(port) if self.used >= FULL => format!("link {}", port.name),
            Some(_) if self.draws => "links between switches".to_owned(),
            _ => "congestion window".to_owned(),
        }
    }

    /// Utilization of the busiest port: `97.3 % utilized`.
    fn utilized(&self) -> String {
        let when = match (self.partial, self.single) {
            (false, _) => "",
            (true, true) => " while it runs",
            (true, false) => " while they run",
        };
        format!("{} utilized{when}", quantity(self.used, Dimension::Fraction))
    }

    /// End of a sentence about the congestion window: the port with the least capacity to spare.
    fn unused_part(&self, p: &Port) -> String {
        let used = quantity(self.used, Dimension::Fraction);
        match policer_rate(p) {
            Some(rate) if p.drops > 0.0 => format!(" after drops of the **policer** at {} ({used} of {rate} used)", p.name),
            Some(rate) => format!(": {used} of the {rate} of the policer at {} are used", p.name),
            None => format!(": {}, the busiest link, is {}", p.name, self.utilized()),
        }
    }

    fn port<'a>(&self, data: &'a Data) -> Option<&'a Port> {
        self.busiest.map(|p| &data.ports[p])
    }
}

/// Largest number of changes of a rate in a sentence.
const MAX_CHANGES: usize = 2;

/// `1 Gbit/s, 100 Mbit/s from 1 s on; ` for a link whose rate changes during the run; empty for others. Its utilization is that of the mean rate.
fn rate_over_time(p: &Port) -> String {
    let rate = |bps| quantity(bps, Dimension::BitsPerSecond);
    let later = p.rate_changes.iter().take(MAX_CHANGES);
    let later: Vec<String> =
        later.map(|(at, bps)| format!(", {} from {} on", rate(*bps), quantity(*at, Dimension::Seconds))).collect();
    let more = if p.rate_changes.len() > MAX_CHANGES { ", then others" } else { "" };
    if later.is_empty() { String::new() } else { format!("{}{}{more}; ", rate(p.rate_bps), later.concat()) }
}

/// Rate of the policer of a port as text.
fn policer_rate(p: &Port) -> Option<String> {
    p.policed_bps.map(|bps| quantity(bps, Dimension::BitsPerSecond))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::two_links;

    #[test]
    fn full_host_link_is_the_limit() {
        let mut d = two_links(1e10, 0.95);
        let fabric = Fabric { links: 4, full: 0, least: 0.15, mean: 0.2, most: 0.3, hosts_bps: 2e10 };
        let limits = Limits {
            flows: 2,
            busiest: Some(2),
            full_at_hosts: true,
            used: 0.95,
            draws: true,
            fabric: Some(fabric),
            ..Limits::default()
        };
        assert_eq!(limits.cell(&d), "link x->r");
        assert_eq!(limits.words(&d).unwrap(), "limited by x->r (95 % utilized)");
        // Means over seeds with other paths can hide a full link between switches.
        let hidden = Limits { full_at_hosts: false, used: 0.3, ..limits };
        assert_eq!(hidden.cell(&d), "links between switches");
        d.ports[2].utilization = 0.3;
        assert!(hidden.words(&d).unwrap().contains("links between switches are 15 % to 30 % utilized"), "{:?}", hidden.words(&d));
    }
}
