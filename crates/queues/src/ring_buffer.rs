//! Ring buffer of a power of two: appending and removing at the front are faster than with `VecDeque`.

use alloc::vec::Vec;

/// Capacity after the first element.
const MIN_CAPACITY: usize = 4;

/// Elements in order of arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct RingBuffer<T> {
    /// Their number is 0 or a power of two.
    slots: Vec<T>,
    /// Positions, which wrap at 2^32; their lower bits are indices of `slots`.
    head: u32,
    tail: u32,
}

impl<T: Copy + Default> RingBuffer<T> {
    /// Number of elements.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Returns true if another element fits without allocating memory.
    #[inline(always)]
    pub(crate) fn has_capacity(&self) -> bool {
        self.len() != self.slots.len()
    }

    #[inline(always)]
    fn slot(&self, position: u32) -> usize {
        position as usize & self.slots.len().wrapping_sub(1)
    }

    /// Appends an element.
    #[inline(always)]
    pub(crate) fn push_back(&mut self, new: T) {
        if !self.has_capacity() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.slots[slot] = new;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Removes the oldest element.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let oldest = self.slots[self.slot(self.head)];
        self.head = self.head.wrapping_add(1);
        Some(oldest)
    }

    /// Removes the newest element.
    pub(crate) fn pop_back(&mut self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        self.remove(last)
    }

    /// The element with `index` older ones.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        (index < self.len()).then(|| self.slots[self.slot(self.head.wrapping_add(index as u32))])
    }

    /// Removes the element with `index` older ones.
    pub(crate) fn remove(&mut self, index: usize) -> Option<T> {
        let found = self.get(index)?;
        for i in index as u32 + 1..self.len() as u32 {
            let (from, to) = (self.slot(self.head.wrapping_add(i)), self.slot(self.head.wrapping_add(i - 1)));
            self.slots[to] = self.slots[from];
        }
        self.tail = self.tail.wrapping_sub(1);
        Some(found)
    }

    /// Elements from the newest to the oldest.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len()).rev().filter_map(|i| self.get(i))
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut slots: Vec<T> = (0..self.len()).filter_map(|i| self.get(i)).collect();
        (self.head, self.tail) = (0, slots.len() as u32);
        slots.resize((slots.len() * 2).max(MIN_CAPACITY), T::default());
        self.slots = slots;
    }
}

impl<T: Copy + Default + PartialEq> PartialEq for RingBuffer<T> {
    fn eq(&self, other: &RingBuffer<T>) -> bool {
        self.newest_first().eq(other.newest_first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use forebay_types::Rng;

    #[test]
    fn equals_vec_deque() {
        let mut rng = Rng::stream(5, &[]);
        let (mut ring, mut model) = (RingBuffer::default(), VecDeque::new());
        (ring.head, ring.tail) = (u32::MAX - 20, u32::MAX - 20);
        for step in 0..20_000u64 {
            match rng.below(if step % 2_000 < 1_000 { 12 } else { 6 }) {
                0 => assert_eq!(ring.pop_back(), model.pop_back()),
                1 => {
                    let index = rng.below(40) as usize;
                    assert_eq!(ring.remove(index), model.remove(index));
                }
                2 | 3 => assert_eq!(ring.pop_front(), model.pop_front()),
                _ => {
                    ring.push_back(step);
                    model.push_back(step);
                }
            }
            assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
            assert!(ring.newest_first().eq(model.iter().rev().copied()));
        }
    }

    /// All words of eight operations.
    #[test]
    fn exhaustive_operations_match_vec_deque() {
        crate::testing::each_sequence(5, 8, |word| {
            let (mut ring, mut model) = (RingBuffer::default(), VecDeque::new());
            (ring.head, ring.tail) = (u32::MAX - 2, u32::MAX - 2);
            for (step, letter) in word.iter().enumerate() {
                match letter {
                    0 => assert_eq!(ring.pop_front(), model.pop_front(), "{word:?}"),
                    1 => assert_eq!(ring.pop_back(), model.pop_back(), "{word:?}"),
                    2 => assert_eq!(ring.remove(1), model.remove(1), "{word:?}"),
                    _ => {
                        ring.push_back(step);
                        model.push_back(step);
                    }
                }
                assert!(ring.newest_first().eq(model.iter().rev().copied()), "{word:?}");
            }
        });
    }
}
