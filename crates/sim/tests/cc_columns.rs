//! State of congestion controls, as the table `tcp` shows it, on whole connections over a path whose rate and RTT are known.

use crate::scripted::pipe::{Fate, LOSE, PASS, Pipe, PipePacket};
use crate::scripted::{MS, US, config};
use forebay_experiment::cc_state::CcState;

/// Transmission time of a full packet: 1000 bytes of payload in 832 us are 9.615 Mbit/s.
const PACKET: u64 = 832 * US;
const GOODPUT: f64 = 8.0 * 1000.0 / 832e-6;
const DELAY: u64 = 20 * MS;
/// RTT of a full packet without queueing, ns: its transmission and the delay of both directions.
const RTT_NS: f64 = 40.832e6;

/// A sample: time in ms, window before it, and columns.
type Sample = (u64, f64, CcState);

/// Samples of a connection of `stack` with `cc` in each millisecond, over a link with a buffer of 100 packets; `loses`: number of a lost packet.
fn samples(stack: &str, cc: &str, writes: &[(u64, u64)], loses: fn(usize) -> bool) -> Vec<Sample> {
    let mut c = config(stack, cc);
    (c.rcv_wnd, c.rcv_autotune) = (1_000_000, false);
    let mut free = 0;
    let judge = move |p: &PipePacket| {
        if !p.data {
            return PASS;
        }
        let wait = u64::saturating_sub(free, p.now);
        if wait >= 100 * PACKET || loses(p.number) {
            return LOSE;
        }
        free = p.now + wait + PACKET * (u64::from(p.len) + 40) / 1040;
        Fate { late: free - p.now, ..PASS }
    };
    let mut pipe = Pipe::new(c, judge);
    pipe.delay = DELAY;
    pipe.open();
    let mut all = Vec::new();
    for &(bytes, ms) in writes {
        pipe.write(bytes, false);
        let end = pipe.now + ms * MS;
        while pipe.now < end {
            let next = pipe.now + MS;
            pipe.run(next);
            let mut state = CcState::default();
            pipe.sender.cc().state(1000, &mut state);
            all.push((pipe.now / MS, pipe.sender.window().cwnd, state));
        }
    }
    all
}

fn int(s: &Sample, name: &str) -> f64 {
    s.2.int(name).unwrap_or_else(|| panic!("{name} is null at {} ms", s.0)) as f64
}

/// Asserts that `value` is within this share of `expected`.
fn assert_near(value: f64, expected: f64, share: f64, what: &str) {
    assert!((value - expected).abs() <= share * expected, "{what}: {value}, not {expected}");
}

/// States in order, without repetitions.
fn states(all: &[Sample]) -> Vec<&'static str> {
    let mut names: Vec<&str> = all.iter().filter_map(|s| s.2.text("cc_state")).collect();
    names.dedup();
    names
}

/// The model of both versions is the path: max_bw is its rate, and min_rtt its RTT (draft-ietf-ccwg-bbr sections 2.3 and 5.3). STARTUP ends after three
/// rounds without growth by a quarter, DRAIN empties the queue, and PROBE_BW paces with gains from 0.75 to 1.25, less 1 % (section 5.6.2).
#[test]
fn bbr_columns_show_the_path() {
    // The first DOWN ends within a millisecond, as DRAIN has emptied the queue.
    let cycle = ["ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeBW_DOWN"];
    for (cc, steady) in [("bbr", &["ProbeBW"][..]), ("bbr3", &cycle)] {
        let all = samples("linux", cc, &[(4_000_000, 3000)], |_| false);
        let names = states(&all);
        assert_eq!(names[..2], ["Startup", "Drain"], "{cc}: {names:?}");
        assert_eq!(names[2..2 + steady.len()], *steady, "{cc}: {names:?}");
        let last = all.last().unwrap();
        for (name, value) in [("max_bw_bps", GOODPUT), ("bw_bps", GOODPUT), ("min_rtt_ns", RTT_NS)] {
            assert_near(int(last, name), value, 0.02, &format!("{cc}: {name}"));
        }
        assert_eq!((int(last, "full_bw_reached"), int(last, "idle_restart")), (1.0, 0.0), "{cc}");
        // The measured bandwidth when the pipe was full: between half of the rate, as each round doubles it, and the rate.
        assert!((0.5 * GOODPUT..1.02 * GOODPUT).contains(&int(last, "full_bw_bps")), "{cc}: {}", int(last, "full_bw_bps"));
        assert!(int(last, "full_bw_count") <= 3.0, "{cc}: {}", int(last, "full_bw_count"));
        // ACKs arrive one by one: at most some segments more than the rate.
        assert!(int(last, "extra_acked_bytes") < 60_000.0, "{cc}: {}", int(last, "extra_acked_bytes"));
        let steady = all.iter().filter(|s| s.0 > 1000);
        let gains: Vec<f64> = steady.map(|s| int(s, "pacing_rate_bps") / int(s, "bw_bps") / 0.99).collect();
        let (low, high) = gains.iter().fold((f64::MAX, 0.0), |(l, h): (f64, f64), g| (l.min(*g), h.max(*g)));
        assert!(low > 0.73 && low < 0.92 && high > 1.2 && high < 1.28, "{cc}: {low} to {high}");
        // A round is at least an RTT, and in STARTUP at most an RTT and a full queue.
        let rounds = |from: usize, to: usize| int(&all[to], "round_count") - int(&all[from], "round_count");
        let passed = 1e6 * 2000.0 / RTT_NS;
        assert!((0.7 * passed..1.02 * passed).contains(&rounds(900, 2900)), "{cc}: {} of {passed}", rounds(900, 2900));
    }
}

