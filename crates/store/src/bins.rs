//! Bins of message sizes, by named rules. Pure functions of sizes, so that the report, the terminal and Python use equal bins.

use crate::stats::SizeBin;

/// Rule that cuts sizes into bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Chooses by the sizes: one bin per length for at most [`FEW_LENGTHS`] lengths, equal counts if every bin gets at least [`ENOUGH`] messages,
    /// else small, medium and large.
    Automatic,
    /// The three classes of the data-center papers, [`SizeBin`].
    Classes,
    /// [`EQUAL_BINS`] bins with about equal message counts. Messages of one length share a bin.
    EqualCounts,
    /// One bin per length for at most [`MAX_LENGTHS`] lengths, else bins between powers of two, lower limit included.
    Length,
}

/// Maximum number of lengths with a bin each under [`Rule::Automatic`].
pub const FEW_LENGTHS: usize = 12;
/// Minimum number of messages per bin of equal counts under [`Rule::Automatic`], for a meaningful median.
pub const ENOUGH: usize = 20;
/// Number of bins with equal counts: deciles.
pub const EQUAL_BINS: usize = 10;
/// Maximum number of lengths with a bin each under [`Rule::Length`]: more bars cannot be distinguished.
pub const MAX_LENGTHS: usize = 24;

impl Rule {
    /// All rules, the automatic one first.
    pub const ALL: [Rule; 4] = [Rule::Automatic, Rule::Classes, Rule::EqualCounts, Rule::Length];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Automatic => "automatic",
            Rule::Classes => "small / medium / large",
            Rule::EqualCounts => "equal counts",
            Rule::Length => "by message length",
        }
    }

    /// Cuts `sorted` sizes (ascending, bytes). Every size is in a bin, and no bin is empty.
    pub fn cut(self, sorted: &[u64]) -> Bins {
        match self {
            Rule::Automatic => automatic(sorted),
            Rule::Classes => classes(sorted),
            Rule::EqualCounts => equal_counts(sorted),
            Rule::Length => by_length(sorted),
        }
    }
}

/// A bin: sizes from `from` to `to`, both inclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bin {
    /// Smallest size in bytes.
    pub from: u64,
    /// Largest size in bytes.
    pub to: u64,
    /// Label on an axis.
    pub label: String,
}

/// Sizes cut into bins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bins {
    /// Ordered by size, without overlap.
    pub bins: Vec<Bin>,
    /// The rule in use and its reason, one sentence.
    pub note: String,
}

impl Bins {
    /// Index of the bin of a size; `None` for a size that was not in the input.
    pub fn of(&self, size: u64) -> Option<usize> {
        let i = self.bins.partition_point(|b| b.to < size);
        self.bins.get(i).filter(|b| b.from <= size).map(|_| i)
    }
}

fn automatic(sorted: &[u64]) -> Bins {
    let distinct = lengths(sorted).len();
    if distinct <= FEW_LENGTHS {
        let mut bins = by_length(sorted);
        bins.note = match distinct {
            1 => "All messages have one length.".into(),
            n => format!("By message length, because there are only {n} lengths."),
        };
        return bins;
    }
    let equal = equal_counts(sorted);
    let smallest = |b: &Bins| b.bins.iter().map(|b| count(sorted, b)).min().unwrap_or(0);
    if smallest(&equal) >= ENOUGH {
        let note = format!("{} Chosen because there are many lengths, and enough messages.", equal.note);
        return Bins { note, ..equal };
    }
    let note = format!("Small, medium and large, because {} messages are too few for finer bins.", sorted.len());
    Bins { note, ..classes(sorted) }
}

fn classes(sorted: &[u64]) -> Bins {
    let limits = [(0, 100_000), (100_001, 9_999_999), (10_000_000, u64::MAX)];
    let all = SizeBin::ALL.iter().zip(limits).map(|(class, (from, to))| Bin { from, to, label: class.label().into() });
    let bins = all.filter(|b| count(sorted, b) > 0).collect();
    Bins { bins, note: "Small is up to 100 KB, large from 10 MB.".into() }
}

fn equal_counts(sorted: &[u64]) -> Bins {
    let mut bins: Vec<Bin> = Vec::new();
    let (mut done, mut from, mut share) = (0, None, 1);
    let lengths = lengths(sorted);
    for (i, &(size, n)) in lengths.iter().enumerate() {
        done += n;
        let first = *from.get_or_insert(size);
        // A bin ends with the length that completes its share of all messages. One long length may complete several shares.
        if done * EQUAL_BINS >= share * sorted.len() || i + 1 == lengths.len() {
            share = done * EQUAL_BINS / sorted.len() + 1;
            bins.push(Bin { from: first, to: size, label: range(first, size) });
            from = None;
        }
    }
    let note = format!("{} bins with about equally many messages each.", bins.len());
    Bins { bins, note }
}

fn by_length(sorted: &[u64]) -> Bins {
    let lengths = lengths(sorted);
    if lengths.len() <= MAX_LENGTHS {
        let bins = lengths.iter().map(|&(size, _)| Bin { from: size, to: size, label: bytes(size) }).collect();
        return Bins { bins, note: format!("Each of the {} lengths is a bin.", lengths.len()) };
    }
    let mut bins: Vec<Bin> = Vec::new();
    for (size, _) in lengths {
        let from = if size == 0 { 0 } else { 1 << size.ilog2() };
        let to = if size == 0 { 0 } else { from + (from - 1) };
        if bins.last().is_none_or(|b| b.to < size) {
            bins.push(Bin { from, to, label: format!("from {}", binary(from)) });
        }
    }
    Bins { bins, note: "Each bin reaches from one power of two to the next.".into() }
}

