//! Trains on persistent connections: write, pause, write again.

use super::pairs::{FROM_DOC, PATTERN, PATTERN_SEED, PER_PAIR, TO_DOC, pairs};
use super::times::{fits, repeats_fit};
use super::{BuildError, Context, WorkloadEntry, must_end};
use crate::config::WorkloadKind;
use crate::topology::{optional, required};
use forebay_param::{Entry, Kind, Values};
use forebay_units::Time;

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "on-off",
        summary: "each connection writes trains of data with pauses between them",
        params: &[
            optional("from", Kind::Hosts, "", FROM_DOC),
            optional("to", Kind::Hosts, "", TO_DOC),
            PATTERN,
            PATTERN_SEED,
            PER_PAIR,
            required("sizes", Kind::SizeDist, "payload bytes of a train"),
            required("gaps", Kind::TimeDist, "length of a pause; the first pause precedes the first train"),
            optional(
                "gap-from",
                Kind::Choice(&["completion", "start"]),
                "completion",
                "a pause runs from the moment the train before it is acknowledged (closed loop), or from the moment that train was \
                 written (open loop: trains queue up on a slow connection)",
            ),
            optional(
                "trains",
                Kind::Int(1, 4_294_967_295),
                "",
                "trains on each connection, `last-size` not counted. Default: until the end",
            ),
            optional("start", Kind::Time, "0s", "start of the first pause"),
            optional(
                "last-size",
                Kind::Bytes,
                "",
                "size of an additional last train on every connection, with `last-at`. Default: none",
            ),
            optional(
                "last-at",
                Kind::Time,
                "",
                "time at which the last train is written, from the start of the simulation; no train follows it",
            ),
        ],
    },
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let pairs = pairs(values, context, "from", "to")?;
    let gaps = values.time_dist("gaps");
    let after_completion = values.text("gap-from") == "completion";
    let trains = values.opt_int("trains").map(|n| n as u32);
    let start = values.time("start");
    let last = match (values.opt_time("last-at"), values.opt_bytes("last-size").map(|b| b.0)) {
        (None, None) => None,
        (Some(_), Some(0)) => return Err(BuildError::new("last-size", "a train has at least 1B")),
        (Some(at), Some(size)) => Some((at, size)),
        (Some(_), None) => return Err(BuildError::new("last-size", "`last-at` needs `last-size`")),
        (None, Some(_)) => return Err(BuildError::new("last-at", "`last-size` needs `last-at`")),
    };
    if let Some((at, _)) = last {
        if at < start {
            return Err(BuildError::new("last-at", format!("must not be before `start` ({start})")));
        }
        fits("last-at", at, Time::ZERO, 0, Time::ZERO)?;
    }
    must_end(context, trains.is_some() || last.is_some(), "trains")?;
    // Without time between two writes an endless open loop would stay at one instant forever.
    if !after_completion && trains.is_none() && gaps.longest() == Time::ZERO {
        return Err(BuildError::new("gaps", "endless trains with `gap-from = \"start\"` need a pause longer than 0"));
    }
    repeats_fit("gaps", context, start, gaps.longest(), trains)?;
    Ok(WorkloadKind::OnOff { pairs, sizes: values.size_dist("sizes"), gaps, after_completion, trains, start, last })
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_param::Value;
    use forebay_sampling::{SizeDist, TimeDist};
    use forebay_units::Bytes;

    fn given(gap: Time, extra: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
        let mut all =
            vec![("sizes", Value::SizeDist(SizeDist::Uniform(2_000, 10_000))), ("gaps", Value::TimeDist(TimeDist::Const(gap)))];
        all.extend_from_slice(extra);
        all
    }

    #[test]
    fn builds() {
        let w = World::many_to_one(5);
        let last = [("last-size", Value::Bytes(Bytes(140_000))), ("last-at", Value::Time(Time::from_ms(500)))];
        match w.build("on-off", &given(Time::from_ms(1), &last)).unwrap() {
            WorkloadKind::OnOff { pairs, after_completion, trains, last, .. } => {
                assert_eq!((pairs.len(), after_completion, trains), (5, true, None));
                assert_eq!(last, Some((Time::from_ms(500), 140_000)));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn mistakes_are_refused() {
        let mut w = World::many_to_one(5);
        let ms = Time::from_ms(1);
        let size = ("last-size", Value::Bytes(Bytes(1)));
        let at = ("last-at", Value::Time(ms));
        assert_eq!(w.refused("on-off", &given(ms, std::slice::from_ref(&size))), "last-at");
        assert_eq!(w.refused("on-off", &given(ms, std::slice::from_ref(&at))), "last-size");
        assert_eq!(w.refused("on-off", &given(ms, &[at.clone(), ("last-size", Value::Bytes(Bytes(0)))])), "last-size");
        assert_eq!(w.refused("on-off", &given(ms, &[size, at, ("start", Value::Time(ms + ms))])), "last-at");
        let open = ("gap-from", Value::Text("start".into()));
        assert_eq!(w.refused("on-off", &given(Time::ZERO, std::slice::from_ref(&open))), "gaps");
        assert!(w.build("on-off", &given(Time::ZERO, &[open, ("trains", Value::Int(3))])).is_ok());
        assert!(w.build("on-off", &given(Time::ZERO, &[])).is_ok());
        assert_eq!(w.refused("on-off", &given(Time::NEVER, &[])), "gaps");
        w.duration = None;
        assert_eq!(w.refused("on-off", &given(ms, &[])), "trains");
    }
}
