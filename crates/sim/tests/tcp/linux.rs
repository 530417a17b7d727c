//! Behavior of the stack `linux` that follows the kernel and is in no RFC, first seen in packets of Linux 6.12 (`docs/how-to/check-against-linux.md`).

use crate::scripted::config;
use crate::scripted::receiver::Script as Receiver;
use crate::scripted::sender::Script;
use forebay_experiment::transport::{Ecn, Recovery};
use forebay_sim::net::packet::flag;
use forebay_sim::net::tick::Tick;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::CaState;

fn linux(window: u32) -> TcpConfig {
    let mut c = config("linux", "newreno");
    c.init_cwnd = window;
    c
}

/// tcp_send_fin: what the application wrote has left when it closes, so that the FIN travels alone; it joins a segment that waits.
#[test]
fn fin_joins_waiting_last_segment() {
    let mut t = Script::new(linux(10), 0);
    t.write_bytes(1000, true);
    assert_eq!(t.sent(), "0 F");
    let mut t = Script::new(linux(1), 0);
    t.write_bytes(2000, true);
    assert_eq!(t.sent(), "0");
    t.ack(1);
    assert_eq!(t.sent(), "1F");
}

/// tcp_sendmsg_locked, tcp_push: the last segment that the send buffer takes carries PSH, if it has not left by then, and so does the end of a
/// message. In the first buffer there is space for 46 080 bytes of memory (tcp_sndbuf_expand), of which each segment of 1000 takes 1832.
#[test]
fn buffer_and_message_ends_are_pushed() {
    let mut t = Script::new(linux(10), 0);
    t.write_bytes(5_000, false);
    assert_eq!(t.pushed, [4]);
    let mut t = Script::new(linux(10), 0);
    t.write_bytes(1_000_000, false);
    for n in 1..=17 {
        t.ack(n);
    }
    assert_eq!(t.pushed[0], 25, "26 segments fit");
}

/// __tcp_retransmit_skb sends the segment as it was: of two that are lost the second is the end of a message.
#[test]
fn retransmission_keeps_push() {
    let mut t = Script::new(linux(10), 0);
    t.write_bytes(5_000, false);
    t.write_bytes(5_000, false);
    t.ack(3).sack(3, &[(5, 10)]);
    assert_eq!(t.sent(), "0 1 2 3 4 5 6 7 8 9 3r 4r");
    assert_eq!(t.pushed, [4, 9, 4]);
}

/// __tcp_ack_snd_check: behind a hole three ACKs leave at once, and the next are one, when a twentieth of the RTT has passed.
#[test]
fn duplicate_acks_are_compressed() {
    let mut c = linux(10);
    c.quickack_count = 0;
    let mut r = Receiver::new(c);
    r.at(100).data(0).data(1);
    assert_eq!(r.acks(), "2");
    r.data(3).data(4).data(5);
    assert_eq!(r.acks(), "2[3-4] 2[3-5] 2[3-6]");
    r.data(6).data(7);
    assert_eq!(r.acks(), "");
    r.at(200);
    assert_eq!(r.acks(), "2[3-8]");
    // A segment that fills the hole is acknowledged at once.
    r.data(2);
    assert_eq!(r.acks(), "8");
}

/// tcp_rcv_rtt_measure_ts: the RTT is the age of the receiver's own timestamp, in ticks of 1 ms. The handshake took 2 ms, and a segment that echoes
/// the SYN-ACK of tick 0 is as old. One that echoes tick 1 gives 1 ms, of which a twentieth is 50 us.
#[test]
fn echo_decides_compression_delay() {
    let delay = |echo: u64| {
        let mut c = linux(10);
        c.quickack_count = 0;
        let mut r = Receiver::new(c);
        r.at(2_000).echoing(0, 0).at(2_100);
        for n in [1, 3, 4, 5, 6] {
            r.echoing(n, echo);
        }
        r.r.timer_due().or_never().as_us() - 2_100
    };
    assert_eq!((delay(0), delay(1)), (100, 50));
}

