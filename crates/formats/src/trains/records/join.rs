//! Joins flow records to connections.

use super::{Count, FlowRecord};
use crate::trains::options::Options;
use crate::trains::packet::Endpoint;
use hashbrown::HashMap;

/// Bytes of a segment with data beside its payload: IP, TCP and timestamps.
const HEADERS_V4: u64 = 20 + 32;
const HEADERS_V6: u64 = 40 + 32;
/// Payload below which the packets of a direction are ACKs: their options, such as SACK blocks, on average.
const MIN_PAYLOAD: u64 = 12;

/// Both ends of a connection, in numerical order.
type Key = (Endpoint, Endpoint);

/// One direction of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direction {
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) count: Count,
    /// The flags have a SYN.
    pub(crate) opened: bool,
    /// The flags have a FIN or RST.
    closed: bool,
}

impl Direction {
    /// Estimate of the payload: records count bytes of IP packets. Zero for a direction of ACKs.
    pub(crate) fn payload(&self) -> u64 {
        let headers = if self.src.is_v6() { HEADERS_V6 } else { HEADERS_V4 };
        let Count { packets, bytes } = self.count;
        let payload = bytes.saturating_sub(packets.saturating_mul(headers));
        if payload < packets.saturating_mul(MIN_PAYLOAD) { 0 } else { payload }
    }
}

/// A connection, from all its records.
#[derive(Debug, Clone)]
pub(crate) struct Joined {
    /// The direction of the end that probably opened the connection comes first.
    pub(crate) directions: Vec<Direction>,
    /// The flags of a direction have a FIN or RST.
    pub(crate) closed: bool,
    pub(crate) end_ns: u64,
}

impl Joined {
    fn new() -> Joined {
        Joined { directions: Vec::with_capacity(2), closed: false, end_ns: 0 }
    }

    /// True if `r` belongs to a later connection between the same ports.
    fn is_over(&self, r: &FlowRecord, join_ns: u64) -> bool {
        let pause = r.start_ns.saturating_sub(self.end_ns);
        let own = self.directions.iter().find(|d| d.src == r.src && r.start_ns > d.end_ns);
        let reopens = r.flags.is_some_and(|f| f.syn()) && own.is_some_and(|d| d.opened);
        !self.directions.is_empty() && (pause > join_ns || reopens || own.is_some_and(|d| d.closed))
    }

    fn add(&mut self, r: &FlowRecord) {
        let opened = r.flags.is_some_and(|f| f.syn());
        let closed = r.flags.is_some_and(|f| f.fin() || f.rst());
        self.closed |= closed;
        self.end_ns = self.end_ns.max(r.end_ns);
        for (src, dst, count) in [(r.src, r.dst, r.forth), (r.dst, r.src, r.back)] {
            if count.packets == 0 {
                continue;
            }
            match self.directions.iter_mut().find(|d| d.src == src) {
                Some(d) => {
                    d.end_ns = d.end_ns.max(r.end_ns);
                    d.closed |= closed;
                    d.count.packets = d.count.packets.saturating_add(count.packets);
                    d.count.bytes = d.count.bytes.saturating_add(count.bytes);
                }
                None => {
                    let (start_ns, end_ns) = (r.start_ns, r.end_ns);
                    self.directions.push(Direction { src, dst, start_ns, end_ns, count, opened, closed });
                }
            }
        }
    }
}

/// Connections of the records in order of their ends; `records` in any order.
pub(crate) fn join(mut records: Vec<FlowRecord>, options: &Options) -> Vec<Joined> {
    // Of two directions that start at once, that of the client, whose port is usually higher, comes first.
    records.sort_by_key(|r| (r.start_ns, u16::MAX - r.src.port(), r.src, r.dst));
    let mut open: HashMap<Key, Joined> = HashMap::new();
    let mut all = Vec::new();
    for r in &records {
        let key = if r.src <= r.dst { (r.src, r.dst) } else { (r.dst, r.src) };
        let joined = open.entry(key).or_insert_with(Joined::new);
        if joined.is_over(r, options.join_ns) {
            all.push(std::mem::replace(joined, Joined::new()));
        }
        joined.add(r);
    }
    all.extend(open.into_values());
    // Records without packets make no connection.
    all.retain(|j| !j.directions.is_empty());
    // The order of a hash table is not that of the file.
    all.sort_by_key(|j| (j.directions[0].start_ns, j.directions[0].src, j.directions[0].dst));
    all
}
