//! Connections with a state, found by their ends.

use super::{Connection, Outcome, Output};
use crate::trains::numbers::Numbers;
use crate::trains::packet::{Endpoint, Segment};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Fewest segments between two sweeps.
const SWEEP_EVERY: u64 = 1 << 16;

/// Both ends of a connection, in numerical order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key(Endpoint, Endpoint);

impl Key {
    #[inline]
    fn of(s: &Segment) -> Key {
        if s.src <= s.dst { Key(s.src, s.dst) } else { Key(s.dst, s.src) }
    }
}

#[derive(Debug)]
struct Entry {
    key: Key,
    connection: Connection,
}

/// The connections.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// Places in `entries`. Keys are compared there, next to the state that the segment changes: a table of keys would be one more cache miss.
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Place of the segment before. Segments of a connection follow each other.
    last: u32,
    swept_at: u64,
}

impl Table {
    /// Processes a segment, captured at a time, ns, on an interface. The result is that of [`Connection::handle`], with the connection.
    #[inline]
    pub(crate) fn handle(
        &mut self,
        s: &Segment,
        at: (u64, u32),
        numbers: &mut Numbers,
        out: &mut Output<'_>,
    ) -> Option<(Outcome, &Connection)> {
        let key = Key::of(s);
        let mut place = self.find(&key);
        if let Some(old) = place
            && self.entries[old as usize].as_ref().is_some_and(|e| e.connection.is_replaced_by(s))
        {
            self.retire(old, out);
            place = None;
        }
        let place = match place {
            Some(place) => place,
            None => self.insert(key, s, at.0, numbers, out),
        };
        self.last = place;
        let entry = self.entries[place as usize].as_mut()?;
        let outcome = entry.connection.handle(s, at, out);
        Some((outcome, &entry.connection))
    }

    #[inline]
    fn find(&self, key: &Key) -> Option<u32> {
        if let Some(Some(last)) = self.entries.get(self.last as usize)
            && last.key == *key
        {
            return Some(self.last);
        }
        let is = |place: &u32| self.entries[*place as usize].as_ref().is_some_and(|e| e.key == *key);
        self.places.find(self.hasher.hash_one(key), is).copied()
    }

    #[cold]
    fn insert(&mut self, key: Key, s: &Segment, now: u64, numbers: &mut Numbers, out: &mut Output<'_>) -> u32 {
        if self.places.len() >= out.options.max_connections.max(1) {
            self.make_room(out);
        }
        let ends = [numbers.host(s.src), numbers.host(s.dst)];
        let entry = Some(Entry { key, connection: Connection::new(numbers.connection(), ends, now) });
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        let hash = |place: &u32| self.hasher.hash_one(self.entries[*place as usize].as_ref().map(|e| e.key).unwrap_or(key));
        self.places.insert_unique(self.hasher.hash_one(key), place, hash);
        place
    }

    fn retire(&mut self, place: u32, out: &mut Output<'_>) {
        let Some(entry) = self.entries[place as usize].take() else { return };
        if let Ok(found) = self.places.find_entry(self.hasher.hash_one(entry.key), |other| *other == place) {
            found.remove();
        }
        self.free.push(place);
        entry.connection.finish(out);
    }

    /// Drops connections that are closed, or idle for longer than the limit, if enough segments were read since the last time. It examines all
    /// connections, so the number of segments between two times makes the cost of a segment constant.
    #[inline]
    pub(crate) fn sweep(&mut self, now: u64, out: &mut Output<'_>) {
        if out.totals.segments - self.swept_at > (2 * self.entries.len() as u64).max(SWEEP_EVERY) {
            self.swept_at = out.totals.segments;
            let idle = out.options.idle_ns;
            self.retire_if(|connection| connection.is_over(now, idle), out);
        }
    }

    /// Drops the tenth of the connections that have been idle for longest.
    fn make_room(&mut self, out: &mut Output<'_>) {
        let mut times: Vec<u64> = self.entries.iter().flatten().map(|e| e.connection.last_ns()).collect();
        let tenth = times.len() / 10;
        let (_, &mut newest, _) = times.select_nth_unstable(tenth);
        self.retire_if(|connection| connection.last_ns() <= newest, out);
    }

    fn retire_if(&mut self, is_over: impl Fn(&Connection) -> bool, out: &mut Output<'_>) {
        for place in 0..self.entries.len() {
            if self.entries[place].as_ref().is_some_and(|e| is_over(&e.connection)) {
                self.retire(place as u32, out);
            }
        }
    }

    /// Ends all connections.
    pub(crate) fn finish(&mut self, out: &mut Output<'_>) {
        self.retire_if(|_| true, out);
    }
}
