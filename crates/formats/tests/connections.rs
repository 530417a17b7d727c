//! Trains, round trips, retransmissions and incast events of connections.

use crate::generator::*;
use forebay_formats::trains::{ConnectionRow, Gap, Incast, Options, Retransmissions, Sink, Summary, Train};

#[derive(Debug, Default)]
struct Rows {
    trains: Vec<Train>,
    connections: Vec<ConnectionRow>,
    incasts: Vec<Incast>,
}

impl Sink for Rows {
    fn train(&mut self, t: &Train) {
        self.trains.push(*t);
    }

    fn connection(&mut self, c: &ConnectionRow) {
        self.connections.push(*c);
    }

    fn incast(&mut self, i: &Incast) {
        self.incasts.push(*i);
    }
}

fn run(packets: &[(u64, Tcp)], options: Options) -> (Summary, Rows) {
    analyze(&FORM.pcap(&cut(packets, 96, |t| t.frame(&[]))), options, Rows::default())
}

/// A connection with an RTT of 100 µs, captured beside the sender. Times are in µs.
struct Script {
    packets: Vec<(u64, Tcp)>,
    ip_id: u16,
}

impl Script {
    fn new() -> Script {
        let mut s = Script { packets: Vec::new(), ip_id: 1 };
        s.put(0, Tcp { seq: 999, flags: SYN, mss: Some(1460), ..Tcp::new(CLIENT, SERVER) });
        s.put(100, Tcp { seq: 4_999, ack: 1_000, flags: SYN | ACK, mss: Some(1460), ..Tcp::new(SERVER, CLIENT) });
        s.put(100, Tcp { seq: 1_000, ack: 5_000, ..Tcp::new(CLIENT, SERVER) });
        s
    }

    fn put(&mut self, us: u64, tcp: Tcp) {
        self.ip_id += 1;
        self.packets.push((EPOCH + us * 1_000, Tcp { ip_id: self.ip_id, ..tcp }));
    }

    /// Segments of 1000 B by their places.
    fn data(&mut self, us: u64, segments: impl IntoIterator<Item = u32>) -> &mut Script {
        for i in segments {
            self.put(us, Tcp { seq: 1_000 + 1_000 * i, ack: 5_000, payload: 1_000, ..Tcp::new(CLIENT, SERVER) });
        }
        self
    }

    /// An ACK of so many segments, with SACK blocks of segments.
    fn ack(&mut self, us: u64, segments: u32, sack: &[(u32, u32)]) -> &mut Script {
        let number = |i: u32| 1_000 + 1_000 * i;
        let sack = sack.iter().map(|(a, b)| (number(*a), number(*b))).collect();
        self.put(us, Tcp { seq: 5_000, ack: number(segments), sack, ..Tcp::new(SERVER, CLIENT) });
        self
    }

    fn run(&self) -> (Summary, Rows) {
        run(&self.packets, Options::default())
    }

    fn kinds(&self) -> Retransmissions {
        self.run().0.retransmissions
    }
}

#[test]
fn pause_above_smoothed_rtt_ends_train() {
    let mut s = Script::new();
    s.data(100, 0..10).ack(200, 10, &[]);
    // 99 µs after the last packet: the same train.
    s.data(199, 10..20).ack(300, 20, &[]);
    s.data(310, 20..140).ack(410, 140, &[]);
    let (summary, rows) = s.run();
    let trains: Vec<_> = rows.trains.iter().map(|t| (t.packets, t.bytes, t.gap_ns, t.threshold_ns, t.long)).collect();
    assert_eq!(trains, [(20, 20_000, None, 100_000, false), (120, 120_000, Some(111_000), 100_250, true)]);
    assert_eq!((summary.short.count, summary.long.count, summary.long.bytes), (1, 1, 120_000));
    assert_eq!(summary.trains.gaps.max(), Some(111_000));
}

#[test]
fn fixed_gap_and_train_length() {
    let mut s = Script::new();
    s.data(100, 0..10).ack(200, 10, &[]).data(350, 10..20).ack(450, 20, &[]);
    let options = Options { gap: Gap::Fixed(300_000), long_train: 20, ..Options::default() };
    let (summary, rows) = run(&s.packets, options);
    assert_eq!((rows.trains.len(), summary.long.count), (1, 1));
}

