//! Vectors indexed by the simulator's own identifiers.
//!
//! The code that fills these vectors allocates node, port, slot and transport numbers, and no item is ever removed. Debug builds check indices.
//! Release builds do not, where that is worth it. Cost of the checks in instructions per transmission, in the benchmark cases s1, s2, s3, ft16 and
//! lossy, which take 375, 293, 555, 298 and 546:
//!
//! * lists of the network (ports, nodes, feeders, busy inputs; `engine/fabric`): 12.2, 12.6, 22.0, 13.8, 6.3;
//! * state of hosts (hosts and endpoints; `net/per_host.rs`): 7.8, 2.7, 9.0, 2.9, 4.0;
//! * the list of gathered packets (`engine/fabric`), as a `Vec` instead of pointers: 3.4, 4.9, 2.8, 2.3, 2.9;
//! * bitmaps of the calendar (`engine/calendar.rs`): 3.4, 4.2, 7.0, 4.1, 2.4;
//! * lists of the engine's state (transports, generations, bitmap of hosts; `engine/state`): 5.2, 2.8, 5.8, 2.9, 2.3.
//!
//! Lists that few packets use are checked (`IndexVec`), such as the distant marks of the calendar.
//!
//! The partitions of a run on several cores (`engine/partition`) share the items through [`Arena::share`], with a [`Sharing`]: only one partition
//! accesses an item while a window runs, and items are added between windows only. Debug builds check this for the state of hosts
//! (`net/per_host.rs`).

use super::huge_pages;
use forebay_types::Id;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};
use std::ptr::NonNull;

/// A vector indexed by identifiers of kind `I`. Only debug builds check bounds.
#[derive(Debug)]
pub(crate) struct Arena<I, T> {
    /// The items, in `memory` or in that of the arena that this one shares.
    first: NonNull<T>,
    len: usize,
    memory: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

// SAFETY: an arena gives access to its items as a `Vec` does. For shared items, see `Sharing`.
unsafe impl<I, T: Send> Send for Arena<I, T> {}

/// The promise of the code that divides a run, without which no arena shares its items. Types that consist of arenas pass it on.
#[derive(Debug)]
pub(crate) struct Sharing(());

impl Sharing {
    /// Makes the promise.
    ///
    /// # Safety
    /// Until the last use of an arena that was shared with it, the items are neither dropped nor moved by adding others. No item is accessed by two
    /// threads, or through two arenas, at once.
    pub(crate) unsafe fn new() -> Sharing {
        Sharing(())
    }
}

impl<I: Id, T> Arena<I, T> {
    /// Takes `items`, whose positions become the identifiers.
    pub(crate) fn new(items: Vec<T>) -> Arena<I, T> {
        let mut arena = Arena { first: NonNull::dangling(), len: 0, memory: items, id: PhantomData };
        arena.refresh_pointer();
        arena
    }

    /// Shares the items with another arena, which does not own them.
    pub(crate) fn share(&mut self, _: &Sharing) -> Arena<I, T> {
        debug_assert!(self.owns_memory(), "only the owner shares items");
        Arena { first: self.first, len: self.len, memory: Vec::new(), id: PhantomData }
    }

    /// Returns true if the arena owns the items.
    fn owns_memory(&self) -> bool {
        self.memory.len() == self.len
    }

    /// Updates the pointer after the memory may have moved.
    fn refresh_pointer(&mut self) {
        self.len = self.memory.len();
        // SAFETY: a vector's pointer is not null.
        self.first = unsafe { NonNull::new_unchecked(self.memory.as_mut_ptr()) };
    }

    /// Reserves memory for exactly `more` items, with huge pages where they fill any.
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

    /// The identifier of the next appended item.
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
        // SAFETY: this many items are there.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<I, T> DerefMut for Arena<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}
