//! First difference between the states of sockets on two kernels.

use forebay_kernel::c_source::{Member, Parsed, Private};
use forebay_kernel::state::variables;
use forebay_linux::states::SocketState;
use forebay_types::Time;
use std::collections::BTreeMap;

/// A variable with different values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Name in the kernel's sources: `snd_cwnd`, `rack.rtt_us`, `dctcp_alpha`.
    pub name: String,
    /// Structure of the congestion control that has it; `None` for the socket itself.
    pub structure: Option<String>,
    /// Value on each kernel.
    pub values: [i128; 2],
}

/// First record of a connection in which two kernels differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDifference {
    /// Number of the connection.
    pub conn_id: u64,
    /// True for the end that receives the data.
    pub receiver: bool,
    /// True after a retransmission timeout, false after a packet.
    pub timeout: bool,
    /// Number of the record of this end, from 1.
    pub place: usize,
    /// Time of the record on each kernel; `None` where it has no such record.
    pub times: [Option<Time>; 2],
    /// Congestion control.
    pub cc: String,
    /// The variables that differ, in the order of the table of the guest, those of the congestion control first. Empty if the record is only at another
    /// time.
    pub variables: Vec<Variable>,
}

impl StateDifference {
    /// Earliest time at which it is visible.
    pub fn time(&self) -> Time {
        self.times.iter().flatten().min().copied().unwrap_or(Time::ZERO)
    }
}

/// The memories of congestion controls on both kernels, by name; filled on demand.
#[derive(Debug)]
pub(super) struct Layouts<'a> {
    sources: [Option<&'a Parsed<'a>>; 2],
    found: BTreeMap<String, Option<Private>>,
}

impl<'a> Layouts<'a> {
    pub(super) fn new(sources: [Option<&'a Parsed<'a>>; 2]) -> Layouts<'a> {
        Layouts { sources, found: BTreeMap::new() }
    }

    /// Memory of the congestion control `cc`, if it is laid out alike on both kernels.
    pub(super) fn of(&mut self, cc: &str) -> Option<&Private> {
        let sources = self.sources;
        let find = || {
            let [a, b] = sources.map(|s| s.and_then(|s| s.private(cc)));
            a.filter(|a| b.as_ref().is_some_and(|b| b.members == a.members))
        };
        self.found.entry(cc.to_owned()).or_insert_with(find).as_ref()
    }
}

/// Bits of the memory of a congestion control as a number.
fn bits(words: &[u64], bit: usize, bits: usize, signed: bool) -> Option<i128> {
    let (word, shift) = (bit / 64, bit % 64);
    let low = u128::from(*words.get(word)?);
    let high = u128::from(words.get(word + 1).copied().unwrap_or(0));
    let value = (high << 64 | low) >> shift & (u128::MAX >> (128 - bits.clamp(1, 64)));
    let sign = signed && value >> (bits - 1) & 1 == 1;
    Some(value as i128 - if sign { 1 << bits } else { 0 })
}

/// Value of a member of the congestion control's memory. Sequence numbers are relative, because initial ones differ between runs.
fn member(s: &SocketState, m: &Member) -> i128 {
    let value = bits(&s.private, m.bit, m.bits, m.signed).unwrap_or(0);
    let base = match m.name.as_str() {
        name if name.ends_with("rcv_nxt") => s.rcv_nxt,
        name if ["seq", "snd_una", "nxt"].iter().any(|end| name.ends_with(end)) => s.snd_una,
        _ => return value,
    };
    if value == 0 { 0 } else { i128::from((value as u32).wrapping_sub(base).cast_signed()) }
}

/// Variables with different values in two records.
fn differing(a: &SocketState, b: &SocketState, layouts: &mut Layouts<'_>) -> Vec<Variable> {
    let mut found = Vec::new();
    // Without the names of its members, sequence numbers in the memory would be taken for differences.
    if let Some(private) = layouts.of(&a.cc).filter(|_| a.private != b.private && a.cc == b.cc) {
        for m in &private.members {
            let [x, y] = [a, b].map(|s| member(s, m));
            if x != y {
                let structure = Some(private.structure.clone());
                found.push(Variable { name: m.name.clone(), structure, values: [x, y] });
            }
        }
    }
    for (name, (x, y)) in variables().iter().zip(a.values.iter().zip(&b.values)).filter(|(_, (x, y))| x != y) {
        found.push(Variable { name: (*name).to_owned(), structure: None, values: [i128::from(*x), i128::from(*y)] });
    }
    found
}

/// Variables that differ in the last records of an end before `time`, the arrival of a packet: of the sender, or of the receiver for a packet of the
/// direction of ACKs.
pub(super) fn at(
    runs: [&[SocketState]; 2],
    (conn_id, receiver): (u64, bool),
    time: Time,
    layouts: &mut Layouts<'_>,
) -> Vec<Variable> {
    let last = runs.map(|run| run.iter().rfind(|s| s.conn_id == conn_id && s.receiver == receiver && s.time < time));
    let [Some(a), Some(b)] = last else { return Vec::new() };
    differing(a, b, layouts)
}

