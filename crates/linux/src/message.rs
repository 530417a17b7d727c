//! Messages of a connection, and what its packets and its sender's state say about each: the columns of a row of `flows`.

use forebay_experiment::rows::FlowRow;
use forebay_types::{QueryId, Time};
use std::collections::VecDeque;

/// Picoseconds of a microsecond.
pub(crate) const US: u64 = 1_000_000;

/// Counters of a message; the columns of [`FlowRow`] have the same names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stats {
    pub segs_sent: u64,
    pub segs_retx: u64,
    pub rtos: u32,
    pub rtos_head: u32,
    pub rtos_tail: u32,
    pub tlps: u32,
    pub syn_rtos: u32,
    pub fast_retx: u32,
    pub ecn_reductions: u32,
    pub loss_reductions: u32,
    /// Sum of alpha over `ecn_reductions`, if the congestion control has one.
    pub reduction_alpha: Option<f64>,
    pub ce_bytes: u64,
    /// Segments.
    pub cwnd_max: u32,
    /// Samples in microseconds, as the kernel takes them.
    pub rtt_min_us: Option<u32>,
    pub rtt_sum_us: u64,
    pub rtt_count: u64,
    /// Times in which the receive window and the send buffer limited the sender, us.
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
}

impl Stats {
    /// A sample of the round trip.
    pub(crate) fn sample(&mut self, rtt_us: u32) {
        self.rtt_min_us = Some(self.rtt_min_us.map_or(rtt_us, |least| least.min(rtt_us)));
        self.rtt_sum_us += u64::from(rtt_us);
        self.rtt_count += 1;
    }

    /// Fills its columns.
    pub(crate) fn fill(&self, row: &mut FlowRow) {
        row.segs_sent = self.segs_sent;
        row.segs_retx = self.segs_retx;
        (row.rtos, row.rtos_head, row.rtos_tail) = (self.rtos, self.rtos_head, self.rtos_tail);
        (row.tlps, row.syn_rtos, row.fast_retx) = (self.tlps, self.syn_rtos, self.fast_retx);
        (row.ecn_reductions, row.loss_reductions) = (self.ecn_reductions, self.loss_reductions);
        row.reduction_alpha = self.reduction_alpha.map(|sum| sum / f64::from(self.ecn_reductions));
        row.ce_acked_bytes = self.ce_bytes;
        row.cwnd_max = f64::from(self.cwnd_max);
        row.rtt_min = self.rtt_min_us.map(|us| Time(u64::from(us) * US)).into();
        row.rtt_mean = (self.rtt_sum_us * US).checked_div(self.rtt_count).map(Time).into();
        row.rwnd_limited = Time(self.rwnd_limited_us * US).into();
        row.sndbuf_limited = Time(self.sndbuf_limited_us * US).into();
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    /// Stream offset of its first byte.
    pub begin: u64,
    /// Stream offset behind its last byte; `None` for an endless one.
    pub end: Option<u64>,
    /// Time of the application's write.
    pub start: Time,
    /// Time at which the receiver had all of it.
    pub delivered: Option<Time>,
    /// Barrier round or request it belongs to.
    pub query: Option<QueryId>,
    /// Deadline of its delivery; [`Time::NEVER`] if it has none.
    pub deadline: Time,
    /// Bytes of the congestion window when it was written.
    pub first_window: u64,
    /// Its counters.
    pub stats: Stats,
}

/// The messages of a connection that are not acknowledged, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Messages {
    list: VecDeque<Message>,
    /// Number of delivered messages.
    delivered: usize,
    /// Counters of events before the first message; the first message takes them over.
    before: Stats,
}

impl Messages {
    /// A message was written, with a window of `cwnd` segments.
    pub(crate) fn push(&mut self, mut message: Message, cwnd: u32) {
        message.stats = std::mem::take(&mut self.before);
        message.stats.cwnd_max = cwnd;
        self.list.push_back(message);
    }

    /// The oldest one.
    pub(crate) fn first(&self) -> Option<&Message> {
        self.list.front()
    }

