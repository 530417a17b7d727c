//! Numbers in ascending order, each with a handle, of which most come and go at the ends: one list while they are few, as backlogs are, and pieces of
//! bounded length when they are many, so that none moves more than half a piece.

use std::collections::VecDeque;

/// Most entries of a piece.
const MOST: usize = 512;

/// Distinct numbers and what belongs to them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ordered {
    /// None is empty, unless it is the only one.
    pieces: Vec<VecDeque<(u64, u32)>>,
    len: usize,
}

impl Default for Ordered {
    fn default() -> Ordered {
        Ordered { pieces: vec![VecDeque::new()], len: 0 }
    }
}

impl Ordered {
    /// How many they are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The smallest.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.pieces.first()?.front().copied()
    }

    /// From the largest down.
    pub(crate) fn descending(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.pieces.iter().rev().flat_map(|piece| piece.iter().rev().copied())
    }

    /// Adds a number that is not there.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64, handle: u32) {
        let at = self.piece_of(number);
        let piece = &mut self.pieces[at];
        if piece.back().is_none_or(|last| last.0 < number) {
            piece.push_back((number, handle));
        } else {
            let place = piece.partition_point(|other| other.0 < number);
            piece.insert(place, (number, handle));
        }
        self.len += 1;
        if self.pieces[at].len() > MOST {
            self.divide(at);
        }
    }

    /// Removes the smallest.
    #[inline]
    pub(crate) fn pop_first(&mut self) -> Option<(u64, u32)> {
        let first = self.pieces.first_mut()?.pop_front()?;
        self.removed(0);
        Some(first)
    }

    /// Removes the largest.
    pub(crate) fn pop_last(&mut self) -> Option<(u64, u32)> {
        let last = self.pieces.last_mut()?.pop_back()?;
        self.removed(self.pieces.len() - 1);
        Some(last)
    }

    /// Removes a number that is there.
    pub(crate) fn remove(&mut self, number: u64) {
        let at = self.piece_of(number);
        let place = self.pieces[at].partition_point(|other| other.0 < number);
        debug_assert!(self.pieces[at].get(place).is_some_and(|found| found.0 == number));
        self.pieces[at].remove(place);
        self.removed(at);
    }

    /// The piece that a number is in, or belongs in.
    #[inline]
    fn piece_of(&self, number: u64) -> usize {
        if self.pieces.len() == 1 {
            return 0;
        }
        self.pieces.partition_point(|piece| piece.back().is_some_and(|last| last.0 < number)).min(self.pieces.len() - 1)
    }

    #[inline]
    fn removed(&mut self, at: usize) {
        self.len -= 1;
        if self.pieces[at].is_empty() && self.pieces.len() > 1 {
            self.pieces.remove(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn divide(&mut self, at: usize) {
        let upper = self.pieces[at].split_off(MOST / 2);
        self.pieces.insert(at + 1, upper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_an_ordered_map() {
        let mut rng = Rng::stream(7, &[]);
        let (mut ours, mut model) = (Ordered::default(), BTreeMap::new());
        for step in 0..60_000u32 {
            // It grows to some thousands, and is emptied again.
            let grows = step % 20_000 < 12_000;
            match rng.below(8) {
                0 if !grows => assert_eq!(ours.pop_last(), model.pop_last()),
                1 | 2 if !grows => assert_eq!(ours.pop_first(), model.pop_first()),
                3 => {
                    let from = rng.next_u64();
                    if let Some(number) = model.range(from..).next().map(|entry| *entry.0) {
                        model.remove(&number);
                        ours.remove(number);
                    }
                }
                4.. if grows => {
                    let number = rng.next_u64();
                    if model.insert(number, step).is_none() {
                        ours.insert(number, step);
                    }
                }
                _ => assert_eq!(ours.pop_first(), model.pop_first()),
            }
            assert_eq!(ours.len(), model.len());
            assert_eq!(ours.first(), model.first_key_value().map(|(n, h)| (*n, *h)));
            if step % 997 == 0 {
                assert!(ours.descending().eq(model.iter().rev().map(|(n, h)| (*n, *h))));
                assert!(ours.pieces.iter().all(|piece| piece.len() <= MOST));
            }
        }
    }
}
