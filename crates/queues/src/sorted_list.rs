//! Sorted list of numbers with handles, optimized for insertions and removals at the ends: chunks of bounded length, a single one while the list is
//! short, as backlogs are.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Maximum length of a chunk.
const MAX_CHUNK: usize = 512;

/// Distinct numbers with their handles.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SortedList {
    /// No chunk is empty unless it is the only one.
    chunks: Vec<VecDeque<(u64, u32)>>,
    len: usize,
}

impl Default for SortedList {
    fn default() -> SortedList {
        SortedList { chunks: vec![VecDeque::new()], len: 0 }
    }
}

impl SortedList {
    /// Number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The smallest entry.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.chunks.first()?.front().copied()
    }

    /// Entries in descending order.
    pub(crate) fn descending(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.chunks.iter().rev().flat_map(|chunk| chunk.iter().rev().copied())
    }

    /// Inserts a number that is not in the list.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64, handle: u32) {
        let at = self.chunk_of(number);
        let chunk = &mut self.chunks[at];
        if chunk.back().is_none_or(|last| last.0 < number) {
            chunk.push_back((number, handle));
        } else {
            let place = chunk.partition_point(|other| other.0 < number);
            chunk.insert(place, (number, handle));
        }
        self.len += 1;
        if self.chunks[at].len() > MAX_CHUNK {
            self.split(at);
        }
    }

    /// Removes the smallest entry.
    #[inline]
    pub(crate) fn pop_first(&mut self) -> Option<(u64, u32)> {
        let first = self.chunks.first_mut()?.pop_front()?;
        self.on_removed(0);
        Some(first)
    }

    /// Removes the largest entry.
    pub(crate) fn pop_last(&mut self) -> Option<(u64, u32)> {
        let last = self.chunks.last_mut()?.pop_back()?;
        self.on_removed(self.chunks.len() - 1);
        Some(last)
    }

    /// Removes a number that is in the list.
    pub(crate) fn remove(&mut self, number: u64) {
        let at = self.chunk_of(number);
        let place = self.chunks[at].partition_point(|other| other.0 < number);
        debug_assert!(self.chunks[at].get(place).is_some_and(|found| found.0 == number));
        self.chunks[at].remove(place);
        self.on_removed(at);
    }

    /// The chunk of a number.
    #[inline]
    fn chunk_of(&self, number: u64) -> usize {
        if self.chunks.len() == 1 {
            return 0;
        }
        self.chunks.partition_point(|chunk| chunk.back().is_some_and(|last| last.0 < number)).min(self.chunks.len() - 1)
    }

    #[inline]
    fn on_removed(&mut self, at: usize) {
        self.len -= 1;
        if self.chunks[at].is_empty() && self.chunks.len() > 1 {
            self.chunks.remove(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn split(&mut self, at: usize) {
        let upper = self.chunks[at].split_off(MAX_CHUNK / 2);
        self.chunks.insert(at + 1, upper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn equals_btree_map() {
        let mut rng = Rng::stream(7, &[]);
        let (mut list, mut model) = (SortedList::default(), BTreeMap::new());
        let mut longest = 0;
        for step in 0..60_000u32 {
            // The list grows to thousands of entries and shrinks again.
            let grows = step % 20_000 < 12_000;
            match rng.below(8) {
                0 if !grows => assert_eq!(list.pop_last(), model.pop_last()),
                1 | 2 if !grows => assert_eq!(list.pop_first(), model.pop_first()),
                3 => {
                    let from = rng.next_u64();
                    if let Some(number) = model.range(from..).next().map(|entry| *entry.0) {
                        model.remove(&number);
                        list.remove(number);
                    }
                }
                4.. if grows => {
                    let number = rng.next_u64();
                    if model.insert(number, step).is_none() {
                        list.insert(number, step);
                    }
                }
                _ if grows => {}
                _ => assert_eq!(list.pop_first(), model.pop_first()),
            }
            assert_eq!(list.len(), model.len());
            assert_eq!(list.first(), model.first_key_value().map(|(n, h)| (*n, *h)));
            if step % 997 == 0 {
                assert!(list.descending().eq(model.iter().rev().map(|(n, h)| (*n, *h))));
                assert!(list.chunks.iter().all(|chunk| chunk.len() <= MAX_CHUNK && (!chunk.is_empty() || list.len() == 0)));
            }
            longest = longest.max(list.len());
        }
        assert!(longest > 4 * MAX_CHUNK, "{longest}");
    }

    /// A chunk is split in the middle when it exceeds its maximum, and a chunk without entries is removed.
    #[test]
    fn full_chunk_is_split_in_halves() {
        let mut list = SortedList::default();
        let lengths = |list: &SortedList| list.chunks.iter().map(VecDeque::len).collect::<Vec<_>>();
        (0..MAX_CHUNK as u64).for_each(|n| list.insert(2 * n, 0));
        assert_eq!(lengths(&list), [MAX_CHUNK]);
        list.insert(7, 0);
        assert_eq!(lengths(&list), [MAX_CHUNK / 2, MAX_CHUNK / 2 + 1]);
        // Between the last entry of the first chunk, 508, and the first of the second, 510.
        list.insert(509, 0);
        assert_eq!(lengths(&list), [MAX_CHUNK / 2, MAX_CHUNK / 2 + 2]);
        list.remove(508);
        assert_eq!(lengths(&list), [MAX_CHUNK / 2 - 1, MAX_CHUNK / 2 + 2]);
        (0..MAX_CHUNK / 2 - 1).for_each(|_| _ = list.pop_first());
        assert_eq!(lengths(&list), [MAX_CHUNK / 2 + 2]);
        (0..MAX_CHUNK / 2 + 2).for_each(|_| _ = list.pop_last());
        assert_eq!((lengths(&list), list.len()), (vec![0], 0));
    }

    /// All words of seven insertions and removals of five numbers.
    #[test]
    fn exhaustive_operations_match_btree_map() {
        crate::testing::each_sequence(7, 7, |word| {
            let (mut list, mut model) = (SortedList::default(), BTreeMap::new());
            for letter in word {
                match letter {
                    0 => assert_eq!(list.pop_first(), model.pop_first(), "{word:?}"),
                    1 => assert_eq!(list.pop_last(), model.pop_last(), "{word:?}"),
                    number => {
                        let number = u64::from(*number);
                        if model.remove(&number).is_some() {
                            list.remove(number);
                        } else {
                            model.insert(number, 7);
                            list.insert(number, 7);
                        }
                    }
                }
                assert_eq!((list.len(), list.first()), (model.len(), model.first_key_value().map(|(n, h)| (*n, *h))), "{word:?}");
                assert!(list.descending().eq(model.iter().rev().map(|(n, h)| (*n, *h))), "{word:?}");
            }
        });
    }
}
