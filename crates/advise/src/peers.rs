//! Hosts of each transport and class, from the messages of a run: they decide where a setting of hosts reaches the right connections only.

use crate::columns::{Column, texts};
use arrow_array::RecordBatch;
use std::collections::{BTreeMap, BTreeSet};

/// Senders and receivers of each transport, and those of each class.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peers {
    /// Pairs of sending and receiving host, by the name of the transport.
    transports: BTreeMap<String, BTreeSet<(String, String)>>,
    /// Pairs of the data of each class, requests of queries left out.
    classes: BTreeMap<String, BTreeSet<(String, String)>>,
}

/// Narrowest setting that reaches all connections of a transport and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A setting of the hosts that send.
    Hosts,
    /// A setting of the routes from those hosts to the destinations.
    Routes,
    /// A setting of processes or sockets: other transports connect the same hosts.
    Processes,
}

impl Peers {
    /// Reads the messages of one run.
    pub(crate) fn of(flows: &[RecordBatch]) -> Peers {
        let mut peers = Peers::default();
        for batch in flows {
            let [transport, class, src, dst] = ["transport", "class", "src", "dst"].map(|name| texts(batch, name));
            let request = Column::of(batch, "request");
            for row in 0..batch.num_rows() {
                let pair = (src[row].clone(), dst[row].clone());
                if request.flag(row) != Some(true) {
                    peers.classes.entry(class[row].clone()).or_default().insert(pair.clone());
                }
                peers.transports.entry(transport[row].clone()).or_default().insert(pair);
            }
        }
        peers
    }

    /// Narrowest setting for a transport.
    pub(crate) fn reach(&self, transport: &str) -> Reach {
        let empty = BTreeSet::new();
        let own = self.transports.get(transport).unwrap_or(&empty);
        let others: BTreeSet<&(String, String)> =
            self.transports.iter().filter(|(name, _)| *name != transport).flat_map(|(_, pairs)| pairs).collect();
        let senders: BTreeSet<&String> = own.iter().map(|(src, _)| src).collect();
        if others.iter().all(|(src, _)| !senders.contains(src)) {
            return Reach::Hosts;
        }
        // A route reaches every connection of a host to that destination.
        if others.iter().all(|pair| !own.contains(*pair)) { Reach::Routes } else { Reach::Processes }
    }

    /// Names of the hosts that send for a transport, or for all.
    pub(crate) fn senders(&self, transport: Option<&str>) -> String {
        let pairs = self.transports.iter().filter(|(name, _)| transport.is_none_or(|t| t == *name)).flat_map(|(_, pairs)| pairs);
        names(pairs.map(|(src, _)| src.as_str()).collect())
    }

    /// Names of the hosts at both ends of a transport's connections.
    pub(crate) fn ends(&self, transport: Option<&str>) -> String {
        let pairs = self.transports.iter().filter(|(name, _)| transport.is_none_or(|t| t == *name)).flat_map(|(_, pairs)| pairs);
        names(pairs.flat_map(|(src, dst)| [src.as_str(), dst.as_str()]).collect())
    }

    /// Hosts that send data of a class, in the order of their names.
    pub(crate) fn class_senders(&self, class: &str) -> Vec<String> {
        let all: BTreeSet<&String> = self.classes.get(class).into_iter().flatten().map(|(src, _)| src).collect();
        let mut all: Vec<String> = all.into_iter().cloned().collect();
        all.sort_by_key(|name| split(name).1);
        all
    }

    /// Largest number of hosts that send data of a class to one host.
    pub(crate) fn fan_in(&self, class: &str) -> usize {
        let mut to: BTreeMap<&String, usize> = BTreeMap::new();
        for (_, dst) in self.classes.get(class).into_iter().flatten() {
            *to.entry(dst).or_default() += 1;
        }
        to.values().copied().max().unwrap_or(0)
    }
}

/// Text before the number at the end of a name, and the number.
fn split(name: &str) -> (&str, Option<u64>) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem, name[stem.len()..].parse().ok())
}

/// `h0 to h39, client`: consecutive numbers as a range, at most four items.
fn names(all: BTreeSet<&str>) -> String {
    let mut sorted: Vec<(&str, Option<u64>)> = all.into_iter().map(split).collect();
    sorted.sort_unstable();
    let mut ranges: Vec<(&str, Option<(u64, u64)>)> = Vec::new();
    for (stem, number) in sorted {
        match (ranges.last_mut(), number) {
            (Some((last, Some((_, end)))), Some(n)) if *last == stem && *end + 1 == n => *end = n,
            _ => ranges.push((stem, number.map(|n| (n, n)))),
        }
    }
    let text = |(stem, range): &(&str, Option<(u64, u64)>)| match range {
        None => (*stem).to_owned(),
        Some((a, b)) if a == b => format!("{stem}{a}"),
        Some((a, b)) => format!("{stem}{a} to {stem}{b}"),
    };
    let mut out: Vec<String> = ranges.iter().take(4).map(text).collect();
    if ranges.len() > 4 {
        out.push("others".into());
    }
    out.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(list: &[(&str, &str, &str)]) -> Peers {
        let mut out = Peers::default();
        for (transport, src, dst) in list {
            out.transports.entry((*transport).to_owned()).or_default().insert(((*src).to_owned(), (*dst).to_owned()));
        }
        out
    }

    #[test]
    fn reach_depends_on_shared_hosts() {
        assert_eq!(peers(&[("a", "h0", "h9"), ("b", "h1", "h9")]).reach("a"), Reach::Hosts);
        assert_eq!(peers(&[("a", "h0", "h9"), ("b", "h0", "h8")]).reach("a"), Reach::Routes);
        assert_eq!(peers(&[("a", "h0", "h9"), ("b", "h0", "h9")]).reach("a"), Reach::Processes);
    }

    #[test]
    fn consecutive_hosts_form_ranges() {
        assert_eq!(names(["h0", "h1", "h2", "h10", "server"].into()), "h0 to h2, h10, server");
    }
}
