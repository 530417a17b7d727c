//! Connections and their messages, from the first byte that the application wrote to delivery and acknowledgment.

use forebay_apps::{InitialData, Job};
use forebay_experiment::waits::Stalls;
use forebay_types::{AppId, NodeId, QueryId, SumId, Time, TimeOrNever};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// Stream offset of its first byte.
    pub begin: u64,
    /// Stream offset behind its last byte; `None` for an endless one.
    pub end_offset: Option<NonZeroU64>,
    /// Time at which the application wrote it.
    pub start: Time,
    /// Time at which the receiver had all of it.
    pub delivered: TimeOrNever,
    /// Barrier round or request of the message.
    pub query: Option<QueryId>,
    /// Deadline, if the message has one.
    pub deadline: TimeOrNever,
    /// Bytes that the windows allowed when the message was written.
    pub first_window: u64,
}

impl Message {
    /// Stream offset behind its last byte; `None` for an endless one.
    pub(super) fn end(&self) -> Option<u64> {
        self.end_offset.map(NonZeroU64::get)
    }
}

/// Byte ranges that a receiver has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReceivedRanges {
    /// End of the bytes delivered to the application.
    pub in_order: u64,
    /// Disjoint ranges above a gap.
    pub beyond: Box<[(u64, u64)]>,
}

impl ReceivedRanges {
    /// Number of bytes in [begin, end) that have been received; without an end, all from `begin` on.
    pub(super) fn within(&self, begin: u64, end: Option<u64>) -> u64 {
        let end = end.unwrap_or(u64::MAX);
        let common = |a: u64, b: u64| b.min(end).saturating_sub(a.max(begin));
        common(0, self.in_order) + self.beyond.iter().map(|&(a, b)| common(a, b)).sum::<u64>()
    }
}

/// Identity of a connection: both of its hosts read it; it changes between windows only.
#[derive(Debug, Clone, Default)]
pub(super) struct Connection {
    /// Number of the connection in order of creation.
    pub conn_id: u64,
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// ECMP hash of the data direction.
    pub hash: u16,
    /// Application that owns the connection.
    pub app: AppId,
    /// Sum of the table `deliveries` that its payload counts for.
    pub sum: SumId,
    /// The application's identifier of the connection.
    pub tag: u64,
    /// Generation of the slot, 6 bits.
    pub generation: u8,
    /// True if the slot is in use.
    pub live: bool,
    /// First write when the connection opens: exactly one message (`only`), or endless data (`endless`).
    pub only: bool,
    pub endless: bool,
    /// That one message, until the connection opens.
    pub job: Option<Box<Job>>,
    /// A source of datagrams without TCP.
    pub datagrams: bool,
    /// True if the connection has rows in the `tcp` series.
    pub sampled: bool,
    /// Packets of this connection dropped in the network.
    pub dropped: u64,
    /// Bytes that the receiver had when the warm-up ended, if any.
    pub before: Option<Box<ReceivedRanges>>,
}

// One cache line.
const _: () = assert!(size_of::<Connection>() <= 64);

impl Connection {
    /// Sets the first write of the connection.
    pub(super) fn writing(self, first: InitialData) -> Connection {
        match first {
            InitialData::Nothing => self,
            InitialData::Endless => Connection { endless: true, ..self },
            InitialData::First(job) => Connection { job: Some(Box::new(job)), ..self },
            InitialData::Only(job) => Connection { only: true, job: Some(Box::new(job)), ..self },
        }
    }

    /// Number of bytes in [begin, end) that the receiver had when the warm-up ended.
    pub(super) fn before(&self, begin: u64, end: Option<u64>) -> u64 {
        self.before.as_ref().map_or(0, |held| held.within(begin, end))
    }
}

/// Stalls by the first byte of their message.
type StallsByMessage = BTreeMap<u64, Stalls>;

/// Sampling of a connection in the `tcp` series.
#[derive(Debug, Clone, Copy)]
struct Sampling {
    /// Interval; zero: every ACK.
    every: Time,
    /// Time of the next row.
    next: Time,
}

/// The oldest unacknowledged message, and how many messages have been delivered.
pub(super) type FirstMessage = Box<(Message, usize)>;

/// Messages of a connection at its sending host. Most connections are idle most of the time, and have none.
#[derive(Debug, Clone, Default)]
pub(super) struct OutgoingMessages {
    /// The oldest unacknowledged message, and how many messages have been delivered according to the sending host.
    first: Option<FirstMessage>,
    /// State that few connections have.
    rest: Option<Box<OutgoingRest>>,
}

const _: () = assert!(size_of::<OutgoingMessages>() <= 16);

/// State that few connections have.
#[derive(Debug, Clone, Default)]
struct OutgoingRest {
    /// Messages behind the oldest unacknowledged one, in order.
    behind: VecDeque<Message>,
    /// Stalls of the outstanding messages.
    stalls: StallsByMessage,
    sampling: Option<Sampling>,
}

impl OutgoingMessages {
    /// Creates the messages of a new connection, with rows in the `tcp` series at this interval, if any.
    pub(super) fn sampled(every: Option<Time>) -> OutgoingMessages {
        let sampling = every.map(|every| Sampling { every, next: Time::ZERO });
        OutgoingMessages {
            rest: sampling.map(|s| Box::new(OutgoingRest { sampling: Some(s), ..OutgoingRest::default() })),
            ..OutgoingMessages::default()
        }
    }

    /// Returns true if a row is due at `now`. If so, the next one is due an interval later.
    pub(super) fn sample_is_due(&mut self, now: Time) -> bool {
        let Some(s) = self.rest.as_mut().and_then(|m| m.sampling.as_mut()).filter(|s| now >= s.next) else { return false };
        if s.every > Time::ZERO {
            s.next = Time(now.0 - now.0 % s.every.0) + s.every;
        }
        true
    }

