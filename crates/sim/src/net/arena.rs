//! Vectors indexed by the simulator's own identifiers.
//!
//! Node, port, slot and transport numbers are handed out by the code that fills these vectors and never come from outside, and
//! nothing is ever removed. Debug builds check indices. Release builds do not where it pays, and what it pays was measured, in instructions a
//! transmission (guard's cases s1, s2, s3, ft16, lossy, of 375, 293, 555, 298, 546), by checking them at one place at a time:
//!
//! * the network's lists (ports, nodes, feeders, busy inputs; `engine/fabric`): 12.2, 12.6, 22.0, 13.8, 6.3 more;
//! * what belongs to hosts (hosts and the halves of connections; `net/owned.rs`): 7.8, 2.7, 9.0, 2.9, 4.0 more;
//! * beside them, the list of gathered packets (`engine/fabric`), filled through pointers, as a `Vec`: 3.4, 4.9, 2.8, 2.3, 2.9 more.
//!
//! Later, when the same cases took 372, 294, 551, 299 and 555:
//!
//! * the bitmaps of the calendar (`engine/wheel.rs`): 3.4, 4.2, 7.0, 4.1, 2.4 more;
//! * the core's own lists (transports, generations, which nodes are hosts; `engine/core/mod.rs`): 5.2, 2.8, 5.8, 2.9, 2.3 more.
//!
//! Lists that few packets come by are checked (`IndexVec`): what lies far ahead in the calendar.
//!
//! The parts of a run on several cores (`engine/parts.rs`) see the same items through [`Arena::share`]: each item is touched by one part alone
//! while a window runs, and nothing is added but between windows. Debug builds check that for what belongs to hosts (`net/owned.rs`).

use super::huge_pages;
use forebay_units::Id;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};
use std::ptr::NonNull;

/// A vector that is indexed by identifiers of kind `I` only. That they are in range is checked in debug builds only.
#[derive(Debug)]
pub(crate) struct Arena<I, T> {
    /// The items, in `memory` or in that of the arena that this one was shared from.
    first: NonNull<T>,
    len: usize,
    memory: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

// SAFETY: an arena gives access to its items as a `Vec` does. Of those that are shared, see `Arena::share`.
unsafe impl<I, T: Send> Send for Arena<I, T> {}

impl<I: Id, T> Arena<I, T> {
    /// Takes over `items`, whose positions become the identifiers.
    pub(crate) fn new(items: Vec<T>) -> Arena<I, T> {
        let mut arena = Arena { first: NonNull::dangling(), len: 0, memory: items, id: PhantomData };
        arena.refresh_pointer();
        arena
    }

    /// Another way to the same items, which does not keep them.
    ///
    /// # Safety
    /// Until it is used for the last time, the items are neither dropped, nor moved by adding others, and none is touched by two threads, or
    /// through two arenas at once.
    pub(crate) unsafe fn share(&mut self) -> Arena<I, T> {
        debug_assert!(self.owns_memory(), "items are shared by who keeps them");
        Arena { first: self.first, len: self.len, memory: Vec::new(), id: PhantomData }
    }

    /// Whether the items are its own.
    fn owns_memory(&self) -> bool {
        self.memory.len() == self.len
    }

    /// The memory may lie elsewhere now.
    fn refresh_pointer(&mut self) {
        self.len = self.memory.len();
        // SAFETY: a vector's pointer is not null.
        self.first = unsafe { NonNull::new_unchecked(self.memory.as_mut_ptr()) };
    }

    /// Makes room for exactly `more` items, on huge pages where they fill any.
    pub(crate) fn reserve_exact(&mut self, more: usize) {
        debug_assert!(self.owns_memory());
        self.memory.reserve_exact(more);
        huge_pages::advise(self.memory.spare_capacity_mut());
        self.refresh_pointer();
    }

    /// Appends an item.
    pub(crate) fn push(&mut self, item: T) {
        debug_assert!(self.owns_memory());
        self.memory.push(item);
        self.refresh_pointer();
    }

    /// The identifier that the next appended item gets.
    pub(crate) fn next_id(&self) -> I {
        I::from_index(self.len)
    }

    /// The identifiers of all items.
    pub(crate) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.len).map(I::from_index)
    }

    /// All items with their identifiers.
    pub(crate) fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().zip(self.iter())
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: I) -> &T {
        debug_assert!(id.index() < self.len);
        // SAFETY: identifiers are positions of items, and items are never removed (see the module's description).
        unsafe { self.first.add(id.index()).as_ref() }
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        debug_assert!(id.index() < self.len);
        // SAFETY: as for `index`.
        unsafe { self.first.add(id.index()).as_mut() }
    }
}

impl<I, T> Deref for Arena<I, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: so many items lie there.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<I, T> DerefMut for Arena<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}
