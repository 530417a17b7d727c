//! The loop between the endpoint and its peer: each answers the packets of the other until neither has more to send.
//!
//! A script is fixed input, and a peer reacts. So the script grows: the endpoint runs on the script so far, the peer answers the packets of that run,
//! and those of its new ACKs are kept that nothing can change any more. The endpoint's answer to the first of them is acknowledged a round trip later
//! at the earliest, so all ACKs within a round trip after the first are kept.

use super::path::{MS, Sent, US};
use super::peer::{Ack, acks};
use super::random_connection::RandomConnection;
use super::script::text;
use crate::{Observation, Outcome, RunOptions, Stack, as_linux, watch_text};

/// Time for which the endpoint is watched after the last ACK, ns: as long as a connection retransmits (tcp_retries2 gives up after 924 s).
const PATIENCE: u64 = 1_000_000 * MS;
/// Time for which the finished script continues after its last event, ns.
const REST: u64 = 3000 * MS;
/// Limit of ACKs, more than a connection of a hundred segments needs.
const MOST: usize = 5000;

/// A connection with its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grown {
    /// The script.
    pub(super) text: String,
    /// Behavior of the simulator's endpoint.
    pub(super) seen: Vec<Observation>,
    /// Bytes that its peer has acknowledged.
    pub(super) acknowledged: u64,
}

/// Behavior of an endpoint with a script.
pub(super) fn watch(text: &str, of: Stack) -> Result<Vec<Observation>, String> {
    watch_text(&as_linux(text), &RunOptions { of, ..RunOptions::default() }).map_err(|outcome| match outcome {
        Outcome::Passed => "it is not watched".into(),
        Outcome::Failed { line, expected, got } => format!("line {line}: expected {expected}, got {got}"),
        Outcome::NotApplicable(what) => format!("it uses {}", what.join("; ")),
        Outcome::Invalid(problem) => format!("line {}: {}", problem.line, problem.message),
    })
}

/// Simulates the connection with the simulator's endpoint.
pub(super) fn grow(d: &RandomConnection) -> Result<Grown, String> {
    let mut kept: Vec<Ack> = Vec::new();
    let begin = d.close.into_iter().chain(d.writes.iter().map(|w| w.0)).max().unwrap_or(0);
    let last = |kept: &[Ack]| kept.last().map_or(0, |a| a.time).max(begin);
    loop {
        let seen = watch(&text(d, &kept, last(&kept) + PATIENCE), Stack::Simulator)?;
        let sent: Vec<Sent> = seen.iter().filter_map(Sent::of).collect();
        let all = acks(d, &sent);
        let Some(first) = all.get(kept.len()).map(|a| a.time) else { break };
        for mut ack in all.into_iter().skip(kept.len()).take_while(|a| a.time < first + d.round_trip()) {
            // Each at a time of its own that a script can express, and not before its time.
            ack.time = (ack.time.div_ceil(US) * US).max(kept.last().map_or(0, |a| a.time + US));
            kept.push(ack);
        }
        if kept.len() > MOST {
            return Err(format!("it has not come to its end after {MOST} ACKs"));
        }
    }
    let text = text(d, &kept, last(&kept) + REST);
    let seen = watch(&text, Stack::Simulator)?;
    Ok(Grown { text, seen, acknowledged: kept.iter().map(|a| a.number).max().unwrap_or(1) })
}

#[cfg(test)]
mod tests {
    use super::super::kind::Kind;
    use super::*;

    /// Whatever the path does at first: in the end all data and the FIN are acknowledged, and the same seed gives the same script.
    #[test]
    fn connections_complete() {
        for words in ["sack", "nosack", "timestamps", "ecn", "dctcp", "windows", "active", "nosack,timestamps,ecn,windows,active"]
        {
            let kind = Kind::parse(words).unwrap();
            for seed in 1..=12 {
                let d = RandomConnection::new(kind, seed);
                let grown = grow(&d).unwrap_or_else(|why| panic!("{words} {seed}: {why}"));
                let bytes: u64 = d.writes.iter().map(|w| w.1).sum();
                assert_eq!(grown.acknowledged, 1 + bytes + u64::from(d.close.is_some()), "{words} {seed}\n{}", grown.text);
                assert_eq!(grow(&RandomConnection::new(kind, seed)).unwrap(), grown, "{words} {seed}");
            }
        }
    }

    /// Different kinds and seeds give different connections.
    #[test]
    fn another_seed_is_another_connection() {
        let text = |words, seed| grow(&RandomConnection::new(Kind::parse(words).unwrap(), seed)).unwrap().text;
        let all = [text("sack", 1), text("sack", 2), text("timestamps", 1), text("dctcp", 1)];
        for (i, one) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.lines().skip(1).ne(one.lines().skip(1))), "{one}");
        }
    }
}
