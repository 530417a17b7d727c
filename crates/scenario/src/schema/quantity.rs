//! Quantities, numbers, texts and booleans.

use crate::schema::context::Cx;
use crate::schema::kind::{kind_text, range};
use crate::schema::limits::{MAX_BYTES, MAX_PACKETS, MAX_TIME};
use crate::text::doc::{Node, Raw};
use forebay_types::param::Kind;
use forebay_types::{Bytes, QuantityError, QueueLen, Rate, Time};
use std::str::FromStr;

/// Maximum length of a quantity.
const MAX_QUANTITY_LEN: usize = 100;

/// Reads a text with a unit; an error for a bare number advises to add one.
fn quantity<T: FromStr<Err = QuantityError>>(cx: &mut Cx, what: &str, node: &Node, kind: Kind, unit: &str) -> Option<T> {
    let legal = Some(format!("legal: {}", kind_text(kind)));
    match &node.raw {
        Raw::Text(s) if s.len() > MAX_QUANTITY_LEN => {
            cx.sink.error(node.at, format!("{what} holds a text of {} bytes", s.len()), "too long for a quantity", legal);
            None
        }
        Raw::Text(s) => match s.parse() {
            Ok(v) => Some(v),
            Err(QuantityError(message)) => {
                let label = match (s.trim_start().starts_with('-'), meant(s, kind)) {
                    (true, _) => "must not be negative".into(),
                    (false, Some(meant)) => format!("write \"{meant}\""),
                    (false, None) => "not a legal quantity".to_owned(),
                };
                cx.sink.error(node.at, format!("{what}: {message}"), label, legal);
                None
            }
        },
        Raw::Int(_) | Raw::Float(_) | Raw::OutOfRange(_) => {
            let number = node.describe();
            let advice = format!("quantities carry units: write \"{}{unit}\"", number.trim_start_matches('-'));
            cx.sink.error(node.at, format!("{what} is {number} without a unit"), advice, legal);
            None
        }
        _ => {
            cx.sink.error(
                node.at,
                format!("{what} must be {}, not {}", kind_text(kind), node.describe()),
                "expected a quantity",
                None,
            );
            None
        }
    }
}

/// Quantity with a unit of this program for one with a unit of another, such as `1G` of a rate.
fn meant(text: &str, kind: Kind) -> Option<String> {
    let text = text.trim();
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = (text[..at].trim(), text[at..].to_ascii_lowercase());
    number.parse::<f64>().ok()?;
    let prefix = unit.chars().next()?;
    let rest = &unit[prefix.len_utf8()..];
    let unit = match kind {
        Kind::Rate if "kmgt".contains(prefix) && ["", "b", "bit", "bits", "bit/s", "bits/s", "b/s"].contains(&rest) => {
            format!("{}bps", prefix.to_ascii_uppercase())
        }
        Kind::Bytes | Kind::BytesOrZero if "kmg".contains(prefix) && ["", "byte", "bytes"].contains(&rest) => {
            format!("{}B", prefix.to_ascii_uppercase())
        }
        Kind::QueueLen if "kmg".contains(prefix) && rest.is_empty() => format!("{}B", prefix.to_ascii_uppercase()),
        Kind::QueueLen if ["p", "pkts", "packets", "packet", "segments"].contains(&unit.as_str()) => "pkt".to_owned(),
        Kind::Time => match unit.as_str() {
            "sec" | "secs" | "seconds" | "second" => "s",
            "msec" | "msecs" | "millis" | "milliseconds" => "ms",
            "usec" | "usecs" | "micros" | "microseconds" => "us",
            "nsec" | "nsecs" | "nanos" | "nanoseconds" => "ns",
            _ => return None,
        }
        .to_owned(),
        _ => return None,
    };
    Some(format!("{number}{unit}"))
}

/// Display text of a time.
pub(crate) fn time_text(t: Time) -> String {
    if t == Time::ZERO { "0s".into() } else { t.to_string() }
}

/// Reads a time of at most `max`.
pub(crate) fn time(cx: &mut Cx, what: &str, node: &Node, max: Time) -> Option<Time> {
    let unit = if max > MAX_TIME { "s" } else { "us" };
    if let Raw::Float(seconds) = node.raw
        && (0.0..1e6).contains(&seconds)
    {
        // Other simulators write times as seconds.
        let meant = time_text(Time((seconds * 1e12).round() as u64));
        let label = format!("quantities carry units: write \"{meant}\" if it means seconds");
        cx.sink.error(node.at, format!("{what} is {} without a unit", node.describe()), label, None);
        return None;
    }
    let t: Time = quantity(cx, what, node, Kind::Time, unit)?;
    if t > max {
        let limit = match max.0 / Time::from_secs(86_400).0 {
            0 => time_text(max),
            days => format!("{days} days"),
        };
        cx.sink.error(node.at, format!("{what} is {}", node.describe()), format!("legal: at most {limit}"), None);
        return None;
    }
    Some(t)
}

