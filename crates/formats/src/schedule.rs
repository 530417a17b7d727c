//! Operations of ranks, of which some wait for others, as flows that wait for flows.
//!
//! The network carries messages only. Calculations of a rank become pauses after the messages that came before them.

use crate::FileError;
use crate::fabric::Node;
use crate::flow_set::{After, Flow, FlowSet};
use forebay_types::Time;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nanoseconds.
    Calc(u64),
    /// Number of the message.
    Send(usize),
    /// Number of the message, once it is matched.
    Recv(usize),
}

/// Operation of a rank.
#[derive(Debug)]
struct Operation {
    /// Place in the file, for messages.
    place: usize,
    kind: Kind,
    /// Operations that end first.
    requires: Vec<usize>,
    /// Operations that start first.
    starts: Vec<usize>,
}

/// A message; its number is that of its flow.
#[derive(Debug)]
struct Message {
    src: usize,
    dst: usize,
    bytes: u64,
    place: usize,
}

/// A receive that waits for its message.
#[derive(Debug)]
struct Receive {
    rank: usize,
    operation: usize,
    src: usize,
    tag: u64,
    bytes: u64,
}

/// Ends of messages, `None` for the start of the run, each with the time after it that an operation waits for, ns.
type Ready = BTreeMap<Option<usize>, u64>;

/// The error of an operation: its rank, its place in the file, and the message.
pub(crate) type PlacedError = (usize, usize, String);

/// Operations by rank.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    ranks: Vec<Vec<Operation>>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
    /// Messages that no receive has taken, by source, destination and tag.
    sent: HashMap<(usize, usize, u64), VecDeque<usize>>,
}

