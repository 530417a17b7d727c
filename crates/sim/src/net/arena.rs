//! Vectors indexed by the simulator's own identifiers.
//!
//! Node, port, slot and connection numbers are handed out by the code that fills these vectors and never come from outside, and
//! nothing is ever removed. Bounds checks on them cost a fifth of the speed of the packet path; debug builds keep them.

use forebay_units::{NodeId, PortId};
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A vector whose indexing by identifiers is checked in debug builds only. Indexing by `usize` is always checked.
#[derive(Debug, Clone)]
pub struct Arena<T>(Vec<T>);

impl<T> Arena<T> {
    /// Takes over `items`, whose positions become the identifiers.
    pub(crate) fn new(items: Vec<T>) -> Arena<T> {
        Arena(items)
    }

    /// Makes room for exactly `more` items.
    pub(crate) fn reserve_exact(&mut self, more: usize) {
        self.0.reserve_exact(more);
    }

    /// Appends an item; its identifier is the length before.
    pub(crate) fn push(&mut self, item: T) {
        self.0.push(item);
    }
}

/// Indexing by `$id`, whose position is `$position`.
macro_rules! index {
    ($id:ty, $name:ident => $position:expr) => {
        impl<T> Index<$id> for Arena<T> {
            type Output = T;
            #[inline(always)]
            fn index(&self, $name: $id) -> &T {
                debug_assert!($position < self.0.len());
                // SAFETY: identifiers are positions of items, and items are never removed (see the module's description).
                unsafe { self.0.get_unchecked($position) }
            }
        }

        impl<T> IndexMut<$id> for Arena<T> {
            #[inline(always)]
            fn index_mut(&mut self, $name: $id) -> &mut T {
                debug_assert!($position < self.0.len());
                // SAFETY: as for `index`.
                unsafe { self.0.get_unchecked_mut($position) }
            }
        }
    };
}

index!(u32, id => id as usize);
index!(NodeId, id => id.index());
index!(PortId, id => id.index());

impl<T> Index<usize> for Arena<T> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        &self.0[index]
    }
}

impl<T> IndexMut<usize> for Arena<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.0[index]
    }
}

impl<T> Deref for Arena<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Arena<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}
