//! Nagle's algorithm: whole connections whose application writes short messages. Segments have 1000 bytes, a round trip takes 100 us.

use crate::scripted::pipe::{Fate, LOSE, PASS, Pipe, PipePacket};
use crate::scripted::{MS, US, config};
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::Time;

type Judge = fn(&PipePacket) -> Fate;

fn linux() -> TcpConfig {
    config("linux", "newreno")
}

/// An established connection at 1 ms.
fn established(c: TcpConfig, judge: Judge) -> Pipe<Judge> {
    let mut pipe = Pipe::new(c, judge);
    pipe.open();
    pipe.run(MS);
    pipe
}

/// Data segments so far: time in us, stream offset, length.
fn sent(pipe: &Pipe<Judge>) -> Vec<(u64, i64, u16)> {
    pipe.log.iter().filter(|p| p.len > 0).map(|p| (p.now / US, p.offset, p.len)).collect()
}

/// The first short segment leaves at once. Later writes wait for its ACK and leave together.
#[test]
fn writes_join_until_the_ack() {
    let mut pipe = established(linux(), |_| PASS);
    pipe.write(200, false);
    pipe.write(300, false);
    pipe.run(MS + 40 * US);
    pipe.write(400, false);
    pipe.run(10 * MS);
    assert_eq!(sent(&pipe), [(1_000, 0, 200), (1_100, 200, 700)]);
}

/// TCP_NODELAY.
#[test]
fn switched_off_each_write_leaves() {
    let mut c = linux();
    c.nagle = false;
    let mut pipe = established(c, |_| PASS);
    pipe.write(200, false);
    pipe.write(300, false);
    pipe.run(10 * MS);
    assert_eq!(sent(&pipe), [(1_000, 0, 200), (1_000, 200, 300)]);
}

/// A write, a write, then a wait for the answer: the receiver delays the ACK of the first by 40 ms, and the second waits for that ACK.
#[test]
fn delayed_ack_stalls_second_write() {
    for (nagle, second) in [(true, 1_000 + 50 + 40_000 + 50), (false, 1_000)] {
        let mut c = linux();
        (c.nagle, c.quickack, c.quickack_count, c.ack_delay) = (nagle, false, 0, Time::from_ms(40));
        let mut pipe = established(c, |_| PASS);
        pipe.write(200, false);
        pipe.write(300, false);
        pipe.run(90 * MS);
        assert_eq!(sent(&pipe), [(1_000, 0, 200), (second, 200, 300)], "{nagle}");
    }
}

/// tcp_minshall_check: a short segment waits for short ones only, and full ones never wait. RFC 9293 section 3.7.4 makes the end of a message wait for
/// everything before it, here for a delayed ACK of 100 ms.
#[test]
fn full_segments_delay_nothing_in_linux() {
    let mut pipe = established(linux(), |_| PASS);
    pipe.write(1_500, false);
    pipe.write(1_300, false);
    pipe.run(10 * MS);
    assert_eq!(sent(&pipe), [(1_000, 0, 1_000), (1_000, 1_000, 500), (1_000, 1_500, 1_000), (1_100, 2_500, 300)]);
    let mut c = config("rfc", "newreno");
    assert!(!c.nagle);
    c.nagle = true;
    let mut pipe = established(c, |_| PASS);
    pipe.write(1_500, false);
    pipe.run(200 * MS);
    assert_eq!(sent(&pipe), [(1_000, 0, 1_000), (1_000 + 50 + 100_000 + 50, 1_000, 500)]);
}

/// tcp_send_fin pushes with TCP_NAGLE_OFF: the FIN takes the waiting data along.
#[test]
fn close_sends_waiting_segment() {
    let mut pipe = established(linux(), |_| PASS);
    pipe.write(200, false);
    pipe.write(300, true);
    pipe.run(10 * MS);
    assert_eq!(sent(&pipe), [(1_000, 0, 200), (1_000, 200, 300)]);
    assert!(pipe.log.iter().any(|p| p.offset == 200 && p.flags & flag::FIN != 0));
}

/// tcp_send_loss_probe sends with TCP_NAGLE_OFF: the probe for lost ACKs is the data that waits, not a retransmission. It leaves after 2 SRTT and two
/// ticks, in whole ticks 3 ms, and at the end of that slot of the timer wheel.
#[test]
fn probe_sends_waiting_segment() {
    let mut pipe = established(linux(), |p| if !p.data && p.flags & flag::SYN == 0 { LOSE } else { PASS });
    pipe.write(1_500, false);
    pipe.write(200, false);
    pipe.run(6 * MS);
    assert_eq!(sent(&pipe), [(1_000, 0, 1_000), (1_000, 1_000, 500), (5_000, 1_500, 200)]);
}

/// Messages from before the handshake are written one by one when the connection is established: the first leaves, the others join. With TCP_NODELAY
/// each leaves.
#[test]
fn writes_before_the_handshake() {
    for (nagle, expected) in
        [(true, &[(100, 0, 200), (200, 200, 400)][..]), (false, &[(100, 0, 200), (100, 200, 200), (100, 400, 200)][..])]
    {
        let mut c = linux();
        c.nagle = nagle;
        let mut pipe: Pipe<Judge> = Pipe::new(c, |_| PASS);
        pipe.open();
        for _ in 0..3 {
            pipe.write(200, false);
        }
        pipe.run(10 * MS);
        assert_eq!(sent(&pipe), expected, "{nagle}");
    }
}

/// A retransmission never waits, nor does the short segment that was sent before it.
#[test]
fn retransmissions_do_not_wait() {
    for stack in ["ns2", "rfc", "linux"] {
        let mut c = config(stack, "newreno");
        c.nagle = true;
        let mut pipe = established(c, |p| if p.data && p.len > 0 && p.again == 0 { LOSE } else { PASS });
        pipe.write(200, false);
        pipe.write(300, true);
        pipe.run(10_000 * MS);
        assert_eq!((pipe.receiver.delivered(), pipe.receiver.finished()), (500, true), "{stack}");
    }
}
