//! Figures that can be requested, such as `p99 of small slowdown`.

use crate::decisions::{ItemKind, WorkItem};
use crate::dimension::Dimension;
use crate::size_bin::SizeBin;
use forebay_types::{PortId, Rate, Time, WorkloadId};
use std::fmt;

/// Statistic over messages or queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// A quantile, above 0 and below 1.
    Quantile(f64),
}

/// Value of a message or query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Completion time of a message outside queries over that on an unloaded path.
    Slowdown,
    /// Completion time of a message outside queries, seconds.
    MessageTime,
    /// Completion time of a query, seconds.
    QueryTime,
    /// Payload that all messages, also endless ones, deliver in an interval, bits per second.
    Goodput,
    /// Mean queue of a port in an interval, packets.
    Queue,
    /// Part of the rate of a port that it sends in an interval.
    Utilization,
}

/// Messages or queries that a figure counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Population {
    /// All of them.
    All,
    /// Messages of a size class.
    Sizes(SizeBin),
    /// Messages or queries of the workloads with this name.
    Class {
        /// The name.
        name: String,
        /// The workloads.
        workloads: Vec<WorkloadId>,
    },
    /// Intervals of a port.
    Port {
        /// Its name.
        name: String,
        /// Its number and rate, once the network is known.
        port: Option<(PortId, Rate)>,
    },
}

/// A number about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Statistic.
    pub statistic: Statistic,
    /// Messages or queries that count.
    pub population: Population,
    /// Their value.
    pub quantity: Quantity,
}

/// Names of the quantities.
const QUANTITIES: [(&str, Quantity); 6] = [
    ("slowdown", Quantity::Slowdown),
    ("fct", Quantity::MessageTime),
    ("qct", Quantity::QueryTime),
    ("goodput", Quantity::Goodput),
    ("queue", Quantity::Queue),
    ("utilization", Quantity::Utilization),
];

/// Names of the size classes.
const SIZES: [(&str, SizeBin); 3] = [("small", SizeBin::Small), ("medium", SizeBin::Medium), ("large", SizeBin::Large)];

/// Legal form of the text of a figure.
pub const FORM: &str = "\"mean of ...\" or \"p99 of ...\" (p and a percentage), then `small`, `medium`, `large` or the class of a workload if not all \
                        messages count, then `slowdown`, `fct` (completion time of messages), `qct` (of queries) or `goodput` (of all messages together); or \
                        \"mean of PORT queue\" and \"mean of PORT utilization\", such as \"mean of bottleneck queue\"";

impl Figure {
    /// Reads `p99 of small slowdown` for a scenario whose workloads have these classes, in their order.
    ///
    /// # Errors
    /// The part that is wrong.
    pub fn parse(text: &str, classes: &[&str]) -> Result<Figure, String> {
        let (statistic, rest) =
            text.trim().split_once(" of ").ok_or_else(|| format!("\"{text}\" is not of the form \"p99 of small slowdown\""))?;
        let statistic = statistic.trim();
        let statistic = match (statistic, statistic.strip_prefix('p').and_then(|n| n.parse::<f64>().ok())) {
            ("mean", _) => Statistic::Mean,
            (_, Some(percent)) if percent > 0.0 && percent < 100.0 => Statistic::Quantile(percent / 100.0),
            _ => return Err(format!("`{statistic}` is not a statistic")),
        };
        let rest = rest.trim();
        let (population, quantity) = rest.rsplit_once(' ').unwrap_or(("", rest));
        let (_, quantity) =
            QUANTITIES.iter().find(|(name, _)| *name == quantity).ok_or_else(|| format!("`{quantity}` is not a quantity"))?;
        let name = population.trim();
        if matches!(quantity, Quantity::Queue | Quantity::Utilization) {
            if statistic != Statistic::Mean {
                return Err("queues and utilizations of ports have a mean only".to_owned());
            }
            if name.is_empty() {
                return Err("the name of a port is missing, such as \"mean of bottleneck queue\"".to_owned());
            }
            return Ok(Figure {
                statistic,
                population: Population::Port { name: name.to_owned(), port: None },
                quantity: *quantity,
            });
        }
        let workloads: Vec<WorkloadId> =
            classes.iter().enumerate().filter(|(_, class)| **class == name).map(|(i, _)| WorkloadId::from_index(i)).collect();
        let population = match SIZES.iter().find(|(word, _)| *word == name) {
            _ if name.is_empty() => Population::All,
            // A class of this name comes first.
            _ if !workloads.is_empty() => Population::Class { name: name.to_owned(), workloads },
            Some(_) if *quantity == Quantity::QueryTime => return Err(format!("queries have no size class such as `{name}`")),
            Some(_) if *quantity == Quantity::Goodput => {
                return Err(format!("goodput is that of all messages or of a workload, whatever their sizes such as `{name}`"));
            }
            Some((_, sizes)) => Population::Sizes(*sizes),
            None => return Err(format!("no workload has the class `{name}`")),
        };
        Ok(Figure { statistic, population, quantity: *quantity })
    }

