//! Workload `udp`: unresponsive sources that send datagrams at a constant rate.

use super::pairs::{FROM, PATTERN, PATTERN_SEED, PER_PAIR, TO, name, pairs};
use super::{BuildError, Context, WorkloadEntry, times};
use crate::traffic::{Datagram, WorkloadKind};
use forebay_types::param::{Entry, Kind, Values, optional, required};
use forebay_types::{Bytes, NodeId, Rate, Time};
use std::collections::BTreeMap;

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "udp",
        summary: "datagrams at a constant rate from each source, without congestion control: unresponsive background",
        params: &[
            FROM,
            TO,
            PATTERN,
            PATTERN_SEED,
            PER_PAIR,
            required("rate", Kind::Rate, "rate of each source on the wire while it sends, headers included"),
            optional("packet", Kind::Bytes, "1500B", "bytes of a packet on the wire"),
            optional(
                "header",
                Kind::Bytes,
                "28B",
                "bytes of `packet` that are headers (IPv4 and UDP: 28 B); the rest is payload",
            ),
            optional(
                "packet-jitter",
                Kind::Time,
                "0s",
                "random delay of each packet, uniform between 0 and this; the rate does not change. At most the time between packets",
            ),
            optional(
                "on",
                Kind::TimeDist,
                "",
                "length of the sending periods, with `off`; their mean is at least a thousandth of the time between packets. Default: continuous sending",
            ),
            optional("off", Kind::TimeDist, "", "length of the pauses between sending periods"),
            optional("start", Kind::Time, "0s", "time of the first packet"),
            optional("jitter", Kind::Time, "0s", "random delay of the start of each source, uniform between 0 and this"),
            optional(
                "stop",
                Kind::Time,
                "",
                "no packet from here on. Default: the end of simulated time, or the end of all other work if the scenario has no `duration`",
            ),
            optional(
                "service",
                Kind::Int(0, 7),
                "0",
                "class of service of the packets, 7 is the most urgent; queues with classes use it",
            ),
            optional(
                "ect",
                Kind::Bool,
                "false",
                "ECN-capable: queues may mark packets instead of dropping them; the source does not react to marks",
            ),
        ],
    },
    transport: false,
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let pairs = pairs(values, context, "from", "to")?;
    let (packet, header) = (values.bytes("packet").0, values.bytes("header").0);
    let Ok(wire) = u16::try_from(packet) else {
        return Err(BuildError::new("packet", format!("is {}; legal: at most 65535 B", Bytes(packet))));
    };
    if header >= packet {
        return Err(BuildError::new("header", format!("{} leave no payload of `packet`, {}", Bytes(header), Bytes(packet))));
    }
    let rate = values.rate("rate");
    fits_interfaces(context, &pairs, rate)?;
    let gap = rate.tx_time(packet);
    let packet_jitter = values.time("packet-jitter");
    if packet_jitter > gap {
        return Err(BuildError::new(
            "packet-jitter",
            format!("is longer than {gap}, the time between packets: packets would be reordered"),
        ));
    }
    let periods = match (values.opt_time_dist("on"), values.opt_time_dist("off")) {
        (None, None) => None,
        (Some(on), Some(_)) if on.longest() == Time::ZERO => {
            return Err(BuildError::new("on", "is zero, so the source would send nothing"));
        }
        (Some(on), Some(off)) => {
            let least = shortest_mean(gap);
            if on.mean() < least.0 as f64 {
                let message = format!(
                    "has a mean of {} ps; legal: at least {least}, a thousandth of the time between packets ({gap})",
                    on.mean()
                );
                return Err(BuildError::new("on", message));
            }
            Some((on, off))
        }
        (Some(_), None) => return Err(BuildError::new("off", "`on` needs `off`")),
        (None, Some(_)) => return Err(BuildError::new("on", "`off` needs `on`")),
    };
    let [start, jitter] = ["start", "jitter"].map(|k| values.time(k));
    let stop = values.opt_time("stop");
    times::stops_later(start, stop)?;
    let period = periods.as_ref().map_or(Time::ZERO, |p| p.0.longest().saturating_add(p.1.longest()));
    times::fits("start", start, jitter.saturating_add(period), 1, gap + gap)?;
    let datagram = Datagram { wire, payload: wire - header as u16, class: values.int("service") as u8, ect: values.bool("ect") };
    Ok(WorkloadKind::Udp { pairs, datagram, rate, packet_jitter, periods, start, jitter, stop })
}

