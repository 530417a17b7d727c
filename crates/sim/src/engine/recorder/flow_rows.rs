//! Compact storage of the rows of messages until the end of a run: each number takes as many bytes as it needs, times count from the start of the
//! message, and absent values take nothing. A row takes about 45 bytes, instead of 230 in the table.

use forebay_experiment::rows::FlowRow;
use forebay_experiment::shim_row::ShimRow;
use forebay_types::{GroupId, NodeId, QueryId, Time, TimeOrNever, WorkloadId};

/// Bytes of a chunk. Chunks are never moved, because growing by doubling leaves holes that the allocator keeps. The allocator also keeps smaller
/// chunks that are freed while rows are read: a run of a million messages takes 308 MB, and 320 MB with chunks of 64 KB.
const PIECE: usize = 1 << 20;
/// Maximum number of numbers in a row.
const MOST: usize = 32;
/// Maximum bytes of a row: the number of numbers, half a byte for the length of each, and the numbers.
const LONGEST: usize = 1 + MOST / 2 + MOST * 8;

/// Optional parts of a row, by bit.
mod has {
    pub(super) const END: u64 = 1;
    pub(super) const ACKED: u64 = 1 << 1;
    pub(super) const RTT: u64 = 1 << 2;
    pub(super) const QUERY: u64 = 1 << 3;
    pub(super) const DEADLINE: u64 = 1 << 4;
    pub(super) const OPENS: u64 = 1 << 5;
    pub(super) const FITS: u64 = 1 << 6;
    /// Not all of the message was acknowledged or measured.
    pub(super) const PARTS: u64 = 1 << 7;
    /// Retransmissions or expired timers.
    pub(super) const LOSSES: u64 = 1 << 8;
    /// ECN reductions or acknowledged marks.
    pub(super) const MARKS: u64 = 1 << 9;
    pub(super) const ALPHA: u64 = 1 << 10;
    /// The receive window or the send buffer limited the sender for some time.
    pub(super) const LIMITED: u64 = 1 << 11;
}

/// Rows in the order in which they were added.
#[derive(Default)]
pub(super) struct FlowRows {
    pieces: Vec<Vec<u8>>,
    rows: usize,
    /// Shim columns of some rows, by the number of the row, with the transport.
    shims: Vec<(usize, GroupId, Box<ShimRow>)>,
}

impl FlowRows {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Adds a row without number and wait times. Returns its place.
    pub(super) fn push(&mut self, mut row: FlowRow) -> usize {
        if let Some(shim) = row.shim.take() {
            self.shims.push((self.rows, row.group, shim));
        }
        write(&row, self.room(LONGEST));
        self.rows += 1;
        self.rows - 1
    }

    /// The last chunk, with room for this many bytes.
    fn room(&mut self, bytes: usize) -> &mut Vec<u8> {
        if self.pieces.last().is_none_or(|p| p.len() + bytes > PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let last = self.pieces.len() - 1;
        &mut self.pieces[last]
    }

    /// The shim columns of a row, with its transport.
    pub(super) fn shim(&mut self, row: usize) -> Option<(GroupId, &mut ShimRow)> {
        let place = self.shims.binary_search_by_key(&row, |s| s.0).ok()?;
        let (_, group, shim) = &mut self.shims[place];
        Some((*group, shim))
    }

    /// Appends the rows of `other`.
    pub(super) fn append(&mut self, other: &mut FlowRows) {
        let before = self.rows;
        self.shims.extend(other.shims.drain(..).map(|(row, group, shim)| (before + row, group, shim)));
        for piece in other.pieces.iter().filter(|p| !p.is_empty()) {
            self.room(piece.len()).extend_from_slice(piece);
        }
        self.rows += std::mem::take(&mut other.rows);
        // The first chunk is kept for later rows.
        other.pieces.truncate(1);
        other.pieces.iter_mut().for_each(Vec::clear);
    }

    /// Unpacks each row and passes it to `see`. Shim columns are left out.
    pub(super) fn each(&self, mut see: impl FnMut(FlowRow)) {
        for piece in &self.pieces {
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                see(read(&mut rest));
            }
        }
    }

