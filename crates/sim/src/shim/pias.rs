//! PIAS (Bai et al., NSDI 2015): a flow starts in the most urgent class and is demoted as it sends. Meant for DCTCP end hosts.

use super::tag::{Message, Segment, TagShim};
use crate::net::packet::service;
use forebay_experiment::registry::{Place, ShimEntry};
use forebay_experiment::topology::BuildError;
use forebay_types::param::{Entry, Kind, Param, Values, choices};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Bytes sent at which a flow leaves each class but the last, in rising order; at most seven.
    pub demote: Vec<u64>,
    /// Count from the beginning of each message, not of the connection.
    pub per_message: bool,
}

/// The rule for one connection.
#[derive(Debug, Clone, Copy)]
pub struct Pias {
    /// `u64::MAX` where there are fewer than seven.
    demote: [u64; 7],
    per_message: bool,
}

impl TagShim for Pias {
    type Config = Config;

    const URGENT_CONTROL: bool = true;

    fn new(c: &Config, _delayed_acks: bool) -> Pias {
        let demote = std::array::from_fn(|i| c.demote.get(i).copied().unwrap_or(u64::MAX));
        Pias { demote, per_message: c.per_message }
    }

    fn tag(&self, m: &Message, s: &Segment) -> u16 {
        service(self.class(m, s), 0)
    }
}

impl Pias {
    /// The class follows from the bytes sent so far, also for a retransmission. (The publication tags packets as they pass and does not mention
    /// retransmissions; our choice: they are not counted again.)
    fn class(&self, m: &Message, s: &Segment) -> u8 {
        let (from, to) = if self.per_message { (m.begin, m.end) } else { (0, u64::MAX) };
        let sent = s.high.min(to).saturating_sub(from);
        7 - self.demote.iter().filter(|&&d| sent >= d).count() as u8
    }
}

/// Rows by load.
type ByLoad = [[u64; 7]; 5];

const TABLES: &[(&str, &ByLoad)] = &[("websearch", &WEBSEARCH), ("datamining", &DATAMINING)];
const PER_MESSAGE: &[(&str, bool)] = &[("message", true), ("connection", false)];

/// Thresholds by load 0.5, 0.6, ... 0.9 in segments of 1460 B, from the publication's scripts (ProBoSCIS specification 6).
const WEBSEARCH: ByLoad = [
    [1059, 1412, 1643, 1869, 2008, 2115, 2184],
    [956, 1381, 1718, 2028, 2297, 2551, 2660],
    [999, 1305, 1564, 1763, 1956, 2149, 2309],
    [909, 1329, 1648, 1960, 2143, 2337, 2484],
    [759, 1132, 1456, 1737, 2010, 2199, 2325],
];
const DATAMINING: ByLoad = [
    [805, 1106, 1401, 10693, 11970, 21162, 22272],
    [840, 1232, 1617, 11950, 12238, 21494, 25720],
    [907, 1301, 1619, 12166, 12915, 21313, 26374],
    [745, 1083, 1391, 13689, 14936, 21149, 27245],
    [750, 1083, 1416, 13705, 14952, 21125, 28253],
];

pub(super) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "pias",
        summary: "tags a flow's packets with classes 7, 6, ... as it sends more, ACKs with 7 (PIAS); for strict-priority queues and DCTCP",
        params: &[
            Param {
                key: "demotion-thresholds",
                kind: Kind::Names,
                default: Some(""),
                doc: "bytes sent after which a flow is demoted by one class: up to seven rising sizes, such as [\"1540KB\", \"2MB\"]; or give `table`",
            },
            Param {
                key: "table",
                kind: Kind::Choice(&choices::<2, _>(TABLES)),
                default: Some(""),
                doc: "instead of `demotion-thresholds`: the seven sizes that the publication found best for these flow sizes at `load`",
            },
            Param {
                key: "load",
                kind: Kind::Float(0.0, 1.0),
                default: Some(""),
                doc: "load that `table` is for: known for 0.5, 0.6, 0.7, 0.8 and 0.9; the nearest of them is taken. Default: 0.5",
            },
            Param {
                key: "per",
                kind: Kind::Choice(&choices::<2, _>(PER_MESSAGE)),
                default: Some("message"),
                doc: "unit of a flow: each message starts in class 7 again, or the whole connection counts",
            },
        ],
    },
    place: Place::Tag,
    needs_handshake: false,
    wants_marks: false,
    duplicates_only: &[],
    build,
};

