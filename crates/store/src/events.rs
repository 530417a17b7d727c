//! Text lines for the table `events`.

use crate::error::StoreError;
use crate::manifest::VariantRecord;
use crate::read::RunDir;
use crate::rows::Rows;
use forebay_types::{Rate, Time};
use std::collections::BTreeMap;

/// Kind of the rows about accept queues.
const LISTEN_OVERFLOW: &str = "listen-overflow";
/// Kind of the rows about changes of a link.
const LINK_CHANGE: &str = "link-change";

/// Minimum and maximum over several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range(i64, i64);

/// An event of one run, or of several runs at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Event {
    packets: Option<Range>,
    flows: Option<Range>,
    pairs: Option<Range>,
    /// New rate, delay and loss of a link, in words.
    change: Vec<String>,
}

/// A link of a variant whose rate changes during the run.
#[derive(Debug, Clone, PartialEq)]
pub struct RateChange {
    /// Name of its transmitting port.
    pub port: String,
    /// Time of the change.
    pub at: Time,
    /// Rate from then on.
    pub rate: Rate,
}

/// Changes of the rates of links in a resolved scenario, in order of time.
pub fn rate_changes(variant: &VariantRecord) -> Vec<RateChange> {
    let changes = variant.resolved["topology"]["change"].as_array();
    let one = |c: &serde_json::Value| {
        let text = |key: &str| c[key].as_str();
        Some(RateChange { port: text("port")?.into(), at: text("at")?.parse().ok()?, rate: text("rate")?.parse().ok()? })
    };
    let mut all: Vec<RateChange> = changes.into_iter().flatten().filter_map(one).collect();
    all.sort_by_key(|c| c.at);
    all
}

/// New values of the link `link`, which a resolved scenario changes at `time` ns: `rate 100 Mbps`.
fn new_values(variant: &VariantRecord, link: &str, time: i64) -> Vec<String> {
    let changes = variant.resolved["topology"]["change"].as_array();
    let at = |c: &&serde_json::Value| {
        let when = c["at"].as_str().and_then(|at| at.parse::<Time>().ok());
        c["port"] == link && when.is_some_and(|at| i64::try_from(at.0 / 1_000) == Ok(time))
    };
    let words = |c: &serde_json::Value| {
        let value = |key: &'static str| {
            let text = c[key].as_str().map(|text| with_space(text).replace("bps", "bit/s"));
            let number = || c[key].as_f64().map(|loss| format!("{} %", (1e8 * loss).round() * 1e-6));
            Some(format!("{key} {}", text.or_else(number)?))
        };
        ["rate", "delay", "loss"].into_iter().filter_map(value).collect::<Vec<_>>()
    };
    changes.into_iter().flatten().filter(at).flat_map(words).collect()
}

/// Sort key of an event: time, kind, link, end.
type Key = (i64, String, String, Option<i64>);

fn widen(range: &mut Option<Range>, value: Option<i64>) {
    if let Some(value) = value {
        let Range(least, most) = range.unwrap_or(Range(value, value));
        *range = Some(Range(least.min(value), most.max(value)));
    }
}

