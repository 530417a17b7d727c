//! Registry data of one choice, such as a congestion control or a queue, and of each of its parameters.

use alloc::vec::Vec;

/// Name, one-line summary and parameters of one choice in a registry.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name in `kind = "..."` or `cc = "..."`.
    pub name: &'static str,
    /// One line for `forebay list` and the documentation.
    pub summary: &'static str,
    /// All parameters, in the order they are documented.
    pub params: &'static [Param],
}

/// One parameter of a choice.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Key in the scenario file.
    pub key: &'static str,
    /// Type and legal range.
    pub kind: Kind,
    /// Default in the scenario file's own notation; `None` makes the key required. The empty text means "not set".
    pub default: Option<&'static str>,
    /// Meaning, with its source.
    pub doc: &'static str,
}

/// A required parameter.
pub const fn required(key: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { key, kind, default: None, doc }
}

/// A parameter with a default; the empty text leaves it unset.
pub const fn optional(key: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Param {
    Param { key, kind, default: Some(default), doc }
}

/// Words of a list, as the choices of a parameter; [`Values::choice`](crate::param::Values::choice) reads the same list.
pub const fn choices<const N: usize, T>(list: &[(&'static str, T)]) -> [&'static str; N] {
    assert!(list.len() == N, "a word for every value");
    let mut words = [""; N];
    let mut i = 0;
    while i < N {
        words[i] = list[i].0;
        i += 1;
    }
    words
}

/// Type and legal range of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A duration such as `"25us"`.
    Time,
    /// A link rate such as `"10Gbps"`.
    Rate,
    /// A byte count such as `"256KB"`.
    Bytes,
    /// As [`Kind::Bytes`], where zero has a meaning: `"0B"`.
    BytesOrZero,
    /// Packets or bytes: `"100pkt"`, `"150KB"`.
    QueueLen,
    /// An integer in `min..=max`.
    Int(i64, i64),
    /// A list of integers in `min..=max`.
    Ints(i64, i64),
    /// A list of queue lengths: `["100pkt", "64pkt"]`.
    QueueLens,
    /// A finite number in `min..=max`.
    Float(f64, f64),
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// A file, relative to the scenario file.
    Path,
    /// Hosts: `"all"`, a group of the topology, a host name, or a list of those.
    Hosts,
    /// A link: `{ rate, delay, buffer, queue }`; buffer and queue optional.
    Link,
    /// A distribution of sizes: `"10KB"`, or `{ uniform = ["2KB", "10KB"] }`, `{ log-uniform = [..] }`, `{ exponential = ".." }`,
    /// `{ cdf = "websearch" }` (a built-in table or a file), `{ mixture = ".." }` (built-in, or a list of parts).
    SizeDist,
    /// A distribution of durations: `"1ms"`, or `{ uniform = [..] }`, `{ log-uniform = [..] }`, `{ exponential = ".." }`,
    /// `{ mixture = ".." }`.
    TimeDist,
    /// A list of node names (custom topology).
    Names,
    /// A list of links `{ from, to, rate, delay, buffer, queue, both }` (custom topology).
    Links,
}

/// Entry of `names` most similar to `word`, if it is close enough to be a typing error.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3).max(1);
    let lower = word.to_lowercase();
    names
        .into_iter()
        .map(|n| {
            (if n.to_lowercase().replace(['_', '-'], "") == lower.replace(['_', '-'], "") { 0 } else { distance(&lower, n) }, n)
        })
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// Edit distance with transposition of neighbours counted as one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut d = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = d;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_typing_errors_only() {
        let names = ["newreno", "cubic", "dctcp", "drop-tail"];
        assert_eq!(nearest("dtcp", names), Some("dctcp"));
        assert_eq!(nearest("DCTPC", names), Some("dctcp"));
        assert_eq!(nearest("drop_tail", names), Some("drop-tail"));
        assert_eq!(nearest("banana", names), None);
    }
}
