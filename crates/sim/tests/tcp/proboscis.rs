//! Whole connections with a ProBoSCIS shim below each endpoint.

use crate::scripted::pipe::{Fate, LOSE, MARK, PASS, Pipe, PipePacket};
use crate::scripted::{MS, US, config_with};
use forebay_sim::net::packet::flag;
use forebay_sim::shim;
use forebay_sim::shim::proboscis::{State, Verdict};
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::Time;
use forebay_types::param::{Kind, Value, Values};

/// Stack with this congestion control, an initial window of ten segments of 1000 B, and the shim with its defaults but for `own`.
fn shimmed(stack: &str, cc: &str, own: &[(&'static str, Value)]) -> TcpConfig {
    let entry = shim::find("proboscis").expect("a shim of the registry");
    let values = entry.entry.params.iter().map(|p| {
        let text = p.default.expect("it has defaults");
        let value = match p.kind {
            _ if text.is_empty() => Value::Unset,
            Kind::Int(..) => Value::Int(text.parse().unwrap()),
            Kind::Float(..) => Value::Float(text.parse().unwrap()),
            Kind::Time => Value::Time(text.parse().unwrap()),
            Kind::Bool => Value::Bool(text == "true"),
            _ => Value::Text(text.to_owned()),
        };
        (p.key, own.iter().find(|o| o.0 == p.key).map_or(value, |o| o.1.clone()))
    });
    let mut c =
        config_with(stack, cc, &[("init-cwnd", Value::Int(10)), ("rto-initial", Value::Time("1s".parse().unwrap()))], &[]);
    c.shims = (entry.build)(&Values(values.collect())).unwrap().into();
    c
}

fn newreno() -> TcpConfig {
    shimmed("ns2", "newreno", &[])
}

fn probe(s: &PipePacket) -> bool {
    s.flags & flag::PROBE != 0
}

fn syn(s: &PipePacket) -> bool {
    s.data && s.flags & flag::SYN != 0
}

/// Data segments that left in the first flight, before any of them was acknowledged.
fn first_flight<J>(p: &Pipe<J>) -> usize {
    let data: Vec<_> = p.log.iter().filter(|s| s.len > 0 && !probe(s)).collect();
    data.iter().filter(|s| s.now == data[0].now).count()
}

fn transfer<J: FnMut(&PipePacket) -> Fate>(c: TcpConfig, segments: u64, judge: J) -> Pipe<J> {
    let mut p = Pipe::new(c, judge);
    p.transfer(segments * 1000, 20_000 * MS);
    p
}

/// Nothing is marked: ten probes, the SYN behind them, and the guest's whole initial window.
#[test]
fn idle_path_gets_initial_window() {
    let p = transfer(newreno(), 30, |_| PASS);
    assert!(p.log[..10].iter().all(probe) && syn(&p.log[10]));
    assert_eq!(p.log[..11].iter().map(|s| s.now).max(), Some(0));
    assert_eq!(first_flight(&p), 10);
    let s = p.shims.as_ref().unwrap();
    assert_eq!((s.receiver.stats().verdict, s.receiver.stats().window), (Verdict::Proportional, Some(10_000)));
    assert_eq!((s.sender.state(), s.sender.stats().throttled, s.sender.vwnd()), (State::Open, 0, None));
}

/// The share of marked probes sets the first flight; the next flights are the guest's.
#[test]
fn marks_on_probes_set_first_flight() {
    for (marked, flight) in [(1, 9), (5, 5), (8, 2), (9, 1), (10, 1)] {
        let mut n = 0;
        let p = transfer(newreno(), 30, |s| {
            n += usize::from(probe(s));
            if probe(s) && n <= marked { MARK } else { PASS }
        });
        assert_eq!(first_flight(&p), flight, "{marked} marked");
        let verdict = if marked == 10 { Verdict::Severe } else { Verdict::Proportional };
        assert_eq!(p.shims.as_ref().unwrap().receiver.stats().verdict, verdict);
        // 3.4: the first ACK of data carries the real window, and slow start goes on from the guest's own ten.
        let second = p.log.iter().filter(|s| s.len > 0 && s.now == 200 * US).count();
        assert_eq!(second, 10 + flight, "{marked} marked");
    }
}

/// 6 of 10 probes are lost, so the SYN-ACK is held. The shim of the sender repeats the train only at 4 ms, and then the SYN-ACK is released with the
/// results of the repeated train.
#[test]
fn next_train_releases_syn_ack() {
    let mut n = 0;
    let p = transfer(newreno(), 10, |s| {
        n += usize::from(probe(s));
        match probe(s) {
            true if n <= 6 => LOSE,
            true if n > 10 && n <= 13 => MARK,
            _ => PASS,
        }
    });
    let s = p.shims.as_ref().unwrap();
    assert_eq!((s.receiver.stats().verdict, s.receiver.stats().window), (Verdict::Insufficient, Some(7_000)));
    // Held from 50 us on; the train of 4 ms arrives 50 us later, the tick after that is at 5 ms.
    assert_eq!(s.receiver.stats().held, Time(5 * MS - 50 * US));
    assert_eq!((s.sender.stats().probes, s.sender.stats().syns), (20, 0));
    assert_eq!(first_flight(&p), 7);
    assert_eq!(p.log.iter().find(|s| s.len > 0 && !probe(s)).unwrap().now, 5 * MS + 50 * US);
}

/// No train ever gets through: released after beta3, with one segment.
#[test]
fn syn_ack_is_released_eventually() {
    let p = transfer(newreno(), 10, |s| if probe(s) { LOSE } else { PASS });
    let s = p.shims.as_ref().unwrap();
    assert_eq!((s.receiver.stats().verdict, s.receiver.stats().window), (Verdict::Insufficient, Some(1_000)));
    // 8 ms after it came at 50 us: the tick of 9 ms.
    assert_eq!(s.receiver.stats().held, Time(9 * MS - 50 * US));
    assert_eq!(first_flight(&p), 1);
}

/// The first SYN is lost: the shim repeats it at 16 ms, long before the guest would, and the guest has had no timeout. A lost SYN-ACK
/// is the same to it.
#[test]
fn shim_repeats_lost_handshake_packets() {
    for direction in [true, false] {
        let mut lost = 0;
        let p = transfer(newreno(), 10, |s| {
            let hit = s.data == direction && s.flags & flag::SYN != 0 && lost == 0;
            lost += u32::from(hit);
            if hit { LOSE } else { PASS }
        });
        let syns: Vec<u64> = p.log.iter().filter(|s| syn(s)).map(|s| s.now).collect();
        assert_eq!(syns, [0, 16 * MS]);
        let s = p.shims.as_ref().unwrap();
        assert_eq!((s.sender.stats().syns, s.sender.stats().probes), (1, 10 + 10 + 20 + 30 + 40));
        assert_eq!((p.sender.stats().losses.syn_rtos, first_flight(&p)), (0, 10));
        assert!(p.done < 17 * MS);
    }
}

/// All SYNs are lost for more than a second: the shim gives up, the guest's own SYN at 1 s belongs to the old entry, and the one at 3 s
/// starts afresh.
#[test]
fn guest_restarts_after_giving_up() {
    let p = transfer(newreno(), 10, |s| if syn(s) && s.now < 2500 * MS { LOSE } else { PASS });
    let syns: Vec<u64> = p.log.iter().filter(|s| syn(s)).map(|s| s.now / MS).collect();
    // Every 16 ms until the entry goes at 1001 ms, the guest's own among them.
    assert_eq!(syns[..63], (0..63).map(|i| i * 16).collect::<Vec<_>>()[..]);
    assert_eq!(syns[63..], [1000, 3000]);
    assert_eq!((p.sender.stats().losses.syn_rtos, p.sender.stats().losses.rtos), (2, 0));
    // The last train is a first one again.
    let last = p.log.iter().filter(|s| probe(s) && s.now > 2500 * MS).count();
    assert_eq!((last, first_flight(&p)), (10, 1));
}

/// DCTCP outside the guest: with every data segment marked, the window in flight comes down to one segment; the guest, which knows no ECN,
/// sees neither CE nor ECE and keeps its own window.
#[test]
fn marked_data_throttles_the_guest() {
    for cc in ["reno", "newreno", "cubic"] {
        let p = transfer(shimmed("ns2", cc, &[]), 300, |s| if s.data { MARK } else { PASS });
        let s = p.shims.as_ref().unwrap();
        assert_eq!(s.sender.vwnd(), Some(1_000), "{cc}");
        assert!(s.sender.alpha() > 0.99 && s.sender.stats().throttled > 250, "{cc}: {:?}", s.sender);
        assert_eq!(p.sender.stats().losses.ce_bytes, 0);
        assert!(p.sender.window().cwnd >= 10.0, "{cc}: the guest's own window is not touched");
        // At the end there is one segment in each round trip.
        let data: Vec<u64> = p.log.iter().filter(|s| s.len > 0).map(|s| s.now).collect();
        assert!(data.windows(2).skip(100).all(|w| w[1] - w[0] == 100 * US), "{cc}");
    }
}

/// Guests that use ECN themselves stay alive in both modes: in `shim` mode they see no marks, in `guest` mode they do.
#[test]
fn guests_with_ecn() {
    for (mode, seen) in [("shim", false), ("guest", true)] {
        for (stack, ecn, cc) in [("ns2", "classic", "newreno"), ("linux", "classic", "cubic"), ("linux", "dctcp", "dctcp")] {
            let mut c = shimmed(stack, cc, &[("ecn-mode", Value::Text(mode.into()))]);
            c.ecn = if ecn == "classic" {
                forebay_experiment::transport::Ecn::Classic
            } else {
                forebay_experiment::transport::Ecn::Dctcp
            };
            let mut n = 0;
            let p = transfer(c, 300, |s| {
                n += u32::from(s.len > 0);
                if s.len > 0 && n % 40 == 0 { MARK } else { PASS }
            });
            assert_eq!(p.sender.stats().losses.ce_bytes > 0, seen, "{stack} {cc} {mode}");
            assert!(p.shims.as_ref().unwrap().sender.stats().throttled > 0, "{stack} {cc} {mode}");
        }
    }
}

/// Partial deployment: an opener without shim is not held up for long, an acceptor without shim lets the probes vanish.
#[test]
fn one_end_only() {
    let c = shimmed("ns2", "newreno", &[("ends", Value::Text("acceptor".into())), ("peer-has-shim", Value::Bool(false))]);
    let p = transfer(c, 20, |_| PASS);
    let s = p.shims.as_ref().unwrap();
    assert_eq!((s.receiver.stats().verdict, s.receiver.stats().window), (Verdict::Unprobed, Some(65_535)));
    // SYN at 50 us, the first tick a millisecond later is at 2 ms.
    assert_eq!((s.receiver.stats().held, first_flight(&p), s.sender.stats().probes), (Time(2 * MS - 50 * US), 10, 0));

    let c = shimmed("ns2", "newreno", &[("ends", Value::Text("opener".into()))]);
    let p = transfer(c, 20, |s| if probe(s) { MARK } else { PASS });
    let s = p.shims.as_ref().unwrap();
    assert_eq!((s.receiver.stats().verdict, first_flight(&p), s.sender.stats().probes), (Verdict::None, 10, 10));
}

/// Random loss, marks, duplicates and delays, on all stacks and under all options: every byte arrives, in every case.
#[test]
fn survives_everything() {
    let text = |s: &str| Value::Text(s.to_owned());
    let options: [&[(&'static str, Value)]; 6] = [
        &[],
        &[("no-shrink", Value::Bool(true)), ("elephant-bytes", Value::Bytes("30KB".parse().unwrap()))],
        &[("hold-on", text("any")), ("release-window", text("original")), ("lost-as-marked", Value::Bool(true))],
        &[("ecn-mode", text("guest"))],
        &[("peer-has-shim", Value::Bool(false)), ("gamma", Value::Int(3))],
        &[("ends", text("acceptor"))],
    ];
    let mut seed = 7_u64;
    for own in options {
        for stack in ["ns2", "linux", "rfc"] {
            for cc in ["newreno", "cubic", "dctcp"] {
                for _ in 0..4 {
                    let mut draw = || {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        (seed >> 33) % 100
                    };
                    let judge = |_: &PipePacket| Fate {
                        lost: draw() < 8,
                        marked: draw() < 30,
                        twice: draw() < 3,
                        late: if draw() < 5 { draw() * US } else { 0 },
                        ..PASS
                    };
                    let mut p = Pipe::new(shimmed(stack, cc, own), judge);
                    p.transfer(60_000, 1_000_000 * MS);
                }
            }
        }
    }
}