    /// Returns true if no message is outstanding.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The messages, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Message> {
        self.front().into_iter().chain(self.rest.iter().flat_map(|rest| &rest.behind))
    }

    /// The oldest message.
    pub(super) fn front(&self) -> Option<&Message> {
        self.first.as_ref().map(|first| &first.0)
    }

    /// Limits the first window of the oldest message to `bytes`: the sender had been idle, or the receive window is smaller.
    pub(super) fn narrow_first_window(&mut self, bytes: u64) {
        if let Some((m, _)) = self.first.as_deref_mut() {
            m.first_window = m.first_window.min(bytes);
        }
    }

    /// The second oldest message.
    pub(super) fn second(&self) -> Option<&Message> {
        self.get(1)
    }

    fn get(&self, place: usize) -> Option<&Message> {
        match place.checked_sub(1) {
            None => self.front(),
            Some(behind) => self.rest.as_ref()?.behind.get(behind),
        }
    }

    /// Adds a message that the application has written. `spare` is memory of earlier messages.
    pub(super) fn push(&mut self, message: Message, spare: &mut Vec<FirstMessage>) {
        match &self.first {
            None => {
                self.first = Some(match spare.pop() {
                    None => Box::new((message, 0)),
                    Some(mut first) => {
                        *first = (message, 0);
                        first
                    }
                });
            }
            Some(_) => self.rest.get_or_insert_default().behind.push_back(message),
        }
    }

    /// Stalls so far of the message that begins at stream offset `begin`.
    pub(super) fn stalls(&mut self, begin: u64) -> &mut Stalls {
        self.rest.get_or_insert_default().stalls.entry(begin).or_default()
    }

    /// Removes and returns the stalls of a message, if it had any.
    pub(super) fn take_stalls(&mut self, begin: u64) -> Option<Stalls> {
        self.rest.as_mut().and_then(|m| m.stalls.remove(&begin))
    }

    /// Notes that the receiving host had the next message completely at `time`.
    pub(super) fn note_delivered(&mut self, time: Time) {
        let Some((first, delivered)) = self.first.as_deref_mut() else { return };
        let next = match delivered.checked_sub(1) {
            None => Some(first),
            Some(place) => self.rest.as_mut().and_then(|m| m.behind.get_mut(place)),
        };
        if let Some(m) = next {
            m.delivered = time.into();
            *delivered += 1;
        }
    }

    /// The oldest undelivered message according to the sending host.
    pub(super) fn awaited(&self) -> Option<&Message> {
        self.get(self.first.as_ref()?.1)
    }

    /// Removes the oldest message, which has been acknowledged; its memory goes to `spare`.
    pub(super) fn pop(&mut self, spare: &mut Vec<FirstMessage>) -> Option<Message> {
        let (message, delivered) = self.first.as_deref_mut()?;
        // A stopped endless flow has no last byte that the receiver could have noticed.
        *delivered -= usize::from(message.end_offset.is_some());
        self.pop_front(spare)
    }

    /// Removes the oldest message, acknowledged or not.
    pub(super) fn pop_front(&mut self, spare: &mut Vec<FirstMessage>) -> Option<Message> {
        let mut first = self.first.take()?;
        match self.rest.as_mut().and_then(|m| m.behind.pop_front()) {
            None => {
                let message = first.0;
                spare.push(first);
                Some(message)
            }
            Some(next) => {
                let message = std::mem::replace(&mut first.0, next);
                self.first = Some(first);
                Some(message)
            }
        }
    }
}

/// Ends of messages, and their queries.
type ExpectedEnds = VecDeque<(u64, Option<QueryId>)>;

/// Messages of a connection at its receiving host: those that have not arrived yet.
#[derive(Debug, Clone, Default)]
pub(super) struct IncomingMessages {
    /// Query of the oldest message, whose end the receiver watches for.
    query: Option<QueryId>,
    /// Ends and queries of the messages behind it. Most connections never have any.
    behind: Option<Box<ExpectedEnds>>,
}

impl IncomingMessages {
    /// Adds a message that ends at stream offset `end`. `awaited` is the end that the receiver watches for, `u64::MAX` for none.
    pub(super) fn expect(&mut self, awaited: &mut u64, end: u64, query: Option<QueryId>) {
        if *awaited == u64::MAX {
            (*awaited, self.query) = (end, query);
        } else {
            self.behind.get_or_insert_default().push_back((end, query));
        }
    }

    /// Removes the next message if the stream has reached its end with `offset`, and returns its query.
    pub(super) fn complete(&mut self, awaited: &mut u64, offset: u64) -> Option<Option<QueryId>> {
        if offset < *awaited {
            return None;
        }
        let done = self.query;
        (*awaited, self.query) = self.behind.as_mut().and_then(|b| b.pop_front()).unwrap_or((u64::MAX, None));
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_complete_in_write_order() {
        let (mut incoming, mut awaited) = (IncomingMessages::default(), u64::MAX);
        let query = |n| Some(QueryId::new(n));
        for (end, n) in [(10, 1), (20, 2), (35, 3)] {
            incoming.expect(&mut awaited, end, query(n));
        }
        assert_eq!(incoming.complete(&mut awaited, 9), None);
        let done: Vec<_> = std::iter::from_fn(|| incoming.complete(&mut awaited, 34)).collect();
        assert_eq!((done, awaited), (vec![query(1), query(2)], 35));
        assert_eq!(incoming.complete(&mut awaited, 35), Some(query(3)));
        assert_eq!((incoming.complete(&mut awaited, 35), awaited), (None, u64::MAX));
    }
}