/// In STARTUP nothing is known about the rate at first: the pacing rate is the initial window per RTT of the handshake, times 2.89 (Linux
/// `bbr_init_pacing_rate_from_rtt`) or 2.77, and the bandwidth doubles in each round.
#[test]
fn bbr_columns_grow_in_startup() {
    for (cc, gain) in [("bbr", 2.89), ("bbr3", 2.77)] {
        let all = samples("linux", cc, &[(4_000_000, 400)], |_| false);
        let at = |ms: usize| &all[ms];
        assert_eq!((at(50).2.text("cc_state"), int(at(50), "full_bw_reached")), (Some("Startup"), 0.0), "{cc}");
        // The handshake takes 40 ms and the transmission of a SYN.
        assert_near(int(at(60), "pacing_rate_bps"), gain * 0.99 * 8.0 * 10_000.0 / 40.03e-3, 0.03, cc);
        assert_eq!(int(at(60), "max_bw_bps"), 0.0, "{cc}: no delivery so far");
        let bandwidths: Vec<f64> = [130, 180, 230].iter().map(|ms| int(at(*ms), "max_bw_bps")).collect();
        assert!(bandwidths.windows(2).all(|w| w[1] > 1.4 * w[0] || w[1] > 0.9 * GOODPUT), "{cc}: {bandwidths:?}");
    }
}

/// A pause of the application is no sign of congestion: it sets `idle_restart` until the next delivery (section 5.4.1), and the model stays. So does
/// the time before the first write.
#[test]
fn bbr_columns_after_idle_time() {
    for cc in ["bbr", "bbr3"] {
        let all = samples("linux", cc, &[(1_500_000, 2500), (200_000, 600)], |_| false);
        let restarts: Vec<u64> = all.iter().filter(|s| s.0 > 1000 && int(s, "idle_restart") > 0.0).map(|s| s.0).collect();
        let first = restarts.first().copied().unwrap_or(0);
        assert!(
            (2500..2503).contains(&first) && restarts.len() as f64 >= 35.0 && restarts.len() as f64 <= 45.0,
            "{cc}: {restarts:?}"
        );
        assert_near(int(all.last().unwrap(), "max_bw_bps"), GOODPUT, 0.05, cc);
    }
}

/// Losses bound the volume in flight of BBRv3 (section 5.5.10): the bounds are null before them. 5 % of the packets of a short time are lost.
#[test]
fn bbr3_columns_show_bounds() {
    let all = samples("linux", "bbr3", &[(4_000_000, 3000)], |n| (1200..1500).contains(&n) && n % 20 == 0);
    let first = |name: &str| all.iter().position(|s| s.2.int(name).is_some());
    let bound = all.iter().rposition(|s| s.0 < 1000).unwrap();
    for name in ["bw_shortterm_bps", "inflight_shortterm_bytes"] {
        let at = first(name).unwrap_or_else(|| panic!("{name} has no value"));
        // Packet 1200 leaves after at least 1200 transmission times.
        assert!(all[at].0 > 950, "{name} at {} ms", all[at].0);
        assert!(all[bound].2.int(name).is_none(), "{name}");
    }
    let shortterm = all.iter().filter_map(|s| s.2.int("bw_shortterm_bps")).min().unwrap() as f64;
    assert!(shortterm > 0.4 * GOODPUT && shortterm < 1.02 * GOODPUT, "{shortterm}");
    let volume = all.iter().filter_map(|s| s.2.int("inflight_shortterm_bytes")).min().unwrap() as f64;
    // The BDP is 49 segments; BBR.Beta = 0.7 in each round with losses.
    assert!((9_000.0..100_000.0).contains(&volume), "{volume}");
}

