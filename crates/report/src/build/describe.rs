//! The headline of a single subject: nobody is ahead of anybody, so it says what happened.

use super::data::Data;
use super::table::cell;
use super::verdict::{link_time, median_wait};
use super::words::{bold, number, quantity};
use crate::page::Unit;

/// Up to four sentences.
pub fn sentences(data: &Data) -> Vec<String> {
    if data.subjects.is_empty() {
        return Vec::new();
    }
    let traffic = [queries(data), deadlines(data), messages(data), long_flows(data)];
    let mut out: Vec<String> = traffic.into_iter().flatten().take(3).collect();
    if out.is_empty() {
        out.extend(goodput(data));
    }
    out.extend(queue(data));
    out
}

fn value(data: &Data, metric: &str) -> Option<f64> {
    cell(data.values(0, metric)).map(|c| c.mean)
}

fn seconds(v: f64) -> String {
    quantity(v, Unit::Seconds)
}

fn queries(data: &Data) -> Option<String> {
    let (p50, p99) = (value(data, "qct_p50_s")?, value(data, "qct_p99_s")?);
    let takes = format!("a query takes {} in the median, {} at the 99th percentile", bold(&seconds(p50)), bold(&seconds(p99)));
    let needs = link_time(data, 0).map_or_else(String::new, |s| format!(", where the link needs {}", seconds(s)));
    Some(match (value(data, "rtos_per_query"), median_wait(data, &[0])) {
        (Some(rate), Some(wait)) if rate >= 0.01 => {
            let each = format!("Each timeout is a wait of {} in the median.", seconds(wait));
            format!("{}: {takes}{needs}. {each}", bold(&format!("{} timeouts per query", number(rate))))
        }
        _ => format!("A{}{needs}.", &takes[1..]),
    })
}

fn deadlines(data: &Data) -> Option<String> {
    let late = value(data, "deadlines_missed")?;
    Some(format!("{} of the messages with a deadline are late.", bold(&quantity(late, Unit::Fraction))))
}

fn messages(data: &Data) -> Option<String> {
    let of = |class: &str| Some((value(data, &format!("fct_{class}_mean_s"))?, value(data, &format!("fct_{class}_p99_s"))?));
    let kinds = [
        ("small", "Messages up to 100 KB take"),
        ("medium", "Messages from 100 KB to 10 MB take"),
        ("large", "Messages from 10 MB take"),
    ];
    let (text, (mean, p99)) = kinds.iter().find_map(|(class, text)| Some((text, of(class)?)))?;
    let slow = value(data, "slowdown_p50")
        .map_or_else(String::new, |s| format!("; the median message takes {} times as long as on an empty network", number(s)));
    Some(format!("{text} {} on average, {} at the 99th percentile{slow}.", bold(&seconds(mean)), bold(&seconds(p99))))
}

fn long_flows(data: &Data) -> Option<String> {
    let n = value(data, "long_flows").filter(|n| *n > 0.0)?;
    let goodput = quantity(value(data, "goodput_bps")?, Unit::BitsPerSecond);
    let fair = value(data, "long_fairness").map_or_else(String::new, |f| format!("; Jain's index of fairness is {}", number(f)));
    let flows = if n == 1.0 { "1 long flow".into() } else { format!("{} long flows", number(n)) };
    Some(format!("{flows}, and a goodput of {} in all{fair}.", bold(&goodput)))
}

fn queue(data: &Data) -> Option<String> {
    let (mean, max) = (value(data, "queue_mean_pkts")?, value(data, "queue_max_pkts")?);
    let p99 = value(data, "queue_p99_pkts").map_or_else(String::new, |p| format!(", {} at the 99th percentile", number(p)));
    let port = &data.network_of(0).port;
    let at = if port.is_empty() { String::new() } else { format!(" at {port}") };
    let drops = value(data, "drops")
        .filter(|d| *d > 0.0)
        .map_or_else(|| "; nothing is dropped".to_owned(), |d| format!("; {} packets are dropped in a run", number(d)));
    Some(format!("The queue{at} holds {} on average{p99}, {} at most{drops}.", bold(&quantity(mean, Unit::Packets)), number(max)))
}

fn goodput(data: &Data) -> Option<String> {
    let bps = value(data, "goodput_bps")?;
    Some(format!("The goodput of all traffic is {}.", bold(&quantity(bps, Unit::BitsPerSecond))))
}
