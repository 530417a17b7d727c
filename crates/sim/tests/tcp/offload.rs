//! Offload (kernel functions at each test): segments merged at the receiver's host, and senders that wait for bursts.

use crate::scripted::receiver::Script;
use crate::scripted::{Capture, MS, US, addresses, config};
use forebay_experiment::transport::Ecn;
use forebay_sim::net::packet::{CarriedAck, Packet, flag};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::gro::Gro;
use forebay_sim::tcp::sender::Sender;
use forebay_types::{ConnSlot, Time};

/// A receiver of the Linux stack whose host merges segments; no quick mode, which would hide the count of ACKs.
fn merging() -> Script {
    Script::merging(linux())
}

fn linux() -> TcpConfig {
    let mut c = config("linux", "newreno");
    c.quickack_count = 0;
    c.rcv_autotune = false;
    c
}

/// __tcp_ack_snd_check: one ACK for the segments of an interrupt, at its end (napi_complete_done).
#[test]
fn segments_of_interrupt_share_ack() {
    let mut r = merging();
    (0..20).for_each(|n| _ = r.data(n));
    assert_eq!(r.acks(), "");
    assert_eq!(r.flush().acks(), "20");
    // Every second one of lone segments is acknowledged.
    (20..24).for_each(|n| _ = r.data(n).flush());
    assert_eq!(r.acks(), "22 24");
}

/// inet_gro_receive: another ECN field begins a new super-segment, so that DCTCP's count of marked bytes is exact.
#[test]
fn marks_end_super_segments() {
    let mut c = linux();
    c.ecn = Ecn::Dctcp;
    let mut r = Script::merging(c);
    r.data(0).data(1).data(2).ce(3).ce(4).data(5).data(6);
    assert_eq!(r.acks(), "3 5E");
    assert_eq!(r.flush().acks(), "7");
}

/// Segments that end a super-segment (tcp_gro_receive): one with PSH, which is the last one of a write or of a burst (__tcp_transmit_skb), a FIN,
/// a segment shorter than the first. The end of a message alone is not in the packet.
#[test]
fn last_segment_passes_at_once() {
    let mut r = merging();
    r.data(0).data(1).bytes(2000, 1000, flag::PUSH, false);
    assert_eq!(r.acks(), "3");
    r.r.notify_at(5000);
    r.data(3).data(4).bytes(5000, 300, 0, false);
    assert_eq!(r.acks(), "@5300");
    r.bytes(5300, 1000, 0, false).bytes(6300, 700, flag::FIN, false);
    assert_eq!(r.acks(), "@7001 @7001F", "more than a segment is acknowledged before the application has closed");
}

/// skb_gro_receive: an IP packet has 65535 bytes, so 65 segments of 1000 with 52 of headers.
#[test]
fn super_segment_has_64_kb() {
    let mut r = merging();
    (0..65).for_each(|n| _ = r.data(n));
    assert_eq!(r.acks(), "");
    r.data(65);
    assert_eq!(r.acks(), "65");
}

/// tcp_gro_receive: a hole ends a super-segment, and the segments behind it are another: one duplicate ACK, with one block.
#[test]
fn hole_ends_super_segment() {
    let mut r = merging();
    r.data(0).data(1).data(3).data(4).data(5);
    assert_eq!(r.acks(), "2");
    assert_eq!(r.flush().acks(), "2[3-6]");
    assert_eq!(r.data(2).flush().acks(), "6");
}

/// tcp_gro_receive compares options: segments of two ticks of the timestamp clock (1 ms) do not join.
#[test]
fn timestamp_tick_ends_super_segment() {
    let mut r = merging();
    r.at(995).data(0).data(1);
    r.at(1001).data(2).data(3);
    assert_eq!(r.acks(), "2");
    assert_eq!(r.flush().acks(), "4");
}

/// tcp_gro_receive: only the first segment of a super-segment may carry CWR.
#[test]
fn cwr_begins_super_segment() {
    let mut r = merging();
    r.data(0).data(1).segment(2, flag::CWR, false).data(3);
    assert_eq!(r.acks(), "2");
    assert_eq!(r.flush().acks(), "4");
}

/// inet_gro_flush: the identification of a retransmission does not follow that of another segment.
#[test]
fn retransmission_begins_super_segment() {
    let mut r = merging();
    r.data(0).data(1).segment(2, flag::RETX, false).segment(3, flag::RETX, false).data(4);
    assert_eq!(r.acks(), "2 4");
}