#[test]
fn rtt_beside_sender_and_receiver() {
    let (summary, rows) = run(&conversation(CLIENT, SERVER), Options::default());
    let c = rows.connections[0];
    assert_eq!((c.handshake_rtt_ns, c.min_rtt_ns), (Some(100_000), Some(100_000)));
    // Data at 120 and 300 µs, acknowledged at 220 and 301 µs: 1 µs on the client's side is the rest of the RTT.
    assert_eq!((summary.rtt.min(), summary.rtt.max(), summary.rtt.count()), (Some(100_000), Some(101_000), 2));
    // Beside the server, packets of the client arrive 50 µs later, and those of the server left 50 µs earlier.
    let mut all = conversation(CLIENT, SERVER);
    let server = ip(SERVER.0);
    all.iter_mut().for_each(|(time, t)| *time = if t.src.0 == server { *time - 50_000 } else { *time + 50_000 });
    all.sort_by_key(|p| p.0);
    let c = run(&all, Options::default()).1.connections[0];
    assert_eq!((c.handshake_rtt_ns, c.min_rtt_ns), (Some(100_000), Some(100_000)));
}

#[test]
fn timestamps_give_the_other_half() {
    // Only data and ACKs beside the receiver, without a handshake: the echo of a timestamp comes back after 100 µs.
    let (up, down) = (Tcp::new(CLIENT, SERVER), Tcp::new(SERVER, CLIENT));
    let at = |us: u64| EPOCH + us * 1_000;
    let all = vec![
        (at(0), Tcp { seq: 1, ack: 1, payload: 100, timestamps: Some((70, 40)), ..up.clone() }),
        (at(0), Tcp { seq: 1, ack: 101, timestamps: Some((50, 70)), ..down.clone() }),
        (at(100), Tcp { seq: 101, ack: 1, payload: 100, timestamps: Some((71, 50)), ..up }),
        (at(100), Tcp { seq: 1, ack: 201, timestamps: Some((50, 71)), ..down }),
    ];
    let (_, rows) = run(&all, Options::default());
    assert_eq!(rows.connections[0].min_rtt_ns, Some(100_000));
    assert_eq!(rows.trains[0].packets, 2);
}

#[test]
fn duplicate_acks_then_fast_retransmission() {
    let mut s = Script::new();
    s.data(100, 0..10).ack(200, 1, &[]).ack(201, 1, &[]).ack(202, 1, &[]).ack(203, 1, &[]);
    s.data(204, [1]).ack(304, 10, &[]);
    assert_eq!(s.kinds(), Retransmissions { fast: 1, ..Default::default() });
}

#[test]
fn sack_then_fast_retransmission() {
    let mut s = Script::new();
    s.data(100, 0..10).ack(200, 1, &[(3, 10)]).data(204, [1, 2]).ack(304, 10, &[]);
    assert_eq!(s.kinds(), Retransmissions { fast: 2, ..Default::default() });
}

#[test]
fn timeout_then_slow_start() {
    let mut s = Script::new();
    s.data(100, 0..10).data(200_100, [0]).ack(200_200, 1, &[]).data(200_200, [1, 2]).ack(200_300, 10, &[]);
    let (summary, rows) = s.run();
    assert_eq!(summary.retransmissions, Retransmissions { timeout: 3, ..Default::default() });
    assert_eq!((summary.timeouts, rows.connections[0].from_client.timeouts), (1, 1));
    // Retransmissions begin no train.
    assert_eq!((rows.trains.len(), rows.trains[0].retransmitted, rows.trains[0].packets), (1, 3, 10));
}

#[test]
fn tail_loss_probe() {
    let mut s = Script::new();
    s.data(100, 0..10).ack(200, 8, &[]).data(400, [9]).ack(500, 10, &[]);
    assert_eq!(s.kinds(), Retransmissions { probe: 1, ..Default::default() });
}

#[test]
fn unneeded_and_duplicates_reported() {
    let mut s = Script::new();
    s.data(100, 0..4).ack(200, 4, &[]).data(210, [0]).ack(310, 4, &[(0, 1)]);
    let (summary, _) = s.run();
    assert_eq!(summary.retransmissions, Retransmissions { unneeded: 1, ..Default::default() });
    assert_eq!(summary.duplicates_reported, 1);
}

#[test]
fn repeated_syn() {
    let mut all = conversation(CLIENT, SERVER);
    let mut again = all[0].clone();
    (again.0, again.1.ip_id) = (again.0 + 50_000, 77);
    all.insert(1, again);
    let (summary, rows) = run(&all, Options::default());
    assert_eq!(summary.retransmissions, Retransmissions { handshake: 1, ..Default::default() });
    assert_eq!(rows.connections[0].handshake_rtt_ns, None);
}

#[test]
fn reordering_is_no_retransmission() {
    let mut s = Script::new();
    s.data(100, [0, 2, 3]).data(110, [1]).ack(210, 4, &[]);
    let (summary, _) = s.run();
    assert_eq!((summary.retransmissions.total(), summary.reordered, summary.bytes), (0, 1, 4_000));
}

