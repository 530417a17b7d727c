//! Small models in full, for tests.

/// Calls `f` with every word of `length` letters, each below `letters`.
pub(crate) fn each_sequence(letters: u8, length: usize, mut f: impl FnMut(&[u8])) {
    let mut word = vec![0; length];
    loop {
        f(&word);
        let Some(at) = word.iter().rposition(|l| *l + 1 < letters) else { return };
        word[at] += 1;
        word[at + 1..].fill(0);
    }
}

/// The intervals [start, end) with ends up to 5, by number below 15.
pub(crate) fn interval(number: u8) -> (u64, u64) {
    let all = (0..5).flat_map(|start| (start + 1..=5).map(move |end| (start, end)));
    all.clone().nth(number.into()).unwrap_or_else(|| panic!("{} intervals, not {number}", all.count()))
}

/// Offsets in [start, end), as the bits of a set.
pub(crate) fn offsets((start, end): (u64, u64)) -> u64 {
    (start..end).map(|at| 1_u64 << at).sum()
}