    /// Unpacks and returns all rows.
    pub(super) fn take(&mut self) -> Vec<FlowRow> {
        let FlowRows { pieces, rows, shims } = std::mem::take(self);
        let mut all = Vec::with_capacity(rows);
        for piece in pieces {
            read_all(&piece, &mut all);
        }
        for (row, _, shim) in shims {
            all[row].shim = Some(shim);
        }
        all
    }
}

/// Unpacks the rows of a chunk.
fn read_all(mut piece: &[u8], rows: &mut Vec<FlowRow>) {
    while !piece.is_empty() {
        rows.push(read(&mut piece));
    }
}

/// Encoder of a row.
struct Writer {
    /// Length of each number, in four bits, the first one lowest.
    lengths: u128,
    count: usize,
    numbers: [u8; MOST * 8],
    bytes: usize,
}

impl Writer {
    #[inline(always)]
    fn put(&mut self, n: u64) {
        let length = 8 - n.leading_zeros() as usize / 8;
        // All eight bytes; the next number overwrites the unused ones.
        self.numbers[self.bytes..self.bytes + 8].copy_from_slice(&n.to_le_bytes());
        self.lengths |= (length as u128) << (4 * self.count);
        self.bytes += length;
        self.count += 1;
    }
}

/// Decoder of a row.
struct Reader<'a> {
    lengths: u128,
    /// Numbers of the row, and the rows behind it.
    numbers: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the next row of `from`.
    fn new(from: &'a [u8]) -> Reader<'a> {
        let (head, numbers) = from[1..].split_at(usize::from(from[0]).div_ceil(2));
        let mut lengths = [0; 16];
        lengths[..head.len()].copy_from_slice(head);
        Reader { lengths: u128::from_le_bytes(lengths), numbers }
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        let length = self.lengths as usize & 15;
        let (own, rest) = self.numbers.split_at(length);
        let n = match self.numbers.first_chunk() {
            // Includes bytes of the next numbers, which are masked.
            Some(eight) if length > 0 => u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * length)),
            _ => own.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)),
        };
        (self.numbers, self.lengths) = (rest, self.lengths >> 4);
        n
    }
}

/// Encodes a real number so that trailing zeros of its mantissa come first.
fn real(x: f64) -> u64 {
    x.to_bits().swap_bytes()
}

fn real_of(n: u64) -> f64 {
    f64::from_bits(n.swap_bytes())
}

