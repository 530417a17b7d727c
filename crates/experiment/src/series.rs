//! Time series larger than memory: all rows but the last are in a file.

use crate::series_file::SeriesFile;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;

/// Rows kept in memory by one series before half of them are written. Our choice: a megabyte or two at the most.
const LIMIT: usize = 1 << 14;
/// The same for all series that share a file: ten megabytes of queue samples.
const SHARED_LIMIT: usize = 1 << 18;
/// Minimum for each of them.
const MIN_ROWS: usize = 1 << 5;
/// Rows of a run that are read at once.
const READ_ROWS: usize = 1 << 10;
/// Maximum number of words of a row.
const MAX_WORDS: usize = 32;

/// Row of a series, stored as words.
pub trait SeriesRow: Copy {
    /// Number of words, at most 32.
    const WORDS: usize;

    /// Sort key: the time, then the number of the port or connection.
    fn key(&self) -> (u64, u64);

    /// Writes the row to `words`, which holds [`SeriesRow::WORDS`].
    fn store(&self, words: &mut [u64]);

    /// Reads a row that [`SeriesRow::store`] has written.
    fn load(words: &[u64]) -> Self;
}

/// Rows in the order of their keys; rows with equal keys in the order of pushing.
#[derive(Debug, Clone)]
pub struct Series<T> {
    /// Last rows, unsorted until [`Series::sort`].
    rows: Vec<T>,
    /// Sorted rows in files.
    runs: Vec<Run>,
    file: Option<Arc<SeriesFile>>,
    /// Rows kept before half of them are written.
    limit: usize,
    /// True after a failed write, such as on a full disk: all further rows stay in memory.
    refused: bool,
}

/// Sorted rows in a file.
#[derive(Debug, Clone)]
struct Run {
    file: Arc<SeriesFile>,
    /// Positions in the file, piece by piece.
    pieces: Vec<Piece>,
    last: (u64, u64),
}

/// Contiguous rows in a file.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Offset in bytes.
    at: u64,
    rows: u64,
}

impl<T> Default for Series<T> {
    fn default() -> Series<T> {
        Series { rows: Vec::new(), runs: Vec::new(), file: None, limit: LIMIT, refused: false }
    }
}

impl<T: SeriesRow> Series<T> {
    /// One of `count` series that are filled in parallel and share a file. Together they keep about as many rows in memory as a few series.
    pub fn one_of(count: usize, file: &Arc<SeriesFile>) -> Series<T> {
        let limit = (SHARED_LIMIT / count.max(1)).clamp(MIN_ROWS, LIMIT);
        Series { file: Some(file.clone()), limit, ..Series::default() }
    }

