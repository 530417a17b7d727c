//! Workload `long`: one flow per pair of hosts, endless or of one size.

use super::pairs::{FROM, PATTERN, PATTERN_SEED, PER_PAIR, TO, pairs};
use super::{BuildError, Context, WorkloadEntry, must_end, times};
use crate::traffic::WorkloadKind;
use forebay_types::Time;
use forebay_types::param::{Entry, Kind, Values, optional};

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "long",
        summary: "one flow for each pair of hosts, endless or of a given size",
        params: &[
            FROM,
            TO,
            PATTERN,
            PATTERN_SEED,
            PER_PAIR,
            optional("size", Kind::Bytes, "", "payload bytes of each flow. Default: endless"),
            optional("start", Kind::Time, "0s", "start of the first flow"),
            optional(
                "stagger",
                Kind::Time,
                "0s",
                "each flow starts this much after the one before it, in the order of the sources",
            ),
            optional("jitter", Kind::Time, "0s", "each start is delayed further by a random time, uniform between 0 and this"),
            optional("stop-after", Kind::Time, "", "an endless flow stops writing this long after its own start. Default: never"),
        ],
    },
    transport: true,
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let pairs = pairs(values, context, "from", "to")?;
    let size = values.opt_bytes("size").map(|b| b.0);
    let stop_after = values.opt_time("stop-after");
    if size == Some(0) {
        return Err(BuildError::new("size", "a flow has at least 1B; leave `size` out for endless flows"));
    }
    if size.is_some() && stop_after.is_some() {
        return Err(BuildError::new("stop-after", "is for endless flows; leave out either this or `size`"));
    }
    must_end(context, size.is_some() || stop_after.is_some(), "size")?;
    let [start, stagger, jitter] = ["start", "stagger", "jitter"].map(|k| values.time(k));
    times::fits("stagger", start, stagger, pairs.len() as u64, jitter.saturating_add(stop_after.unwrap_or(Time::ZERO)))?;
    Ok(WorkloadKind::Long { pairs, size, start, stagger, jitter, stop_after })
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::param::Value;
    use forebay_types::{Bytes, NodeId};

    #[test]
    fn defaults_follow_the_topology() {
        let WorkloadKind::Long { pairs, size, start, .. } = World::many_to_one(3).build("long", &[]).unwrap() else { panic!() };
        assert_eq!(
            (pairs, size, start),
            (
                vec![(NodeId::new(0), NodeId::new(3)), (NodeId::new(1), NodeId::new(3)), (NodeId::new(2), NodeId::new(3))].into(),
                None,
                Time::ZERO
            )
        );
    }

    #[test]
    fn contradictions_are_refused() {
        let mut w = World::many_to_one(3);
        let (size, stop) = (("size", Value::Bytes(Bytes(9))), ("stop-after", Value::Time(Time::from_secs(1))));
        assert_eq!(w.refused("long", &[("size", Value::Bytes(Bytes(0)))]), "size");
        assert_eq!(w.refused("long", &[size.clone(), stop.clone()]), "stop-after");
        assert_eq!(w.refused("long", &[("stagger", Value::Time(Time(u64::MAX / 2)))]), "stagger");
        w.duration = None;
        assert_eq!(w.refused("long", &[]), "size");
        assert!(w.build("long", &[size]).is_ok());
        assert!(w.build("long", &[stop]).is_ok());
    }
}
