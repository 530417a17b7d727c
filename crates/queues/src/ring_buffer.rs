//! A list that grows at the back and shrinks at the front, quicker at both than the standard library's: its size is a power of two.

/// Places of a list that has held anything.
const MIN_CAPACITY: usize = 4;

/// What waits, the oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct RingBuffer<T> {
    /// A power of two, or none.
    slots: Vec<T>,
    /// Positions run freely; the lower bits say where in `slots`.
    head: u32,
    tail: u32,
}

impl<T: Copy + Default> RingBuffer<T> {
    /// How many wait.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Whether one more needs no memory.
    #[inline(always)]
    pub(crate) fn has_capacity(&self) -> bool {
        self.len() != self.slots.len()
    }

    #[inline(always)]
    fn slot(&self, position: u32) -> usize {
        position as usize & self.slots.len().wrapping_sub(1)
    }

    /// Adds one that is the newest.
    #[inline(always)]
    pub(crate) fn push_back(&mut self, new: T) {
        if !self.has_capacity() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.slots[slot] = new;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes out the oldest.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let oldest = self.slots[self.slot(self.head)];
        self.head = self.head.wrapping_add(1);
        Some(oldest)
    }

    /// Takes out the newest.
    pub(crate) fn pop_back(&mut self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        self.remove(last)
    }

    /// The one with `index` older than it.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        (index < self.len()).then(|| self.slots[self.slot(self.head.wrapping_add(index as u32))])
    }

    /// Takes out the one with `index` older than it.
    pub(crate) fn remove(&mut self, index: usize) -> Option<T> {
        let found = self.get(index)?;
        for i in index as u32 + 1..self.len() as u32 {
            let (from, to) = (self.slot(self.head.wrapping_add(i)), self.slot(self.head.wrapping_add(i - 1)));
            self.slots[to] = self.slots[from];
        }
        self.tail = self.tail.wrapping_sub(1);
        Some(found)
    }

    /// From the newest to the oldest.
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
    use forebay_sampling::Rng;
    use std::collections::VecDeque;

    #[test]
    fn it_is_a_list() {
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
}
