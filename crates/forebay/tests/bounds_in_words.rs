//! Lower bounds in the first lines and in the table of the same run: both mark the same values, as `at least` and as `≥`.

/// A value of a sentence or of the table, s, with half a unit of its last digit.
#[derive(Debug, Clone, Copy)]
struct Value {
    s: f64,
    rounding: f64,
    bound: bool,
}

impl Value {
    /// Parses a number in a unit of time.
    fn of(number: &str, unit: &str, bound: bool) -> Option<Value> {
        let scale = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)].iter().find(|u| u.0 == unit)?.1;
        let decimals = number.split_once('.').map_or(0, |n| n.1.len());
        Some(Value { s: number.parse::<f64>().ok()? * scale, rounding: 0.5 * 0.1f64.powi(decimals as i32) * scale, bound })
    }

    fn equals(&self, other: &Value) -> bool {
        (self.s - other.s).abs() <= 1.001 * (self.rounding + other.rounding)
    }
}

/// The values of a row of the table, which has the column of units.
fn row(output: &str, label: &str) -> Vec<Value> {
    let Some(cells) = output.lines().find_map(|l| l.strip_prefix(label)?.strip_prefix("  ")) else { return Vec::new() };
    let mut words = cells.split_whitespace();
    let unit = words.next().unwrap_or_default();
    let (mut values, mut bound) = (Vec::new(), false);
    while let Some(word) = words.next() {
        match word {
            "≥" => bound = true,
            "±" => drop(words.next()),
            _ if word.starts_with(['+', '−', '-']) => {}
            _ => values.extend(Value::of(word, unit, std::mem::take(&mut bound))),
        }
    }
    values
}

/// All times of a text.
fn times(text: &str) -> Vec<Value> {
    let words: Vec<&str> = text.split_whitespace().map(|w| w.trim_matches(['(', ')', ',', ';', '.', ':'])).collect();
    let at_least = |i: usize| i >= 2 && words[i - 2..i] == ["at", "least"];
    words.windows(2).enumerate().filter_map(|(i, w)| Value::of(w[0], w[1], at_least(i))).collect()
}

/// Phrases of comparisons, and the rows of their values.
const COMPARED: [(&str, &str); 7] = [
    ("99th percentile of query completion times", "query completion p99"),
    ("median of query completion times", "query completion p50"),
    ("99th percentile of completion times of messages up to 100 KB", "FCT small (<= 100 KB) p99"),
    ("median of completion times of messages up to 100 KB", "FCT small (<= 100 KB) p50"),
    ("99th percentile of completion times of messages from 100 KB to 10 MB", "FCT medium p99"),
    ("median of completion times of messages from 100 KB to 10 MB", "FCT medium p50"),
    ("mean completion time of messages from 10 MB", "FCT large (>= 10 MB) mean"),
];
/// Beginnings of descriptions, and the rows of their first two values.
const DESCRIBED: [(&str, [&str; 2]); 4] = [
    ("query takes ", ["query completion p50", "query completion p99"]),
    ("essages up to 100 KB take ", ["FCT small (<= 100 KB) mean", "FCT small (<= 100 KB) p99"]),
    ("essages from 100 KB to 10 MB take ", ["FCT medium mean", "FCT medium p99"]),
    ("essages from 10 MB take ", ["FCT large (>= 10 MB) mean", "FCT large (>= 10 MB) p99"]),
];

/// Number of values of the first lines that the table has too, the number of lower bounds among them, and the contradictions.
pub(crate) fn compare(output: &str) -> (usize, usize, Vec<String>) {
    let sentences = || output.lines().take_while(|l| !l.is_empty()).flat_map(|l| l.split(". "));
    let mut pairs: Vec<(Value, Vec<Value>, &str)> = Vec::new();
    for sentence in sentences() {
        for (phrase, label) in COMPARED.iter().filter(|c| sentence.contains(c.0)) {
            pairs.extend(times(sentence).into_iter().map(|v| (v, row(output, label), *phrase)));
        }
        for (begin, labels) in &DESCRIBED {
            let Some((_, rest)) = sentence.split_once(begin) else { continue };
            pairs.extend(times(rest).into_iter().zip(labels).map(|(v, label)| (v, row(output, label), *begin)));
        }
    }
    let (mut compared, mut bounds, mut wrong) = (0, 0, Vec::new());
    for (value, cells, phrase) in pairs {
        let same: Vec<&Value> = cells.iter().filter(|c| c.equals(&value)).collect();
        if same.is_empty() {
            continue;
        }
        compared += 1;
        bounds += usize::from(value.bound);
        if same.iter().all(|c| c.bound != value.bound) {
            wrong.push(format!("{phrase}: {value:?} in words, {same:?} in the table\n{output}"));
        }
    }
    (compared, bounds, wrong)
}

#[test]
fn contradicting_bounds_are_found() {
    let output = |words: &str, sign: &str| {
        format!(
            "A query takes 6.89 ms (median), {words}7.33 ms (99th percentile).\n\nquery completion p50   ms   6.89\nquery completion p99   ms   {sign}7.33 +0.10 −0.20\n"
        )
    };
    let wrong = |words: &str, sign: &str| compare(&output(words, sign));
    assert_eq!((wrong("at least ", "≥ ").0, wrong("at least ", "≥ ").1, wrong("at least ", "≥ ").2.len()), (2, 1, 0));
    assert_eq!((wrong("", "").1, wrong("", "").2.len()), (0, 0));
    assert_eq!((wrong("", "≥ ").2.len(), wrong("at least ", "").2.len()), (1, 1));
}