    /// Adds a row, which is in order or nearly so.
    #[inline]
    pub fn push(&mut self, row: T) {
        self.rows.push(row);
        if self.rows.len() >= self.limit && !self.refused {
            self.spill();
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.runs.iter().flat_map(|r| &r.pieces).map(|p| p.rows as usize).sum::<usize>() + self.rows.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves the rows of another series into this one.
    pub fn append(&mut self, mut other: Series<T>) {
        self.runs.append(&mut other.runs);
        self.rows.append(&mut other.rows);
    }

    /// Sorts the last rows. Call it after the last push and before reading.
    pub fn sort(&mut self) {
        self.rows.sort_by_key(T::key);
    }

    /// All rows, in memory.
    ///
    /// # Panics
    /// If rows cannot be read back.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.len());
        let read: io::Result<()> = self.pieces(LIMIT, &mut |rows| {
            all.extend_from_slice(rows);
            Ok(())
        });
        assert!(read.is_ok(), "rows of a series cannot be read: {read:?}");
        all
    }

    /// Iterates over all rows, after reading them into memory.
    ///
    /// # Panics
    /// As [`Series::to_vec`].
    pub fn iter(&self) -> std::vec::IntoIter<T> {
        self.to_vec().into_iter()
    }

    /// The last row.
    pub fn last(&self) -> Option<T> {
        self.iter().next_back()
    }

    /// Calls `f` with all rows in order, at most `size` at once.
    ///
    /// # Errors
    /// Errors of `f`, and read errors.
    pub fn pieces<E: From<io::Error>>(&self, size: usize, f: &mut dyn FnMut(&[T]) -> Result<(), E>) -> Result<(), E> {
        if self.runs.is_empty() {
            return self.rows.chunks(size).try_for_each(f);
        }
        let mut piece = Vec::with_capacity(size.min(LIMIT));
        let mut readers: Vec<Reader<T>> = self.runs.iter().map(Reader::new).collect();
        let mut heap = BinaryHeap::new();
        for (number, reader) in readers.iter_mut().enumerate() {
            heap.extend(reader.next()?.map(|row| Reverse(Entry { key: row.key(), number, row })));
        }
        // The rows in memory are the latest.
        let (memory, mut next) = (readers.len(), 0);
        heap.extend(self.rows.first().map(|row| Reverse(Entry { key: row.key(), number: memory, row: *row })));
        while let Some(Reverse(Entry { number, row, .. })) = heap.pop() {
            let following = if number == memory {
                next += 1;
                self.rows.get(next).copied()
            } else {
                readers[number].next()?
            };
            heap.extend(following.map(|row| Reverse(Entry { key: row.key(), number, row })));
            piece.push(row);
            if piece.len() == size {
                f(&piece)?;
                piece.clear();
            }
        }
        if piece.is_empty() { Ok(()) } else { f(&piece) }
    }

    /// Writes the first half of the rows in memory. Later rows rarely precede them, so that runs follow each other.
    #[cold]
    fn spill(&mut self) {
        self.sort();
        let half = self.rows.len() / 2;
        if self.write(half).is_ok() {
            self.rows.drain(..half);
        } else {
            // The rows stay in memory, as do all further ones.
            self.refused = true;
        }
    }

    fn write(&mut self, rows: usize) -> io::Result<()> {
        let file = self.file.get_or_insert_default().clone();
        let mut bytes = Vec::with_capacity(rows * T::WORDS * 8);
        for row in &self.rows[..rows] {
            let mut words = [0; MAX_WORDS];
            row.store(&mut words[..T::WORDS]);
            words[..T::WORDS].iter().for_each(|w| bytes.extend_from_slice(&w.to_le_bytes()));
        }
        let (first, last) = (self.rows[0].key(), self.rows[rows - 1].key());
        let at = file.write(&bytes)?;
        let written = Piece { at, rows: rows as u64 };
        match self.runs.last_mut().filter(|r| r.last <= first) {
            Some(run) => {
                match run.pieces.last_mut().filter(|p| p.at + p.rows * bytes_of::<T>() == at) {
                    Some(piece) => piece.rows += written.rows,
                    None => run.pieces.push(written),
                }
                run.last = last;
            }
            None => self.runs.push(Run { file, pieces: vec![written], last }),
        }
        Ok(())
    }
}

/// Size of a row in a file, bytes.
fn bytes_of<T: SeriesRow>() -> u64 {
    T::WORDS as u64 * 8
}

impl<T: SeriesRow> FromIterator<T> for Series<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Series<T> {
        let mut series = Series::default();
        rows.into_iter().for_each(|row| series.push(row));
        series.sort();
        series
    }
}

impl<T: SeriesRow> From<Vec<T>> for Series<T> {
    fn from(rows: Vec<T>) -> Series<T> {
        rows.into_iter().collect()
    }
}

impl<T: SeriesRow + PartialEq> PartialEq for Series<T> {
    fn eq(&self, other: &Series<T>) -> bool {
        self.to_vec() == other.to_vec()
    }
}

/// Next row of a run.
struct Entry<T> {
    key: (u64, u64),
    number: usize,
    row: T,
}

impl<T> Entry<T> {
    fn order(&self) -> ((u64, u64), usize) {
        (self.key, self.number)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Entry<T>) -> bool {
        self.order() == other.order()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Entry<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Entry<T>) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

/// Reader of a run.
struct Reader<T> {
    file: Arc<SeriesFile>,
    pieces: std::vec::IntoIter<Piece>,
    /// Remainder of the piece that is being read.
    piece: Piece,
    ready: std::vec::IntoIter<T>,
}

impl<T: SeriesRow> Reader<T> {
    fn new(run: &Run) -> Reader<T> {
        let pieces = run.pieces.clone().into_iter();
        Reader { file: run.file.clone(), pieces, piece: Piece { at: 0, rows: 0 }, ready: Vec::new().into_iter() }
    }