    /// The receiver has read all up to `offset` at `now`: marks the messages that are complete with it, and gives what they belong to.
    pub(crate) fn deliver(&mut self, offset: u64, now: Time) -> Vec<Option<QueryId>> {
        let mut complete = Vec::new();
        while let Some(m) = self.list.get_mut(self.delivered).filter(|m| m.end.is_some_and(|end| end <= offset)) {
            m.delivered = Some(now);
            complete.push(m.query);
            self.delivered += 1;
        }
        complete
    }

    /// Removes and returns the oldest message if all of it is acknowledged, with a window of `cwnd` segments.
    pub(crate) fn acknowledge(&mut self, offset: u64, cwnd: u32) -> Option<Message> {
        let done = self.list.front()?.end.is_some_and(|end| end <= offset);
        if !done {
            return None;
        }
        let message = self.take_first()?;
        if let Some(next) = self.list.front_mut() {
            next.stats.cwnd_max = next.stats.cwnd_max.max(cwnd);
        }
        Some(message)
    }

    /// Takes out the oldest message, acknowledged or not.
    pub(crate) fn take_first(&mut self) -> Option<Message> {
        let message = self.list.pop_front()?;
        self.delivered -= usize::from(message.delivered.is_some());
        Some(message)
    }

    /// Counters of the message that contains `offset`; beyond the last one, those of the last one (its FIN).
    pub(crate) fn stats_at(&mut self, offset: u64) -> &mut Stats {
        let place = self.list.partition_point(|m| m.end.is_some_and(|end| end <= offset)).min(self.list.len().saturating_sub(1));
        match self.list.get_mut(place) {
            Some(m) => &mut m.stats,
            None => &mut self.before,
        }
    }

    /// Counters of the oldest message.
    pub(crate) fn oldest_stats(&mut self) -> &mut Stats {
        match self.list.front_mut() {
            Some(m) => &mut m.stats,
            None => &mut self.before,
        }
    }

    /// The bytes from `from` to `to` were acknowledged with ECE.
    pub(crate) fn count_marked(&mut self, from: u64, to: u64) {
        for m in &mut self.list {
            m.stats.ce_bytes += to.min(m.end.unwrap_or(u64::MAX)).saturating_sub(from.max(m.begin));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(begin: u64, end: Option<u64>) -> Message {
        let stats = Stats::default();
        Message { begin, end, start: Time(1), delivered: None, query: None, deadline: Time::NEVER, first_window: 0, stats }
    }

    #[test]
    fn events_belong_to_the_bytes_message() {
        let mut all = Messages::default();
        all.stats_at(0).syn_rtos += 1;
        all.push(message(0, Some(100)), 10);
        all.push(message(100, Some(250)), 12);
        all.stats_at(99).segs_sent += 1;
        all.stats_at(100).segs_sent += 5;
        all.stats_at(900).segs_sent += 1;
        all.count_marked(90, 120);
        let first = all.acknowledge(100, 20).unwrap();
        assert_eq!((first.stats.syn_rtos, first.stats.segs_sent, first.stats.ce_bytes, first.stats.cwnd_max), (1, 1, 10, 10));
        assert!(all.acknowledge(249, 20).is_none());
        let second = all.acknowledge(250, 20).unwrap();
        assert_eq!((second.stats.segs_sent, second.stats.ce_bytes, second.stats.cwnd_max), (6, 20, 20));
    }

    #[test]
    fn messages_delivered_in_order_except_endless() {
        let mut all = Messages::default();
        let query = |n| Some(QueryId::new(n));
        all.push(Message { query: query(1), ..message(0, Some(10)) }, 1);
        all.push(Message { query: query(2), ..message(10, Some(20)) }, 1);
        all.push(message(20, None), 1);
        assert_eq!(all.deliver(9, Time(5)), []);
        assert_eq!(all.deliver(5_000, Time(6)), [query(1), query(2)]);
        assert_eq!(all.acknowledge(10, 1).unwrap().delivered, Some(Time(6)));
        assert_eq!(all.deliver(6_000, Time(7)), []);
    }
}