/// CUBIC's curve (RFC 9438 section 4.2): W_max is the window at the loss, and K the time in which C t^3 grows from 0.7 W_max to it. The columns are null
/// in slow start.
#[test]
fn cubic_columns_show_the_curve() {
    for stack in ["rfc", "linux"] {
        let all = samples(stack, "cubic", &[(6_000_000, 4000)], |_| false);
        let first = all.iter().position(|s| s.2.float("w_max").is_some()).expect("a loss");
        let before = all[..first].iter().map(|s| s.1).fold(0.0, f64::max);
        let w_max = all[first].2.float("w_max").unwrap();
        // Buffer and BDP are 149 segments. Slow start exceeds them.
        assert!(w_max > 140.0 && w_max <= before + 2.0, "{stack}: {w_max} after {before}");
        // HyStart of Linux ends slow start before the loss, and the curve begins at the window then: K is 0.
        let k = |s: &Sample| s.2.float("k_s");
        assert!(all[..first].iter().all(|s| k(s).is_none() || stack == "linux" && k(s) == Some(0.0)), "{stack}");
        // The first epoch that lasts for half a second: losses of slow start end the ones before.
        let is_long = |at: &usize| {
            let k = |i: usize| all.get(i).and_then(|s| s.2.float("k_s"));
            k(*at).is_some() && (1..=500).all(|n| k(at + n) == k(*at))
        };
        let at = (first..all.len()).find(is_long).expect("an epoch");
        let column = |ms: usize, name: &str| all[at + ms].2.float(name).unwrap();
        let (w_max, cwnd) = (column(0, "w_max"), all[at].1);
        // From the window at the start of the epoch (equation 2), in which the first ACKs have added less than a segment.
        let k = ((w_max - cwnd).max(0.0) / 0.4).cbrt();
        assert_near(column(0, "k_s"), k, 0.05, &format!("{stack}: K from {cwnd} to {w_max}"));
        // W_est begins at the window, and grows by 3 (1 - 0.7) / (1 + 0.7) = 0.53 segments in a round trip (section 4.3).
        assert_near(column(0, "w_est"), cwnd, 0.02, stack);
        let rounds = 500.0 * 1e6 / (RTT_NS + 832e3 * (cwnd - 49.0).max(0.0));
        assert_near(column(500, "w_est") - column(0, "w_est"), 0.53 * rounds, 0.4, stack);
        assert_eq!(column(500, "w_max"), w_max, "{stack}: constant in an epoch");
    }
}

/// TCP TRIM computes K, the RTT above which it reduces, from the RTT without queueing, which is that of the path of scripts: 100 us, at 1 Gbps with a
/// buffer of 100 packets. Linux has whole microseconds.
#[test]
fn trim_columns_show_the_threshold() {
    let k = |stack: &str| {
        let all = samples(stack, "trim", &[(100_000, 1500)], |_| false);
        let last = all.last().unwrap();
        assert_eq!(int(last, "min_rtt_ns"), 100_000.0, "{stack}");
        int(last, "k_ns")
    };
    let exact = k("rfc");
    // The queue may hold some packets, and less than the buffer of 832 us.
    assert!((110_000.0..200_000.0).contains(&exact), "{exact}");
    assert_eq!((k("ns2"), k("linux")), (exact, (exact / 1000.0).floor() * 1000.0));
}

/// Others have no columns.
#[test]
fn loss_based_windows_have_no_columns() {
    for cc in ["newreno", "dctcp"] {
        let all = samples("linux", cc, &[(300_000, 400)], |_| false);
        assert!(all.iter().all(|s| s.2 == CcState::default()), "{cc}");
    }
}
