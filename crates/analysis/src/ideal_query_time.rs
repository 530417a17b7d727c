//! Time of a query on an unloaded network, with the limiting link.

use crate::comparison::link_time;
use crate::data::{Data, Flow, Query};
use crate::dimension::Dimension;
use crate::format::quantity;
use crate::paths::Paths;

/// The slowest response is named as the limit if it takes this many times as long as the link into the receiver. Our choice.
const SLOWER: f64 = 1.1;

/// `, compared with 1.64 ms on an unloaded link`; or, if one response takes longer than the link into the receiver for all of them, that time with
/// the narrower link on its path. Limited to the queries of one workload, if given.
pub(crate) fn words(data: &Data, subject: usize, class: Option<u32>) -> String {
    let Some(link) = link_time(data, subject, class) else { return String::new() };
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
    match narrowest(data, subject, class) {
        // For a few bytes, the delay of the path exceeds their time on the link.
        None => slowest_words,
        Some((port, rate)) => format!("{slowest_words}: {port} carries only {}", quantity(rate, Dimension::BitsPerSecond)),
    }
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
