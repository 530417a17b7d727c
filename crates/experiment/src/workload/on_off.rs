//! Workload `on-off`: trains on persistent connections with pauses between them.

use super::deadline::{DEADLINE, DEADLINE_MAX_SIZE, deadline};
use super::pairs::{FROM, PATTERN, PATTERN_SEED, PER_PAIR, TO, pairs};
use super::times::{fits, repeats_fit};
use super::{BuildError, Context, WorkloadEntry, must_end};
use crate::traffic::{LastTrain, WorkloadKind};
use forebay_types::param::{Entry, Kind, Values, optional, required};
use forebay_types::{Bytes, SizeDist, Time};

/// Maximum number of trains whose sizes are drawn in advance; each takes 8 bytes of memory.
const MAX_PIECES: u64 = 20_000_000;
/// Minimum upper bound of the gap between endless trains.
const MIN_GAP: Time = Time::from_ns(1);

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "on-off",
        summary: "each connection writes trains of data with pauses between them",
        params: &[
            FROM,
            TO,
            PATTERN,
            PATTERN_SEED,
            PER_PAIR,
            required("sizes", Kind::SizeDist, "payload bytes of a train"),
            required("gaps", Kind::TimeDist, "length of a pause; a pause also precedes the first train"),
            optional(
                "gap-from",
                Kind::Choice(&["completion", "start"]),
                "completion",
                "start of a pause: when the previous train is acknowledged (closed loop), or when it was written (open loop: trains \
                 queue up on a slow connection)",
            ),
            optional(
                "trains",
                Kind::Int(1, 4_294_967_295),
                "",
                "trains on each connection, `last-size` not counted. Default: until the end",
            ),
            optional("start", Kind::Time, "0s", "start of the first pause"),
            optional("jitter", Kind::Time, "0s", "random delay of the start of each connection, uniform between 0 and this"),
            optional(
                "total",
                Kind::Bytes,
                "",
                "payload bytes of all trains of a connection, `last-size` not counted: the sizes drawn are scaled to add up to exactly this. \
                 Needs `trains`. Default: sizes are as drawn",
            ),
            optional("min-size", Kind::Bytes, "512B", "with `total`: no train is scaled below this"),
            optional(
                "connections",
                Kind::Choice(&["persistent", "per-train"]),
                "persistent",
                "persistent: all trains of a pair on one connection, which keeps its window; per-train: a new connection for each train \
                 (a pause shorter than a link's delay may then grow to that delay)",
            ),
            optional(
                "last-size",
                Kind::Bytes,
                "",
                "size of an additional last train on every connection, with `last-at`. Default: none",
            ),
            optional(
                "last-total",
                Kind::Bytes,
                "",
                "instead of `last-size`: total bytes of a connection, the last train included, which sets the size of that train",
            ),
            optional(
                "last-at",
                Kind::Time,
                "",
                "time at which the last train is written, from the start of the simulation; no train follows it",
            ),
            DEADLINE,
            DEADLINE_MAX_SIZE,
        ],
    },
    transport: true,
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let pairs = pairs(values, context, "from", "to")?;
    let gaps = values.time_dist("gaps");
    let after_completion = values.text("gap-from") == "completion";
    let trains = values.opt_int("trains").map(|n| n as u32);
    let start = values.time("start");
    let jitter = values.time("jitter");
    let fresh = values.text("connections") == "per-train";
    let sizes = values.size_dist("sizes");
    let last = last(values, &sizes, trains, fresh)?;
    if let Some((at, _)) = last {
        if at < start {
            return Err(BuildError::new("last-at", format!("must not be before `start` ({start})")));
        }
        fits("last-at", at, Time::ZERO, 0, Time::ZERO)?;
    }
    must_end(context, trains.is_some() || last.is_some(), "trains")?;
    // An endless open loop without gaps would not advance simulated time.
    if !after_completion && trains.is_none() && gaps.longest() < MIN_GAP {
        let text = format!("endless trains with `gap-from = \"start\"` need a longest gap of at least {MIN_GAP}");
        return Err(BuildError::new("gaps", text));
    }
    repeats_fit("gaps", context, start.saturating_add(jitter), gaps.longest(), trains)?;
    let total = total(values, &sizes, pairs.len() as u64, trains)?;
    let deadline = deadline(values)?;
    Ok(WorkloadKind::OnOff { pairs, sizes, gaps, after_completion, trains, start, last, total, fresh, jitter, deadline })
}

