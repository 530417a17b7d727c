//! Random parameters of a queue discipline, within what its registry entry says.

use forebay_queues::{Queue, QueueEntry};
use forebay_types::param::{Kind, Param, Value, Values};
use forebay_types::{Bytes, QueueLen, Rate, Rng};

/// A length in the unit of `like`, up to a bit more than it.
fn length(like: QueueLen, rng: &mut Rng) -> QueueLen {
    match like {
        QueueLen::Packets(n) => QueueLen::Packets(1 + rng.below(n + 3)),
        QueueLen::Bytes(n) => QueueLen::Bytes(1 + rng.below(n + 3000)),
    }
}

/// A length in either unit.
fn any_length(buffer: QueueLen, rng: &mut Rng) -> QueueLen {
    match rng.below(2) {
        0 => length(QueueLen::Packets(20), rng),
        _ if matches!(buffer, QueueLen::Packets(_)) => length(QueueLen::Bytes(20_000), rng),
        _ => length(buffer, rng),
    }
}

/// Something that a scenario could say for `p`.
fn value(p: &Param, buffer: QueueLen, rate: Rate, rng: &mut Rng) -> Value {
    if p.default == Some("") && rng.below(2) == 0 {
        return Value::Unset;
    }
    match p.kind {
        Kind::Int(low, high) => {
            // Many of what there may be many of would never be reached.
            let high = match p.key {
                "m" => 9,
                "limit" | "flows" | "drop-batch" => 40,
                _ => high,
            };
            Value::Int(low + rng.below((high - low) as u64 + 1) as i64)
        }
        Kind::Float(low, high) => {
            // Waiting times are microseconds here, and PIE's weights multiply seconds.
            let small = match p.key {
                "weight" => 0.3,
                "alpha" | "beta" => 0.1,
                _ => 1.0,
            };
            Value::Float(match rng.below(4) {
                0 => low,
                1 => 1.0f64.min(high),
                _ => low + rng.unit() * rng.unit() * (high - low) * small,
            })
        }
        Kind::Bool => Value::Bool(rng.below(2) == 0),
        // Down to many rounds for a packet.
        Kind::Bytes if p.key == "quantum" => Value::Bytes(Bytes(1 + (rng.below(3000) >> rng.below(12)))),
        Kind::Bytes => Value::Bytes(Bytes(40 + rng.below(3000))),
        // Up to some dozen packets' times.
        Kind::Time => {
            let most = if p.key == "burst" { 6_000 } else { [3_000, 60_000][rng.below(2) as usize] };
            Value::Time(rate.tx_time(1 + rng.below(most)))
        }
        Kind::QueueLen if p.key == "reserve" => Value::QueueLen(length(buffer, rng)),
        Kind::QueueLen => Value::QueueLen(any_length(buffer, rng)),
        Kind::QueueLens => Value::QueueLens((0..rng.below(8)).map(|_| any_length(buffer, rng)).collect()),
        Kind::Ints(low, high) => {
            let count = if p.key == "map" { 8 } else { rng.below(8) };
            Value::Ints((0..count).map(|_| low + rng.below((high - low) as u64 + 1) as i64).collect())
        }
        Kind::Choice(words) => Value::Text(words[rng.below(words.len() as u64) as usize].into()),
        _ => panic!("no discipline has a parameter such as {}", p.key),
    }
}

/// A queue for a port with this buffer: draws parameters until they make sense together.
pub(crate) fn built(entry: &QueueEntry, buffer: QueueLen, rate: Rate, rng: &mut Rng) -> Queue {
    loop {
        let mut values: Vec<(&'static str, Value)> =
            entry.entry.params.iter().map(|p| (p.key, value(p, buffer, rate, rng))).collect();
        // Congestion control thresholds have one unit and lie within the queue's length.
        if let (Some(min), Some(max)) = (values.iter().position(|v| v.0 == "min"), values.iter().position(|v| v.0 == "max")) {
            let unit = any_length(buffer, rng);
            values[min].1 = Value::QueueLen(length(unit, rng));
            values[max].1 = Value::QueueLen(length(unit, rng));
        }
        // Thresholds of single queues under strict priority have no C: the world `linux` refuses them.
        if entry.entry.name == "strict-priority" {
            values.iter_mut().filter(|v| v.0 == "ks").for_each(|v| v.1 = Value::Unset);
        }
        if let Ok(queue) = (entry.build)(&Values(values), Some(buffer)) {
            return queue;
        }
    }
}
