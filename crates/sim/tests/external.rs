//! Congestion controls that the caller of a run registers.

use crate::scripted::pipe::{Fate, LOSE, MARK, PASS, Pipe, PipePacket};
use crate::scripted::{MS, US, config};
use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Chosen;
use forebay_sim::cc::external_control::{Control, Factory, Registration};
use forebay_sim::cc::{Ack, Cc, CcConfig, Event, Reduction, Threshold, Trigger, Window, build};
use forebay_types::Rate;
use forebay_types::param::Values;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A window that stays at the number of reductions.
#[derive(Debug, Clone)]
struct Counting(f64);

impl Control for Counting {
    fn in_ack_event(&mut self, _: &mut Window, _: &Ack) {}
    fn pkts_acked(&mut self, _: &mut Window, _: &Ack) {}
    fn cong_avoid(&mut self, _: &mut Window, _: &Ack) {}
    fn ssthresh(&mut self, _: &Window, _: Reduction) -> Threshold {
        self.0 += 1.0;
        self.0.into()
    }
    fn window_after_marks(&self, _: f64, threshold: Threshold) -> Threshold {
        threshold
    }
    fn reduces_on_loss_after_ecn(&self) -> bool {
        true
    }
    fn cwnd_event(&mut self, _: &mut Window, _: Event) {}
    fn undo_cwnd(&mut self, _: &Window, prior: f64) -> f64 {
        prior
    }
    fn alpha(&self) -> Option<f64> {
        Some(self.0)
    }
    fn pacing_rate(&self, _: u32) -> Rate {
        Rate(1_000_000)
    }
    fn copy(&self) -> Box<dyn Control> {
        Box::new(self.clone())
    }
}

struct Paced(bool);

impl Factory for Paced {
    fn start(&self) -> Box<dyn Control> {
        Box::new(Counting(2.0))
    }
    fn paces(&self) -> bool {
        self.0
    }
}

fn built(name: &'static str) -> Result<CcConfig, BuildError> {
    build(&Chosen { name, values: Values(Vec::new()) })
}

#[test]
fn factories_are_found_while_registered() {
    for paces in [false, true] {
        let registration = Registration::new("counting", Arc::new(Paced(paces))).unwrap();
        let config = built("counting").unwrap();
        assert_eq!(config.hooks().paces(), paces);
        drop(registration);
        assert!(built("counting").is_err(), "the registration has ended");
        // A connection keeps its factory.
        assert_eq!(config.start().alpha(), Some(2.0));
    }
}

#[test]
fn names_are_unique() {
    let taken = |name| Registration::new(name, Arc::new(Paced(false))).unwrap_err().message;
    assert!(taken("cubic").contains("a congestion control of the simulator"));
    let _first = Registration::new("unique", Arc::new(Paced(false))).unwrap();
    assert!(taken("unique").contains("another run"));
}

#[test]
fn connections_have_objects_of_their_own() {
    let _registration = Registration::new("own", Arc::new(Paced(false))).unwrap();
    let config = built("own").unwrap();
    let reduce = |cc: &mut Cc| {
        let w = Window { cwnd: 10.0, ssthresh: Threshold::UNLIMITED };
        cc.ssthresh(&w, Reduction { trigger: Trigger::Loss, from: 10.0, in_flight: 0 }).or_infinite()
    };
    let (mut first, mut second) = (config.start(), config.start());
    assert_eq!((reduce(&mut first), reduce(&mut first), reduce(&mut second)), (3.0, 4.0, 3.0));
    let mut copy = first.clone();
    assert_eq!((reduce(&mut copy), reduce(&mut first)), (5.0, 5.0));
}

/// Reno that stores the name of each hook that it receives.
#[derive(Debug, Clone)]
struct Recorder(Arc<Mutex<Vec<&'static str>>>);

impl Recorder {
    fn note(&self, name: &'static str) {
        self.0.lock().unwrap().push(name);
    }
}

impl Control for Recorder {
    fn in_ack_event(&mut self, _: &mut Window, _: &Ack) {
        self.note("in_ack_event");
    }
    fn pkts_acked(&mut self, _: &mut Window, _: &Ack) {
        self.note("pkts_acked");
    }
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        self.note("cong_avoid");
        w.reno(ack.grow);
    }
    fn ssthresh(&mut self, _: &Window, cut: Reduction) -> Threshold {
        self.note(match cut.trigger {
            Trigger::Ecn => "ssthresh: ecn",
            Trigger::Loss => "ssthresh: loss",
            Trigger::Timeout => "ssthresh: timeout",
        });
        (cut.from / 2.0).max(2.0).into()
    }
    fn window_after_marks(&self, from: f64, threshold: Threshold) -> Threshold {
        self.note("window_after_marks");
        assert_eq!(threshold.or_infinite(), (from / 2.0).max(2.0));
        threshold
    }
    fn reduces_on_loss_after_ecn(&self) -> bool {
        self.note("reduces_on_loss_after_ecn");
        true
    }
    fn cwnd_event(&mut self, _: &mut Window, event: Event) {
        match event {
            Event::Established { .. } => self.note("established"),
            Event::Complete => self.note("complete"),
            _ => {}
        }
    }
    fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        self.note("undo_cwnd");
        w.cwnd.max(prior)
    }
    fn alpha(&self) -> Option<f64> {
        None
    }
    fn pacing_rate(&self, _: u32) -> Rate {
        self.note("pacing_rate");
        Rate(100_000_000)
    }
    fn copy(&self) -> Box<dyn Control> {
        Box::new(self.clone())
    }
}