    /// Name of its port, if it is about one.
    pub fn port(&self) -> Option<&str> {
        if let Population::Port { name, .. } = &self.population { Some(name) } else { None }
    }

    /// Number of its port, if it is about one that is known.
    pub fn port_id(&self) -> Option<PortId> {
        if let Population::Port { port, .. } = &self.population { port.map(|p| p.0) } else { None }
    }

    /// Sets number and rate of its port.
    pub fn set_port(&mut self, id: PortId, rate: Rate) {
        if let Population::Port { port, .. } = &mut self.population {
            *port = Some((id, rate));
        }
    }

    /// The figure that the first sentence about a run reports. It is the 99th percentile of query times if there are queries. Otherwise it is that of the
    /// completion times of small messages, or else of medium ones, or else the mean of large ones. If all messages are endless, it is the mean goodput.
    /// `None` without messages.
    pub fn headline(work: &[WorkItem]) -> Option<Figure> {
        let p99 = Statistic::Quantile(0.99);
        let figure = |statistic, population, quantity| Figure { statistic, population, quantity };
        let all = [
            figure(p99, Population::All, Quantity::QueryTime),
            figure(p99, Population::Sizes(SizeBin::Small), Quantity::MessageTime),
            figure(p99, Population::Sizes(SizeBin::Medium), Quantity::MessageTime),
            figure(Statistic::Mean, Population::Sizes(SizeBin::Large), Quantity::MessageTime),
            figure(Statistic::Mean, Population::All, Quantity::Goodput),
        ];
        all.into_iter().find(|f| work.iter().any(|item| f.counts(item)))
    }

    /// Returns true if the figure counts `item`.
    pub fn counts(&self, item: &WorkItem) -> bool {
        let kind = match self.quantity {
            Quantity::QueryTime => item.kind == ItemKind::Query,
            Quantity::MessageTime => item.kind == ItemKind::Message,
            Quantity::Slowdown => item.kind == ItemKind::Message && item.ideal > Time::ZERO,
            Quantity::Goodput => item.kind == ItemKind::Interval,
            Quantity::Queue => self.port_id().is_some_and(|port| item.kind == ItemKind::Queue(port)),
            Quantity::Utilization => self.port_id().is_some_and(|port| item.kind == ItemKind::Sent(port)),
        };
        kind && match &self.population {
            Population::All | Population::Port { .. } => true,
            Population::Sizes(bin) => SizeBin::of(item.size_bytes) == *bin,
            Population::Class { workloads, .. } => workloads.contains(&item.workload),
        }
    }