pub(crate) fn rate(cx: &mut Cx, what: &str, node: &Node) -> Option<Rate> {
    let number = match node.raw {
        Raw::Int(i) => i as f64,
        Raw::Float(f) => f,
        _ => 0.0,
    };
    // Larger numbers are bits per second.
    if number > 10_000.0 && number <= Rate::MAX.0 as f64 {
        let label = format!("quantities carry units: write \"{}\" if it means bits per second", Rate(number.round() as u64));
        cx.sink.error(node.at, format!("{what} is {} without a unit", node.describe()), label, None);
        return None;
    }
    quantity(cx, what, node, Kind::Rate, "Gbps")
}

/// Reads a size of at least one byte.
pub(crate) fn bytes(cx: &mut Cx, what: &str, node: &Node) -> Option<Bytes> {
    let b: Bytes = quantity(cx, what, node, Kind::Bytes, "B")?;
    if b.0 == 0 || b.0 > MAX_BYTES {
        cx.sink.error(node.at, format!("{what} is {b}"), "legal: 1B to 1000000GB", None);
        return None;
    }
    Some(b)
}

/// Reads a size that may be zero.
pub(crate) fn bytes_or_zero(cx: &mut Cx, what: &str, node: &Node) -> Option<Bytes> {
    let b: Bytes = quantity(cx, what, node, Kind::BytesOrZero, "B")?;
    if b.0 > MAX_BYTES {
        cx.sink.error(node.at, format!("{what} is {b}"), "legal: 0B to 1000000GB", None);
        return None;
    }
    Some(b)
}

pub(crate) fn queue_len(cx: &mut Cx, what: &str, node: &Node) -> Option<QueueLen> {
    let q: QueueLen = quantity(cx, what, node, Kind::QueueLen, "pkt")?;
    let max = if matches!(q, QueueLen::Packets(_)) { MAX_PACKETS } else { MAX_BYTES };
    if q.amount() > max {
        cx.sink.error(node.at, format!("{what} is {q}"), format!("legal: at most {MAX_PACKETS}pkt or 1000000GB"), None);
        return None;
    }
    Some(q)
}

pub(crate) fn int(cx: &mut Cx, what: &str, node: &Node, lo: i64, hi: i64) -> Option<i64> {
    match &node.raw {
        Raw::Int(i) if (lo..=hi).contains(i) => return Some(*i),
        Raw::Int(_) | Raw::OutOfRange(_) => {
            cx.sink.error(node.at, format!("{what} is {}", node.describe()), format!("legal: {}", range(lo, hi)), None);
        }
        Raw::Text(s) if s.trim().parse::<i64>().is_ok() => {
            let message = format!("{what} must be an integer, not {}", node.describe());
            cx.sink.error(node.at, message, format!("write {} without quotes", s.trim()), None);
        }
        _ => {
            let message = format!("{what} must be an integer, not {}", node.describe());
            cx.sink.error(node.at, message, format!("legal: {}", kind_text(Kind::Int(lo, hi))), None);
        }
    }
    None
}

pub(crate) fn float(cx: &mut Cx, what: &str, node: &Node, lo: f64, hi: f64) -> Option<f64> {
    let f = match &node.raw {
        Raw::Float(f) => *f,
        Raw::Int(i) => *i as f64,
        Raw::OutOfRange(_) => f64::INFINITY,
        _ => {
            let message = format!("{what} must be a number, not {}", node.describe());
            cx.sink.error(node.at, message, format!("legal: {}", kind_text(Kind::Float(lo, hi))), None);
            return None;
        }
    };
    if !f.is_finite() || f < lo || f > hi {
        cx.sink.error(
            node.at,
            format!("{what} is {}", node.describe()),
            format!("legal: {}", kind_text(Kind::Float(lo, hi))),
            None,
        );
        return None;
    }
    Some(f)
}

pub(crate) fn boolean(cx: &mut Cx, what: &str, node: &Node) -> Option<bool> {
    if let Raw::Bool(b) = node.raw {
        return Some(b);
    }
    cx.sink.error(
        node.at,
        format!("{what} must be true or false, not {}", node.describe()),
        "write true or false, without quotes",
        None,
    );
    None
}

/// Reads a text that is not empty.
pub(crate) fn text<'n>(cx: &mut Cx, what: &str, node: &'n Node) -> Option<&'n str> {
    match node.text() {
        Some(t) if t.trim().is_empty() => cx.sink.error(node.at, format!("{what} is empty"), "expected a text", None),
        Some(t) if t.len() > 4096 || t.contains('\0') => {
            cx.sink.error(node.at, format!("{what} is not a usable text"), "at most 4096 bytes, none of them zero", None);
        }
        Some(t) => return Some(t),
        None => {
            cx.sink.error(node.at, format!("{what} must be a text, not {}", node.describe()), "expected a text in quotes", None)
        }
    }
    None
}