/// dev_gro_receive: a bucket holds eight flows (MAX_GRO_SKBS), and the oldest makes room for a ninth.
#[test]
fn full_bucket_flushes_oldest() {
    let (c, mut gro) = (linux(), Gro::default());
    let frame = |conn| Packet { conn: ConnSlot::new(conn), len: 1000, ..Packet::default() };
    let complete: Vec<Option<u32>> = (0..10)
        .map(|conn| gro.receive(3, &c, (&frame(conn), None), false).complete.map(|segments| segments.packet().conn.get()))
        .collect();
    assert_eq!(complete, [None, None, None, None, None, None, None, None, Some(0), Some(1)]);
    // Buckets in order, and each from its oldest flow on (napi_gro_flush).
    gro.receive(1, &c, (&frame(20), None), false);
    let flushed: Vec<u32> = std::iter::from_fn(|| gro.flush()).map(|segments| segments.packet().conn.get()).collect();
    assert_eq!(flushed, [20, 2, 3, 4, 5, 6, 7, 8, 9]);
}

/// tcp_gro_receive compares acknowledgment number, window and ECN echo: segments of connections with data in both directions join while their ACK
/// is the same. A segment without data ends the super-segment of its flow.
#[test]
fn other_carried_ack_begins_super_segment() {
    let (c, mut gro) = (linux(), Gro::default());
    let first = CarriedAck { number: 100, window: 50, ..CarriedAck::default() };
    let acks = [
        Some(first),
        Some(first),
        Some(CarriedAck { number: 200, ..first }),
        Some(CarriedAck { number: 200, window: 60, ..first }),
        Some(CarriedAck { number: 200, window: 60, ece: true, ..first }),
        None,
    ];
    let frame = |n: u32| Packet { conn: ConnSlot::new(7), seq: 1000 * n, len: 1000, ..Packet::default() };
    let complete: Vec<(usize, u32, Option<CarriedAck>)> = (0..)
        .zip(acks)
        .filter_map(|(n, ack)| Some((n as usize, gro.receive(3, &c, (&frame(n), ack), false).complete?)))
        .map(|(n, segments)| (n, segments.segments(), segments.ack().copied()))
        .collect();
    assert_eq!(complete, [(2, 2, acks[0]), (3, 1, acks[2]), (4, 1, acks[3]), (5, 1, acks[4])]);
    assert!(gro.end_flow(ConnSlot::new(8)).is_none());
    let last = gro.end_flow(ConnSlot::new(7)).unwrap();
    assert_eq!((last.packet().seq, last.ack(), gro.is_empty()), (5000, None, true));
}

/// Stacks that count segments count those in a super-segment.
#[test]
fn other_stacks_count_segments() {
    let mut r = Script::merging(config("rfc", "newreno"));
    assert_eq!(r.data(0).data(1).flush().acks(), "2");
    assert_eq!(r.data(2).flush().acks(), "");
}

/// A sender of the Linux stack with bursts of `tso` bytes, established at time 0 and with ten segments of endless data out.
struct Host {
    c: TcpConfig,
    s: Sender,
    capture: Capture,
}

impl Host {
    fn new(tso: Option<u32>) -> Host {
        let mut c = config("linux", "newreno");
        (c.handshake, c.tsq, c.tso) = (false, false, tso);
        let mut h = Host { s: Sender::new(&c, addresses(1).0, None), c, capture: Capture::default() };
        h.s.open(&h.c, Time::ZERO, &mut h.capture);
        h.s.write(&h.c, Time::ZERO, 100_000_000, None, false, &mut h.capture);
        assert_eq!(h.sent(), 10);
        h
    }

    fn sent(&mut self) -> usize {
        self.capture.0.drain(..).count()
    }

    /// An ACK for the first `segments`, at `us`, that echoes a segment sent at `ecn-echo` us; how many segments leave.
    fn ack(&mut self, us: u64, segments: u32, echo: u64) -> usize {
        let shift = (0..15).find(|s| self.c.rcv_wnd >> s <= 65_535).unwrap();
        let win = (self.c.rcv_wnd >> shift) as u16;
        let p = Packet { seq: 2 + segments * 1000, flags: flag::ACK, win, ts: (echo * 1000) as u32, ..Packet::default() };
        self.s.on_packet(&self.c, Time(us * US), &p, None, &mut self.capture);
        self.sent()
    }
}

/// tcp_tso_should_defer: a third of the window is worth a burst, less waits for the next ACK. With one RTT of 100 us all of it was sent
/// 100 us ago, so the next ACK is near.
#[test]
fn waits_for_third_of_window() {
    let mut h = Host::new(Some(65_536));
    // Slow start: an ACK for two lets four out, of a window of 12; four is a third.
    assert_eq!(h.ack(100, 2, 0), 4);
    // Congestion avoidance from here on: an ACK for one segment makes room for one.
    h.s.window_mut().ssthresh = (12.0).into();
    let sent: Vec<usize> = (3..=10).map(|n| h.ack(101, n, 0)).collect();
    assert_eq!(sent, [0, 0, 0, 4, 0, 0, 0, 4], "four of twelve at a time");
    // One by one without.
    let mut h = Host::new(None);
    h.ack(100, 2, 0);
    h.s.window_mut().ssthresh = (12.0).into();
    let sent: Vec<usize> = (3..=10).map(|n| h.ack(101, n, 0)).collect();
    assert_eq!(sent, [1; 8]);
}

