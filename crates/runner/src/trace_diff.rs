//! Packet-by-packet comparison of two runs: the first packet of each connection that differs, with the state of both senders.

use forebay_experiment::report::Report;
use forebay_experiment::rows::{PacketRow, TcpRow};
use forebay_types::Time;
use std::collections::BTreeMap;

/// One connection in two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// Its number.
    pub conn_id: u64,
    /// Equal packets of both directions up to the first difference.
    pub alike: usize,
    /// Packets of both directions in each run.
    pub packets: [usize; 2],
    /// The first difference, if any.
    pub first: Option<Divergence>,
}

/// First difference in one direction: a packet that is missing in one run, another packet, or the same packet at another time.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// True for the direction from the receiver to the sender.
    pub back: bool,
    /// Rank of the packet in its direction, from 1.
    pub place: usize,
    /// In each run.
    pub packet: [Option<PacketRow>; 2],
    /// The last recorded state of the sender before it, in each run.
    pub state: [Option<TcpRow>; 2],
}

/// A nanosecond in ps: kernels count in whole nanoseconds.
const NS: u64 = 1_000;

/// Compares the connections of two runs with recorded packets. Packets of equal contents may differ in time by `within`; zero demands the same
/// nanosecond. Pure ACKs in the direction of data, such as the last packet of a handshake, do not exist on every backend and are ignored.
pub fn align(a: &Report, b: &Report, within: Time) -> Vec<Alignment> {
    // A run without a duration ends when its work is done, so packets in flight at that time are not comparable.
    let end = a.end.0.min(b.end.0).div_ceil(NS);
    let lists = [a, b].map(|r| by_direction(r, end));
    let states = [a, b].map(|r| {
        let mut all: BTreeMap<u64, Vec<TcpRow>> = BTreeMap::new();
        r.tcp.iter().for_each(|row| all.entry(row.conn_id).or_default().push(row));
        all
    });
    let mut ids: Vec<u64> = lists.iter().flat_map(|l| l.keys().map(|k| k.0)).collect();
    ids.sort_unstable();
    ids.dedup();
    let of = |run: usize, id: u64, back: bool| lists[run].get(&(id, back)).map_or(&[][..], Vec::as_slice);
    let one = |&id: &u64| {
        let both = |back| [of(0, id, back), of(1, id, back)];
        let comparable = end.saturating_sub(within.0 / NS);
        let first = [false, true].into_iter().filter_map(|back| difference(both(back), back, within));
        let first = first.filter(|d| d.packet.iter().all(Option::is_some) || time_of(d) <= comparable).min_by_key(time_of);
        let packets = [0, 1].map(|run| of(run, id, false).len() + of(run, id, true).len());
        let until = first.as_ref().map_or(u64::MAX, time_of);
        let before = |p: &&PacketRow| p.time_ps.div_ceil(NS) < until;
        let alike = [false, true].into_iter().map(|back| both(back)[0].iter().filter(before).count()).sum();
        let first = first.map(|mut d| {
            d.state = [0, 1].map(|run| last_before(&states[run], id, until));
            d
        });
        Alignment { conn_id: id, alike, packets, first }
    };
    ids.iter().map(one).collect()
}

/// The packets of each connection and direction, in order, with sequence numbers relative to the SYN: later connections of a slot start at another
/// number in the simulator. `end`: the last nanosecond that counts.
fn by_direction(report: &Report, end: u64) -> BTreeMap<(u64, bool), Vec<PacketRow>> {
    let mut all: BTreeMap<(u64, bool), Vec<PacketRow>> = BTreeMap::new();
    let mut origins: BTreeMap<u64, u32> = BTreeMap::new();
    for p in report.packets.iter().filter(|p| p.syn && !p.back) {
        origins.entry(p.conn_id).or_insert(p.number);
    }
    for p in report.packets.iter().filter(|p| p.time_ps.div_ceil(NS) <= end).filter(|p| p.back || p.payload > 0 || p.syn || p.fin)
    {
        let p = PacketRow { number: p.number.wrapping_sub(origins.get(&p.conn_id).copied().unwrap_or(0)), ..p };
        let list = all.entry((p.conn_id, p.back)).or_default();
        list.push(p);
    }
    all
}

/// True for the same packet within the time `within`. A FIN may come with the last byte or after it, so it is not compared.
fn same(a: &PacketRow, b: &PacketRow, within: Time) -> bool {
    let what = |p: &PacketRow| (p.number, p.payload, p.syn, p.ece, p.ce, p.class);
    what(a) == what(b) && a.time_ps.div_ceil(NS).abs_diff(b.time_ps.div_ceil(NS)) <= within.0 / NS
}

fn difference([a, b]: [&[PacketRow]; 2], back: bool, within: Time) -> Option<Divergence> {
    let place = (0..a.len().max(b.len())).find(|&i| match (a.get(i), b.get(i)) {
        (Some(a), Some(b)) => !same(a, b, within),
        _ => true,
    })?;
    Some(Divergence { back, place: place + 1, packet: [a.get(place).copied(), b.get(place).copied()], state: [None, None] })
}