fn write(row: &FlowRow, to: &mut Vec<u8>) {
    #[rustfmt::skip]
    let FlowRow {
        flow_id, conn_id, workload, group, src, dst, size_bytes, start, end, acked, ideal, bytes_acked, bytes_measured, segs_sent, segs_retx, rtos,
        rtos_head, rtos_tail, tlps, syn_rtos, fast_retx, ecn_reductions, loss_reductions, reduction_alpha, ce_acked_bytes, cwnd_max, rtt_min, rtt_mean, query_id,
        deadline, ecmp, opens, fits, waited, shim, request, rwnd_limited, sndbuf_limited,
    } = row;
    debug_assert!(
        *flow_id == 0 && waited.is_none() && shim.is_none() && !request,
        "columns that are added at the end of the run, or stored separately"
    );
    let mut row = Writer { lengths: 0, count: 0, numbers: [0; MOST * 8], bytes: 0 };
    let mut number = |n| row.put(n);
    let since = |time: Time| time.0.wrapping_sub(start.0);
    let counts = [rtos, rtos_head, rtos_tail, tlps, syn_rtos, fast_retx, loss_reductions];
    let parts = bytes_acked != size_bytes || bytes_measured != size_bytes;
    let losses = *segs_retx > 0 || counts.into_iter().any(|n| *n > 0);
    let limits = [rwnd_limited, sndbuf_limited].map(|t| t.get().map_or(0, |t| t.0));
    let marks = *ecn_reductions > 0 || *ce_acked_bytes > 0;
    let bits = [
        (has::END, !end.is_never()),
        (has::ACKED, !acked.is_never()),
        (has::RTT, !rtt_min.is_never() || !rtt_mean.is_never()),
        (has::QUERY, query_id.is_some()),
        (has::DEADLINE, !deadline.is_never()),
        (has::OPENS, *opens),
        (has::FITS, *fits),
        (has::PARTS, parts),
        (has::LOSSES, losses),
        (has::MARKS, marks),
        (has::ALPHA, reduction_alpha.is_some()),
        (has::LIMITED, limits != [0, 0]),
    ];
    number(bits.into_iter().filter(|b| b.1).fold(0, |all, b| all | b.0));
    number(*conn_id);
    number(u64::from(group.get()) << 32 | u64::from(workload.get()));
    [src.get(), dst.get()].into_iter().for_each(|id| number(u64::from(id)));
    [*size_bytes, start.0, ideal.0, *segs_sent, real(*cwnd_max), u64::from(*ecmp)].into_iter().for_each(&mut number);
    [end, acked, deadline].into_iter().filter_map(|t| t.get()).for_each(|t| number(since(t)));
    if parts {
        [*bytes_acked, *bytes_measured].into_iter().for_each(&mut number);
    }
    if losses {
        number(*segs_retx);
        counts.into_iter().for_each(|n| number(u64::from(*n)));
    }
    if marks {
        number(u64::from(*ecn_reductions));
        number(*ce_acked_bytes);
    }
    if let Some(alpha) = reduction_alpha {
        number(real(*alpha));
    }
    if !rtt_min.is_never() || !rtt_mean.is_never() {
        number(rtt_min.or_never().0);
        number(rtt_mean.or_never().0.wrapping_sub(rtt_min.or_never().0));
    }
    if let Some(query) = query_id {
        number(query.get());
    }
    if limits != [0, 0] {
        limits.into_iter().for_each(&mut number);
    }
    to.push(row.count as u8);
    to.extend_from_slice(&row.lengths.to_le_bytes()[..row.count.div_ceil(2)]);
    to.extend_from_slice(&row.numbers[..row.bytes]);
}