/// tcp_tso_autosize: the burst is what the pacing rate sends in 1/1024 s, and 64 KB halved for each 512 us of the smallest RTT; that much
/// is never waited for. At an RTT of 20 ms, with a window of 30 in avoidance, the rate's part is 1.2 * 30 * 1000 / 20 ms / 1024 = 1757 B
/// and the other nothing: two segments, the least.
#[test]
fn small_bursts_at_low_rates() {
    let mut h = Host::new(Some(65_536));
    h.s.window_mut().cwnd = 30.0;
    h.s.window_mut().ssthresh = (20.0).into();
    assert_eq!(h.ack(20_000, 1, 0), 20, "the window was raised: bursts of two, and a single segment waits");
    let sent: Vec<usize> = (2..=9).map(|n| h.ack(20_001, n, 0)).collect();
    assert_eq!(sent, [2, 0, 2, 0, 2, 0, 2, 0]);
}

/// No waiting when the next ACK is more than half an RTT, or 1 ms, away, nor when nothing was sent for 1 ms.
#[test]
fn late_ack_is_not_awaited() {
    let mut h = Host::new(Some(65_536));
    h.s.window_mut().ssthresh = (10.0).into();
    // The ACK of the first ten; the next ten are sent now, and their ACKs come in 100 us.
    assert_eq!(h.ack(100, 10, 0), 11);
    assert_eq!(h.ack(110, 11, 100), 1, "90 us until the next ACK: used at once");
    // Close to it, a segment waits.
    assert_eq!(h.ack(180, 12, 100), 0);
    // An ACK after 2 ms of silence.
    assert_eq!(h.ack(2_200, 13, 100), 2);
}

/// The window is in use while a sender waits for more of it (`is_cwnd_limited`): it grows as it would without.
#[test]
fn window_grows_while_waiting() {
    let grown = |tso| {
        let mut h = Host::new(tso);
        h.s.window_mut().ssthresh = (10.0).into();
        for round in 1..=20_u32 {
            let now = u64::from(round) * 100;
            (1..=5_u64).for_each(|i| {
                h.ack(now + i, (h.s.snd_una() / 1000) as u32 + 2, now - 100);
            });
        }
        h.s.window().cwnd
    };
    let (with, without) = (grown(Some(65_536)), grown(None));
    assert!((with / without - 1.0).abs() < 0.02, "{with} for {without}");
}

/// The end of the data is not held back for ever: what is left after the last ACK leaves.
#[test]
fn the_last_segment_leaves() {
    let mut c = config("linux", "newreno");
    (c.handshake, c.tsq, c.tso) = (false, false, Some(65_536));
    let mut h = Host { s: Sender::new(&c, addresses(1).0, None), c, capture: Capture::default() };
    h.s.open(&h.c, Time::ZERO, &mut h.capture);
    h.s.write(&h.c, Time::ZERO, 25_500, None, true, &mut h.capture);
    let (mut acked, mut now) = (0, 0);
    while h.s.snd_una() < 25_500 && now < 10 * MS / US {
        now += 100;
        let sent = (h.s.snd_nxt() / 1000) as u32;
        while acked < sent {
            acked += 1;
            h.ack(now, acked, now - 100);
        }
        if h.s.snd_nxt() > 25_000 {
            break;
        }
    }
    assert_eq!(h.s.snd_nxt(), 25_501, "data and FIN");
}

/// tcp_tso_should_defer: where the receive window is smaller than the congestion window, a third of the former is worth a burst: 4000 bytes
/// of 12 000.
#[test]
fn waits_for_third_of_receive_window() {
    let mut c = linux();
    (c.handshake, c.tsq, c.tso) = (false, false, Some(65_536));
    (c.init_cwnd, c.rcv_wnd) = (40, 12_000);
    let mut h = Host { s: Sender::new(&c, addresses(1).0, None), c, capture: Capture::default() };
    h.s.open(&h.c, Time::ZERO, &mut h.capture);
    h.s.write(&h.c, Time::ZERO, 100_000_000, None, false, &mut h.capture);
    assert_eq!(h.sent(), 12);
    let sent: Vec<usize> = (1..=8).map(|n| h.ack(100, n, 0)).collect();
    assert_eq!(sent, [0, 0, 0, 4, 0, 0, 0, 4]);
}
