//! End of slow start: HyStart as in Linux tcp_cubic.c, HyStart++ (RFC 9406), and growth per ACK in Linux.

use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_sim::cc::slow_start::Kind;
use forebay_types::Rate;
use forebay_types::param::Value;

/// NewReno of the `rfc` stack, which has no probes to disturb a script, with that slow start.
fn script(slow_start: &str) -> Script {
    script_with_max_pacing_rate(slow_start, None)
}

fn script_with_max_pacing_rate(slow_start: &str, rate: Option<Rate>) -> Script {
    let mut c = config_with("rfc", "newreno", &[("slow-start", Value::Text(slow_start.into()))], &[]);
    c.init_cwnd = 10;
    c.rcv_wnd = 1 << 20;
    c.max_pacing_rate = rate;
    Script::new(c, 10_000)
}

/// Every outstanding segment is acknowledged at `us`, each by its own ACK; with `up_to` only so many.
fn round(t: &mut Script, us: u64, up_to: Option<u64>) {
    let (una, end) = (t.s.snd_una() / 1000, t.s.snd_max() / 1000);
    t.at(us);
    for next in una + 1..=up_to.map_or(end, |n| una + n) {
        t.ack(next);
    }
}

/// Only CUBIC of Linux has HyStart by default.
#[test]
fn defaults() {
    let kind = |stack, cc| config(stack, cc).slow_start;
    assert_eq!(kind("linux", "cubic"), Kind::Hystart);
    for (stack, cc) in [("linux", "newreno"), ("linux", "dctcp"), ("rfc", "cubic"), ("ns2", "cubic")] {
        assert_eq!(kind(stack, cc), Kind::Standard, "{cc} on {stack}");
    }
}

/// ACKs 60 us apart on a path of 100 us. The train ends slow start when it is longer than (delay_min + ack_delay) / 2, where ack_delay is the time of
/// 256 KiB at the pacing rate, 2 cwnd mss / srtt.
#[test]
fn hystart_ends_at_a_long_train() {
    let mut t = script("hystart");
    let mut ends = None;
    for i in 0..10 {
        let us = 200 + 60 * i;
        // Looked at before this ACK lets the window grow.
        let cwnd = t.cwnd();
        let ack_delay = (262_144e6 / (2.0 * cwnd * 1000.0 * 1e4)).min(1000.0).floor();
        if ends.is_none() && cwnd >= 16.0 && 60.0 * i as f64 > ((100.0 + ack_delay) / 2.0).floor() {
            ends = Some(cwnd);
        }
        t.at(us).ack(i + 1);
        assert_eq!(t.ssthresh(), ends.unwrap_or(f64::INFINITY), "ACK {i} at {us} us, window {cwnd}");
    }
    assert_eq!(ends, Some(18.0), "the script is long enough");
}

/// tcp_update_pacing_rate: in a recovery more segments are outstanding than the window allows, and the pacing rate is theirs.
///
/// * 39 segments of 1000 bytes in 100 us, twice that in slow start, are 6.24 Gbps. Four packets of 65 343 bytes take 335 us, so a train of 200 us is
///   shorter than (100 + 335) / 2.
/// * Then SRTT is 125 us, and 40 segments make 408 us. 300 us are longer than (100 + 408) / 2.
/// * A window of 20 would make 458 us.
#[test]
fn hystart_rate_counts_outstanding_segments() {
    let mut c = config_with("rfc", "newreno", &[("slow-start", Value::Text("hystart".into()))], &[]);
    (c.init_cwnd, c.rcv_wnd) = (40, 1 << 20);
    let mut t = Script::new(c, 10_000);
    t.at(200).ack(1);
    for (us, ack, ssthresh) in [(400, 2, f64::INFINITY), (500, 3, 20.0)] {
        t.s.window_mut().cwnd = 20.0;
        t.at(us).ack(ack);
        assert_eq!(t.ssthresh(), ssthresh, "{us} us");
    }
}

/// Below 16 segments the train may be as long as it likes (hystart_low_window).
#[test]
fn hystart_leaves_small_windows_alone() {
    let mut t = script("hystart");
    for i in 0..6 {
        t.at(200 + 1500 * i).ack(i + 1);
    }
    assert_eq!((t.cwnd(), t.ssthresh()), (16.0, f64::INFINITY));
}

