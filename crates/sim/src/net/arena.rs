//! Vectors indexed by the simulator's own identifiers.
//!
//! Node, port, slot and transport numbers are handed out by the code that fills these vectors and never come from outside, and
//! nothing is ever removed. Debug builds check indices. Release builds do not where it pays, and what it pays was measured, in instructions a
//! transmission (guard's cases s1, s2, s3, ft16, lossy, of 375, 293, 555, 298, 546), by checking them at one place at a time:
//!
//! * the network's lists (ports, nodes, feeders, busy inputs; `engine/fabric.rs`): 12.2, 12.6, 22.0, 13.8, 6.3 more;
//! * what belongs to hosts (hosts and the halves of connections; `net/owned.rs`): 7.8, 2.7, 9.0, 2.9, 4.0 more;
//! * beside them, the list of gathered packets (`engine/fabric.rs`), filled through pointers, as a `Vec`: 3.4, 4.9, 2.8, 2.3, 2.9 more.
//!
//! Later, when the same cases took 372, 294, 551, 299 and 555:
//!
//! * the bitmaps of the calendar (`engine/wheel.rs`): 3.4, 4.2, 7.0, 4.1, 2.4 more;
//! * the core's own lists (transports, generations, which nodes are hosts; `engine/core/mod.rs`): 5.2, 2.8, 5.8, 2.9, 2.3 more.
//!
//! Lists that few packets come by are checked (`IndexVec`): the identities of connections, what lies far ahead in the calendar.

use super::huge;
use forebay_units::Id;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A vector that is indexed by identifiers of kind `I` only. That they are in range is checked in debug builds only.
#[derive(Debug, Clone)]
pub(crate) struct Arena<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> Arena<I, T> {
    /// Takes over `items`, whose positions become the identifiers.
    pub(crate) fn new(items: Vec<T>) -> Arena<I, T> {
        Arena { items, id: PhantomData }
    }

    /// Makes room for exactly `more` items, on huge pages where they fill any.
    pub(crate) fn reserve_exact(&mut self, more: usize) {
        self.items.reserve_exact(more);
        huge::advise(self.items.spare_capacity_mut());
    }

    /// Appends an item.
    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: I) -> &T {
        debug_assert!(id.index() < self.items.len());
        // SAFETY: identifiers are positions of items, and items are never removed (see the module's description).
        unsafe { self.items.get_unchecked(id.index()) }
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        debug_assert!(id.index() < self.items.len());
        // SAFETY: as for `index`.
        unsafe { self.items.get_unchecked_mut(id.index()) }
    }
}

impl<I, T> Deref for Arena<I, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<I, T> DerefMut for Arena<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}
