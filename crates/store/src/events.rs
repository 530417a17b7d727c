//! Text lines for the table `events`.

use crate::error::StoreError;
use crate::read::RunDir;
use crate::rows::Rows;
use forebay_types::Time;
use std::collections::BTreeMap;

/// Kind of the rows about accept queues.
const LISTEN_OVERFLOW: &str = "listen-overflow";

/// Minimum and maximum over several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range(i64, i64);

/// An event of one run, or of several runs at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Event {
    packets: Option<Range>,
    flows: Option<Range>,
    pairs: Option<Range>,
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
            let event = all.entry((time, kind.clone(), link, until.get(row))).or_default();
            widen(&mut event.packets, packets.get(row));
            widen(&mut event.flows, flows.get(row));
            widen(&mut event.pairs, pairs.get(row));
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
        "link-change" => format!("link {link} changed at {}", spaced(*time)),
        "spraying" => "packets are sprayed: each packet is routed independently of its flow".to_owned(),
        _ => format!("{kind} {link} at {}", spaced(*time)),
    })
}

/// A time with a space before its unit, `5 ms`.
fn spaced(ns: i64) -> String {
    let text = Time::from_ns(ns.unsigned_abs()).to_string();
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..at], &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let say = |time, kind: &str, until, event: Event| sentence(&(time, kind.into(), "leaf0->spine1".into(), until), &event);
        let cost = Event { packets: Some(Range(312, 312)), flows: Some(Range(41, 41)), pairs: Some(Range(0, 0)) };
        let text = "link leaf0->spine1 was down from 5 ms to 20 ms: 312 packets lost, 41 flows moved";
        assert_eq!(say(5_000_000, "link-down", Some(20_000_000), cost.clone()).unwrap(), text);
        let several = Event { packets: Some(Range(1, 9)), flows: None, pairs: Some(Range(0, 4)) };
        let text = "link leaf0->spine1 was down from 1.5 ms on: 1 to 9 packets lost, no route was left for 0 to 4 pairs of hosts";
        assert_eq!(say(1_500_000, "link-down", None, several).unwrap(), text);
        assert_eq!(say(1, "link-up", None, cost), None);
        let one = Event { packets: Some(Range(1, 1)), ..Event::default() };
        let text = "link leaf0->spine1 damages packets: 1 packet dropped at its end because of the checksum";
        assert_eq!(say(0, "corruption", None, one.clone()).unwrap(), text);
        let text = "the accept queue of a listening socket of host leaf0 is full: 1 packet of handshakes dropped";
        assert_eq!(say(0, LISTEN_OVERFLOW, None, one).unwrap(), text);
    }
}