    fn next(&mut self) -> io::Result<Option<T>> {
        if let Some(row) = self.ready.next() {
            return Ok(Some(row));
        }
        if self.piece.rows == 0 {
            let Some(piece) = self.pieces.next() else { return Ok(None) };
            self.piece = piece;
        }
        let rows = self.piece.rows.min(READ_ROWS as u64);
        let mut bytes = vec![0; (rows * bytes_of::<T>()) as usize];
        self.file.read(&mut bytes, self.piece.at)?;
        self.piece = Piece { at: self.piece.at + bytes.len() as u64, rows: self.piece.rows - rows };
        let row = |bytes: &[u8]| {
            let mut words = [0; MAX_WORDS];
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            T::load(&words[..T::WORDS])
        };
        self.ready = bytes.chunks_exact(T::WORDS * 8).map(row).collect::<Vec<_>>().into_iter();
        Ok(self.ready.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::QueueRow;
    use forebay_types::PortId;

    fn row(time_ps: u64, port: u32) -> QueueRow {
        QueueRow { time_ps, port: PortId::new(port), pkts: time_ps as u32 ^ port, bytes: time_ps * 3, drops: 7, marks: u64::MAX }
    }

    /// Reference: all rows, sorted stably.
    fn sorted(mut rows: Vec<QueueRow>) -> Vec<QueueRow> {
        rows.sort_by_key(SeriesRow::key);
        rows
    }

    #[test]
    fn spilled_series_equals_memory_series() {
        let n = 5 * LIMIT as u64;
        // In order; nearly so, as within a window of the engine; and backwards, so that no run follows another.
        let orders: [fn(u64, u64) -> u64; 3] = [|i, _| i, |i, _| i ^ 31, |i, n| n - i];
        for order in orders {
            let rows: Vec<QueueRow> = (0..n).map(|i| row(order(i, n), (i % 3) as u32)).collect();
            let mut series = Series::default();
            rows.iter().for_each(|r| series.push(*r));
            series.sort();
            assert!(series.rows.len() < LIMIT && !series.runs.is_empty() && series.len() == rows.len());
            assert_eq!(series.to_vec(), sorted(rows));
        }
    }

    #[test]
    fn rows_in_order_are_one_run() {
        let series: Series<QueueRow> = (0..9 * LIMIT as u64).map(|i| row(i, 0)).collect();
        assert_eq!(series.runs.len(), 1);
        assert_eq!(series.runs[0].pieces.len(), 1);
    }

    #[test]
    fn series_share_a_file() {
        let (ports, n, file) = (600, 1_500, Arc::default());
        let mut series: Vec<Series<QueueRow>> = (0..ports).map(|_| Series::one_of(ports, &file)).collect();
        let mut rows = Vec::new();
        for time in 0..n {
            for (port, series) in series.iter_mut().enumerate() {
                rows.push(row(time, port as u32));
                series.push(row(time, port as u32));
            }
        }
        let mut all = Series::one_of(ports, &file);
        series.into_iter().for_each(|one| all.append(one));
        all.sort();
        assert!(
            all.rows.len() <= SHARED_LIMIT && all.runs.len() == ports,
            "{} in memory, {} runs",
            all.rows.len(),
            all.runs.len()
        );
        assert_eq!(all.len(), rows.len());
        assert_eq!(all.to_vec(), sorted(rows));
    }

    #[test]
    fn series_of_several_are_merged() {
        let of = |port: u32| (0..2 * LIMIT as u64).map(move |i| row(i, port));
        let mut all: Series<QueueRow> = of(1).collect();
        all.append(of(0).collect());
        all.sort();
        assert_eq!(all.to_vec(), sorted(of(1).chain(of(0)).collect()));
        let mut sizes = Vec::new();
        let walked = all.pieces(10_000, &mut |rows: &[QueueRow]| {
            sizes.push(rows.len());
            Ok::<(), io::Error>(())
        });
        assert!(walked.is_ok() && sizes[..6] == [10_000; 6] && sizes.iter().sum::<usize>() == 4 * LIMIT, "{sizes:?}");
    }
}