fn build(values: &Values) -> Result<Config, BuildError> {
    // Our choice: a message is a flow. The publication has one flow per connection, and its kernel module treats idle connections as new flows.
    let per_message = values.choice("per", PER_MESSAGE);
    let demote = match (values.opt_names("demotion-thresholds"), values.opt_choice("table", TABLES)) {
        (Some(sizes), None) => given(&sizes)?,
        (None, Some(table)) => published(table, values.opt_float("load").unwrap_or(0.5)),
        (None, None) => {
            return Err(BuildError::new("demotion-thresholds", "one of `demotion-thresholds` and `table` must be given"));
        }
        (Some(_), Some(_)) => {
            return Err(BuildError::new("table", "`demotion-thresholds` gives the sizes already: remove one of them"));
        }
    };
    if values.opt_float("load").is_some() && values.opt_text("table").is_none() {
        return Err(BuildError::new("load", "has no effect without `table`"));
    }
    Ok(Config { demote, per_message })
}

fn given(sizes: &[String]) -> Result<Vec<u64>, BuildError> {
    let bytes: Result<Vec<u64>, _> = sizes.iter().map(|t| t.parse::<forebay_types::Bytes>().map(|b| b.0)).collect();
    let demote = bytes.map_err(|e| BuildError::new("demotion-thresholds", e.to_string()))?;
    if demote.is_empty() || demote.len() > 7 || demote.windows(2).any(|w| w[0] >= w[1]) {
        return Err(BuildError::new("demotion-thresholds", "legal: one to seven sizes, each above the one before it"));
    }
    Ok(demote)
}

/// The row of the nearest load; below 0.5 that of 0.5 (ProBoSCIS specification 6).
fn published(rows: &ByLoad, load: f64) -> Vec<u64> {
    let row = ((load - 0.5) * 10.0).round().clamp(0.0, 4.0) as usize;
    rows[row].iter().map(|segments| segments * 1460).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demoted_at_each_threshold() {
        let p = Pias::new(&Config { demote: vec![1_000, 3_000], per_message: true }, false);
        let m = Message { begin: 10_000, end: 20_000 };
        let class = |offset, high| p.class(&m, &Segment { offset, una: 0, sacked: 0, high, mss: 1_000, again: offset < high });
        assert_eq!([10_000, 10_999, 11_000, 12_999, 13_000, 19_000].map(|o| class(o, o)), [7, 7, 6, 6, 5, 5]);
        // A retransmission has the current class, and does not count the bytes of later messages.
        assert_eq!(class(10_000, 12_000), 6);
        assert_eq!(class(10_000, 50_000), 5);
        // Of a whole connection, the bytes of later messages count.
        let whole = Pias::new(&Config { demote: vec![1_000, 30_000], per_message: false }, false);
        assert_eq!(whole.class(&m, &Segment { offset: 10_000, una: 0, sacked: 0, high: 50_000, mss: 1_000, again: true }), 5);
        let p = Pias { per_message: false, ..p };
        assert_eq!(p.class(&m, &Segment { offset: 10_000, una: 0, sacked: 0, high: 10_000, mss: 1_000, again: false }), 5);
    }

    #[test]
    fn all_seven() {
        let p = Pias::new(&Config { demote: (1..8).collect(), per_message: true }, false);
        let m = Message { begin: 0, end: 100 };
        let class = |high| p.class(&m, &Segment { offset: high, una: 0, sacked: 0, high, mss: 1_000, again: false });
        assert_eq!([0, 1, 6, 7, 99].map(class), [7, 6, 1, 0, 0]);
    }

    #[test]
    fn published_rows() {
        assert_eq!(published(&WEBSEARCH, 0.3)[0], 1059 * 1460);
        assert_eq!(published(&WEBSEARCH, 0.6)[6], 2660 * 1460);
        assert_eq!(published(&DATAMINING, 0.8)[3], 13689 * 1460);
        assert_eq!(published(&DATAMINING, 1.0)[6], 28253 * 1460);
        for row in WEBSEARCH.iter().chain(&DATAMINING) {
            assert!(row.windows(2).all(|w| w[0] < w[1]));
        }
    }
}
