//! Run, network and transport of a table row.

use crate::data::Data;
use forebay_store::rows::{Ints, Rows, Texts};
use forebay_store::{LONGEST_SERIES, RunDir};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Maximum number of rows that are read. Our choice: a page has no use for more, and a report must not run out of memory where the run itself did
/// not.
const MAX_ROWS: u64 = 20_000_000;

/// Bytes of memory per message, per sample and per timeout, including figures. Measured.
const ROW: [u64; 3] = [230, 130, 75];

/// Memory limit for reading results, bytes.
static MEMORY: AtomicU64 = AtomicU64::new(u64::MAX);

/// Origin of the limit, such as `--max-memory allows`.
static MEMORY_BY: Mutex<&str> = Mutex::new("");

/// Skips tables from now on that would take more than `bytes` each, with a note on the origin of the limit, such as `--max-memory allows`.
pub fn limit_memory(bytes: u64, by: &'static str) {
    MEMORY.store(bytes, Relaxed);
    *MEMORY_BY.lock().unwrap_or_else(PoisonError::into_inner) = by;
}

/// Indices by the names in the rows of a directory.
pub(crate) struct NameIndex {
    /// Variant to network.
    pub networks: BTreeMap<String, usize>,
    /// Network and repetition to run.
    pub runs: BTreeMap<(usize, i64), usize>,
    /// Network and group to subject.
    pub subjects: BTreeMap<(usize, String), usize>,
}

/// Columns that identify the run of a row.
pub(crate) struct RowContext<'a> {
    networks: Texts<'a, Option<usize>>,
    number: Ints<'a>,
    last: Option<((usize, i64), usize)>,
    finder: &'a NameIndex,
}

impl<'a> RowContext<'a> {
    pub(crate) fn of(rows: &Rows<'a>, finder: &'a NameIndex) -> RowContext<'a> {
        let networks = rows.text("variant", |v| finder.networks.get(v).copied());
        RowContext { networks, number: rows.int("run"), last: None, finder }
    }

    /// Index of the run of a row. Rows of one run are adjacent, so that lookups are rare.
    pub(crate) fn run(&mut self, row: usize) -> Option<usize> {
        let key = ((*self.networks.get(row)?)?, self.number.get(row)?);
        match self.last {
            Some((last, run)) if last == key => Some(run),
            _ => {
                let run = *self.finder.runs.get(&key)?;
                self.last = Some((key, run));
                Some(run)
            }
        }
    }
}

/// Groups of rows: by network and index of the name in the dictionary.
pub(crate) struct Groups<'a>(Texts<'a, BTreeMap<usize, usize>>);

impl<'a> Groups<'a> {
    pub(crate) fn of(rows: &Rows<'a>, data: &Data, finder: &NameIndex) -> Groups<'a> {
        let subjects = |name: &str| {
            let find = |n: usize| Some((n, *finder.subjects.get(&(n, name.to_owned()))?));
            (0..data.networks.len()).filter_map(find).collect()
        };
        Groups(rows.text("transport", subjects))
    }

    pub(crate) fn subject(&self, network: usize, row: usize) -> Option<usize> {
        self.0.get(row)?.get(&network).copied()
    }
}

/// The number of a name; unknown names get a new one.
pub(crate) fn numbered(name: &str, known: &mut BTreeMap<String, u32>, names: &mut Vec<String>) -> u32 {
    let next = names.len() as u32;
    *known.entry(name.to_owned()).or_insert_with(|| {
        names.push(name.to_owned());
        next
    })
}

/// True for a table that is skipped, with a note.
pub(crate) fn exceeds_row_limit(data: &mut Data, dir: &RunDir, table: &str, of: &str) -> bool {
    let rows = dir.manifest().tables.iter().find(|t| t.name == table).map_or(0, |t| t.rows);
    let (most, each) = match table {
        "queue" | "tcp" => (LONGEST_SERIES, ROW[1]),
        "timeouts" => (LONGEST_SERIES, ROW[2]),
        _ => (MAX_ROWS, ROW[0]),
    };
    let most = most.min(MEMORY.load(Relaxed) / each);
    if rows > most {
        data.notes.push(format!("The table `{table}`{of} has {rows} rows, too many for this page: its figures are omitted."));
        if table == "flows" {
            let by = *MEMORY_BY.lock().unwrap_or_else(PoisonError::into_inner);
            let (room, remedy) = if most < MAX_ROWS {
                let room = format!("the memory that {by} holds {most}");
                (room, "Allow more memory, or run `forebay report` where more is available")
            } else {
                (format!("at most {most} are read"), "Use a shorter `duration` or fewer messages")
            };
            data.unread.push(format!(
                "**Messages were not analyzed**: the table `flows`{of} has {rows} rows, and {room}. Starvation, causes of delay and shares of \
                 workloads are unknown. {remedy}."
            ));
        }
    }
    rows > most
}
