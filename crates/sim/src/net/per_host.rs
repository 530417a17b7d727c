//! State that belongs to one host, which alone accesses it while a window runs. The two ends of a connection are in different lists, and affect each
//! other by packets, or by deferred effects at the end of the window (`engine/partition_state.rs`). Debug builds check every access.

use super::arena::{Arena, Sharing};
use forebay_types::{Id, NodeId};
use std::ops::{Index, IndexMut};

/// Items by identifiers of kind `I`, each with the host that owns it.
#[derive(Debug)]
pub(crate) struct PerHost<I, T> {
    items: Arena<I, T>,
    #[cfg(debug_assertions)]
    owners: Arena<I, NodeId>,
    /// The running host; `None` between windows, where everything may be accessed.
    #[cfg(debug_assertions)]
    running: Option<NodeId>,
}

impl<I: Id, T> PerHost<I, T> {
    /// Creates an empty list.
    pub(crate) fn new() -> PerHost<I, T> {
        PerHost {
            items: Arena::new(Vec::new()),
            #[cfg(debug_assertions)]
            owners: Arena::new(Vec::new()),
            #[cfg(debug_assertions)]
            running: None,
        }
    }

    /// Stores `item` of host `owner` at place `id`, which may be the first free one.
    pub(crate) fn put(&mut self, id: I, owner: NodeId, item: T) {
        if id.index() == self.items.len() {
            self.items.push(item);
            #[cfg(debug_assertions)]
            self.owners.push(owner);
        } else {
            self.items[id] = item;
            #[cfg(debug_assertions)]
            {
                self.owners[id] = owner;
            }
        }
        // Unused in release builds.
        let _ = owner;
    }

    /// Shares the items with one partition of a run.
    pub(crate) fn share(&mut self, sharing: &Sharing) -> PerHost<I, T> {
        PerHost {
            items: self.items.share(sharing),
            #[cfg(debug_assertions)]
            owners: self.owners.share(sharing),
            #[cfg(debug_assertions)]
            running: None,
        }
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Reserves memory for exactly `more` items.
    pub(crate) fn reserve_exact(&mut self, more: usize) {
        self.items.reserve_exact(more);
        #[cfg(debug_assertions)]
        self.owners.reserve_exact(more);
    }

    /// Reads an item of any host, for prefetching only.
    #[inline(always)]
    pub(crate) fn peek(&self, id: I) -> &T {
        &self.items[id]
    }

    /// All items in order of their numbers. Between windows only.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        #[cfg(debug_assertions)]
        assert!(self.running.is_none(), "all items are accessed between windows only");
        self.items.iter()
    }

    /// Declares that host `node` runs from now on; `None`: the window is over.
    #[cfg(debug_assertions)]
    pub(crate) fn set_running(&mut self, node: Option<NodeId>) {
        self.running = node;
    }

    #[inline(always)]
    fn check(&self, id: I) {
        #[cfg(debug_assertions)]
        if let Some(node) = self.running {
            let owner = self.owners[id];
            assert!(owner == node, "host {node} accesses {} {} of host {owner}", std::any::type_name::<T>(), id.index());
        }
        let _ = id;
    }
}

impl<I: Id, T> Index<I> for PerHost<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: I) -> &T {
        self.check(id);
        &self.items[id]
    }
}

impl<I: Id, T> IndexMut<I> for PerHost<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        self.check(id);
        &mut self.items[id]
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use forebay_types::ConnSlot;

    #[test]
    #[should_panic(expected = "host 3 accesses i32 1 of host 4")]
    fn access_to_another_host_panics() {
        let (own, foreign) = (ConnSlot::new(0), ConnSlot::new(1));
        let mut halves = PerHost::new();
        halves.put(own, NodeId::new(3), 10);
        halves.put(foreign, NodeId::new(4), 11);
        halves[foreign] = 12;
        halves.set_running(Some(NodeId::new(3)));
        halves[own] += 1;
        halves[foreign] += 1;
    }
}
