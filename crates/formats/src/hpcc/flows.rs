//! HPCC's `flow.txt`: the number of flows, then `src dst priority dport bytes start` per line, with node ids and a start in seconds. Parsimon's variant
//! has the number of the flow before each.
//!
//! The generator writes the number over a longer estimate, so that digits of the estimate can follow it, with a blank.

use crate::FileError;
use crate::fabric::Node;
use crate::flow_set::{Flow, FlowSet};
use crate::quantity;
use crate::tokens::words_of_lines;

/// Reads a list. `host` maps the id of a node to the host.
///
/// # Errors
/// A line that is no flow, and a list that ends early.
pub(crate) fn read(
    file: &str,
    text: &str,
    host: &dyn Fn(&str) -> Result<Node, String>,
    notes: &mut Vec<String>,
) -> Result<FlowSet, FileError> {
    let mut lines = words_of_lines(text);
    let (line, first) = lines.next().ok_or_else(|| FileError::of(file, "the file has no content"))?;
    let announced: u64 = match first[..] {
        [count] => count.parse().ok(),
        _ => None,
    }
    .ok_or_else(|| FileError::at(file, line, "the first line is not the number of flows"))?;
    let mut set = FlowSet::default();
    let (mut last, mut empty) = (line, 0_u64);
    for (line, words) in lines {
        last = line;
        if set.flows.len() as u64 == announced {
            return Err(FileError::at(file, line, format!("more flows than the {announced} of the first line; correct it")));
        }
        let flow = flow(&words, set.flows.len() as u64, host, &mut empty).map_err(|e| FileError::at(file, line, e))?;
        set.flows.push(flow);
    }
    let count = set.flows.len() as u64;
    if count == 0 {
        return Err(FileError::at(file, last, "the list has no flows"));
    }
    if count < announced {
        if !announced.to_string().starts_with(&count.to_string()) {
            let error = format!("the list ends after {count} of {announced} flows: is the file truncated?");
            return Err(FileError::at(file, last, error));
        }
        notes.push(format!(
            "{file} announces {announced} flows and has {count}: its generator wrote the number over a longer estimate"
        ));
    }
    if empty > 0 {
        notes.push(format!("{file}: {empty} flows of 0 bytes send 1 byte"));
    }
    Ok(set)
}

fn flow(words: &[&str], id: u64, host: &dyn Fn(&str) -> Result<Node, String>, empty: &mut u64) -> Result<Flow, String> {
    let fields = match words {
        [_, rest @ ..] if words.len() == 7 => rest,
        all => all,
    };
    let [src, dst, _priority, dport, bytes, start] = fields else {
        let text = "a flow is `src dst priority dport bytes start`, six numbers";
        return Err(format!("{} fields; {text}", words.len()));
    };
    let (from, to) = (host(src)?, host(dst)?);
    if from == to {
        return Err(format!("node {src} sends to itself"));
    }
    let dport = dport.parse().map_err(|_| format!("`{dport}` is not a destination port"))?;
    let mut size: u64 = bytes.parse().map_err(|_| format!("size `{bytes}` is not a whole number of bytes"))?;
    if size == 0 {
        *empty += 1;
        size = 1;
    }
    let start = quantity::time_in(start, "s").map_err(|e| format!("start: {e}"))?;
    Ok(Flow { src: from, dst: to, bytes: size, start, class: Some(dport), id, after: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Time;

    fn host(text: &str) -> Result<Node, String> {
        let id = text.parse().ok().filter(|id| *id < 10).ok_or_else(|| format!("there is no node `{text}`"))?;
        Ok(Node { kind: "n", id })
    }

    fn parse(text: &str) -> Result<(FlowSet, Vec<String>), String> {
        let mut notes = Vec::new();
        read("f.txt", text, &host, &mut notes).map(|set| (set, notes)).map_err(|e| e.to_string())
    }

    #[test]
    fn idle_seconds_are_removed() {
        let (mut set, notes) = parse("3\n0 1 3 100 20000 2.000000100\n3 1 3 200 500000 2.5\n0 1 3 100 0 2.5\n").unwrap();
        assert_eq!(set.remove_idle_time(), Time::from_ns(2_000_000_100));
        assert_eq!(set.last_start(), Time::from_ns(499_999_900));
        assert_eq!(notes, ["f.txt: 1 flows of 0 bytes send 1 byte"]);
        let lists = set.lists();
        assert_eq!(lists[0], (Some(100), "src,dst,bytes,start_ps\nn0,n1,20000,0\nn0,n1,1,499999900000\n".into()));
        assert_eq!(lists[1], (Some(200), "src,dst,bytes,start_ps\nn3,n1,500000,499999900000\n".into()));
    }

    #[test]
    fn overwritten_count_is_accepted() {
        let (set, notes) = parse("20 \n0 1 3 100 5 2\n0 1 3 100 5 2\n").unwrap();
        assert_eq!((set.flows.len(), notes.len()), (2, 1));
        assert!(parse("30 \n0 1 3 100 5 2\n").unwrap_err().contains("f.txt:2: the list ends after 1 of 30 flows"));
    }

    #[test]
    fn leading_ids_of_parsimon() {
        let (set, _) = parse("1\n17 0 1 3 100 5 2.0\n").unwrap();
        assert_eq!((set.flows[0].src.id, set.flows[0].bytes), (0, 5));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, error) in [
            ("", "f.txt: the file has no content"),
            ("src,dst\n", "f.txt:1: the first line is not the number of flows"),
            ("0\n", "f.txt:1: the list has no flows"),
            ("1\n0 1 3 100 5\n", "f.txt:2: 5 fields"),
            ("1\n0 12 3 100 5 0\n", "f.txt:2: there is no node `12`"),
            ("1\n1 1 3 100 5 0\n", "f.txt:2: node 1 sends to itself"),
            ("1\n0 1 3 web 5 0\n", "f.txt:2: `web` is not a destination port"),
            ("1\n0 1 3 100 5.5 0\n", "f.txt:2: size `5.5`"),
            ("1\n0 1 3 100 5 -1\n", "f.txt:2: start: `-1` is not a number of s"),
            ("1\n0 1 3 100 5 0\n0 1 3 100 5 0\n", "f.txt:3: more flows than the 1"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(error), "{text:?}: {found}");
        }
    }
}
