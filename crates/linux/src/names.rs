//! Names of connections in draws: the order of simultaneous packets, and the buckets of fair queues. The simulator names a connection by its slot, which
//! a later connection reuses. With the same names the guest has the same draws. Numbers of connections, which draw their paths, are given in the same
//! order.

use forebay_types::{AppId, ConnSlot, IndexVec, NodeId, Time};

/// Sort key of connections that are requested in a window: time of opening, sender, application and tag.
pub(crate) type Order = (Time, NodeId, AppId, u64);

/// Slots of the simulator's connections. It releases slots, and gives them to the connections that applications have requested, at the end of each window.
#[derive(Debug)]
pub(crate) struct Names {
    window: Time,
    /// Number of the current window.
    current: u64,
    /// Free slots, the last one released at the end.
    free: Vec<u32>,
    /// Generation of each slot.
    generations: Vec<u8>,
    /// Slots of the connections that have closed in this window, with the hosts of their senders.
    closed: Vec<(NodeId, u32)>,
    requested: Vec<(Order, ConnSlot)>,
    /// Names of the connections that have one.
    given: IndexVec<ConnSlot, Option<Name>>,
    /// Number of those.
    count: u64,
}

/// Name of a connection.
#[derive(Debug, Clone, Copy)]
struct Name {
    slot: u32,
    generation: u8,
    /// Number in the order in which the simulator prepares connections.
    number: u64,
}

impl Names {
    /// Without connections; `window`: length of a window.
    pub(crate) fn new(window: Time) -> Names {
        Names {
            window,
            current: 0,
            free: Vec::new(),
            generations: Vec::new(),
            closed: Vec::new(),
            requested: Vec::new(),
            given: IndexVec::new(),
            count: 0,
        }
    }

    /// The end of the window that contains `now`.
    pub(crate) fn window_end(&self, now: Time) -> Time {
        self.window * (now / self.window + 1)
    }

    /// The next connection is created at `now`: at the start of the run, or at the beginning of a window.
    pub(crate) fn create(&mut self, now: Time) {
        self.advance(now);
        let conn = self.given.push(None);
        self.give(conn);
    }

    /// The next connection is requested at `now`.
    pub(crate) fn request(&mut self, now: Time, order: Order) {
        self.advance(now);
        let conn = self.given.push(None);
        self.requested.push((order, conn));
    }

    /// Connection `conn`, which sends from `host`, closes at `now`.
    pub(crate) fn close(&mut self, now: Time, host: NodeId, conn: ConnSlot) {
        self.advance(now);
        if let Some(name) = self.given[conn] {
            self.closed.push((host, name.slot));
        }
    }

    /// The name of connection `conn`, which opens at `now`. The lowest bit is for its direction.
    pub(crate) fn name(&mut self, now: Time, conn: ConnSlot) -> u64 {
        self.advance(now);
        if self.given[conn].is_none() {
            self.end_window();
        }
        let (slot, generation) = self.given[conn].map_or((conn.get(), 0), |name| (name.slot, name.generation));
        u64::from(slot) << 7 | u64::from(generation) << 1
    }

    /// Number of connection `conn`: final when it opens.
    pub(crate) fn number(&self, conn: ConnSlot) -> u64 {
        self.given[conn].map_or(conn.get().into(), |name| name.number)
    }

    /// Ends the windows before that of `now`.
    fn advance(&mut self, now: Time) {
        let window = now / self.window;
        if window > self.current {
            self.end_window();
            self.current = window;
        }
    }

    /// Releases the slots of closed connections in the order of their hosts, and then gives slots to the requested connections.
    fn end_window(&mut self) {
        self.closed.sort_by_key(|c| c.0);
        self.free.extend(self.closed.drain(..).map(|c| c.1));
        let mut requested = std::mem::take(&mut self.requested);
        requested.sort_by_key(|r| r.0);
        requested.drain(..).for_each(|(_, conn)| self.give(conn));
        self.requested = requested;
    }

    fn give(&mut self, conn: ConnSlot) {
        let slot = match self.free.pop() {
            Some(slot) => {
                let generation = &mut self.generations[slot as usize];
                *generation = (*generation + 1) & 0x3F;
                slot
            }
            None => {
                self.generations.push(0);
                self.generations.len() as u32 - 1
            }
        };
        self.given[conn] = Some(Name { slot, generation: self.generations[slot as usize], number: self.count });
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots of a window are released in the order of hosts. The connections that are requested in it get the last ones first, and one that is created in
    /// it gets none of them.
    #[test]
    fn slots_change_at_window_ends() {
        let mut names = Names::new(Time::from_us(10));
        let [at, later, end] = [3, 5, 12].map(Time::from_us);
        let order = |us| (Time::from_us(us), NodeId::new(0), AppId::new(0), 0);
        (0..3).for_each(|_| names.create(Time::ZERO));
        names.close(at, NodeId::new(2), ConnSlot::new(0));
        names.close(later, NodeId::new(1), ConnSlot::new(2));
        names.request(later, order(31));
        names.request(later, order(30));
        names.create(later);
        let name = |slot: u64, generation: u64| slot << 7 | generation << 1;
        assert_eq!(names.name(later, ConnSlot::new(5)), name(3, 0));
        assert_eq!([3, 4].map(|conn| names.name(end, ConnSlot::new(conn))), [name(2, 1), name(0, 1)]);
        assert_eq!([3, 4, 5].map(|conn| names.number(ConnSlot::new(conn))), [5, 4, 3]);
        assert_eq!(names.window_end(end), Time::from_us(20));
    }

    /// Generations have six bits.
    #[test]
    fn generations_wrap() {
        let mut names = Names::new(Time(1));
        names.create(Time::ZERO);
        for conn in 0..65 {
            names.close(Time(u64::from(conn) + 1), NodeId::new(0), ConnSlot::new(conn));
            names.create(Time(u64::from(conn) + 2));
        }
        assert_eq!(names.name(Time(100), ConnSlot::new(65)), 1 << 1);
    }
}
