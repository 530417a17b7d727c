//! Congestion controls that the caller of a run registers.

use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Chosen;
use forebay_sim::cc::external_control::{Control, Factory, Registration};
use forebay_sim::cc::{Ack, Cc, CcConfig, Event, Reduction, Threshold, Trigger, Window, build};
use forebay_types::Rate;
use forebay_types::param::Values;
use std::sync::Arc;

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
