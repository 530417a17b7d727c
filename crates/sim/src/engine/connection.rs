//! The messages on a connection: what the application wrote, from the first byte of each to its delivery and acknowledgement.

use forebay_experiment::waits::Stalls;
use forebay_traffic::{First, Job};
use forebay_units::{AppId, NodeId, QueryId, SumId, Time, TimeOrNever};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// Stream offset of its first byte.
    pub begin: u64,
    /// Stream offset behind its last byte; `None` for an endless one.
    pub behind: Option<NonZeroU64>,
    /// When the application handed it over.
    pub start: Time,
    /// When the receiver had all of it, if it has.
    pub delivered: TimeOrNever,
    /// Barrier round or request it belongs to.
    pub query: Option<QueryId>,
    /// When it should have arrived, if it has a deadline.
    pub deadline: TimeOrNever,
    /// Bytes of the congestion window when it was written.
    pub first_window: u64,
}

impl Message {
    /// Stream offset behind its last byte; `None` for an endless one.
    pub(super) fn end(&self) -> Option<u64> {
        self.behind.map(NonZeroU64::get)
    }
}

/// What a receiver has of a stream: all up to an offset, and intervals beyond it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReceivedRanges {
    /// Delivered to the application up to here.
    pub in_order: u64,
    /// What waits for something before it, disjoint.
    pub beyond: Box<[(u64, u64)]>,
}

impl ReceivedRanges {
    /// Bytes of [begin, end) among it; all from `begin` on without an end.
    pub(super) fn within(&self, begin: u64, end: Option<u64>) -> u64 {
        let end = end.unwrap_or(u64::MAX);
        let common = |a: u64, b: u64| b.min(end).saturating_sub(a.max(begin));
        common(0, self.in_order) + self.beyond.iter().map(|&(a, b)| common(a, b)).sum::<u64>()
    }
}

/// Identity of one connection: read by both of its hosts, changed between windows only.
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
    /// Application that owns it.
    pub app: AppId,
    /// What its payload counts for over time.
    pub sum: SumId,
    /// The application's own name for it.
    pub tag: u64,
    /// Generation of the slot, 6 bits.
    pub generation: u8,
    /// Whether the slot is in use.
    pub live: bool,
    /// What is written when it opens: one message and no more, or without end.
    pub only: bool,
    pub endless: bool,
    /// That one message, until it does.
    pub job: Option<Box<Job>>,
    /// A source of datagrams: there is no TCP on this connection.
    pub datagrams: bool,
    /// It has rows in the `tcp` series.
    pub sampled: bool,
    /// Packets of this connection dropped in the network.
    pub dropped: u64,
    /// What its receiver had when the warm-up ended, if that was anything.
    pub before: Option<Box<ReceivedRanges>>,
}

// A line of the cache.
const _: () = assert!(size_of::<Connection>() <= 64);

impl Connection {
    /// The same that writes this when it opens.
    pub(super) fn writing(self, first: First) -> Connection {
        match first {
            First::Nothing => self,
            First::Endless => Connection { endless: true, ..self },
            First::Only(job) => Connection { only: true, job: Some(Box::new(job)), ..self },
        }
    }

    /// Bytes of [begin, end) that its receiver had when the warm-up ended.
    pub(super) fn before(&self, begin: u64, end: Option<u64>) -> u64 {
        self.before.as_ref().map_or(0, |held| held.within(begin, end))
    }
}

/// What messages have waited for, by first byte.
type StallsByMessage = BTreeMap<u64, Stalls>;

/// Rows of a connection in the `tcp` series.
#[derive(Debug, Clone, Copy)]
struct Sampling {
    /// Their interval; zero: every ACK.
    every: Time,
    /// When the next one is due.
    next: Time,
}

/// The oldest message of a connection that is not acknowledged, and how many are delivered.
pub(super) type FirstMessage = Box<(Message, usize)>;

/// The messages of a connection as its sending host knows them. Most connections are idle most of the time, and have none.
#[derive(Debug, Clone, Default)]
pub(super) struct OutgoingMessages {
    /// The oldest one that is not acknowledged, and how many are delivered, as far as the receiving host has said.
    first: Option<FirstMessage>,
    /// What few connections have.
    more: Option<Box<OutgoingRest>>,
}

const _: () = assert!(size_of::<OutgoingMessages>() <= 16);

/// What few connections have.
#[derive(Debug, Clone, Default)]
struct OutgoingRest {
    /// Messages behind the oldest one that is not acknowledged, in order.
    behind: VecDeque<Message>,
    /// What messages on their way have waited for.
    stalls: StallsByMessage,
    sampling: Option<Sampling>,
}

