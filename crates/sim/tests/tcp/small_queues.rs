//! TCP small queues (Linux tcp_small_queue_check): a sender and its host's interface, a FIFO of 100 Mbit/s.

use crate::scripted::{US, addresses, config, config_with, shim};
use forebay_sim::net::generation::Generation;
use forebay_sim::net::packet::{Extra, Packet, Wire, flag};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::Sender;
use forebay_types::param::Value;
use forebay_types::{ConnSlot, Time};

const ISN: u32 = 1;
/// ps that 1052 bytes take.
const SEGMENT: u64 = 84_160_000;

#[derive(Default)]
struct Interface {
    now: u64,
    busy_until: u64,
    sent: usize,
    alarm: u64,
}

impl Wire for Interface {
    fn emit(&mut self, packet: Packet, _extra: Option<&Extra>) {
        self.busy_until = self.busy_until.max(self.now) + u64::from(packet.wire) * 80_000;
        self.sent += 1;
    }

    fn alarm(&mut self, _conn: ConnSlot, _generation: Generation, time: Time) {
        self.alarm = time.0;
    }

    fn departure(&self) -> Time {
        Time(self.busy_until)
    }
}

struct Host {
    c: TcpConfig,
    s: Sender,
    out: Interface,
}

impl Host {
    /// Ten of many segments are sent at time 0.
    fn new(tsq: bool) -> Host {
        // In real numbers each ACK that grows the window shows.
        let mut c = config_with("linux", "newreno", &[], &[("arithmetic", Value::Text("paper".into()))]);
        c.handshake = false;
        c.tsq = tsq;
        let mut h = Host { s: Sender::new(&c, addresses(ISN).0, None), c, out: Interface::default() };
        h.s.open(&h.c, Time::ZERO, &mut h.out);
        h.s.write(&h.c, Time::ZERO, 10_000_000, None, false, &mut h.out);
        h
    }

    /// An ACK for the first `segments` at `us`, of packets sent at 0; how many segments leave.
    fn ack(&mut self, us: u64, segments: u32) -> usize {
        self.out.now = us * US;
        let win = (self.c.rcv_wnd >> 7) as u16;
        let p = Packet { seq: ISN + 1 + segments * 1000, flags: flag::ACK, win, ..Packet::default() };
        let before = self.out.sent;
        self.s.on_packet(&self.c, Time(self.out.now), &p, None, &mut self.out);
        self.out.sent - before
    }

    /// The alarm fires; how many segments leave.
    fn wake(&mut self) -> usize {
        self.out.now = self.out.alarm;
        let before = self.out.sent;
        self.s.on_alarm(&self.c, Time(self.out.now), &mut self.out);
        self.out.sent - before
    }
}

/// No pacing rate, no limit: the first window leaves at once. From the first ACK on the limit is 1/1024 s of 2 cwnd mss / srtt, here 2 * 15 * 1000 B
/// / 10 ms / 1024 = 2929 B. Two segments (1832 B of memory each) may always wait. The memory of a socket starts at one (`sk_wmem_alloc`), so two
/// segments exceed that and no third is added. One leaves for each departure.
#[test]
fn new_data_waits_for_departures() {
    let mut h = Host::new(true);
    assert_eq!(h.out.sent, 10);
    assert_eq!(h.ack(10_000, 5), 2);
    for i in 1..=8 {
        assert_eq!(h.out.alarm, 10_000 * US + i * SEGMENT, "when the next departure makes room");
        assert_eq!(h.wake(), 1);
    }
    assert_eq!(h.s.flight(), 15_000, "the window");
    // Without the limit all ten leave with the ACK.
    assert_eq!(Host::new(false).ack(10_000, 5), 10);
}

/// Two segments are allowed however small the rate: at 100 ms the rate's part would be 293 B.
#[test]
fn two_segments_may_always_wait() {
    let mut h = Host::new(true);
    assert_eq!(h.ack(100_000, 5), 2, "the second is added while one waits");
    assert_eq!(h.out.alarm, 100_000 * US + SEGMENT, "one has left, and the other waits alone");
}

/// In slow start the rate is 2 cwnd mss / srtt, from half the threshold on 1.2 times cwnd mss / srtt (tcp_update_pacing_rate). At 5 ms this is 5859 B
/// with a window of 15, in which three segments of 1832 B of memory wait when another is added. It is 3082 B with a window of 13.15, less than two of
/// them.
#[test]
fn rate_is_lower_near_threshold() {
    for (ssthresh, sent) in [(f64::INFINITY, 4), (13.0, 2)] {
        let mut h = Host::new(true);
        h.s.window_mut().ssthresh = (ssthresh).into();
        assert_eq!(h.ack(5_000, 5), sent, "threshold {ssthresh}");
    }
}

/// Data that the interface holds back is not limited by the window, and so no reason to grow (tcp_is_cwnd_limited).
#[test]
fn the_interface_is_not_the_window() {
    for (tsq, grows) in [(true, false), (false, true)] {
        let mut h = Host::new(tsq);
        h.s.window_mut().ssthresh = (5.0).into();
        // The first window was used; that holds until one that was not has been acknowledged.
        for (us, segments) in [(10_000, 5), (10_300, 10), (10_600, 12)] {
            h.ack(us, segments);
        }
        let window = h.s.window().cwnd;
        h.ack(10_900, 14);
        assert_eq!(h.s.window().cwnd > window, grows, "limit {tsq}");
    }
}

/// tcp_should_autocork: the short last segment of a message waits while others of the connection are in the interface, until the first of them has
/// left. Packets of other connections of the host may leave before it.
#[test]
fn short_last_segment_awaits_interface() {
    let mut c = config("linux", "newreno");
    (c.handshake, c.nagle) = (false, false);
    let mut h = Host { s: Sender::new(&c, addresses(ISN).0, None), c, out: Interface::default() };
    h.s.open(&h.c, Time::ZERO, &mut h.out);
    h.s.write(&h.c, Time::ZERO, 4_200, None, false, &mut h.out);
    assert_eq!((h.out.sent, h.out.alarm), (4, SEGMENT));
    assert_eq!(h.wake(), 1);
    // Alone it leaves at once.
    h.out.now = 10_000 * US;
    h.s.write(&h.c, Time(h.out.now), 200, None, false, &mut h.out);
    assert_eq!(h.out.sent, 6);
}

/// With segmentation offload two bursts may always wait. A burst has two segments at this rate (tcp_tso_autosize), so that four are added, although the
/// rate's part would be 293 B. A tagged transport has buffers of one segment, and the interface still takes bursts.
#[test]
fn two_bursts_may_always_wait() {
    let mut c = config_with("linux", "newreno", &[], &[("arithmetic", Value::Text("paper".into()))]);
    (c.handshake, c.tso) = (false, Some(65_536));
    c.shims = shim("srpt", &[]).into();
    let mut h = Host { s: Sender::new(&c, addresses(ISN).0, None), c, out: Interface::default() };
    h.s.open(&h.c, Time::ZERO, &mut h.out);
    h.s.write(&h.c, Time::ZERO, 10_000_000, None, false, &mut h.out);
    assert_eq!(h.out.sent, 10);
    assert_eq!(h.ack(100_000, 5), 4);
}