/// The first difference of each connection, in the order of time. `packets`: arrival of the first differing packet of a connection. A difference of the
/// sender before it does not follow from one of the receiver, so it comes first: the sender sets the rate. `end`: records after it are not compared, as runs without a duration end at different
/// times.
pub(super) fn first_differences(
    runs: [&[SocketState]; 2],
    packets: &BTreeMap<u64, Time>,
    end: Time,
    layouts: &mut Layouts<'_>,
) -> Vec<StateDifference> {
    let ends = runs.map(|run| {
        let mut all: BTreeMap<(u64, bool), Vec<&SocketState>> = BTreeMap::new();
        run.iter().filter(|s| s.time <= end).for_each(|s| all.entry((s.conn_id, s.receiver)).or_default().push(s));
        all
    });
    let mut keys: Vec<(u64, bool)> = ends.iter().flat_map(|e| e.keys().copied()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut first: BTreeMap<u64, StateDifference> = BTreeMap::new();
    for key in keys {
        let [a, b] = [0, 1].map(|run| ends[run].get(&key).map_or(&[][..], Vec::as_slice));
        for i in 0..a.len().max(b.len()) {
            let (x, y) = (a.get(i), b.get(i));
            let variables = match (x, y) {
                (Some(x), Some(y)) => differing(x, y, layouts),
                _ => Vec::new(),
            };
            let times = [x, y].map(|s| s.map(|s| s.time));
            if variables.is_empty() && times[0] == times[1] {
                continue;
            }
            let Some(some) = x.or(y) else { break };
            let (receiver, timeout, cc) = (some.receiver, some.timeout, some.cc.clone());
            let found = StateDifference { conn_id: key.0, receiver, timeout, place: i + 1, times, cc, variables };
            let order = |d: &StateDifference| {
                let own =
                    !d.receiver && !d.variables.is_empty() && packets.get(&d.conn_id).is_none_or(|packet| d.time() < *packet);
                (!own, d.time(), d.variables.is_empty())
            };
            let earlier = |old: &StateDifference| order(&found) < order(old);
            if first.get(&key.0).is_none_or(earlier) {
                first.insert(key.0, found);
            }
            break;
        }
    }
    let mut all: Vec<StateDifference> = first.into_values().collect();
    all.sort_by_key(|d| (d.time(), d.variables.is_empty(), d.conn_id));
    all
}

#[cfg(test)]
mod tests {
    use super::{Layouts, bits, first_differences, member};
    use forebay_kernel::c_source::Member;
    use forebay_kernel::state::variables;
    use forebay_linux::states::SocketState;
    use forebay_types::Time;
    use std::collections::BTreeMap;

    fn state(us: u64, cwnd: u64) -> SocketState {
        let mut values = vec![0; variables().len()].into_boxed_slice();
        values[0] = cwnd;
        SocketState {
            time: Time::from_us(us),
            conn_id: 3,
            receiver: false,
            timeout: false,
            snd_una: 100,
            rcv_nxt: 200,
            cc: "reno".to_owned(),
            values,
            private: [0; 13],
        }
    }

    #[test]
    fn first_differing_record_with_its_variables() {
        let a = [state(1, 10), state(2, 11), state(3, 12)];
        let mut b = a.clone();
        let (mut layouts, none) = (Layouts::new([None, None]), BTreeMap::new());
        let end = Time::from_us(9);
        assert!(first_differences([&a, &b], &none, end, &mut layouts).is_empty());
        b[1].values[0] = 9;
        b[2].time = Time::from_us(4);
        // Of unknown meaning: there are no sources.
        b[1].private[2] = 7;
        let found = &first_differences([&a, &b], &none, end, &mut layouts)[0];
        assert_eq!((found.conn_id, found.place, found.time()), (3, 2, Time::from_us(2)));
        let names: Vec<_> = found.variables.iter().map(|v| (v.name.as_str(), v.values)).collect();
        assert_eq!(names, [("snd_cwnd", [11, 9])]);
    }

    #[test]
    fn missing_or_late_record_is_difference() {
        let a = [state(1, 10), state(2, 11)];
        let (mut layouts, none) = (Layouts::new([None, None]), BTreeMap::new());
        let found = first_differences([&a, &a[..1]], &none, Time::from_us(9), &mut layouts);
        assert_eq!((found[0].times, found[0].variables.len()), ([Some(Time::from_us(2)), None], 0));
        assert!(first_differences([&a, &a[..1]], &none, Time::from_us(1), &mut layouts).is_empty(), "beyond the end");
    }

    #[test]
    fn independent_sender_comes_before_receiver() {
        let receiver = |us: u64, cwnd: u64| SocketState { receiver: true, ..state(us, cwnd) };
        let (a, b) = ([receiver(1, 5), state(3, 10)], [receiver(1, 6), state(3, 11)]);
        let mut layouts = Layouts::new([None, None]);
        let mut first = |packet: u64| {
            let packets = BTreeMap::from([(3, Time::from_us(packet))]);
            first_differences([&a, &b], &packets, Time::from_us(9), &mut layouts)[0].receiver
        };
        assert!(!first(4), "the sender differs before any packet");
        assert!(first(2), "the sender differs after a packet of the receiver");
    }

    #[test]
    fn sequence_numbers_are_relative() {
        let mut s = state(1, 10);
        s.private[0] = 150 | 1 << 32;
        let of = |name: &str, bit| member(&s, &Member { name: name.to_owned(), bit, bits: 32, signed: false });
        assert_eq!([of("next_seq", 0), of("prior_rcv_nxt", 0), of("delivered", 0), of("end_seq", 64)], [50, -50, 150, 0]);
        assert_eq!(of("count", 32), 1);
    }

    #[test]
    fn bit_fields_across_words() {
        assert_eq!(bits(&[0xF000_0000_0000_0000, 0x1], 60, 8, false), Some(0x1F));
        assert_eq!(bits(&[0xFFFF_FFFF], 0, 32, true), Some(-1));
        assert_eq!(bits(&[0xFFFF_FFFF], 64, 32, true), None);
    }
}