struct Recorders(Arc<Mutex<Vec<&'static str>>>, bool);

impl Factory for Recorders {
    fn start(&self) -> Box<dyn Control> {
        Box::new(Recorder(Arc::clone(&self.0)))
    }
    fn paces(&self) -> bool {
        self.1
    }
}

/// Calls of a connection that sends 200 segments, and its end.
fn calls_of(stack: &str, judge: fn(&PipePacket) -> Fate, paces: bool) -> (Vec<&'static str>, u64) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name: &'static str = format!("recorder-{}", NUMBER.fetch_add(1, Ordering::Relaxed)).leak();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let _registration = Registration::new(name, Arc::new(Recorders(Arc::clone(&calls), paces))).unwrap();
    let mut c = config(stack, "newreno");
    c.ecn = forebay_experiment::transport::Ecn::Classic;
    c.cc = built(name).unwrap();
    let mut pipe = Pipe::new(c, judge);
    pipe.transfer(200_000, 1_000_000 * MS);
    let calls = calls.lock().unwrap().clone();
    (calls, pipe.done)
}

fn calls(judge: fn(&PipePacket) -> Fate, paces: bool) -> (Vec<&'static str>, u64) {
    calls_of("rfc", judge, paces)
}

/// Every hook reaches the object, in the order of `congestion_control.rs`.
#[test]
fn hooks_reach_the_object() {
    let (clean, end) = calls(|_| PASS, false);
    assert_eq!(clean[..4], ["established", "in_ack_event", "pkts_acked", "cong_avoid"]);
    assert!(!clean.iter().any(|call| call.starts_with("ssthresh") || *call == "pacing_rate"), "{clean:?}");
    let (lost, _) = calls(|p| if p.data && p.again == 0 && p.offset == 50_000 { LOSE } else { PASS }, false);
    let count = |calls: &[&str], name: &str| calls.iter().filter(|call| **call == name).count();
    assert_eq!((count(&lost, "ssthresh: loss"), count(&lost, "complete")), (1, 1));
    let (marked, _) = calls(|p| if p.data && p.offset == 50_000 { MARK } else { PASS }, false);
    assert_eq!((count(&marked, "ssthresh: ecn"), count(&marked, "window_after_marks")), (1, 1));
    // A loss in the window of the mark: the object decides about a second reduction.
    let (both, _) = calls(
        |p| match p.data && p.again == 0 {
            true if p.offset == 50_000 => MARK,
            true if p.offset == 58_000 => LOSE,
            _ => PASS,
        },
        false,
    );
    assert_eq!(count(&both, "reduces_on_loss_after_ecn"), 1, "{both:?}");
    assert_eq!((count(&both, "ssthresh: ecn"), count(&both, "ssthresh: loss")), (1, 1));
    // 200 segments of 1000 bytes at 100 Mbps take 16 ms; without pacing they are limited by the window.
    let (paced, slow) = calls(|_| PASS, true);
    assert!(paced.contains(&"pacing_rate"));
    assert!(slow > 15 * MS && end < slow, "{slow} {end}");
}

/// A path that stops for 250 ms and then delivers everything in order: the timeout was spurious (RFC 5682, RFC 4015), and the object sets the window.
#[test]
fn undo_reaches_the_object() {
    let late = |p: &PipePacket| match p.data && p.offset >= 50_000 && p.now < 250 * MS {
        true => Fate { late: 250 * MS - p.now + p.number as u64 * 10 * US, ..PASS },
        false => PASS,
    };
    let (calls, _) = calls_of("linux", late, false);
    let timeout = calls.iter().position(|call| *call == "ssthresh: timeout").expect("a timeout");
    assert!(calls[timeout..].contains(&"undo_cwnd"), "{calls:?}");
}

/// Configurations are equal if their factory is the same object.
#[test]
fn configurations_compare_factories() {
    let factory: Arc<dyn Factory> = Arc::new(Paced(true));
    let register = |name, factory: &Arc<dyn Factory>| Registration::new(name, Arc::clone(factory)).unwrap();
    let _all = [register("same-1", &factory), register("same-2", &factory)];
    let other: Arc<dyn Factory> = Arc::new(Paced(true));
    let _other = register("other", &other);
    assert_eq!(built("same-1").unwrap(), built("same-2").unwrap());
    assert_ne!(built("same-1").unwrap(), built("other").unwrap());
    assert!(format!("{:?}", built("other").unwrap()).contains("paces: true"));
}