/// Distinct sizes with their counts.
fn lengths(sorted: &[u64]) -> Vec<(u64, usize)> {
    let mut out: Vec<(u64, usize)> = Vec::new();
    for &size in sorted {
        match out.last_mut() {
            Some((last, n)) if *last == size => *n += 1,
            _ => out.push((size, 1)),
        }
    }
    out
}

fn count(sorted: &[u64], bin: &Bin) -> usize {
    sorted.partition_point(|&s| s <= bin.to) - sorted.partition_point(|&s| s < bin.from)
}

fn range(from: u64, to: u64) -> String {
    if from == to { bytes(from) } else { format!("{} to {}", bytes(from), bytes(to)) }
}

/// A size with a decimal unit and at most three digits: `1.46 KB`.
pub fn bytes(size: u64) -> String {
    let (scale, unit) = match size {
        0..=999 => return format!("{size} B"),
        1_000..=999_499 => (1e3, "KB"),
        999_500..=999_499_999 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    let value = size as f64 / scale;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// A power of two with a binary unit.
fn binary(size: u64) -> String {
    match size {
        0..1_024 => format!("{size} B"),
        1_024..1_048_576 => format!("{} KiB", size >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", size >> 20),
        _ => format!("{} GiB", size >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(bins: &Bins) -> Vec<(u64, u64)> {
        bins.bins.iter().map(|b| (b.from, b.to)).collect()
    }

    /// Sizes of many lengths: 1 to n, in KB.
    fn spread(n: u64) -> Vec<u64> {
        (1..=n).map(|i| i * 1_000).collect()
    }

    #[test]
    fn bins_cover_sizes_without_gaps() {
        let lists = [vec![], vec![5], vec![0, 1, 1, 1], spread(7), spread(30), spread(1_000), vec![100_000, 100_001, 10_000_000]];
        for sizes in lists {
            for rule in Rule::ALL {
                let bins = rule.cut(&sizes);
                let mut found = vec![0; bins.bins.len()];
                for &s in &sizes {
                    found[bins.of(s).unwrap_or_else(|| panic!("{rule:?} lost {s}: {bins:?}"))] += 1;
                }
                assert!(found.iter().all(|n| *n > 0), "{rule:?} {bins:?}");
                assert!(bins.bins.windows(2).all(|w| w[0].to < w[1].from), "{rule:?} {bins:?}");
                assert_eq!(found, bins.bins.iter().map(|b| count(&sizes, b)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn classes_are_those_of_the_tables() {
        let bins = Rule::Classes.cut(&[1, 100_000, 100_001, 9_999_999, 10_000_000]);
        let named: Vec<usize> = [100_000, 100_001, 10_000_000].map(|s| bins.of(s).unwrap()).to_vec();
        assert_eq!(named, [SizeBin::Small as usize, SizeBin::Medium as usize, SizeBin::Large as usize]);
        assert_eq!(ends(&Rule::Classes.cut(&[20_000_000])), [(10_000_000, u64::MAX)]);
    }

    #[test]
    fn equal_counts_keep_a_length_together() {
        let bins = Rule::EqualCounts.cut(&spread(100));
        assert_eq!((bins.bins.len(), ends(&bins)[0], ends(&bins)[9]), (10, (1_000, 10_000), (91_000, 100_000)));
        // Eight messages of ten have one length: the others are two bins of a tenth each, not ten of two messages.
        let mut sizes = vec![64_000; 80];
        sizes.extend((1..=20).map(|i| 1_000_000 * i));
        let expected = [(64_000, 64_000), (1_000_000, 10_000_000), (11_000_000, 20_000_000)];
        assert_eq!(ends(&Rule::EqualCounts.cut(&sizes)), expected);
    }

    #[test]
    fn lengths_then_powers_of_two() {
        assert_eq!(ends(&Rule::Length.cut(&[5, 5, 9])), [(5, 5), (9, 9)]);
        let bins = Rule::Length.cut(&spread(25));
        assert_eq!(
            ends(&bins),
            [(512, 1_023), (1_024, 2_047), (2_048, 4_095), (4_096, 8_191), (8_192, 16_383), (16_384, 32_767)]
        );
        assert_eq!(bins.bins[1].label, "from 1 KiB");
        let mut sizes = spread(25);
        sizes.push(u64::MAX);
        assert_eq!(ends(&Rule::Length.cut(&sizes)).last(), Some(&(1 << 63, u64::MAX)));
    }

    #[test]
    fn automatic_rule_notes_choice() {
        let blocks = Rule::Automatic.cut(&[vec![64_000; 50], vec![256_000; 50]].concat());
        assert!(blocks.bins.len() == 2 && blocks.note.contains("length"), "{blocks:?}");
        let few = Rule::Automatic.cut(&spread(30));
        assert!(few.bins[0].label.starts_with("small") && few.note.contains("30 messages"), "{few:?}");
        let many = Rule::Automatic.cut(&spread(1_000));
        assert!(many.bins.len() == EQUAL_BINS && many.note.contains("equally many"), "{many:?}");
    }

    #[test]
    fn sizes_as_text() {
        for (size, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1 KB"),
            (1_460, "1.46 KB"),
            (64_000, "64 KB"),
            (99_960, "100 KB"),
            (999_499, "999 KB"),
            (999_500, "1 MB"),
            (20_000_000, "20 MB"),
            (1_500_000_000, "1.5 GB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }
}
