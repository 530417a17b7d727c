//! Matrices of traffic between racks, such as those of Parsimon (Zhao et al., NSDI 2023).

use super::{BuildError, Context};
use crate::rack_pairs::RackPairs;
use crate::topology::racks;
use forebay_types::NodeId;
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum size of a file.
const MAX_BYTES: u64 = 100_000_000;
/// Maximum weight. Our choice: sums of as many weights as fit in a file are finite.
const MAX_WEIGHT: f64 = 1e200;
/// Maximum number of racks in a message.
const NAMED: usize = 4;

/// A rack with the hosts of a workload.
struct Rack<'a> {
    name: &'a str,
    from: Vec<NodeId>,
    to: Vec<NodeId>,
}

/// Reads the matrix of the file `path` for flows from the hosts `from` to the hosts `to`.
pub(super) fn read(path: &Path, context: &Context<'_>, from: &[NodeId], to: &[NodeId]) -> Result<RackPairs, BuildError> {
    let error = |e: String| BuildError::new("matrix", format!("{}{e}", path.display()));
    match std::fs::metadata(path) {
        Ok(m) if !m.is_file() || m.len() > MAX_BYTES => {
            return Err(error(format!(": not a file of at most {MAX_BYTES} bytes")));
        }
        Ok(_) => {}
        Err(e) => return Err(error(format!(": {e}"))),
    }
    let text = std::fs::read_to_string(path).map_err(|e| error(format!(": {e}")))?;
    let network = context.network;
    let rack = racks(network);
    let mut all: BTreeMap<NodeId, Rack<'_>> = BTreeMap::new();
    for (host, _) in network.nodes.enumerate().filter(|(_, n)| n.host) {
        let name = network.nodes[rack[host]].name.as_str();
        all.entry(rack[host]).or_insert_with(|| Rack { name, from: Vec::new(), to: Vec::new() });
    }
    for &host in from {
        all.entry(rack[host]).and_modify(|r| r.from.push(host));
    }
    for &host in to {
        all.entry(rack[host]).and_modify(|r| r.to.push(host));
    }
    parse(&text, &all.into_values().collect::<Vec<_>>()).map_err(|(line, e)| error(format!(":{line}: {e}")))
}

/// Weights of `text`, a row for each source rack with a column for each destination rack. The error has its line.
fn parse(text: &str, racks: &[Rack<'_>]) -> Result<RackPairs, (usize, String)> {
    let n = racks.len();
    let names = || {
        let some: Vec<&str> = racks.iter().take(NAMED).map(|r| r.name).collect();
        format!("{}{}", some.join(", "), if n > NAMED { ", ..." } else { "" })
    };
    let mut pairs = Vec::new();
    let (mut row, mut last) = (0, 0);
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let (line, number) = (line.split('#').next().unwrap_or_default().trim(), number + 1);
        if line.is_empty() {
            continue;
        }
        last = number;
        if row == n {
            return Err((number, format!("more than {n} rows; the network has {n} racks: {}", names())));
        }
        let cells = line.split([',', ';', '\t', ' ']).map(str::trim).filter(|cell| !cell.is_empty());
        let mut count = 0;
        for (column, cell) in cells.enumerate() {
            count += 1;
            let weight = cell.parse::<f64>().ok().filter(|w| (0.0..=MAX_WEIGHT).contains(w)).ok_or_else(|| {
                let cell: String = cell.chars().take(20).collect();
                let of = "a row has the weights of the flows from one rack to each rack";
                (number, format!("column {}: `{cell}` is not a weight; {of}, numbers from 0 to {MAX_WEIGHT:e}", column + 1))
            })?;
            let (Some(source), Some(destination)) = (racks.get(row), racks.get(column)) else { continue };
            if weight == 0.0 {
                continue;
            }
            if source.from.is_empty() {
                return Err((
                    number,
                    format!("column {}: no host of rack {} is in `from`; its weight must be 0", column + 1, source.name),
                ));
            }
            if destination.to.is_empty() {
                return Err((
                    number,
                    format!("column {}: no host of rack {} is in `to`; its weight must be 0", column + 1, destination.name),
                ));
            }
            if let ([one], [other]) = (&source.from[..], &destination.to[..])
                && one == other
            {
                return Err((
                    number,
                    format!(
                        "column {}: rack {} has one host, which cannot send to itself; the weight must be 0",
                        column + 1,
                        source.name
                    ),
                ));
            }
            pairs.push((row, column, weight));
        }
        if count != n {
            return Err((number, format!("{count} weights in a row, and the network has {n} racks: {}", names())));
        }
        row += 1;
    }
    if row < n {
        return Err((last.max(1), format!("the file ends after {row} rows, and the network has {n} racks: {}", names())));
    }
    if pairs.is_empty() {
        return Err((last, "all weights are 0".into()));
    }
    Ok(RackPairs::new(racks.iter().map(|r| (r.from.clone(), r.to.clone())).collect(), &pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn racks(hosts: &[&[u32]]) -> Vec<Rack<'static>> {
        let nodes = |h: &[u32]| h.iter().map(|n| NodeId::new(*n)).collect::<Vec<_>>();
        ["l0", "l1", "l2"].iter().zip(hosts).map(|(name, h)| Rack { name, from: nodes(h), to: nodes(h) }).collect()
    }

    #[test]
    fn weights_are_shares_of_flows() {
        let racks = racks(&[&[0, 1], &[2, 3]]);
        let of = parse("# from l0, from l1\n0, 3\n1 0\n", &racks).unwrap();
        assert_eq!(of.crossing(), 1.0);
        let pick = |u: f64| of.pick(u).0[0].get();
        assert_eq!([0.0, 0.74, 0.76, 0.999].map(pick), [0, 0, 2, 2]);
        assert_eq!(parse("1 1\n1 1", &racks).unwrap().crossing(), 0.5);
    }

    #[test]
    fn errors_name_line_and_column() {
        let two = racks(&[&[0, 1], &[2, 3]]);
        let of = |text: &str| parse(text, &two).unwrap_err();
        for (text, line, part) in [
            ("0 1\nx 0", 2, "column 1: `x` is not a weight"),
            ("0,1\n\n-1,0", 3, "`-1` is not a weight"),
            ("l0,l1\n0,1\n1,0", 1, "`l0` is not a weight"),
            ("0 1 2\n1 0 2", 1, "3 weights in a row, and the network has 2 racks: l0, l1"),
            ("0 1\n", 1, "ends after 1 rows"),
            ("", 1, "ends after 0 rows"),
            ("0 1\n1 0\n0 0", 3, "more than 2 rows"),
            ("0 0\n0 0", 2, "all weights are 0"),
            ("nan 1\n1 0", 1, "`nan` is not a weight"),
            (
                "0 1\n1 1e308",
                2,
                "column 2: `1e308` is not a weight; a row has the weights of the flows from one rack to each rack, numbers from 0 to 1e200",
            ),
        ] {
            let (at, e) = of(text);
            assert!(at == line && e.contains(part), "{text:?}: {at}: {e}");
        }
        let lone = racks(&[&[0], &[2, 3]]);
        assert!(parse("1 1\n1 1", &lone).unwrap_err().1.contains("cannot send to itself"));
        let empty = racks(&[&[], &[2, 3]]);
        assert!(parse("0 1\n0 1", &empty).unwrap_err().1.contains("no host of rack l0 is in `from`"));
        assert!(parse("0 0\n1 1", &empty).unwrap_err().1.contains("no host of rack l0 is in `to`"));
    }
}