#[test]
fn loss_before_the_capture() {
    let mut s = Script::new();
    s.data(100, [0, 2, 3]).ack(101, 1, &[(2, 4)]).data(250, [1]).ack(251, 4, &[]);
    let (summary, _) = s.run();
    assert_eq!((summary.retransmissions.fast, summary.reordered, summary.bytes), (1, 0, 4_000));
}

#[test]
fn keep_alive_is_no_retransmission() {
    let mut s = Script::new();
    s.data(100, 0..4).ack(200, 4, &[]);
    s.put(900_000, Tcp { seq: 4_999, ack: 5_000, payload: 1, ..Tcp::new(CLIENT, SERVER) });
    s.ack(900_100, 4, &[]);
    assert_eq!(s.kinds().total(), 0);
}

#[test]
fn packets_captured_twice_count_once() {
    let all = conversation(CLIENT, SERVER);
    let twice: Vec<_> = all.iter().flat_map(|p| [p.clone(), (p.0 + 3_000, p.1.clone())]).collect();
    let (once, twice) = (run(&all, Options::default()).0, run(&twice, Options::default()).0);
    assert_eq!(twice.skipped.copies, 5);
    assert_eq!((once.retransmissions, once.bytes), (twice.retransmissions, twice.bytes));
}

#[test]
fn each_direction_alone() {
    let all = conversation(CLIENT, SERVER);
    let of = |address: &str| -> Vec<(u64, Tcp)> { all.iter().filter(|p| p.1.src.0 == ip(address)).cloned().collect() };
    let up = run(&of(CLIENT.0), Options::default());
    assert_eq!((up.0.bytes, up.0.missed_bytes, up.1.connections[0].from_client.bytes), (10_500, 500, 10_000));
    // SYN and ACK of the client are a round trip apart.
    assert_eq!(up.1.connections[0].handshake_rtt_ns, Some(100_000));
    let down = run(&of(SERVER.0), Options::default());
    assert_eq!((down.0.bytes, down.0.missed_bytes), (10_500, 10_000));
}

#[test]
fn marks_are_counted() {
    let mut all = conversation(CLIENT, SERVER);
    all[3].1.ecn = 3;
    all[4].1.ecn = 2;
    assert_eq!(run(&all, Options::default()).0.marked, 1);
}

#[test]
fn clock_that_steps_back() {
    let mut s = Script::new();
    s.data(100, 0..4).ack(200, 4, &[]).data(400, 4..8).ack(500, 8, &[]);
    // 10 µs back: packets of another processor. 3 s back: the clock was set.
    s.packets[5].0 -= 10_000;
    s.packets.iter_mut().skip(8).for_each(|p| p.0 -= 3_000_000_000);
    let (summary, rows) = s.run();
    assert_eq!((summary.bytes, summary.retransmissions.total()), (8_000, 0));
    assert!(rows.trains.iter().all(|t| t.end_ns >= t.start_ns && t.gap_ns.is_none_or(|g| g < 1_000_000)), "{:?}", rows.trains);
    assert!(summary.notes[0].contains("steps back once, by up to"), "{:?}", summary.notes);
}

#[test]
fn ports_used_again_are_another_connection() {
    let mut all = conversation(CLIENT, SERVER);
    let again = conversation(CLIENT, SERVER);
    all.extend(again.into_iter().map(|(time, mut t)| {
        let up = t.src.0 == ip(CLIENT.0);
        let (own, other) = if up { (500_000, 900_000) } else { (900_000, 500_000) };
        (t.seq, t.ack, t.ip_id) = (t.seq + own, t.ack + other, t.ip_id + 100);
        (time + 10_000_000, t)
    }));
    let (summary, rows) = run(&all, Options::default());
    assert_eq!((summary.connections, summary.bytes, summary.retransmissions.total()), (2, 21_000, 0));
    assert!(rows.connections.iter().all(|c| c.opened && c.closed));
}

#[test]
fn incast_of_many_senders() {
    let mut all = Vec::new();
    for i in 0..20_u16 {
        let client = format!("10.0.1.{i}");
        let shift = 2_000 * u64::from(i);
        all.extend(conversation((&client, 4_000), SERVER).into_iter().map(|(time, t)| (time + shift, t)));
    }
    all.sort_by_key(|p| p.0);
    let (summary, rows) = run(&all, Options::default());
    assert_eq!(summary.incasts, 1);
    let event = rows.incasts[0];
    assert_eq!((event.receiver.end.ip(), event.senders, event.trains), (ip(SERVER.0), 20, 20));
    assert_eq!((event.start_ns, event.end_ns), (EPOCH + 110_000, EPOCH + 148_000));
    assert_eq!(run(&all, Options { incast_senders: 21, ..Options::default() }).0.incasts, 0);
}
