//! GOAL schedules (Hoefler et al., LogGOPSim, HPDC 2010; the traces of ATLAHS) in their text form: operations of ranks, of which some wait for others.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!     l1: calc 1200
//!     l2: send 4096b to 1 tag 7
//!     l2 requires l1
//! }
//! rank 1 {
//!     l1: recv 4096b from 0 tag 7
//! }
//! ```
//!
//! Each message becomes a flow. It waits for the messages that its rank has received or sent before, and for the calculations between them: `requires`
//! waits for the end of an operation, `irequires` for its start. Times are in nanoseconds.

use crate::FileError;
use crate::fabric::Node;
use crate::flow_set::FlowSet;
use crate::schedule::Schedule;
use std::collections::HashMap;

/// Reads a schedule. Rank `r` is host `r` of `hosts`.
///
/// # Errors
/// Lines that are no operation, messages without a receive, and schedules that never end.
pub(crate) fn read(file: &str, text: &str, hosts: &[Node], notes: &mut Vec<String>) -> Result<FlowSet, FileError> {
    let schedule = parse(file, text)?;
    let ranks = schedule.ranks();
    let set = schedule.flows(file, hosts, &|(_, line, text)| FileError::at(file, line, text))?;
    notes.push(format!("{file}: rank r is host r of the network; {ranks} ranks send {} messages", set.flows.len()));
    notes.push("calculations of a rank that do not wait for each other overlap, whatever their `cpu`".into());
    Ok(set)
}