/// One line per event of the results, in order of time: of all runs together, or of run number `of.1` of variant `of.0`.
///
/// # Errors
/// A file that is missing or damaged.
pub fn event_lines(dir: &RunDir, of: Option<(&str, u32)>) -> Result<Vec<String>, StoreError> {
    let mut all: BTreeMap<Key, Event> = BTreeMap::new();
    for batch in &dir.table("events")? {
        let rows = Rows::new(batch);
        let [variant, kind, link] = ["variant", "kind", "link"].map(|c| rows.text(c, str::to_owned));
        let [run, time, until] = ["run", "time_ns", "end_ns"].map(|c| rows.int(c));
        let [packets, flows, pairs] = ["packets", "flows", "unreachable_pairs"].map(|c| rows.int(c));
        for row in 0..rows.len() {
            let chosen = of.is_none_or(|(v, n)| variant.get(row).is_some_and(|x| x == v) && run.get(row) == Some(n.into()));
            let (Some(kind), Some(time)) = (kind.get(row).filter(|_| chosen), time.get(row)) else { continue };
            let link = link.get(row).cloned().unwrap_or_default();
            let event = all.entry((time, kind.clone(), link.clone(), until.get(row))).or_default();
            widen(&mut event.packets, packets.get(row));
            widen(&mut event.flows, flows.get(row));
            widen(&mut event.pairs, pairs.get(row));
            if let Some(name) = variant.get(row).filter(|_| kind == LINK_CHANGE) {
                let record = dir.manifest().scenario.variants.iter().find(|v| v.variant == *name);
                for value in record.map_or_else(Vec::new, |v| new_values(v, &link, time)) {
                    if !event.change.contains(&value) {
                        event.change.push(value);
                    }
                }
            }
        }
    }
    Ok(all.iter().filter_map(|(key, event)| sentence(key, event)).collect())
}

/// SYNs that hosts dropped because the accept queue of a listening socket was full, by the port of the host, over all runs.
///
/// # Errors
/// A damaged table.
pub fn listen_overflows(dir: &RunDir) -> Result<BTreeMap<String, u64>, StoreError> {
    packets_by_link(dir, |kind| kind == LISTEN_OVERFLOW)
}

/// Links that lost packets, because they failed, damage packets or lose them, with the number of packets over all runs.
///
/// # Errors
/// A damaged table.
pub fn losing_links(dir: &RunDir) -> Result<BTreeMap<String, u64>, StoreError> {
    packets_by_link(dir, |kind| kind != LISTEN_OVERFLOW)
}

/// Packets of the events of some kinds, by link.
fn packets_by_link(dir: &RunDir, counts: impl Fn(&str) -> bool) -> Result<BTreeMap<String, u64>, StoreError> {
    let mut all = BTreeMap::new();
    for batch in &dir.table("events")? {
        let rows = Rows::new(batch);
        let (link, packets, kind) = (rows.text("link", str::to_owned), rows.int("packets"), rows.text("kind", str::to_owned));
        for row in (0..rows.len()).filter(|&row| kind.get(row).is_some_and(|kind| counts(kind))) {
            let lost = packets.get(row).and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
            if let (Some(link), Some(lost)) = (link.get(row), lost) {
                *all.entry(link.clone()).or_default() += lost;
            }
        }
    }
    Ok(all)
}

/// The line for an event; `None` for the end of a failure, which the line of its start includes.
fn sentence((time, kind, link, until): &Key, event: &Event) -> Option<String> {
    let count = |range: Option<Range>, what: &str| match range? {
        Range(1, 1) => Some(format!("1 {what}")),
        Range(least, most) if least == most => Some(format!("{least} {what}s")),
        Range(least, most) => Some(format!("{least} to {most} {what}s")),
    };
    let packets = |how: &str| count(event.packets, "packet").map(|n| format!("{n} {how}"));
    Some(match kind.as_str() {
        "link-down" => {
            let span = match until {
                Some(until) => format!("from {} to {}", spaced(*time), spaced(*until)),
                None => format!("from {} on", spaced(*time)),
            };
            let cut = event.pairs.filter(|p| p.1 > 0);
            let cut = count(cut, "pair").map(|n| format!("no route was left for {n} of hosts"));
            let parts = [packets("lost"), count(event.flows, "flow").map(|n| format!("{n} moved")), cut];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let cost = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
            format!("link {link} was down {span}{cost}")
        }
        "link-up" => return None,
        "corruption" => format!("link {link} damages packets: {}", packets("dropped at its end because of the checksum")?),
        "link-loss" => format!("link {link} loses packets: {}", packets("lost on it")?),
        "random-loss" => format!("link {link} loses packets at random: {}", packets("lost")?),
        LISTEN_OVERFLOW => {
            let host = link.split_once("->").map_or(link.as_str(), |l| l.0);
            format!("the accept queue of a listening socket of host {host} is full: {}", packets("of handshakes dropped")?)
        }
        "reordering" => format!("link {link} delivers some packets late, behind later ones"),
        "batching" => format!("link {link} delivers packets in batches"),
        LINK_CHANGE if event.change.is_empty() => format!("link {link} changed at {}", spaced(*time)),
        LINK_CHANGE if *time == 0 => format!("link {link} began with {}", event.change.join(", ")),
        LINK_CHANGE => format!("link {link} changed at {} to {}", spaced(*time), event.change.join(", ")),
        "spraying" => "packets are sprayed: each packet is routed independently of its flow".to_owned(),
        _ => format!("{kind} {link} at {}", spaced(*time)),
    })
}