fn read(from: &mut &[u8]) -> FlowRow {
    let mut reader = Reader::new(from);
    let mut next = || reader.next();
    let bits = next();
    let has = |bit: u64| bits & bit != 0;
    let conn_id = next();
    let of = next();
    let [workload, group] = [of as u32, (of >> 32) as u32];
    let [src, dst] = std::array::from_fn(|_| next() as u32);
    let [size_bytes, start, ideal, segs_sent, cwnd_max, ecmp] = std::array::from_fn(|_| next());
    let mut time = |bit: u64| if has(bit) { TimeOrNever::at(Time(start.wrapping_add(next()))) } else { TimeOrNever::NEVER };
    let (end, acked, deadline) = (time(has::END), time(has::ACKED), time(has::DEADLINE));
    let mut row = FlowRow {
        conn_id,
        workload: WorkloadId::new(workload),
        group: GroupId::new(group),
        src: NodeId::new(src),
        dst: NodeId::new(dst),
        size_bytes,
        start: Time(start),
        end,
        acked,
        ideal: Time(ideal),
        bytes_acked: size_bytes,
        bytes_measured: size_bytes,
        segs_sent,
        cwnd_max: real_of(cwnd_max),
        deadline,
        ecmp: ecmp as u16,
        opens: has(has::OPENS),
        fits: has(has::FITS),
        ..FlowRow::default()
    };
    if has(has::PARTS) {
        (row.bytes_acked, row.bytes_measured) = (next(), next());
    }
    if has(has::LOSSES) {
        row.segs_retx = next();
        let FlowRow { rtos, rtos_head, rtos_tail, tlps, syn_rtos, fast_retx, loss_reductions, .. } = &mut row;
        for count in [rtos, rtos_head, rtos_tail, tlps, syn_rtos, fast_retx, loss_reductions] {
            *count = next() as u32;
        }
    }
    if has(has::MARKS) {
        (row.ecn_reductions, row.ce_acked_bytes) = (next() as u32, next());
    }
    if has(has::ALPHA) {
        row.reduction_alpha = Some(real_of(next()));
    }
    if has(has::RTT) {
        let min = next();
        row.rtt_min = TimeOrNever::at(Time(min));
        row.rtt_mean = TimeOrNever::at(Time(min.wrapping_add(next())));
    }
    if has(has::QUERY) {
        row.query_id = Some(QueryId::new(next()));
    }
    let mut limits = [0, 0];
    if has(has::LIMITED) {
        limits = [next(), next()];
    }
    [row.rwnd_limited, row.sndbuf_limited] = limits.map(|ps| Time(ps).into());
    *from = reader.numbers;
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row with numbers derived from `n`, and optional parts by the bits of `which`.
    fn row(n: u64, which: u64) -> FlowRow {
        let bit = |b: u64| which >> b & 1 == 1;
        let wide = |b: u64| if bit(b) { n.rotate_left(b as u32) } else { 0 };
        let time = |b: u64| if bit(b) { TimeOrNever::at(Time(wide(b) | 1)) } else { TimeOrNever::NEVER };
        FlowRow {
            conn_id: n >> 40,
            workload: WorkloadId::new(n as u32),
            group: GroupId::new(n as u32 & 3),
            src: NodeId::new(n as u32 >> 8),
            dst: NodeId::new(u32::MAX),
            size_bytes: n,
            start: Time(n >> 1),
            end: time(0),
            acked: time(1),
            ideal: Time(wide(2)),
            bytes_acked: if bit(3) { wide(3) } else { n },
            bytes_measured: if bit(4) { wide(4) } else { n },
            segs_sent: n >> 3,
            segs_retx: wide(5),
            rtos: wide(6) as u32,
            loss_reductions: wide(7) as u32,
            ecn_reductions: wide(8) as u32,
            ce_acked_bytes: wide(9),
            reduction_alpha: bit(8).then_some(1.0 / 3.0),
            cwnd_max: n as f64 / 7.0,
            rwnd_limited: Time(wide(6)).into(),
            sndbuf_limited: Time(wide(7)).into(),
            rtt_min: time(10),
            rtt_mean: time(11),
            query_id: bit(12).then(|| QueryId::new(n)),
            deadline: time(13),
            ecmp: n as u16,
            opens: bit(14),
            fits: bit(15),
            shim: bit(2).then(Box::default),
            ..FlowRow::default()
        }
    }

    #[test]
    fn flow_rows_roundtrip() {
        let rows: Vec<_> = (0..1 << 16).step_by(5).map(|which| row(0x9E37_79B9_7F4A_7C15 >> (which % 61), which)).collect();
        let (mut first, mut second) = (FlowRows::default(), FlowRows::default());
        let (head, tail) = rows.split_at(700);
        head.iter().for_each(|r| _ = first.push(r.clone()));
        tail.iter().for_each(|r| _ = second.push(r.clone()));
        first.append(&mut second);
        assert_eq!((first.len(), second.len(), second.take().len()), (rows.len(), 0, 0));
        assert!(first.pieces.len() > 1);
        assert_eq!(first.shim(rows.len() - 1).is_some(), rows[rows.len() - 1].shim.is_some());
        assert_eq!(first.take(), rows);
    }

    #[test]
    fn ordinary_row_takes_few_bytes() {
        let at = |us: u64| Time::from_us(us);
        let ordinary = FlowRow {
            conn_id: 99_999,
            src: NodeId::new(140),
            dst: NodeId::new(150),
            size_bytes: 3_000,
            start: at(18_000),
            end: at(18_030).into(),
            acked: at(18_045).into(),
            ideal: at(13),
            bytes_acked: 3_000,
            bytes_measured: 3_000,
            segs_sent: 3,
            cwnd_max: 10.0,
            rtt_min: at(12).into(),
            rtt_mean: at(15).into(),
            ecmp: 54_321,
            opens: true,
            fits: true,
            ..FlowRow::default()
        };
        let mut bytes = Vec::new();
        write(&ordinary, &mut bytes);
        assert!(bytes.len() <= 50, "{} bytes", bytes.len());
    }
}