/// ACKs further than 2 ms apart are no train (hystart_ack_delta_us), however long ago the round began.
#[test]
fn hystart_finds_end_of_train() {
    let mut t = script("hystart");
    for i in 0..10 {
        t.at(200 + 2001 * i).ack(i + 1);
    }
    assert_eq!((t.cwnd(), t.ssthresh()), (20.0, f64::INFINITY));
}

/// Delay: the smallest of a round, from its ninth sample on, against the smallest of all by more than an eighth of that, 4 ms at least.
#[test]
fn hystart_ends_at_a_long_delay() {
    for (late, threshold) in [(4_050, f64::INFINITY), (4_150, 28.0)] {
        let mut t = script("hystart");
        round(&mut t, 200, None);
        assert_eq!(t.cwnd(), 20.0);
        round(&mut t, 200 + late, Some(8));
        assert_eq!(t.ssthresh(), f64::INFINITY, "eight samples are too few");
        round(&mut t, 200 + late, Some(1));
        assert_eq!(t.ssthresh(), threshold, "{late} us on a path of 100 us");
    }
}

/// The eighth counts where it is more than 4 ms, up to 16 ms.
#[test]
fn hystart_delay_of_a_long_path() {
    for (late, threshold) in [(89_900, f64::INFINITY), (90_100, 28.0)] {
        let mut t = script("hystart");
        round(&mut t, 80_100, None);
        round(&mut t, 80_100 + late, Some(9));
        assert_eq!(t.ssthresh(), threshold, "{late} us on a path of 80 ms");
    }
}

/// Writes `segments` at `ms`; whatever leaves is acknowledged 100 us later, until everything is.
fn exchange(t: &mut Script, ms: u64, segments: u64) {
    t.at(ms * 1000).write(segments);
    while !t.s.all_acked() {
        let now = t.now + 100;
        t.at(now).settle();
    }
}

/// A whole connection of Linux's CUBIC: congestion avoidance for `busy` ms, then a pause after which slow start begins again (tcp_cwnd_restart),
/// with a delay of 5 ms on a path of 100 us. The threshold behind nine samples of that delay, and the one that the pause left.
fn slow_start_in_an_epoch(busy: u64) -> (f64, f64) {
    let mut t = Script::new(config("linux", "cubic"), 10);
    round(&mut t, 200, None);
    (t.s.window_mut().cwnd, t.s.window_mut().ssthresh) = (40.0, 40.0.into());
    // More than a window, so that its ACKs start the curve; then a segment in 20 ms, each before the previous one is acknowledged. A time with
    // nothing outstanding would not count for the epoch.
    exchange(&mut t, 1, 100);
    let mut sent = t.s.snd_max() / u64::from(t.c.mss);
    t.write(1);
    for ms in (20..busy).step_by(20) {
        t.at(ms * 1000).write(1);
        sent += 1;
        t.ack(sent);
    }
    exchange(&mut t, busy, 1);
    t.at((busy + 300) * 1000).write(1_000);
    let left = t.ssthresh();
    assert!(t.cwnd() >= 16.0 && t.cwnd() < left, "slow start: {} of {left}", t.cwnd());
    let now = t.now + 5_000;
    let una = t.s.snd_una() / u64::from(t.c.mss);
    t.at(now);
    for next in una + 1..=una + 9 {
        t.ack(next);
    }
    (t.ssthresh(), left)
}

/// cubictcp_acked: in the first second of an epoch, which does not count pauses, delays end no slow start.
#[test]
fn hystart_waits_for_second_epoch() {
    let (threshold, left) = slow_start_in_an_epoch(100);
    assert_eq!(threshold, left, "100 ms of the epoch");
    let (threshold, left) = slow_start_in_an_epoch(900);
    assert_eq!(threshold, left, "0.9 s of the epoch");
    let (threshold, left) = slow_start_in_an_epoch(1_100);
    assert!(threshold < left, "1.1 s of the epoch: the delay has ended slow start at {threshold} of {left}");
}

