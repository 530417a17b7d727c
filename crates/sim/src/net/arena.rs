//! Vectors indexed by the simulator's own identifiers.
//!
//! Node, port, slot and transport numbers are handed out by the code that fills these vectors and never come from outside, and
//! nothing is ever removed. Bounds checks on them cost a fifth of the speed of the packet path; debug builds keep them.

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

    /// Makes room for exactly `more` items.
    pub(crate) fn reserve_exact(&mut self, more: usize) {
        self.items.reserve_exact(more);
    }

    /// Appends an item; its identifier is [`Arena::next_id`] before.
    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// The identifier that the next appended item gets.
    pub(crate) fn next_id(&self) -> I {
        I::from_index(self.items.len())
    }

    /// The identifiers of all items, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::from_index)
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
