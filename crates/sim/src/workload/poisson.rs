//! Open loop: flows of a size distribution arrive at random times, at a given load.

use super::load::flows_per_sec;
use super::pairs::{FROM_DOC, TO_DOC, hosts_or_group, name};
use super::{BuildError, Context, WorkloadEntry, must_end, times};
use crate::config::WorkloadKind;
use crate::topology::{optional, required};
use forebay_param::{Entry, Kind, Values};
use forebay_units::{NodeId, Time};

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "poisson",
        summary: "flows arrive as a Poisson process at a given load, with sizes from a table or distribution, between random hosts",
        params: &[
            optional("from", Kind::Hosts, "", FROM_DOC),
            optional("to", Kind::Hosts, "", TO_DOC),
            required("sizes", Kind::SizeDist, "payload bytes of a flow"),
            required(
                "load",
                Kind::Float(0.0001, 2.0),
                "mean offered traffic as a fraction of the reference rate that `load-at` names: flows per second = load * reference / \
                 (8 * mean bytes of a flow). Above 1 is overload",
            ),
            optional(
                "load-of",
                Kind::Choice(&["payload", "wire"]),
                "payload",
                "bytes of a flow that count: its payload, or what its data segments occupy on the wire (payload + header for each \
                 started segment of mss bytes; no ACKs, SYNs or retransmissions)",
            ),
            optional(
                "load-at",
                Kind::Choice(&["hosts", "bottleneck"]),
                "hosts",
                "reference rate: the sum of the interface rates of the `from` hosts, so that each sends at `load` of its rate; or the \
                 rate of the topology's port `bottleneck`, which is right when every flow crosses it",
            ),
            optional("start", Kind::Time, "0s", "arrivals begin here"),
            optional("stop", Kind::Time, "", "no arrivals from here on. Default: the end of simulated time"),
            optional("flows", Kind::Int(1, 1_000_000_000), "", "at most this many flows. Default: no limit"),
        ],
    },
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let from = distinct(hosts_or_group(values, "from", context, &["senders", "left"])?, "from", context)?;
    let to = distinct(hosts_or_group(values, "to", context, &["receiver", "right"])?, "to", context)?;
    if let [only] = to[..]
        && from.contains(&only)
    {
        return Err(BuildError::new(
            "to",
            format!("host `{}` is among the sources and would have nobody to send to", name(context, only)),
        ));
    }
    let sizes = values.size_dist("sizes");
    let (start, stop) = (values.time("start"), values.opt_time("stop"));
    if let Some(stop) = stop
        && stop <= start
    {
        return Err(BuildError::new("stop", format!("must be later than `start` ({start})")));
    }
    times::fits("start", start, Time::ZERO, 0, Time::ZERO)?;
    let flows = values.opt_int("flows").map(|n| n as u64);
    must_end(context, stop.is_some() || flows.is_some(), "stop")?;
    let flows_per_sec = flows_per_sec(values, context, &from, &sizes)?;
    Ok(WorkloadKind::Poisson { from, to, sizes, flows_per_sec, start, stop, flows })
}

/// A host listed twice would be drawn twice as often and counted twice in the load.
fn distinct(hosts: Vec<NodeId>, key: &'static str, context: &Context<'_>) -> Result<Vec<NodeId>, BuildError> {
    let mut sorted = hosts.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(w) => Err(BuildError::new(key, format!("host `{}` is listed more than once", name(context, w[0])))),
        None => Ok(hosts),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_param::Value;
    use forebay_sampling::SizeDist;

    fn given(load: f64, extra: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
        let mut all = vec![("sizes", Value::SizeDist(SizeDist::Const(14_600))), ("load", Value::Float(load))];
        all.extend_from_slice(extra);
        all
    }

    fn rate(world: &World, load: f64, extra: &[(&'static str, Value)]) -> f64 {
        match world.build("poisson", &given(load, extra)).unwrap() {
            WorkloadKind::Poisson { flows_per_sec, .. } => flows_per_sec,
            other => panic!("{other:?}"),
        }
    }

    fn word(key: &'static str, w: &str) -> (&'static str, Value) {
        (key, Value::Text(w.into()))
    }

    #[test]
    fn load_against_the_closed_form() {
        let racks = World::racks();
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        // 12 hosts at 1 Gbps.
        close(rate(&racks, 0.6, &[]), 0.6 * 12e9 / (8.0 * 14_600.0));
        close(rate(&racks, 0.6, &[word("load-of", "wire")]), 0.6 * 12e9 / (8.0 * 15_000.0));
        close(rate(&racks, 0.6, &[("from", Value::Hosts(vec![0, 1]))]), 0.6 * 2e9 / (8.0 * 14_600.0));
        let one = World::many_to_one(5);
        close(rate(&one, 0.5, &[word("load-at", "bottleneck")]), 0.5 * 1e9 / (8.0 * 14_600.0));
        close(rate(&one, 0.5, &[]), 0.5 * 5e9 / (8.0 * 14_600.0));
    }

    #[test]
    fn mistakes_are_refused() {
        let mut w = World::racks();
        assert_eq!(w.refused("poisson", &given(0.5, &[word("load-at", "bottleneck")])), "load-at");
        assert_eq!(w.refused("poisson", &given(0.5, &[("to", Value::Hosts(vec![3]))])), "to");
        assert_eq!(w.refused("poisson", &given(0.5, &[("from", Value::Hosts(vec![3, 1, 3]))])), "from");
        let (start, stop) = (("start", Value::Time(Time::from_us(5))), ("stop", Value::Time(Time::from_us(5))));
        assert_eq!(w.refused("poisson", &given(0.5, &[start, stop])), "stop");
        w.duration = None;
        assert_eq!(w.refused("poisson", &given(0.5, &[])), "stop");
        assert!(w.build("poisson", &given(0.5, &[("flows", Value::Int(10))])).is_ok());
    }
}
