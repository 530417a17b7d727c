//! The messages on a connection: what the application wrote, from the first byte of each to its delivery and acknowledgement.

use forebay_experiment::waits::Stalls;
use forebay_traffic::First;
use forebay_units::{AppId, NodeId, QueryId, SumId, Time, TimeOrNever, Walk};
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
pub(super) struct Held {
    /// Delivered to the application up to here.
    pub in_order: u64,
    /// What waits for something before it, disjoint.
    pub beyond: Box<[(u64, u64)]>,
}

impl Held {
    /// Bytes of [begin, end) among it; all from `begin` on without an end.
    pub(super) fn within(&self, begin: u64, end: Option<u64>) -> u64 {
        let end = end.unwrap_or(u64::MAX);
        let common = |a: u64, b: u64| b.min(end).saturating_sub(a.max(begin));
        common(0, self.in_order) + self.beyond.iter().map(|&(a, b)| common(a, b)).sum::<u64>()
    }
}

/// Identity of one connection: read by both of its hosts, changed between windows only.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
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
    /// What is written when it opens.
    pub first: First,
    /// A source of datagrams: there is no TCP on this connection.
    pub datagrams: bool,
    /// Packets of this connection dropped in the network.
    pub dropped: u64,
    /// Interval of its rows in the `tcp` series; zero: every ACK; never: it has none.
    pub sample_every: TimeOrNever,
    /// What its receiver had when the warm-up ended.
    pub before: Held,
}

/// What messages have waited for, by first byte.
type Waited = BTreeMap<u64, Stalls>;

/// The messages of a connection as its sending host knows them.
#[derive(Debug, Clone, Default)]
pub(super) struct Outgoing {
    /// Not yet acknowledged, oldest first.
    pub(crate) messages: VecDeque<Message>,
    /// How many of them are delivered, as far as the receiving host has said.
    delivered: usize,
    /// Next time of a `tcp` series row.
    pub(crate) next_sample: Time,
    /// That of messages on their way. Most connections have none.
    stalls: Option<Box<Waited>>,
}

impl Message {
    /// Goes through it.
    fn walk(&mut self, v: &mut dyn Walk) {
        let Message { begin, behind, start, delivered, query, deadline, first_window } = self;
        v.flag(behind.is_some());
        match behind {
            // Of a message without end nothing depends on where and when it began.
            None => v.mark(begin),
            Some(behind) => {
                let mut end = behind.get();
                v.offset(begin);
                v.offset(&mut end);
                *behind = NonZeroU64::new(end).unwrap_or(NonZeroU64::MIN);
                v.time(start);
                v.same(*first_window);
            }
        }
        v.timer(delivered);
        v.flag(query.is_some());
        query.iter_mut().for_each(|q| v.query(q));
        v.timer(deadline);
    }
}

impl Stream {
    /// Goes through it.
    pub(super) fn walk(&mut self, v: &mut dyn Walk) {
        #[rustfmt::skip]
        let Stream {
            conn_id, src: _, dst: _, hash: _, app: _, sum: _, tag: _, generation, live, first: _, datagrams, dropped, sample_every: _,
            before: _,
        } = self;
        v.same(*conn_id);
        v.same(u64::from(*generation));
        v.flag(*live);
        v.count(dropped);
        if *datagrams {
            v.never("datagrams are sent at a rate of their own");
        }
    }
}

impl Outgoing {
    /// Goes through it; `every`: the interval of its connection's samples, if there is one.
    pub(super) fn walk(&mut self, every: Option<Time>, v: &mut dyn Walk) {
        let Outgoing { messages, delivered, next_sample, stalls } = self;
        let endless = messages.front().is_some_and(|m| m.behind.is_none());
        v.same(messages.len() as u64);
        messages.iter_mut().for_each(|m| m.walk(v));
        v.same(*delivered as u64);
        if every.is_some_and(|every| every > Time::ZERO) {
            v.time(next_sample);
        }
        let Some(stalls) = stalls else { return v.same(0) };
        v.same(1 + stalls.len() as u64);
        let old = std::mem::take(&mut **stalls);
        stalls.extend(old.into_iter().map(|(mut begin, mut of)| {
            let Stalls { timeout, probe, syn, delayed_ack, behind } = &mut of;
            let all = [timeout, probe, syn, delayed_ack, behind];
            if endless {
                all.into_iter().for_each(|n| v.count(n));
                v.mark(&mut begin);
            } else {
                all.into_iter().for_each(|n| v.same(*n));
                v.offset(&mut begin);
            }
            (begin, of)
        }));
    }

    /// Starts again for a new connection, with the memory of the one before.
    pub(super) fn restart(&mut self) {
        self.messages.clear();
        // Most connections have one message at a time; growing from nothing would make room for four.
        self.messages.reserve_exact(1);
        (self.delivered, self.next_sample, self.stalls) = (0, Time::ZERO, None);
    }

    /// What the message that begins at stream offset `begin` has waited for so far.
    pub(super) fn stalls(&mut self, begin: u64) -> &mut Stalls {
        self.stalls.get_or_insert_default().entry(begin).or_default()
    }

    /// Takes what the message waited for, if anything.
    pub(super) fn take_stalls(&mut self, begin: u64) -> Option<Stalls> {
        self.stalls.as_mut().and_then(|s| s.remove(&begin))
    }

    /// The receiving host had the next message completely at `time`.
    pub(super) fn note_delivered(&mut self, time: Time) {
        if let Some(m) = self.messages.get_mut(self.delivered) {
            m.delivered = time.into();
            self.delivered += 1;
        }
    }

    /// The oldest message that is not delivered, as far as the receiving host has said.
    pub(super) fn awaited(&self) -> Option<&Message> {
        self.messages.get(self.delivered)
    }

    /// Takes out the oldest message, which is acknowledged.
    pub(super) fn pop(&mut self) -> Option<Message> {
        let message = self.messages.pop_front()?;
        // An endless flow that was stopped has no last byte that its receiver could have noticed.
        self.delivered -= usize::from(message.behind.is_some());
        Some(message)
    }
}

/// Ends of messages, and what these belong to.
type Awaited = VecDeque<(u64, Option<QueryId>)>;

/// The messages of a connection as its receiving host knows them: those that have not arrived yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Incoming {
    /// What the oldest belongs to; its end is what the endpoint looks out for.
    query: Option<QueryId>,
    /// Ends of those behind it, and what they belong to. Most connections never have any.
    behind: Option<Box<Awaited>>,
}

impl Incoming {
    /// Goes through it.
    pub(super) fn walk(&mut self, v: &mut dyn Walk) {
        let Incoming { query, behind } = self;
        v.flag(query.is_some());
        query.iter_mut().for_each(|q| v.query(q));
        v.same(behind.as_ref().map_or(0, |b| b.len() as u64));
        for (end, query) in behind.iter_mut().flat_map(|b| b.iter_mut()) {
            v.offset(end);
            v.flag(query.is_some());
            query.iter_mut().for_each(|q| v.query(q));
        }
    }

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
        let (mut incoming, mut awaited) = (Incoming::default(), u64::MAX);
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