/// A time with a space before its unit, `5 ms`.
fn spaced(ns: i64) -> String {
    with_space(&Time::from_ns(ns.unsigned_abs()).to_string())
}

/// A quantity with a space before its unit.
fn with_space(text: &str) -> String {
    let at = text.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(text.len());
    format!("{} {}", &text[..at], &text[at..]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let say = |time, kind: &str, until, event: Event| sentence(&(time, kind.into(), "leaf0->spine1".into(), until), &event);
        let cost =
            Event { packets: Some(Range(312, 312)), flows: Some(Range(41, 41)), pairs: Some(Range(0, 0)), ..Event::default() };
        let text = "link leaf0->spine1 was down from 5 ms to 20 ms: 312 packets lost, 41 flows moved";
        assert_eq!(say(5_000_000, "link-down", Some(20_000_000), cost.clone()).unwrap(), text);
        let several = Event { packets: Some(Range(1, 9)), pairs: Some(Range(0, 4)), ..Event::default() };
        let text = "link leaf0->spine1 was down from 1.5 ms on: 1 to 9 packets lost, no route was left for 0 to 4 pairs of hosts";
        assert_eq!(say(1_500_000, "link-down", None, several).unwrap(), text);
        assert_eq!(say(1, "link-up", None, cost), None);
        let changed = Event { change: vec!["rate 100 Mbit/s".into(), "delay 5 ms".into()], ..Event::default() };
        let text = "link leaf0->spine1 changed at 1 s to rate 100 Mbit/s, delay 5 ms";
        assert_eq!(say(1_000_000_000, LINK_CHANGE, None, changed).unwrap(), text);
        let one = Event { packets: Some(Range(1, 1)), ..Event::default() };
        let text = "link leaf0->spine1 damages packets: 1 packet dropped at its end because of the checksum";
        assert_eq!(say(0, "corruption", None, one.clone()).unwrap(), text);
        let text = "the accept queue of a listening socket of host leaf0 is full: 1 packet of handshakes dropped";
        assert_eq!(say(0, LISTEN_OVERFLOW, None, one).unwrap(), text);
    }

    #[test]
    fn new_values_of_links() {
        let change = |at: &str, key: &str, value: serde_json::Value| {
            let mut c = serde_json::json!({"port": "a->b", "at": at});
            c[key] = value;
            c
        };
        let all = [
            change("2s", "loss", 0.01.into()),
            change("1s", "rate", "100Mbps".into()),
            change("1s", "delay", "5ms".into()),
            change("500ms", "rate", "1Gbps".into()),
        ];
        let v = VariantRecord { variant: String::new(), resolved: serde_json::json!({"topology": {"change": all}}) };
        assert_eq!(new_values(&v, "a->b", 1_000_000_000), ["rate 100 Mbit/s", "delay 5 ms"]);
        assert_eq!(new_values(&v, "a->b", 2_000_000_000), ["loss 1 %"]);
        assert_eq!(new_values(&v, "b->a", 1_000_000_000), [""; 0]);
        let rates: Vec<(u64, u64)> = rate_changes(&v).iter().map(|c| (c.at.0, c.rate.0)).collect();
        assert_eq!(rates, [(500_000_000_000, 1_000_000_000), (1_000_000_000_000, 100_000_000)]);
    }
}
