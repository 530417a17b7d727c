//! Incast events: trains of many senders to one receiver that begin within an RTT.

use crate::trains::sink::{Host, Incast};
use hashbrown::HashMap;
use std::collections::{BTreeMap, VecDeque};

/// Train starts of a receiver that are remembered.
const MAX_STARTS: usize = 1 << 16;

/// Starts of trains to one receiver within the last RTT.
#[derive(Debug, Default)]
struct Receiver {
    starts: VecDeque<(u64, u32)>,
    senders: HashMap<u32, u32>,
    event: Option<Incast>,
}

/// Finds incast events. Hosts are numbers.
#[derive(Debug)]
pub(crate) struct Incasts {
    receivers: BTreeMap<u32, Receiver>,
    min_senders: usize,
}

impl Incasts {
    /// Events need `min_senders` senders.
    pub(crate) fn new(min_senders: usize) -> Incasts {
        Incasts { receivers: BTreeMap::new(), min_senders: min_senders.max(2) }
    }

    /// A train from host number `sender` begins at `now`; `rtt` in ns. Returns an event that ended before.
    pub(crate) fn train(&mut self, receiver: Host, sender: u32, now: u64, rtt: u64) -> Option<Incast> {
        let r = self.receivers.entry(receiver.number).or_default();
        while let Some(&(start, old)) = r.starts.front()
            && (now.saturating_sub(start) > rtt || r.starts.len() >= MAX_STARTS)
        {
            r.starts.pop_front();
            if let Some(count) = r.senders.get_mut(&old) {
                *count -= 1;
                if *count == 0 {
                    r.senders.remove(&old);
                }
            }
        }
        r.starts.push_back((now, sender));
        *r.senders.entry(sender).or_default() += 1;
        let senders = r.senders.len();
        if senders < self.min_senders {
            return r.event.take();
        }
        match &mut r.event {
            Some(event) => {
                (event.end_ns, event.senders, event.trains) = (now, event.senders.max(senders), event.trains + 1);
            }
            None => {
                let start_ns = r.starts.front().map_or(now, |first| first.0);
                let trains = r.starts.len() as u64;
                r.event = Some(Incast { receiver, start_ns, end_ns: now, senders, trains, rtt_ns: rtt });
            }
        }
        None
    }

    /// Events that are open at the end of the capture.
    pub(crate) fn finish(self) -> impl Iterator<Item = Incast> {
        self.receivers.into_values().filter_map(|r| r.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trains::packet::Endpoint;
    use std::net::Ipv4Addr;

    fn host() -> Host {
        Host { end: Endpoint::from((Ipv4Addr::new(10, 0, 0, 1).into(), 80)), number: 3 }
    }

    #[test]
    fn many_senders_make_an_event() {
        let mut all = Incasts::new(3);
        for (sender, now) in [(1, 100), (1, 110), (2, 120), (3, 190), (4, 195)] {
            assert_eq!(all.train(host(), sender, now, 100), None);
        }
        let event = all.train(host(), 1, 1_000, 100).unwrap();
        assert_eq!(event, Incast { receiver: host(), start_ns: 100, end_ns: 195, senders: 4, trains: 5, rtt_ns: 100 });
        assert_eq!(all.finish().count(), 0);
    }

    #[test]
    fn slow_succession_makes_none() {
        let mut all = Incasts::new(3);
        assert!((0..20).all(|i| all.train(host(), i, u64::from(i) * 60, 100).is_none()));
        assert_eq!(all.finish().count(), 0);
    }

    #[test]
    fn open_event_ends_with_the_capture() {
        let mut all = Incasts::new(2);
        (0..5).for_each(|i| assert_eq!(all.train(host(), i, 7, 100), None));
        assert_eq!(all.finish().map(|e| e.senders).collect::<Vec<_>>(), [5]);
    }
}
