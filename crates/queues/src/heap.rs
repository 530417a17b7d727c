//! Which of many numbered items has the largest key: known at once, and kept up to date in the logarithm of their number when any of them
//! changes or leaves. Nothing is allocated once it has held as many items as it ever will.

/// Not in the heap.
const NONE: u32 = u32::MAX;

/// A binary heap of items, each of which knows its place. Keys of items in it differ.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct IndexedHeap {
    /// Keys and items; none is above that at half its place.
    heap: Vec<(u64, u32)>,
    /// By item: its place in `heap`.
    places: Vec<u32>,
}

impl IndexedHeap {
    /// The item of the largest key.
    pub(crate) fn first(&self) -> Option<u32> {
        self.heap.first().map(|h| h.1)
    }

    /// Items in it.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.heap.len()
    }

    /// From now on `item` has this key, whether it was there or not.
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

    /// Takes `item` out, if it is there.
    pub(crate) fn remove(&mut self, item: u32) {
        let Some(place) = self.places.get_mut(item as usize) else { return };
        let hole = std::mem::replace(place, NONE) as usize;
        if hole >= self.heap.len() {
            return;
        }
        if let Some(last) = self.heap.pop().filter(|_| hole < self.heap.len()) {
            self.put(hole, last);
        }
    }

    /// Puts `moved` where it belongs, above or below the free place `hole`.
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

    /// Moves what is at place `from` to `hole`.
    fn fill(&mut self, hole: usize, from: usize) {
        let moved = self.heap[from];
        self.heap[hole] = moved;
        self.places[moved.1 as usize] = hole as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_sampling::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn its_first_is_the_largest_of_all() {
        let mut rng = Rng::stream(5, &[]);
        let (mut heap, mut model) = (IndexedHeap::default(), BTreeMap::new());
        for step in 0..50_000 {
            let item = rng.below(60) as u32;
            // Now it fills, now it empties.
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
}