impl OutgoingMessages {
    /// The messages of a new connection, which has rows in the `tcp` series at this interval, or none.
    pub(super) fn sampled(every: Option<Time>) -> OutgoingMessages {
        let sampling = every.map(|every| Sampling { every, next: Time::ZERO });
        OutgoingMessages {
            more: sampling.map(|s| Box::new(OutgoingRest { sampling: Some(s), ..OutgoingRest::default() })),
            ..OutgoingMessages::default()
        }
    }

    /// Whether a row is due at `now`; then the next one is due an interval later.
    pub(super) fn sample_is_due(&mut self, now: Time) -> bool {
        let Some(s) = self.more.as_mut().and_then(|m| m.sampling.as_mut()).filter(|s| now >= s.next) else { return false };
        if s.every > Time::ZERO {
            s.next = Time(now.0 - now.0 % s.every.0) + s.every;
        }
        true
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The oldest one.
    pub(super) fn front(&self) -> Option<&Message> {
        self.first.as_ref().map(|first| &first.0)
    }

    /// The one behind it.
    pub(super) fn second(&self) -> Option<&Message> {
        self.get(1)
    }

    fn get(&self, place: usize) -> Option<&Message> {
        match place.checked_sub(1) {
            None => self.front(),
            Some(behind) => self.more.as_ref()?.behind.get(behind),
        }
    }

    /// The application has written one. `spare` is memory of others.
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
            Some(_) => self.more.get_or_insert_default().behind.push_back(message),
        }
    }

    /// What the message that begins at stream offset `begin` has waited for so far.
    pub(super) fn stalls(&mut self, begin: u64) -> &mut Stalls {
        self.more.get_or_insert_default().stalls.entry(begin).or_default()
    }

    /// Takes what the message waited for, if anything.
    pub(super) fn take_stalls(&mut self, begin: u64) -> Option<Stalls> {
        self.more.as_mut().and_then(|m| m.stalls.remove(&begin))
    }

    /// The receiving host had the next message completely at `time`.
    pub(super) fn note_delivered(&mut self, time: Time) {
        let Some((first, delivered)) = self.first.as_deref_mut() else { return };
        let next = match delivered.checked_sub(1) {
            None => Some(first),
            Some(place) => self.more.as_mut().and_then(|m| m.behind.get_mut(place)),
        };
        if let Some(m) = next {
            m.delivered = time.into();
            *delivered += 1;
        }
    }

    /// The oldest message that is not delivered, as far as the receiving host has said.
    pub(super) fn awaited(&self) -> Option<&Message> {
        self.get(self.first.as_ref()?.1)
    }

    /// Takes out the oldest message, which is acknowledged; its memory goes to `spare`.
    pub(super) fn pop(&mut self, spare: &mut Vec<FirstMessage>) -> Option<Message> {
        let (message, delivered) = self.first.as_deref_mut()?;
        // An endless flow that was stopped has no last byte that its receiver could have noticed.
        *delivered -= usize::from(message.behind.is_some());
        self.pop_front(spare)
    }

    /// Takes out the oldest message, whatever has become of it.
    pub(super) fn pop_front(&mut self, spare: &mut Vec<FirstMessage>) -> Option<Message> {
        let mut first = self.first.take()?;
        match self.more.as_mut().and_then(|m| m.behind.pop_front()) {
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

/// Ends of messages, and what these belong to.
type ExpectedEnds = VecDeque<(u64, Option<QueryId>)>;

/// The messages of a connection as its receiving host knows them: those that have not arrived yet.
#[derive(Debug, Clone, Default)]
pub(super) struct IncomingMessages {
    /// What the oldest belongs to; its end is what the endpoint looks out for.
    query: Option<QueryId>,
    /// Ends of those behind it, and what they belong to. Most connections never have any.
    behind: Option<Box<ExpectedEnds>>,
}

impl IncomingMessages {
    /// A message that ends at stream offset `end` is on its way. `awaited` is the end that the endpoint looks out for, `u64::MAX` for none.
    pub(super) fn expect(&mut self, awaited: &mut u64, end: u64, query: Option<QueryId>) {
        if *awaited == u64::MAX {
            (*awaited, self.query) = (end, query);
        } else {
            self.behind.get_or_insert_default().push_back((end, query));
        }
    }

    /// The stream has reached `offset`: takes out the next message that is complete with it, and says what it belongs to.
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
    fn messages_complete_in_the_order_in_which_they_were_written() {
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