impl Schedule {
    /// A schedule of `ranks` ranks without operations.
    pub(crate) fn new(ranks: usize) -> Schedule {
        Schedule { ranks: (0..ranks).map(|_| Vec::new()).collect(), ..Schedule::default() }
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// True if a rank has operations.
    pub(crate) fn is_described(&self, rank: usize) -> bool {
        !self.ranks[rank].is_empty()
    }

    /// Appends a calculation of `ns` nanoseconds to a rank, and returns its number there.
    pub(crate) fn calc(&mut self, rank: usize, place: usize, ns: u64) -> usize {
        self.push(rank, place, Kind::Calc(ns))
    }

    /// Appends a message from `rank` to `dst`.
    pub(crate) fn send(&mut self, rank: usize, place: usize, dst: usize, tag: u64, bytes: u64) -> usize {
        let number = self.messages.len();
        self.messages.push(Message { src: rank, dst, bytes, place });
        self.sent.entry((rank, dst, tag)).or_default().push_back(number);
        self.push(rank, place, Kind::Send(number))
    }

    /// Appends the receive of a message from `src`: of the first one of this tag that no receive before has taken.
    pub(crate) fn recv(&mut self, rank: usize, place: usize, src: usize, tag: u64, bytes: u64) -> usize {
        let operation = self.push(rank, place, Kind::Recv(usize::MAX));
        self.receives.push(Receive { rank, operation, src, tag, bytes });
        operation
    }

    fn push(&mut self, rank: usize, place: usize, kind: Kind) -> usize {
        self.ranks[rank].push(Operation { place, kind, requires: Vec::new(), starts: Vec::new() });
        self.ranks[rank].len() - 1
    }

    /// Operation `waiting` of a rank begins after the end of `first`.
    pub(crate) fn requires(&mut self, rank: usize, waiting: usize, first: usize) {
        self.ranks[rank][waiting].requires.push(first);
    }

    /// Operation `waiting` of a rank begins after the start of `first`.
    pub(crate) fn starts_after(&mut self, rank: usize, waiting: usize, first: usize) {
        self.ranks[rank][waiting].starts.push(first);
    }

    /// The messages as flows. Rank `r` is host `r` of `hosts`.
    ///
    /// # Errors
    /// Messages without a receive and receives without a message, and operations that wait for themselves; `error` makes the error of an operation.
    pub(crate) fn flows(
        mut self,
        file: &str,
        hosts: &[Node],
        error: &dyn Fn(PlacedError) -> FileError,
    ) -> Result<FlowSet, FileError> {
        if self.ranks.len() > hosts.len() {
            return Err(FileError::of(file, format!("{} ranks, and the network has {} hosts", self.ranks.len(), hosts.len())));
        }
        self.match_receives().map_err(error)?;
        if self.messages.is_empty() {
            return Err(FileError::of(file, "there are no messages"));
        }
        let ready = self.ready().map_err(error)?;
        let mut set = FlowSet { flows: Vec::with_capacity(ready.len()), dependent: true };
        for (id, (message, ready)) in self.messages.iter().zip(ready).enumerate() {
            let after =
                ready.into_iter().map(|(flow, ns)| After { flow: flow.map(|f| f as u64), pause: Time(ns.saturating_mul(1000)) });
            set.flows.push(Flow {
                src: hosts[message.src],
                dst: hosts[message.dst],
                bytes: message.bytes,
                start: Time::ZERO,
                class: None,
                id: id as u64,
                after: after.collect(),
            });
        }
        Ok(set)
    }

    fn match_receives(&mut self) -> Result<(), PlacedError> {
        for r in &self.receives {
            let operation = &mut self.ranks[r.rank][r.operation];
            let error = |text: String| (r.rank, operation.place, text);
            let Some(message) = self.sent.get_mut(&(r.src, r.rank, r.tag)).and_then(VecDeque::pop_front) else {
                return Err(error(format!(
                    "rank {} sends no message with tag {} to rank {} for this receive",
                    r.src, r.tag, r.rank
                )));
            };
            let bytes = self.messages[message].bytes;
            if bytes != r.bytes {
                return Err(error(format!("the receive has {} bytes, and the message of rank {} has {bytes}", r.bytes, r.src)));
            }
            operation.kind = Kind::Recv(message);
        }
        let left = self.sent.values().flatten().min();
        match left.map(|m| &self.messages[*m]) {
            Some(m) => Err((m.src, m.place, format!("rank {} has no receive for this message", m.dst))),
            None => Ok(()),
        }
    }

    /// Events that each message waits for.
    fn ready(&self) -> Result<Vec<Ready>, PlacedError> {
        let mut of_message = vec![Ready::new(); self.messages.len()];
        for (rank, operations) in self.ranks.iter().enumerate() {
            let order = order(operations).map_err(|i| {
                (rank, operations[i].place, "this operation waits for itself through other operations".to_owned())
            })?;
            let (mut starts, mut ends) = (vec![Ready::new(); operations.len()], vec![Ready::new(); operations.len()]);
            for i in order {
                let operation = &operations[i];
                let mut start = Ready::new();
                operation.requires.iter().for_each(|&o| join(&mut start, &ends[o]));
                operation.starts.iter().for_each(|&o| join(&mut start, &starts[o]));
                ends[i] = match operation.kind {
                    Kind::Calc(ns) => {
                        // Without an event before it, it begins with the run.
                        let begin = if start.is_empty() { Ready::from([(None, 0)]) } else { start.clone() };
                        begin.into_iter().map(|(event, after)| (event, after.saturating_add(ns))).collect()
                    }
                    Kind::Send(message) => {
                        of_message[message] = start.clone();
                        // All that the send has waited for is over.
                        Ready::from([(Some(message), 0)])
                    }
                    Kind::Recv(message) => {
                        let mut end = start.clone();
                        join(&mut end, &Ready::from([(Some(message), 0)]));
                        end
                    }
                };
                starts[i] = start;
            }
        }
        self.check_cycles(&of_message)?;
        Ok(of_message)
    }

    /// Refuses messages of several ranks that wait for each other.
    fn check_cycles(&self, ready: &[Ready]) -> Result<(), PlacedError> {
        let mut waits: Vec<usize> = ready.iter().map(|r| r.keys().flatten().count()).collect();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); ready.len()];
        for (waiting, events) in ready.iter().enumerate() {
            events.keys().flatten().for_each(|&first| next[first].push(waiting));
        }
        let mut free: Vec<usize> = (0..waits.len()).filter(|i| waits[*i] == 0).collect();
        while let Some(message) = free.pop() {
            for &waiting in &next[message] {
                waits[waiting] -= 1;
                if waits[waiting] == 0 {
                    free.push(waiting);
                }
            }
        }
        match waits.iter().position(|n| *n > 0) {
            Some(m) => {
                let Message { src, place, .. } = self.messages[m];
                Err((src, place, "this message waits for itself through other ranks".into()))
            }
            None => Ok(()),
        }
    }
}

/// Adds the events of `other`; of an event in both, the longer time counts.
fn join(ready: &mut Ready, other: &Ready) {
    for (event, after) in other {
        let old = ready.entry(*event).or_insert(0);
        *old = (*old).max(*after);
    }
}

/// Operations after all that they wait for, or else the first one that waits for itself.
fn order(operations: &[Operation]) -> Result<Vec<usize>, usize> {
    let before = |o: &Operation| o.requires.len() + o.starts.len();
    let mut waits: Vec<usize> = operations.iter().map(before).collect();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); operations.len()];
    for (i, o) in operations.iter().enumerate() {
        o.requires.iter().chain(&o.starts).for_each(|&first| next[first].push(i));
    }
    let mut free: VecDeque<usize> = (0..operations.len()).filter(|i| waits[*i] == 0).collect();
    let mut all = Vec::with_capacity(operations.len());
    while let Some(i) = free.pop_front() {
        all.push(i);
        for &waiting in &next[i] {
            waits[waiting] -= 1;
            if waits[waiting] == 0 {
                free.push_back(waiting);
            }
        }
    }
    match waits.iter().position(|n| *n > 0) {
        Some(i) => Err(i),
        None => Ok(all),
    }
}
