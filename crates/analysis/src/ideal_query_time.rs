//! Time of a query on an unloaded network, with the limiting link.

use crate::comparison::{link_rate, link_time};
use crate::data::{Data, Flow, Query};
use crate::dimension::Dimension;
use crate::format::{count, quantity};
use crate::paths::Paths;
use std::collections::{BTreeMap, BTreeSet};

/// The slowest response is named as the limit if it takes this many times as long as the link into the receiver. Our choice.
const SLOWER: f64 = 1.1;
/// Minimum part of the slowest response's time that a narrow link needs for its bytes to be named. Our choice.
const CAUSES: f64 = 0.5;

/// `, compared with 1.64 ms on an unloaded link`; or, if one response takes longer than the link into the receiver for all of them, that time with
/// the narrower link on its path. Limited to the queries of one workload, if given.
pub(crate) fn words(data: &Data, subject: usize, class: Option<u32>) -> String {
    let Some(link) = link_time(data, subject, class) else { return String::new() };
    if let Some(apart) = by_receiver(data, subject, class) {
        return apart;
    }
    let network = data.subjects[subject].network;
    let own = |q: &&Query| data.runs[q.run].network == network && class.is_none_or(|c| q.class == Some(c));
    let ended = data.queries.iter().filter(own).filter(|q| q.qct.is_some());
    let (sum, n) = ended.fold((0.0, 0u64), |(sum, n), q| (sum + q.ideal_s, n + 1));
    let slowest = sum / n.max(1) as f64;
    let link_words = || format!(", compared with {} on an unloaded link", quantity(link, Dimension::Seconds));
    if slowest <= SLOWER * link {
        return link_words();
    }
    let slowest_words =
        format!(", compared with {} for the slowest response on an unloaded network", quantity(slowest, Dimension::Seconds));
    let size = own_bytes(data, subject, class);
    match narrowest(data, subject, class) {
        Some((port, rate)) if size * 8.0 / rate >= CAUSES * slowest => {
            format!("{slowest_words}: {port} carries only {}", quantity(rate, Dimension::BitsPerSecond))
        }
        // For a few bytes, the delay of the path exceeds their time on the link.
        _ => slowest_words,
    }
}

/// `, compared with 1.05 ms on an unloaded link; 10.5 ms for old with its link of 1 Gbit/s`, if receivers have links of different rates: a mean over
/// them describes none. `None` for links of one rate.
fn by_receiver(data: &Data, subject: usize, class: Option<u32>) -> Option<String> {
    let network = data.subjects[subject].network;
    let own = |q: &&Query| data.runs[q.run].network == network && class.is_none_or(|c| q.class == Some(c)) && q.qct.is_some();
    // By rate: the number of queries, their time on the link, and the receivers.
    let mut rates: BTreeMap<u64, (u32, f64, BTreeSet<u32>)> = BTreeMap::new();
    for (q, receiver) in data.queries.iter().filter(own).filter_map(|q| Some((q, q.receiver?))) {
        let rate = link_rate(data, network, receiver)?;
        let of = rates.entry(rate as u64).or_default();
        (of.0, of.1) = (of.0 + 1, of.1 + q.bytes as f64 * 8.0 / rate);
        of.2.insert(receiver);
    }
    let (&most, _) = rates.iter().max_by_key(|(_, of)| of.0)?;
    let (&slowest, of) = rates.iter().next().filter(|(slowest, _)| **slowest < most)?;
    let time = |of: &(u32, f64, BTreeSet<u32>)| quantity(of.1 / f64::from(of.0), Dimension::Seconds);
    let first = data.host(of.2.first().copied())?;
    let hosts = if of.2.len() == 1 { first.to_owned() } else { format!("{first} and {}", count(of.2.len() - 1, "other host")) };
    let each = if of.2.len() == 1 { "its link" } else { "their links" };
    let rate = quantity(slowest as f64, Dimension::BitsPerSecond);
    Some(format!(", compared with {} on an unloaded link; {} for {hosts} with {each} of {rate}", time(&rates[&most]), time(of)))
}

/// Mean payload of the responses of a subject, bytes.
fn own_bytes(data: &Data, subject: usize, class: Option<u32>) -> f64 {
    let own = |f: &&Flow| f.subject == subject && f.in_query && !f.request && class.is_none_or(|c| f.class == Some(c));
    let (sum, n) = data.flows.iter().filter(own).fold((0, 0_u64), |(sum, n), f| (sum + f.size, n + 1));
    sum as f64 / n.max(1) as f64
}

/// The slowest port on the paths of a subject's responses, if it is slower than the link into their receiver.
fn narrowest(data: &Data, subject: usize, class: Option<u32>) -> Option<(String, f64)> {
    let network = data.subjects[subject].network;
    let own = |f: &&Flow| f.subject == subject && f.in_query && !f.request && class.is_none_or(|c| f.class == Some(c));
    let mut pairs: Vec<(&str, &str)> = data.flows.iter().filter(own).filter_map(|f| data.ends(f)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut paths = Paths::of(data, network);
    let mut found: Option<(String, f64)> = None;
    for (from, to) in pairs {
        let way = paths.ports(from, to);
        let Some(last) = way.last().map(|p| data.ports[*p].rate_bps) else { continue };
        for p in way.iter().map(|p| &data.ports[*p]) {
            if p.rate_bps < last && found.as_ref().is_none_or(|f| p.rate_bps < f.1) {
                found = Some((p.name.clone(), p.rate_bps));
            }
        }
    }
    found
}
