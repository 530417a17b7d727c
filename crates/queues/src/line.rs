//! A list that grows at the back and shrinks at the front, quicker at both than the standard library's: its size is a power of two.

/// Places of a list that has held anything.
const FIRST: usize = 4;

/// What waits, the oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line<T> {
    /// A power of two, or none.
    places: Vec<T>,
    /// Positions run freely; the lower bits say where in `places`.
    head: u32,
    tail: u32,
}

impl<T: Copy + Default> Line<T> {
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
    pub(crate) fn has_room(&self) -> bool {
        self.len() != self.places.len()
    }

    #[inline(always)]
    fn place(&self, position: u32) -> usize {
        position as usize & self.places.len().wrapping_sub(1)
    }

    /// Adds one that is the newest.
    #[inline(always)]
    pub(crate) fn push_back(&mut self, new: T) {
        if !self.has_room() {
            self.grow();
        }
        let place = self.place(self.tail);
        self.places[place] = new;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes out the oldest.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let oldest = self.places[self.place(self.head)];
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
        (index < self.len()).then(|| self.places[self.place(self.head.wrapping_add(index as u32))])
    }

    /// Takes out the one with `index` older than it.
    pub(crate) fn remove(&mut self, index: usize) -> Option<T> {
        let found = self.get(index)?;
        for i in index as u32 + 1..self.len() as u32 {
            let (from, to) = (self.place(self.head.wrapping_add(i)), self.place(self.head.wrapping_add(i - 1)));
            self.places[to] = self.places[from];
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
        let mut places: Vec<T> = (0..self.len()).filter_map(|i| self.get(i)).collect();
        (self.head, self.tail) = (0, places.len() as u32);
        places.resize((places.len() * 2).max(FIRST), T::default());
        self.places = places;
    }
}

impl<T: Copy + Default + PartialEq> PartialEq for Line<T> {
    fn eq(&self, other: &Line<T>) -> bool {
        self.newest_first().eq(other.newest_first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;
    use std::collections::VecDeque;

    #[test]
    fn it_is_a_list() {
        let mut rng = Rng::stream(5, &[]);
        let (mut ours, mut model) = (Line::default(), VecDeque::new());
        (ours.head, ours.tail) = (u32::MAX - 20, u32::MAX - 20);
        for step in 0..20_000u64 {
            match rng.below(if step % 2_000 < 1_000 { 12 } else { 6 }) {
                0 => assert_eq!(ours.pop_back(), model.pop_back()),
                1 => {
                    let index = rng.below(40) as usize;
                    assert_eq!(ours.remove(index), model.remove(index));
                }
                2 | 3 => assert_eq!(ours.pop_front(), model.pop_front()),
                _ => {
                    ours.push_back(step);
                    model.push_back(step);
                }
            }
            assert_eq!((ours.len(), ours.is_empty()), (model.len(), model.is_empty()));
            assert!(ours.newest_first().eq(model.iter().rev().copied()));
        }
    }
}
