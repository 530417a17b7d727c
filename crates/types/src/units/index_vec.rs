//! List indexed by one kind of identifier.

use crate::units::id::Id;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// `Vec<T>` indexed by `I`. Indexing is checked: an unknown identifier panics.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IndexVec<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IndexVec<I, T> {
    /// An empty list.
    pub const fn new() -> IndexVec<I, T> {
        IndexVec { items: Vec::new(), id: PhantomData }
    }

    /// A list of `count` clones of `item`.
    pub fn repeat(item: T, count: usize) -> IndexVec<I, T>
    where
        T: Clone,
    {
        IndexVec::from(vec![item; count])
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Reserves memory for exactly `more` elements.
    pub fn reserve_exact(&mut self, more: usize) {
        self.items.reserve_exact(more);
    }

    /// Identifier of the next appended element.
    pub fn next_id(&self) -> I {
        I::from_index(self.items.len())
    }

    /// Appends an element and returns its identifier.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// The first element, if there is one.
    pub fn first(&self) -> Option<&T> {
        self.items.first()
    }

    /// The element `id`, if there is one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The element `id`, if there is one.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.index())
    }

    /// Returns true if there is an element `id`.
    #[inline]
    pub fn contains(&self, id: I) -> bool {
        id.index() < self.items.len()
    }

    /// All identifiers, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// All elements with their identifiers, in order.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (I::from_index(index), item))
    }

    /// All elements with their identifiers, in order.
    pub fn enumerate_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> + ExactSizeIterator {
        self.items.iter_mut().enumerate().map(|(index, item)| (I::from_index(index), item))
    }

    /// The first element for which `is_it` holds.
    pub fn position(&self, is_it: impl FnMut(&T) -> bool) -> Option<I> {
        self.items.iter().position(is_it).map(I::from_index)
    }

    /// All elements, in order.
    #[inline]
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All elements, in order.
    #[inline]
    pub fn iter_mut(&mut self) -> core::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// The elements without their identifiers.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// The elements without their identifiers.
    pub fn into_vec(self) -> Vec<T> {
        self.items
    }
}

impl<I: Id, T> Default for IndexVec<I, T> {
    fn default() -> IndexVec<I, T> {
        IndexVec::new()
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(items: Vec<T>) -> IndexVec<I, T> {
        IndexVec { items, id: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> IndexVec<I, T> {
        IndexVec::from(items.into_iter().collect::<Vec<T>>())
    }
}

impl<I, T> IntoIterator for IndexVec<I, T> {
    type Item = T;
    type IntoIter = alloc::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a IndexVec<I, T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IndexVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = core::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

impl<I: Id, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::GroupId;

    #[test]
    fn finds_element_by_id() {
        let mut list: IndexVec<GroupId, &str> = IndexVec::new();
        let (a, b) = (list.push("a"), list.push("b"));
        list[b] = "c";
        assert_eq!((list[a], list[b], list.get(GroupId::new(2))), ("a", "c", None));
        assert_eq!(list.enumerate().map(|(id, s)| format!("{id}{s}")).collect::<String>(), "0a1c");
        assert!(list.contains(b) && !list.contains(GroupId::new(2)));
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn an_identifier_of_no_element_panics() {
        let list: IndexVec<GroupId, u8> = vec![1, 2].into();
        let _ = list[GroupId::new(2)];
    }
}