    /// Value of an item that takes `taken`, or has taken it so far.
    pub fn value(&self, item: &WorkItem, taken: Time) -> f64 {
        match self.quantity {
            Quantity::Slowdown => taken.0 as f64 / item.ideal.0 as f64,
            Quantity::MessageTime | Quantity::QueryTime => taken.as_secs_f64(),
            Quantity::Goodput => item.size_bytes as f64 * 8.0 / taken.as_secs_f64(),
            Quantity::Queue => item.size_bytes as f64 / taken.0 as f64,
            Quantity::Utilization => {
                let rate = if let Population::Port { port: Some((_, rate)), .. } = &self.population { rate.0 } else { 0 };
                item.size_bytes as f64 * 8.0 / (taken.as_secs_f64() * rate as f64)
            }
        }
    }

    /// True for a message whose payload this figure of intervals counts; all messages for one of a port.
    pub(crate) fn carries(&self, item: &WorkItem) -> bool {
        match &self.population {
            Population::Class { workloads, .. } => workloads.contains(&item.workload),
            Population::All | Population::Sizes(_) | Population::Port { .. } => true,
        }
    }

    /// True for completion times and slowdowns.
    pub fn is_time(&self) -> bool {
        matches!(self.quantity, Quantity::Slowdown | Quantity::MessageTime | Quantity::QueryTime)
    }

    /// Dimension of its values.
    pub fn dimension(&self) -> Dimension {
        match self.quantity {
            Quantity::Slowdown => Dimension::Ratio,
            Quantity::MessageTime | Quantity::QueryTime => Dimension::Seconds,
            Quantity::Goodput => Dimension::BitsPerSecond,
            Quantity::Queue => Dimension::Packets,
            Quantity::Utilization => Dimension::Fraction,
        }
    }

    /// Name in a sentence: `p99 slowdown of small messages`.
    pub fn phrase(&self) -> String {
        if self.quantity == Quantity::Goodput {
            let of = if let Population::Class { name, .. } = &self.population { format!(" of {name}") } else { String::new() };
            return format!("{} goodput{of}", self.statistic);
        }
        if let Population::Port { name, .. } = &self.population {
            let quantity = if self.quantity == Quantity::Queue { "queue" } else { "utilization" };
            return format!("{} {quantity} of port {name}", self.statistic);
        }
        let unit = if self.quantity == Quantity::QueryTime { "queries" } else { "messages" };
        let of = match &self.population {
            Population::All => unit.to_owned(),
            Population::Sizes(bin) => format!("{} {unit}", size_name(*bin)),
            Population::Class { name, .. } | Population::Port { name, .. } => format!("{unit} of {name}"),
        };
        let quantity = if self.quantity == Quantity::Slowdown { "slowdown" } else { "completion time" };
        format!("{} {quantity} of {of}", self.statistic)
    }
}

fn size_name(bin: SizeBin) -> &'static str {
    SIZES.iter().find(|(_, known)| *known == bin).map_or("", |(name, _)| name)
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Mean => f.write_str("mean"),
            // Six digits hide the rounding of the fraction.
            Statistic::Quantile(p) => write!(f, "p{}", (p * 1e8).round() / 1e6),
        }
    }
}