/// Time and size of the last train.
fn last(values: &Values, sizes: &SizeDist, trains: Option<u32>, fresh: bool) -> Result<Option<(Time, LastTrain)>, BuildError> {
    let bytes = |key| values.opt_bytes(key).map(|b| b.0);
    let at = values.opt_time("last-at");
    let (key, size) = match (bytes("last-size"), bytes("last-total")) {
        (None, None) if at.is_some() => {
            return Err(BuildError::new("last-size", "`last-at` needs `last-size` or `last-total`"));
        }
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(BuildError::new("last-total", "`last-size` and `last-total` exclude each other")),
        (Some(0), None) => return Err(BuildError::new("last-size", "a train has at least 1B")),
        (Some(size), None) => ("last-size", LastTrain::Bytes(size)),
        (None, Some(total)) => {
            let Some(trains) = trains else {
                return Err(BuildError::new("last-total", "needs `trains`: endless trains would leave no remainder"));
            };
            let most = u128::from(sizes.largest()) * u128::from(trains);
            if most >= u128::from(total) {
                return Err(BuildError::new(
                    "last-total",
                    format!("{trains} trains of up to {} can use all of it; legal: above {most}B", Bytes(sizes.largest())),
                ));
            }
            if fresh {
                let reason = "the total is per connection: remove either this or `connections = \"per-train\"`";
                return Err(BuildError::new("last-total", reason));
            }
            ("last-total", LastTrain::UpToTotal(total))
        }
    };
    match at {
        Some(at) => Ok(Some((at, size))),
        None => Err(BuildError::new("last-at", format!("`{key}` needs `last-at`"))),
    }
}

/// Total size of the trains of a connection, and the minimum of each.
fn total(values: &Values, sizes: &SizeDist, pairs: u64, trains: Option<u32>) -> Result<Option<(u64, u64)>, BuildError> {
    let Some(total) = values.opt_bytes("total").map(|b| b.0) else { return Ok(None) };
    let min_size = values.bytes("min-size").0;
    let Some(trains) = trains.map(u64::from) else {
        return Err(BuildError::new("total", "needs `trains`, the number of trains that share it"));
    };
    if pairs.saturating_mul(trains) > MAX_PIECES {
        return Err(BuildError::new(
            "total",
            format!("{pairs} connections of {trains} trains; at most {MAX_PIECES} in all can be scaled"),
        ));
    }
    if u128::from(sizes.largest()) * u128::from(trains) > u128::from(u64::MAX) {
        return Err(BuildError::new(
            "total",
            format!("{trains} sizes of up to {} are too large to be scaled", Bytes(sizes.largest())),
        ));
    }
    if u128::from(min_size) * u128::from(trains) > u128::from(total) {
        let wanted = u128::from(min_size) * u128::from(trains);
        return Err(BuildError::new("total", format!("{trains} trains of at least {} need {wanted}B", Bytes(min_size))));
    }
    Ok(Some((total, min_size)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::TimeDist;
    use forebay_types::param::Value;

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
                assert_eq!(last, Some((Time::from_ms(500), LastTrain::Bytes(140_000))));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn invalid_parameters_are_refused() {
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
        let kb = |key: &'static str, n: u64| (key, Value::Bytes(Bytes(n * 1_000)));
        let (trains, at) = (("trains", Value::Int(50)), ("last-at", Value::Time(ms * 500)));
        assert_eq!(w.refused("on-off", &given(ms, &[kb("total", 512)])), "total");
        assert_eq!(w.refused("on-off", &given(ms, &[kb("total", 25), trains.clone()])), "total");
        assert!(w.build("on-off", &given(ms, &[kb("total", 26), trains.clone()])).is_ok());
        assert_eq!(w.refused("on-off", &given(ms, &[kb("total", 1 << 30), ("trains", Value::Int(1 << 30))])), "total");
        // 50 trains of at most 10 KB.
        let rest = |n, more: &[(&'static str, Value)]| given(ms, &[&[kb("last-total", n), at.clone()], more].concat());
        assert!(w.build("on-off", &rest(501, std::slice::from_ref(&trains))).is_ok());
        assert_eq!(w.refused("on-off", &rest(500, std::slice::from_ref(&trains))), "last-total");
        assert_eq!(w.refused("on-off", &rest(501, &[])), "last-total");
        let fresh = ("connections", Value::Text("per-train".into()));
        assert_eq!(w.refused("on-off", &rest(501, &[trains.clone(), fresh])), "last-total");
        assert_eq!(w.refused("on-off", &rest(501, &[trains, kb("last-size", 1)])), "last-total");
        assert_eq!(w.refused("on-off", &given(ms, &[kb("deadline-max-size", 1)])), "deadline-max-size");
        w.duration = None;
        assert_eq!(w.refused("on-off", &given(ms, &[])), "trains");
    }
}