fn parse(file: &str, text: &str) -> Result<Schedule, FileError> {
    let mut schedule = Schedule::default();
    let mut count: Option<usize> = None;
    let mut rank: Option<usize> = None;
    let mut labels: HashMap<String, usize> = HashMap::new();
    let mut last = 0;
    for (i, line) in text.lines().enumerate() {
        let line_number = i + 1;
        let error = |e: String| FileError::at(file, line_number, e);
        let code = line.split("//").next().unwrap_or_default().split('#').next().unwrap_or_default();
        let spaced = code.replace('{', " { ").replace('}', " } ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        last = line_number;
        match (words.as_slice(), rank, count) {
            (["num_ranks", n], None, None) => {
                let n = n.parse().ok().filter(|n| (1..=1 << 20).contains(n));
                count = Some(n.ok_or_else(|| error("num_ranks is an integer, 1 to 1048576".into()))?);
                schedule = Schedule::new(count.unwrap_or(0));
            }
            (_, _, None) => {
                return Err(error("the file does not begin with `num_ranks`; is it binary GOAL? Convert it to text".into()));
            }
            (["rank", r, "{"], None, Some(n)) => {
                let r = r.parse::<usize>().ok().filter(|r| *r < n);
                let r = r.ok_or_else(|| error(format!("the rank is not an integer, 0 to {}", n - 1)))?;
                if schedule.is_described(r) {
                    return Err(error(format!("rank {r} is described twice")));
                }
                rank = Some(r);
                labels.clear();
            }
            (["}"], Some(_), _) => rank = None,
            ([waiting, how @ ("requires" | "irequires"), first], Some(r), _) => {
                let find = |label: &str| {
                    let found = labels.get(label).copied();
                    found.ok_or_else(|| error(format!("rank {r} has no operation `{label}` above this line")))
                };
                let (waiting, first) = (find(waiting)?, find(first)?);
                match *how {
                    "requires" => schedule.requires(r, waiting, first),
                    _ => schedule.starts_after(r, waiting, first),
                }
            }
            (words, Some(r), Some(n)) => {
                let (label, words) = match words {
                    [label, rest @ ..] if label.ends_with(':') => (Some(label.trim_end_matches(':')), rest),
                    all => (None, all),
                };
                let index = operation(&mut schedule, words, r, (n, line_number)).map_err(error)?;
                if let Some(label) = label
                    && labels.insert(label.to_owned(), index).is_some()
                {
                    return Err(error(format!("rank {r} has two operations `{label}`")));
                }
            }
            (_, None, _) => return Err(error("this line is outside of `rank r { ... }`".into())),
        }
    }
    match (count, rank) {
        (None, _) => Err(FileError::of(file, "the file has no content")),
        (_, Some(r)) => Err(FileError::at(file, last, format!("rank {r} has no closing brace: is the file truncated?"))),
        _ => Ok(schedule),
    }
}

/// Reads an operation of rank `r`, and returns its number there.
fn operation(schedule: &mut Schedule, words: &[&str], r: usize, (ranks, line): (usize, usize)) -> Result<usize, String> {
    let (size, peer, rest) = match words {
        ["calc", ns, rest @ ..] => {
            options(rest)?;
            let ns = ns.parse().map_err(|_| format!("calc `{ns}` is not a number of nanoseconds"))?;
            return Ok(schedule.calc(r, line, ns));
        }
        ["send", size, "to", peer, rest @ ..] | ["recv", size, "from", peer, rest @ ..] => (*size, *peer, rest),
        _ => {
            return Err(
                "this is not an operation; legal: `send 4096b to 3 tag 7`, `recv 4096b from 1 tag 7`, `calc 1200`, `a requires b`, \
                        `a irequires b`"
                    .into(),
            );
        }
    };
    let bytes = size.strip_suffix('b').and_then(|n| n.parse::<u64>().ok()).filter(|n| *n > 0);
    let bytes = bytes.ok_or_else(|| format!("size `{size}` is not a number of bytes such as 4096b, at least 1b"))?;
    let tag = options(rest)?;
    let (Ok(peer), Ok(tag)) = (peer.parse::<usize>(), tag.parse::<u64>()) else {
        return Err(format!(
            "`{peer}`, tag {tag}: a receive from any source, or of any tag, is not read: its message is not known before the run"
        ));
    };
    if peer >= ranks || peer == r {
        return Err(format!("rank {peer}; legal: 0 to {} without {r} itself", ranks - 1));
    }
    Ok(match words[0] {
        "send" => schedule.send(r, line, peer, tag, bytes),
        _ => schedule.recv(r, line, peer, tag, bytes),
    })
}

/// Reads `tag n`, `cpu n` and `nic n`. Returns the tag.
fn options<'a>(words: &[&'a str]) -> Result<&'a str, String> {
    let mut tag = "0";
    for pair in words.chunks(2) {
        match pair {
            ["tag", n] => tag = n,
            ["cpu" | "nic", n] if n.parse::<u32>().is_ok() => {}
            other => return Err(format!("`{}` is not an option of an operation; legal: tag n, cpu n, nic n", other.join(" "))),
        }
    }
    Ok(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(text: &str) -> Result<String, String> {
        let hosts: Vec<Node> = (0..4).map(|id| Node { kind: "h", id }).collect();
        let set = read("x.goal", text, &hosts, &mut Vec::new()).map_err(|e| e.to_string())?;
        Ok(set.lists()[0].1.clone())
    }

    fn rows(text: &str) -> Vec<String> {
        csv(text).unwrap().lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn calculations_are_pauses() {
        let text = "num_ranks 2\nrank 0 {\nc: calc 1200\ns: send 4096b to 1 tag 7\ns requires c\nr: recv 8b from 1 cpu 0\n}\n\
                    rank 1 {\n r: recv 4096b from 0 tag 7\n c: calc 500 cpu 1 // reduce\n s: send 8b to 0\n c requires r\n s requires c\n}\n";
        assert_eq!(rows(text), ["0,h0,h1,4096,0,@1200000ps", "1,h1,h0,8,0,0@500000ps"]);
    }

    /// The receive is posted after a calculation: the next message waits for both, each with its own pause.
    #[test]
    fn events_have_their_own_pauses() {
        let text = "num_ranks 2\nrank 0 {\na: send 10b to 1\nb: send 20b to 1 tag 1\nb requires a\n}\nrank 1 {\nc: calc 1000\nr: recv 10b from 0\n\
                    r requires c\nd: calc 30\nd requires r\ns: send 5b to 0 tag 2\ns requires d\nq: recv 20b from 0 tag 1\nq irequires r\n}\n\
                    "
        .replace("b requires a\n}", "b requires a\nz: recv 5b from 1 tag 2\n}");
        assert_eq!(rows(&text), ["0,h0,h1,10,0,", "1,h0,h1,20,0,0", "2,h1,h0,5,0,@1030000ps 0@30000ps"]);
    }

    /// Messages of one pair and tag are matched in the order of the file, in any order of the ranks.
    #[test]
    fn receives_match_in_order() {
        let text = "num_ranks 2\nrank 1 {\na: recv 1b from 0\nb: recv 2b from 0\nc: send 9b to 0\nc requires b\n}\n\
                    rank 0 {\nsend 1b to 1\nsend 2b to 1\nrecv 9b from 1\n}\n";
        assert_eq!(rows(text), ["0,h1,h0,9,0,2", "1,h0,h1,1,0,", "2,h0,h1,2,0,"]);
    }

    #[test]
    fn errors_name_the_line() {
        let one = |ops: &str| format!("num_ranks 2\nrank 0 {{\n{ops}\n}}\nrank 1 {{\nr: recv 8b from 0\n}}\n");
        for (text, error) in [
            (String::new(), "x.goal: the file has no content"),
            ("GOAL\u{1}".into(), "x.goal:1: the file does not begin with `num_ranks`"),
            ("num_ranks 5\nrank 0 {\n}".into(), "x.goal: 5 ranks, and the network has 4 hosts"),
            ("num_ranks 2\nrank 2 {\n}".into(), "x.goal:2: the rank is not an integer, 0 to 1"),
            ("num_ranks 2\nrank 0 {\ncalc 5\n".into(), "x.goal:3: rank 0 has no closing brace"),
            ("num_ranks 2\ncalc 5\n".into(), "x.goal:2: this line is outside"),
            ("num_ranks 2\nrank 0 {\n}\n".into(), "x.goal: there are no messages"),
            (one("s: send 8b to 1\ns: calc 3"), "x.goal:4: rank 0 has two operations `s`"),
            (one("s: send 8 to 1"), "x.goal:3: size `8` is not a number of bytes"),
            (one("s: send 8b to 0"), "x.goal:3: rank 0; legal: 0 to 1 without 0 itself"),
            (one("s: send 8b to 1 prio 3"), "x.goal:3: `prio 3` is not an option"),
            (one("s: put 8b to 1"), "x.goal:3: this is not an operation"),
            (one("s: send 8b to 1\nr: recv 8b from -1"), "x.goal:4: `-1`, tag 0: a receive from any source"),
            (one("s: send 8b to 1\nr: recv 8b from 1 tag -1"), "x.goal:4: `1`, tag -1: a receive from any source"),
            (one("s: send 8b to 1\ns requires t"), "x.goal:4: rank 0 has no operation `t`"),
            (one("s: send 8b to 1\nt: send 8b to 1"), "x.goal:4: rank 1 has no receive for this message"),
            (one("s: send 9b to 1"), "x.goal:6: the receive has 8 bytes, and the message of rank 0 has 9"),
            (one("s: calc 9"), "x.goal:6: rank 0 sends no message with tag 0 to rank 1"),
            (one("s: send 8b to 1\na: calc 1\ns requires a\na requires s"), "x.goal:3: this operation waits"),
        ] {
            let found = csv(&text).unwrap_err();
            assert!(found.starts_with(error), "{text:?}: {found}");
        }
    }

    #[test]
    fn circular_waits_are_refused() {
        let rank =
            |r: u32, other: u32| format!("rank {r} {{\nr: recv 1b from {other}\ns: send 1b to {other}\ns requires r\n}}\n");
        let found = csv(&format!("num_ranks 2\n{}{}", rank(0, 1), rank(1, 0))).unwrap_err();
        assert_eq!(found, "x.goal:4: this message waits for itself through other ranks");
    }
}