/// The timestamp of an ACK is the time of its segment, or the time at which the timer of the delayed ACK expires. The timer of withheld ACKs does not
/// read the clock (tcp_compressed_ack_kick).
#[test]
fn ack_carries_time_of_segment() {
    let mut c = linux(10);
    c.quickack_count = 0;
    let mut r = Receiver::new(c);
    let tsval = |r: &mut Receiver| r.packets().last().map(|p| p.tsval());
    r.at(3_000).data(0).data(1);
    assert_eq!(tsval(&mut r), Some(Tick::new(3)));
    r.data(2).at(60_000);
    assert_eq!(tsval(&mut r), Some(Tick::new(44)), "40 ms and the rest of a tick later");
    r.at(60_990).echoing(4, 50).echoing(5, 50).echoing(6, 50);
    r.packets();
    r.echoing(7, 50).at(61_500);
    assert_eq!(tsval(&mut r), Some(Tick::new(60)), "the ACK leaves in tick 61");
}

/// RFC 2883 section 4, tcp_data_queue: a D-SACK is about the most recent packet, so that one whose ACK is held back is not reported by the next.
#[test]
fn delayed_dsack_is_not_reported_later() {
    let mut c = linux(10);
    c.quickack_count = 0;
    let mut r = Receiver::new(c);
    r.at(100).data(0).data(1);
    r.data(3).data(4).data(5);
    assert_eq!(r.acks(), "2 2[3-4] 2[3-5] 2[3-6]");
    r.data(4).data(6);
    r.at(200);
    assert_eq!(r.acks(), "2[3-7]");
}

/// tcp_ecn_accept_cwr: a sender that has reduced may have a window of one segment.
#[test]
fn cwr_is_acknowledged_at_once() {
    let mut c = linux(10);
    (c.quickack_count, c.ecn) = (0, Ecn::Classic);
    let mut r = Receiver::new(c);
    r.at(100).data(0);
    assert_eq!(r.acks(), "");
    r.data(1);
    assert_eq!(r.acks(), "2");
    r.segment(2, flag::CWR, false);
    assert_eq!(r.acks(), "3");
}

/// tcp_check_reno_reordering: without SACK ten duplicates of ten segments say that packets are out of order by as much. That outlives the scoreboard,
/// which is let go when everything is acknowledged: the third duplicate of the next flight is no loss, the tenth is.
#[test]
fn raised_reordering_outlives_scoreboard() {
    for raised in [false, true] {
        let mut c = linux(20);
        (c.recovery, c.eifel, c.frto, c.timestamps) = (Recovery::NewReno, false, false, false);
        let mut t = Script::new(c, 10);
        if raised {
            // The first one opens the window, of which a SYN-ACK says no more than 64 KB.
            t.at(200).dup(0, 11);
            assert_eq!(t.s.ca_state(), CaState::Recovery);
        }
        t.at(300).ack(10);
        t.write(1);
        t.at(400).ack(11);
        // Everything has arrived, and the connection is idle for a moment.
        assert_eq!((t.s.flight(), t.s.ca_state()), (0, CaState::Open), "{raised}");
        t.s.window_mut().cwnd = 20.0;
        t.at(500).write(20);
        t.sent();
        let cuts = t.s.stats().losses.loss_reductions;
        t.at(600).dup(11, 2);
        assert_eq!((t.s.ca_state(), t.s.stats().losses.loss_reductions), (CaState::Disorder, cuts), "{raised}");
        t.dup(11, 1);
        assert_eq!(t.s.ca_state() == CaState::Recovery, !raised, "{raised}: the third");
        t.dup(11, 6);
        assert_eq!(t.s.ca_state() == CaState::Recovery, !raised, "{raised}: the ninth");
        t.dup(11, 1);
        assert_eq!((t.s.ca_state(), t.s.stats().losses.loss_reductions), (CaState::Recovery, cuts + 1), "{raised}: the tenth");
    }
}