/// Earliest time at which the difference is visible, ns.
pub fn time_of(d: &Divergence) -> u64 {
    d.packet.iter().flatten().map(|p| p.time_ps.div_ceil(NS)).min().unwrap_or(u64::MAX)
}

fn last_before(states: &BTreeMap<u64, Vec<TcpRow>>, id: u64, until: u64) -> Option<TcpRow> {
    let rows = states.get(&id)?;
    let place = rows.partition_point(|row| row.time_ps.div_ceil(NS) < until);
    rows.get(place.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::series::Series;

    fn packet(time_ps: u64, conn_id: u64, back: bool, number: u32) -> PacketRow {
        let payload = if back { 0 } else { 1_000 };
        PacketRow { time_ps, conn_id, back, number, payload, syn: false, fin: false, ece: false, cwr: false, ce: false, class: 0 }
    }

    fn report(packets: &[PacketRow], cwnd: f64) -> Report {
        let state = |time_ps| TcpRow {
            time_ps,
            conn_id: 4,
            cwnd,
            ssthresh: None,
            unacked_bytes: 0,
            srtt_ps: None,
            rto_ps: 0,
            alpha: None,
            bytes_acked: time_ps,
            retrans: 0,
            ca_state: 0,
            cc: Default::default(),
        };
        let tcp: Series<TcpRow> = [1_000, 6_000].map(state).into_iter().collect();
        Report { packets: packets.iter().copied().collect(), tcp, end: Time(u64::MAX), ..Report::default() }
    }

    #[test]
    fn first_difference_in_either_direction() {
        let a = [
            packet(1_000, 4, false, 1),
            packet(2_500, 4, false, 1_001),
            packet(5_000, 4, true, 1_001),
            packet(9_000, 4, false, 2_001),
        ];
        let mut b = a;
        b[1].time_ps = 3_000;
        assert_eq!(
            align(&report(&a, 1.0), &report(&b, 2.0), Time::ZERO)[0],
            Alignment { conn_id: 4, alike: 4, packets: [4, 4], first: None }
        );
        b[2].number = 2_001;
        b[3].number = 1_001;
        let found = &align(&report(&a, 1.0), &report(&b, 2.0), Time::ZERO)[0];
        let first = found.first.as_ref().unwrap();
        assert_eq!((found.alike, first.back, first.place), (2, true, 1));
        assert_eq!(first.packet.map(|p| p.unwrap().number), [1_001, 2_001]);
        assert_eq!(first.state.map(|s| s.unwrap().cwnd), [1.0, 2.0]);
        assert_eq!(first.state[0].unwrap().time_ps, 1_000);
    }

    #[test]
    fn numbers_count_from_the_syn() {
        let a =
            [PacketRow { syn: true, ..packet(1_000, 4, false, 0) }, packet(2_000, 4, false, 1), packet(3_000, 4, true, 1_001)];
        let same = |by: &[u32; 3]| {
            let b: Vec<_> = a.iter().zip(by).map(|(p, by)| PacketRow { number: p.number.wrapping_add(*by), ..*p }).collect();
            align(&report(&a, 1.0), &report(&b, 1.0), Time::ZERO)[0].first.is_none()
        };
        assert!(same(&[3_262_106_012; 3]) && same(&[u32::MAX; 3]));
        assert!(!same(&[7, 7, 8]) && !same(&[7, 8, 7]));
    }

    #[test]
    fn missing_packet_is_difference() {
        let a = [packet(1_000, 7, false, 1), packet(4_000, 7, false, 1_001)];
        let found = &align(&report(&a, 1.0), &report(&a[..1], 1.0), Time::ZERO)[0];
        let first = found.first.as_ref().unwrap();
        assert_eq!((found.packets, first.place, first.packet[1]), ([2, 1], 2, None));
    }

    #[test]
    fn tolerance_ignores_small_delays() {
        let a = [packet(1_000, 4, false, 1), packet(2_000, 4, false, 1_001), packet(900_000, 4, false, 2_001)];
        let mut b = a;
        (b[0].time_ps, b[1].time_ps, b[2].number) = (3_000, 4_000, 1);
        let found = |ns: u64| align(&report(&a, 1.0), &report(&b, 1.0), Time::from_ns(ns))[0].first.as_ref().map(|f| f.place);
        assert_eq!((found(0), found(1), found(2), found(1_000)), (Some(1), Some(1), Some(3), Some(3)));
    }

    #[test]
    fn fin_after_last_ack() {
        let fin = |time_ps, number| PacketRow { fin: true, ..packet(time_ps, 4, true, number) };
        let kernel = [packet(1_000, 4, true, 1_002), fin(1_000, 1_002)];
        let found = |other: &[PacketRow]| align(&report(&kernel, 1.0), &report(other, 1.0), Time::ZERO)[0].first.is_none();
        assert!(found(&kernel) && !found(&kernel[1..]));
    }
}