/// RFC 9406 section 4.2: after eight late samples the window grows by a quarter, for five rounds with the one it began in; then slow start
/// is over. A round ends when what was sent before it is acknowledged.
#[test]
fn hystart_plus_plus_slows_down_first() {
    let mut t = script("hystart++");
    let (mut window_end, mut late, mut rounds, mut now) = (0, 0, 0, 200);
    while t.ssthresh().is_infinite() {
        let (una, end) = (t.s.snd_una() / 1000, t.s.snd_max() / 1000);
        t.at(now);
        for next in una + 1..=end {
            let (before, nxt) = (t.cwnd(), t.s.snd_nxt());
            t.ack(next);
            late += u32::from(now > 200);
            if next * 1000 >= window_end {
                window_end = nxt;
                rounds += u32::from(late >= 8);
            }
            if rounds == 5 {
                assert_eq!(t.ssthresh(), before, "ACK {next} completes five rounds");
                return;
            }
            assert_eq!((t.cwnd() - before, t.ssthresh()), (if late < 8 { 1.0 } else { 0.25 }, f64::INFINITY), "ACK {next}");
        }
        now += 4_150;
    }
    panic!("slow start has ended before its five rounds were over");
}

/// RFC 9406 section 4.2: a round with less delay than CSS began with resumes slow start.
#[test]
fn hystart_plus_plus_resumes() {
    let mut t = script("hystart++");
    round(&mut t, 200, None);
    // The ACK for 10 ended a round with 28 segments sent: those from 11 to 28 are the late round.
    round(&mut t, 200 + 4_150, Some(18));
    assert_eq!(t.cwnd(), 20.0 + 7.0 + 11.0 / 4.0);
    // Two segments are left of the first window; what is acknowledged from here on was sent 4.15 ms after it.
    round(&mut t, 200 + 4_150 + 100, Some(2));
    let before = t.cwnd();
    round(&mut t, 200 + 4_150 + 150, Some(20));
    assert_eq!(t.cwnd(), before + 5.0 / 4.0 + 15.0, "from the eighth sample of the round on, whole segments again");
    assert_eq!(t.ssthresh(), f64::INFINITY);
}

/// RFC 9406 section 4.2: an ACK is worth what it acknowledges, at most eight segments.
#[test]
fn hystart_plus_plus_bounds_an_ack() {
    let mut t = script("hystart++");
    t.at(200).ack(3);
    assert_eq!(t.cwnd(), 13.0);
    round(&mut t, 200, None);
    let before = t.cwnd();
    let end = t.s.snd_una() / 1000 + 12;
    t.at(300).ack(end);
    assert_eq!(t.cwnd(), before + 8.0);
}

/// RFC 9406 section 4.3: a sender that paces has no such limit.
#[test]
fn hystart_plus_plus_counts_paced_segments() {
    let mut t = script_with_max_pacing_rate("hystart++", Some(Rate(1_000_000_000_000)));
    t.at(100);
    t.at(200).ack(10);
    assert_eq!(t.cwnd(), 20.0);
}

/// RFC 9406 section 4.3: only the first slow start is looked after.
#[test]
fn hystart_pp_ends_with_loss() {
    let mut t = script("hystart++");
    round(&mut t, 200, None);
    t.s.window_mut().ssthresh = (1000.0).into();
    round(&mut t, 200 + 4_150, None);
    assert_eq!((t.cwnd(), t.ssthresh()), (40.0, 1000.0), "standard slow start below a known threshold");
}

/// Linux counts segments, whatever their size: three for 2500 bytes at a segment size of 1000. The `rfc` stack counts bytes.
#[test]
fn a_short_segment_is_a_segment() {
    for (stack, after) in [("linux", 13.0), ("rfc", 11.0)] {
        let mut c = config(stack, "newreno");
        c.init_cwnd = 10;
        c.cwnd_validation = false;
        let mut t = Script::new(c, 0);
        t.write_bytes(2500, false);
        t.at(200).reply_bytes(2500, &[], 0);
        assert_eq!(t.cwnd(), after, "{stack}");
    }
}

/// Segments count when SACK reports them, and not again with the cumulative ACK; a retransmitted one counts once, too.
#[test]
fn sacked_segments_count_once() {
    let mut c = config("linux", "newreno");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 0);
    t.write_bytes(5500, false);
    t.write_bytes(4500, false);
    t.at(200).sack(0, &[(1, 3)]);
    let before = t.cwnd();
    t.at(210).ack(4);
    assert_eq!(t.cwnd(), before + 2.0, "0 and 3; 1 and 2 were counted before");
}