/// The text that [`Figure::parse`] reads.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantity = QUANTITIES.iter().find(|(_, known)| *known == self.quantity).map_or("", |(name, _)| name);
        match &self.population {
            Population::All => write!(f, "{} of {quantity}", self.statistic),
            Population::Sizes(bin) => write!(f, "{} of {} {quantity}", self.statistic, size_name(*bin)),
            Population::Class { name, .. } | Population::Port { name, .. } => {
                write!(f, "{} of {name} {quantity}", self.statistic)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{GroupId, TimeOrNever};

    const CLASSES: [&str; 3] = ["reads", "copies", "reads"];

    #[test]
    fn texts_roundtrip() {
        for text in [
            "p99 of small slowdown",
            "p99.9 of slowdown",
            "mean of large fct",
            "p50 of reads fct",
            "p95 of qct",
            "mean of reads goodput",
            "mean of leaf0->h2 queue",
            "mean of bottleneck utilization",
        ] {
            assert_eq!(Figure::parse(text, &CLASSES).unwrap().to_string(), text);
        }
        let reads = Figure::parse("p50 of reads fct", &CLASSES).unwrap();
        let workloads = vec![WorkloadId::new(0), WorkloadId::new(2)];
        assert_eq!(reads.population, Population::Class { name: "reads".into(), workloads });
        assert_eq!(reads.phrase(), "p50 completion time of messages of reads");
        assert_eq!(Figure::parse("p99 of small slowdown", &[]).unwrap().phrase(), "p99 slowdown of small messages");
    }

    #[test]
    fn wrong_texts_are_named() {
        for (text, part) in [
            ("p99", "p99 of small slowdown"),
            ("p0 of fct", "`p0`"),
            ("p100 of fct", "`p100`"),
            ("max of fct", "`max`"),
            ("p99 of small", "`small`"),
            ("p99 of writes fct", "`writes`"),
            ("p99 of small qct", "`small`"),
            ("mean of small goodput", "`small`"),
            ("mean of queue", "name of a port"),
            ("p99 of bottleneck queue", "mean only"),
        ] {
            let why = Figure::parse(text, &CLASSES).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    /// 30 packets times microseconds in 10 us, and 5000 bytes of a link of 10 Gbps.
    #[test]
    fn ports_have_means_of_intervals() {
        let [port, other] = [3, 4].map(PortId::new);
        let item = |kind, size_bytes| WorkItem {
            kind,
            workload: WorkloadId::new(0),
            group: GroupId::new(0),
            size_bytes,
            start: Time::from_us(20),
            end: TimeOrNever::at(Time::from_us(30)),
            ideal: Time::ZERO,
            opens: false,
            timeouts: 0,
            lost: false,
        };
        let figure = |text: &str| {
            let mut figure = Figure::parse(text, &[]).unwrap();
            figure.set_port(port, Rate(10_000_000_000));
            figure
        };
        let (queue, busy) = (figure("mean of bottleneck queue"), figure("mean of bottleneck utilization"));
        let (queued, sent) = (item(ItemKind::Queue(port), 30_000_000), item(ItemKind::Sent(port), 5_000));
        assert!(queue.counts(&queued) && !queue.counts(&sent) && busy.counts(&sent) && !busy.counts(&queued));
        assert!(!queue.counts(&item(ItemKind::Queue(other), 1)));
        let taken = Time::from_us(10);
        assert!((queue.value(&queued, taken) - 3.0).abs() < 1e-12 && (busy.value(&sent, taken) - 0.4).abs() < 1e-12);
        assert_eq!(queue.phrase(), "mean queue of port bottleneck");
    }

    #[test]
    fn headline_prefers_queries_then_small_messages() {
        let message = |size_bytes, kind| WorkItem {
            kind,
            workload: WorkloadId::new(0),
            group: GroupId::new(0),
            size_bytes,
            start: Time::ZERO,
            end: TimeOrNever::NEVER,
            ideal: Time(1),
            opens: false,
            timeouts: 0,
            lost: false,
        };
        let of = |work: &[WorkItem]| Figure::headline(work).map(|f| f.to_string());
        assert_eq!(of(&[message(10, ItemKind::QueryMessage)]), None);
        assert_eq!(of(&[message(20_000_000, ItemKind::Message)]).as_deref(), Some("mean of large fct"));
        assert_eq!(
            of(&[message(200_000, ItemKind::Message), message(10, ItemKind::Message)]).as_deref(),
            Some("p99 of small fct")
        );
        let query = message(0, ItemKind::Query);
        assert_eq!(of(&[message(10, ItemKind::Message), query]).as_deref(), Some("p99 of qct"));
        assert_eq!(of(&[message(10, ItemKind::Interval)]).as_deref(), Some("mean of goodput"));
    }
}
