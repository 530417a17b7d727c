//! Limits of long flows: receive window, send buffer, a link, or the congestion control.
//!
//! The first two are counted at the sender, as `tcpi_rwnd_limited` and `tcpi_sndbuf_limited` of Linux. In the remaining time the congestion window
//! limits the flow: because a link on its path is full, or because the congestion control does not use the path.

use crate::data::{Data, Flow, Port};
use crate::dimension::Dimension;
use crate::format::quantity;
use crate::paths::Paths;

/// Minimum part of the time in which a limit is named. Our choice.
const NAMED: f64 = 0.1;
/// Part of the time from which on nothing else is named. Our choice.
const MOSTLY: f64 = 0.9;
/// Minimum ratio of the goodput of a flow to its maximum pacing rate at which that rate limits it. Our choice: slow start and losses take the rest.
const PACED: f64 = 0.9;
/// Minimum utilization of a full link. Our choice, as for starvation.
const FULL: f64 = 0.8;

/// Limits of the long flows of a workload of a subject.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Limits {
    /// Number of flows, over all seeds.
    pub flows: usize,
    /// Part of their time in which the receive window limited them.
    pub rwnd: f64,
    /// Part of their time in which the send buffer limited them.
    pub sndbuf: f64,
    /// Maximum pacing rate, bit/s, if it limits them.
    pub paced: Option<f64>,
    /// Index of the busiest port on their paths.
    pub busiest: Option<usize>,
    /// True if this port is the interface of their sending host, which they do not share with other hosts.
    pub own: bool,
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
    let (mut time, mut acked, mut out) = (0.0, 0.0, Limits::default());
    for f in data.flows.iter().filter(own) {
        out.flows += 1;
        time += (data.runs[f.run].end_ns - f.start_ns).max(0) as f64 * 1e-9;
        acked += f.acked as f64 * 8.0;
        out.rwnd += f.rwnd_limited_s.unwrap_or(0.0);
        out.sndbuf += f.sndbuf_limited_s.unwrap_or(0.0);
        let Some((from, to)) = data.ends(f) else { continue };
        let used = |p: &usize| data.ports[*p].utilization;
        let way = [paths.ports(from, to), paths.choice(from, to)].concat();
        let busiest = way.into_iter().chain(out.busiest).max_by(|a, b| used(a).total_cmp(&used(b)));
        out.own = busiest.is_some_and(|p| data.ports[p].from == from);
        out.busiest = busiest;
    }
    (out.flows > 0 && time > 0.0).then(|| Limits {
        rwnd: (out.rwnd / time).min(1.0),
        sndbuf: (out.sndbuf / time).min(1.0),
        paced: data.subjects[subject].max_pacing_bps.filter(|most| acked >= PACED * most * time),
        ..out
    })
}

impl Limits {
    /// End of a sentence about the flows; `None` where a full link limits them.
    pub(crate) fn words(&self, data: &Data) -> Option<String> {
        let them = if self.flows == 1 { "it" } else { "them" };
        let part = |v: f64| quantity(v, Dimension::Fraction);
        if let Some(most) = self.paced {
            return Some(format!("the **maximum pacing rate** of {} limits {them}", quantity(most, Dimension::BitsPerSecond)));
        }
        let ends: Vec<String> = [(self.rwnd, "receive window"), (self.sndbuf, "send buffer")]
            .iter()
            .filter(|(v, _)| *v >= NAMED)
            .map(|(v, what)| format!("the **{what}** limits {them} for {} of the time", part(*v)))
            .collect();
        let unused = self.port(data).filter(|p| p.utilization < FULL);
        let busiest = |p: &Port| format!("{}, the busiest link, is {} utilized", p.name, part(p.utilization));
        match (ends.is_empty(), unused) {
            (true, port) => port.map(|p| format!("the **congestion window** limits {them}: {}", busiest(p))),
            (false, Some(p)) if self.rwnd + self.sndbuf < MOSTLY => {
                Some(format!("{}, the congestion window for the rest: {}", ends.join(", "), busiest(p)))
            }
            (false, _) => Some(ends.join(", ")),
        }
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
            Some(port) if port.utilization >= FULL && self.own => format!("own link {}", port.name),
            Some(port) if port.utilization >= FULL => format!("link {}", port.name),
            _ => "congestion window".to_owned(),
        }
    }

    fn port<'a>(&self, data: &'a Data) -> Option<&'a Port> {
        self.busiest.map(|p| &data.ports[p])
    }
}
