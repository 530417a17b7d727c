//! Memory of the send buffer (tcp_sendmsg_locked, sk_stream_is_writeable): a segment of 1000 bytes occupies 1832 bytes, and a buffer of 65 segments with
//! segmentation offload 65 832.

use crate::scripted::{Capture, US, addresses, config};
use forebay_sim::net::packet::{Packet, flag};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::Sender;
use forebay_types::Time;

/// An established sender whose windows never limit it, and what it has sent.
struct Host {
    c: TcpConfig,
    s: Sender,
    capture: Capture,
}

impl Host {
    /// Writes a message of `bytes` at time 0.
    fn new(stack: &str, bytes: u64, change: impl Fn(&mut TcpConfig)) -> Host {
        let mut c = config(stack, "newreno");
        (c.handshake, c.tsq, c.init_cwnd, c.mss) = (false, false, 10_000, 1000);
        (c.rcv_wnd, c.rcv_autotune) = (100_000_000, false);
        change(&mut c);
        let mut h = Host { s: Sender::new(&c, addresses(1).0, None), c, capture: Capture::default() };
        h.s.open(&h.c, Time::ZERO, &mut h.capture);
        h.s.write(&h.c, Time::ZERO, bytes, None, true, &mut h.capture);
        h
    }

    /// Segments that have left since the last call.
    fn sent(&mut self) -> usize {
        self.capture.0.drain(..).count()
    }

    /// Takes an ACK for the first `segments`, at `us`. Returns the number of segments that leave.
    fn ack(&mut self, us: u64, segments: u32) -> usize {
        let shift = (0..14).find(|s| self.c.rcv_wnd >> s <= 65_535).unwrap();
        let win = (self.c.rcv_wnd >> shift) as u16;
        let p = Packet { seq: 2 + segments * 1000, flags: flag::ACK, win, ts: 0, ..Packet::default() };
        self.s.on_packet(&self.c, Time(us * US), &p, None, &mut self.capture);
        self.sent()
    }
}

/// A fixed buffer of 100 KB, which setsockopt doubles: the segment that finds less than 200 000 bytes in use is the last one, the 110th
/// (109 * 1832 = 199 688). The application continues when a third is free: with n segments acknowledged, (110 - n) * 1832 <= 133 333.
/// So n = 38, and it fills the buffer again.
#[test]
fn fixed_buffer_limits_every_stack() {
    for stack in ["linux", "rfc", "ns2"] {
        let mut h = Host::new(stack, 10_000_000, |c| c.snd_buf = Some(100_000));
        assert_eq!(h.sent(), 110, "{stack}");
        assert_eq!((1..=37).map(|n| h.ack(1000 + u64::from(n), n)).sum::<usize>(), 0, "{stack}");
        assert_eq!(h.ack(1100, 38), 38, "{stack}");
    }
}

/// The same with segmentation offload: buffers of 65 segments (65 343 bytes at most) and 65 832 bytes. The fourth finds 197 496 bytes in use.
#[test]
fn offload_charges_one_head_per_buffer() {
    let mut h = Host::new("linux", 10_000_000, |c| (c.snd_buf, c.tso) = (Some(100_000), Some(65_536)));
    assert_eq!(h.sent(), 4 * 65);
    // 133 333 bytes are 133 segments in three buffers (133 * 1000 + 3 * 832 = 135 496) less three: 130 segments in two buffers.
    assert_eq!((100..130).map(|n| h.ack(1000 + u64::from(n), n)).sum::<usize>(), 0);
    // 200 000 - 131 664 are 68 336 bytes: the next two buffers, since the second one finds 197 496 bytes in use.
    assert_eq!(h.ack(2000, 130), 2 * 65);
}

/// A tuned buffer grows with the window up to `tcp_wmem[2]` (tcp_sndbuf_expand: 2 * 10 000 * 2304 bytes for this window), and without that limit to
/// 46 MB, for 25 153 segments; the window is 10 000.
#[test]
fn tuned_buffer_has_a_limit() {
    let mut h = Host::new("linux", 100_000_000, |c| c.wmem_max = Some(200_000));
    assert_eq!(h.sent(), 110);
    let mut h = Host::new("linux", 100_000_000, |_| ());
    assert_eq!(h.sent(), (4 << 20) / 1832 + 1, "the default is 4 MiB");
    let mut h = Host::new("linux", 100_000_000, |c| c.wmem_max = Some(1 << 30));
    assert_eq!(h.sent(), 10_000);
    let mut h = Host::new("rfc", 100_000_000, |_| ());
    assert_eq!(h.sent(), 10_000, "other stacks have no limit");
}

/// A message that is longer than the buffer ends with all its bytes and a FIN.
#[test]
fn long_message_ends_with_fin() {
    for tso in [None, Some(65_536)] {
        let mut h = Host::new("linux", 1_000_500, |c| (c.snd_buf, c.tso) = (Some(100_000), tso));
        let mut sent = h.sent();
        let mut now = 1000;
        while h.s.snd_una() < 1_000_000 && now < 100_000 {
            now += 100;
            let next = (h.s.snd_nxt() / 1000) as u32;
            sent += h.ack(now, next);
        }
        assert_eq!(h.s.snd_nxt(), 1_000_501, "{tso:?}: data and FIN");
        // The FIN of a socket that closes behind the last write travels alone, as that has left.
        assert_eq!(sent, 1002, "{tso:?}");
    }
}

/// __tcp_transmit_skb: the last segment of a burst carries PSH; so does the end of the message.
#[test]
fn burst_ends_with_push() {
    let mut h = Host::new("linux", 200_000, |c| c.tso = Some(65_536));
    let with_push = h.capture.0.iter().filter(|(p, _)| p.has(flag::PUSH));
    let pushed: Vec<u32> = with_push.map(|(p, _)| (p.seq - 2) / 1000 + 1).collect();
    assert_eq!(pushed, [65, 130, 195, 200]);
    assert_eq!(h.sent(), 201, "data and FIN");
}