/// Shortest mean of `on`. Every period between two packets is drawn, which takes too long for periods of picoseconds and packets of milliseconds.
fn shortest_mean(gap: Time) -> Time {
    Time((gap.0 / 1_000).max(1))
}

/// Refuses sources faster than their interface: without congestion control, packets would pile up in the host.
fn fits_interfaces(context: &Context<'_>, pairs: &[(NodeId, NodeId)], rate: Rate) -> Result<(), BuildError> {
    let mut sources: BTreeMap<NodeId, u64> = BTreeMap::new();
    pairs.iter().for_each(|p| *sources.entry(p.0).or_default() += 1);
    // A host has one port.
    let interfaces: BTreeMap<NodeId, Rate> = context.network.ports.iter().map(|p| (p.from, p.rate)).collect();
    for (host, n) in sources {
        let interface = interfaces.get(&host).copied().unwrap_or(rate);
        if u128::from(rate.0) * u128::from(n) > u128::from(interface.0) {
            let host = name(context, host);
            let message = format!(
                "{n} x {rate} is more than the interface of host `{host}` carries ({interface}): lower it, or `per-pair`"
            );
            return Err(BuildError::new("rate", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::TimeDist;
    use forebay_types::param::Value;

    fn rate(mbps: u64) -> (&'static str, Value) {
        ("rate", Value::Rate(Rate(mbps * 1_000_000)))
    }

    #[test]
    fn builds() {
        let WorkloadKind::Udp { pairs, datagram, stop, .. } = World::many_to_one(2).build("udp", &[rate(100)]).unwrap() else {
            panic!()
        };
        assert_eq!((pairs, stop), (vec![(NodeId::new(0), NodeId::new(2)), (NodeId::new(1), NodeId::new(2))].into(), None));
        assert_eq!(datagram, Datagram { wire: 1_500, payload: 1_472, class: 0, ect: false });
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let w = World::many_to_one(2);
        let with = |more: &[(&'static str, Value)]| [&[rate(100)], more].concat();
        let bytes = |key: &'static str, n| (key, Value::Bytes(Bytes(n)));
        let us = |key: &'static str, n| (key, Value::Time(Time::from_us(n)));
        let dist = |key: &'static str, n| (key, Value::TimeDist(TimeDist::Const(Time::from_us(n))));
        assert_eq!(w.refused("udp", &with(&[bytes("packet", 65_536)])), "packet");
        assert_eq!(w.refused("udp", &with(&[bytes("packet", 28)])), "header");
        assert_eq!(w.refused("udp", &[rate(1_001)]), "rate");
        assert_eq!(w.refused("udp", &[rate(501), ("per-pair", Value::Int(2))]), "rate");
        assert!(w.build("udp", &[rate(500), ("per-pair", Value::Int(2))]).is_ok());
        // 1500 B at 100 Mbps are 120 us.
        assert_eq!(w.refused("udp", &with(&[us("packet-jitter", 121)])), "packet-jitter");
        assert!(w.build("udp", &with(&[us("packet-jitter", 120)])).is_ok());
        assert_eq!(w.refused("udp", &with(&[dist("on", 5)])), "off");
        assert_eq!(w.refused("udp", &with(&[dist("off", 5)])), "on");
        assert_eq!(w.refused("udp", &with(&[dist("on", 0), dist("off", 5)])), "on");
        // A thousandth of 120 us.
        let on = |ns| ("on", Value::TimeDist(TimeDist::Const(Time::from_ns(ns))));
        assert_eq!(w.refused("udp", &with(&[on(119), dist("off", 5)])), "on");
        assert!(w.build("udp", &with(&[on(120), dist("off", 5)])).is_ok());
        assert_eq!(w.refused("udp", &with(&[us("start", 5), us("stop", 5)])), "stop");
    }
}
