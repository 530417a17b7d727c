//! BBR on a connection: when segments leave, and what random losses do.

use crate::scripted::pipe::{LOSE, PASS, Pipe, PipePacket};
use crate::scripted::sender::Script;
use crate::scripted::{MS, config};
use forebay_sim::tcp::sender::{Phase, Timer};
use forebay_types::Rng;

/// The handshake took 100 us, so ten segments times 2.89 in it are 28.5 segments less 1 %: one in 3.5 us. The first ten leave at once.
#[test]
fn segments_after_ten_are_paced() {
    let mut t = Script::new(config("linux", "bbr"), 60);
    assert_eq!(t.sent(), "0 1 2 3 4 5 6 7 8 9");
    t.at(200).ack(4);
    // Eight may leave: the first does, the next alarms let the others out.
    assert_eq!(t.sent(), "10");
    t.at(260);
    let times: Vec<u64> = t.log.iter().map(|l| l.0).collect();
    assert!(times.len() >= 6, "{:?}", t.log);
    let (first, last) = (times[0], *times.last().unwrap());
    let apart = (last - first) as f64 / (times.len() - 1) as f64;
    assert!((3.0..4.2).contains(&apart), "{apart} us apart: {:?}", t.log);
    assert!(times.windows(2).all(|w| w[1] > w[0]), "{:?}", t.log);
}

/// Path of 20 ms with a receive window of 200 segments, on which 1 % of all segments are lost at random. BBR continues at the rate of the path, CUBIC
/// treats every loss as congestion.
#[test]
fn one_percent_of_random_losses() {
    let seconds = |cc: &str| {
        let mut c = config("linux", cc);
        (c.rcv_wnd, c.rcv_autotune) = (200_000, false);
        let mut rng = Rng::stream(11, &[]);
        let judge = move |p: &PipePacket| if p.data && p.len > 0 && rng.below(100) == 0 { LOSE } else { PASS };
        let mut pipe = Pipe::new(c, judge);
        pipe.delay = 10 * MS;
        pipe.open();
        pipe.write(20_000_000, true);
        pipe.run(200_000 * MS);
        assert_eq!(pipe.sender.phase(), Phase::Done, "{cc}");
        pipe.done as f64 / 1e12
    };
    // 20 000 segments, 200 in 20 ms: two seconds without losses. The receive window, which ends 200 segments behind a hole, costs its share.
    let (bbr, bbr3, cubic) = (seconds("bbr"), seconds("bbr3"), seconds("cubic"));
    println!("bbr {bbr:.1} s, bbr3 {bbr3:.1} s, cubic {cubic:.1} s");
    assert!(cubic > 3.0 * bbr, "cubic took {cubic} s, bbr {bbr} s");
    assert!(bbr3 < cubic, "bbr3 took {bbr3} s, cubic {cubic} s");
}

/// tcp_reset_xmit_timer: what is timed may still have to wait for its departure, so that probe timer and retransmission timer are put off by
/// the wait, in whole ticks of a millisecond. With 400 ms in the handshake segments leave some 7 ms apart. Behind new data a probe waits no
/// longer than the oldest segment has until it times out, behind an ACK no longer than a whole timeout (tcp_schedule_loss_probe).
#[test]
fn timers_allow_for_the_pacer() {
    let mut t = Script::closed(config("linux", "bbr"));
    t.at(400_000);
    t.rtt = 400_000;
    t.syn_ack();
    t.write(60);
    assert_eq!(t.sent(), "0 1 2 3 4 5 6 7 8 9");
    t.at(800_000).ack(1);
    assert_eq!(t.sent(), "10");
    let plain = |t: &Script| (2 * t.s.rtt().smoothed().or_never().as_us() + 2_000).next_multiple_of(1_000);
    let put_off = |t: &Script| t.left(Timer::Probe).unwrap() - plain(t);
    let first = put_off(&t);
    assert_eq!(first, 5_000, "6 for the pacer, and one less for the oldest segment");
    t.at(803_500).ack(2);
    assert_eq!(t.sent(), "", "the next one waits");
    assert_eq!(put_off(&t), 3_000, "3.5 ms later");
}
