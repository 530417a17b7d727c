//! Binary heap of numbered items with a position index: the item with the largest key in constant time, changes and removals in logarithmic time. It
//! allocates only while it grows.

use alloc::vec::Vec;

/// Position of an item that is not in the heap.
const NONE: u32 = u32::MAX;

/// The heap. Keys of its items differ.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct IndexedHeap {
    /// Keys and items; the key at index i is at least those at 2 i + 1 and 2 i + 2.
    heap: Vec<(u64, u32)>,
    /// By item: its index in `heap`.
    places: Vec<u32>,
}

impl IndexedHeap {
    /// The item with the largest key.
    pub(crate) fn first(&self) -> Option<u32> {
        self.heap.first().map(|h| h.1)
    }

    /// Number of items.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.heap.len()
    }

    /// Inserts `item`, or changes its key.
    pub(crate) fn set(&mut self, item: u32, key: u64) {
        if self.places.len() <= item as usize {
            self.places.resize(item as usize + 1, NONE);
        }
        let mut place = self.places[item as usize] as usize;
        if place >= self.heap.len() {
            place = self.heap.len();
            self.heap.push((key, item));
        }
        self.put(place, (key, item));
    }

    /// Removes `item`, if it is in the heap.
    pub(crate) fn remove(&mut self, item: u32) {
        let Some(place) = self.places.get_mut(item as usize) else { return };
        let hole = core::mem::replace(place, NONE) as usize;
        if hole >= self.heap.len() {
            return;
        }
        if let Some(last) = self.heap.pop().filter(|_| hole < self.heap.len()) {
            self.put(hole, last);
        }
    }

    /// Sifts `moved` up or down from the free index `hole`.
    fn put(&mut self, mut hole: usize, moved: (u64, u32)) {
        while hole > 0 && self.heap[(hole - 1) / 2].0 < moved.0 {
            self.fill(hole, (hole - 1) / 2);
            hole = (hole - 1) / 2;
        }
        loop {
            let mut child = 2 * hole + 1;
            if self.heap.get(child + 1).is_some_and(|right| right.0 > self.heap[child].0) {
                child += 1;
            }
            if self.heap.get(child).is_none_or(|c| c.0 < moved.0) {
                break;
            }
            self.fill(hole, child);
            hole = child;
        }
        self.heap[hole] = moved;
        self.places[moved.1 as usize] = hole as u32;
    }

    /// Moves the item at index `from` to `hole`.
    fn fill(&mut self, hole: usize, from: usize) {
        let moved = self.heap[from];
        self.heap[hole] = moved;
        self.places[moved.1 as usize] = hole as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn first_has_the_largest_key() {
        let mut rng = Rng::stream(5, &[]);
        let (mut heap, mut model) = (IndexedHeap::default(), BTreeMap::new());
        for step in 0..50_000 {
            let item = rng.below(60) as u32;
            // The heap grows and shrinks in turn.
            if rng.below(4) < (if step / 500 % 2 == 0 { 1 } else { 3 }) {
                heap.remove(item);
                model.remove(&item);
            } else {
                let key = rng.below(50) << 16 | u64::from(item);
                heap.set(item, key);
                model.insert(item, key);
            }
            let largest = model.iter().max_by_key(|m| *m.1);
            assert_eq!((heap.first(), heap.len()), (largest.map(|m| *m.0), model.len()));
        }
    }

    /// All words of five operations on three items with three keys each.
    #[test]
    fn exhaustive_operations_keep_the_largest_first() {
        crate::testing::each_sequence(12, 5, |word| {
            let (mut heap, mut model) = (IndexedHeap::default(), BTreeMap::new());
            for letter in word {
                let item = u32::from(letter % 3);
                if *letter < 9 {
                    // Keys of different items differ.
                    let key = u64::from(*letter);
                    heap.set(item, key);
                    model.insert(item, key);
                } else {
                    heap.remove(item);
                    model.remove(&item);
                }
                let largest = model.iter().max_by_key(|m| *m.1);
                assert_eq!((heap.first(), heap.len()), (largest.map(|m| *m.0), model.len()), "{word:?}");
            }
        });
    }
}
