//! Congestion controls that the caller of a run supplies as objects, such as those written in Python.
//!
//! A caller registers a [`Factory`] under a name. While it is registered, a transport with a congestion control of that name starts an object of
//! it for each connection, and every hook is a call of the object. The registry of scenarios does not list these names.

use super::{Ack, CongestionControl, Event, Reduction, Threshold, Window};
use forebay_experiment::topology::BuildError;
use forebay_types::Rate;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// Congestion control of one connection. The hooks are those of [`CongestionControl`], in the same order.
pub trait Control: Debug + Send + Sync {
    /// On every ACK, before recovery.
    fn in_ack_event(&mut self, w: &mut Window, ack: &Ack);
    /// On every ACK that advances, unless it starts a reduction.
    fn pkts_acked(&mut self, w: &mut Window, ack: &Ack);
    /// Growth of the window.
    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack);
    /// Threshold for a reduction that starts now.
    fn ssthresh(&mut self, w: &Window, reduction: Reduction) -> Threshold;
    /// Window after a reduction by marks.
    fn window_after_marks(&self, from: f64, threshold: Threshold) -> Threshold;
    /// Returns true if a loss reduces again in a window that ECE has reduced.
    fn reduces_on_loss_after_ecn(&self) -> bool;
    /// Another event.
    fn cwnd_event(&mut self, w: &mut Window, event: Event);
    /// Window after a spurious reduction.
    fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64;
    /// Estimate of the marked fraction.
    fn alpha(&self) -> Option<f64>;
    /// Pacing rate of payload for segments of `mss` bytes; for objects of a factory that [paces](Factory::paces).
    fn pacing_rate(&self, mss: u32) -> Rate;
    /// Copy with the same state.
    fn copy(&self) -> Box<dyn Control>;
}

/// Starts the congestion control of each connection.
pub trait Factory: Send + Sync {
    /// Starts the congestion control of a connection.
    fn start(&self) -> Box<dyn Control>;
    /// Returns true if its congestion controls set the pacing rate.
    fn paces(&self) -> bool;
}

type Factories = BTreeMap<String, Arc<dyn Factory>>;

static REGISTERED: RwLock<Factories> = RwLock::new(BTreeMap::new());

fn registered() -> RwLockReadGuard<'static, Factories> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a factory while it exists.
#[derive(Debug)]
pub struct Registration(String);

impl Registration {
    /// Registers `factory` under `name`.
    ///
    /// # Errors
    /// A name of the built-in registry, or one that is registered.
    pub fn new(name: &str, factory: Arc<dyn Factory>) -> Result<Registration, BuildError> {
        if super::find(name).is_some() {
            return Err(BuildError::new(
                "cc",
                format!("`{name}` is the name of a congestion control of the simulator; choose another name"),
            ));
        }
        let mut all = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        if all.contains_key(name) {
            return Err(BuildError::new(
                "cc",
                format!("another run in this process has a congestion control `{name}`; choose another name"),
            ));
        }
        all.insert(name.to_owned(), factory);
        Ok(Registration(name.to_owned()))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        REGISTERED.write().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// A registered factory.
#[derive(Clone)]
pub struct Config(Arc<dyn Factory>);

impl Config {
    /// The factory registered under `name`.
    pub(super) fn find(name: &str) -> Option<Config> {
        registered().get(name).cloned().map(Config)
    }

    /// Returns true if its congestion controls set the pacing rate.
    pub(super) fn paces(&self) -> bool {
        self.0.paces()
    }
}

impl Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("paces", &self.0.paces()).finish_non_exhaustive()
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Config) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Congestion control of one connection; `PACED`: it sets the pacing rate.
#[derive(Debug)]
pub struct Object<const PACED: bool>(Box<dyn Control>);

/// An object that leaves pacing to the stack.
pub type External = Object<false>;
/// An object that sets the pacing rate.
pub type PacedExternal = Object<true>;

impl<const PACED: bool> Object<PACED> {
    pub(super) fn new(c: &Config) -> Self {
        Object(c.0.start())
    }
}

impl<const PACED: bool> Clone for Object<PACED> {
    fn clone(&self) -> Self {
        Object(self.0.copy())
    }
}

impl<const PACED: bool> CongestionControl for Object<PACED> {
    type Sent = ();
    const PACING_RATE: Option<fn(&Self, u32) -> Rate> = if PACED { Some(|cc, mss| cc.0.pacing_rate(mss)) } else { None };

    fn in_ack_event(&mut self, w: &mut Window, ack: &Ack) {
        self.0.in_ack_event(w, ack);
    }

    fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        self.0.pkts_acked(w, ack);
    }

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        self.0.cong_avoid(w, ack);
    }

    fn ssthresh(&mut self, w: &Window, reduction: Reduction) -> Threshold {
        self.0.ssthresh(w, reduction)
    }

    fn window_after_marks(&self, from: f64, threshold: Threshold) -> Threshold {
        self.0.window_after_marks(from, threshold)
    }

    fn reduces_on_loss_after_ecn(&self) -> bool {
        self.0.reduces_on_loss_after_ecn()
    }

    fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        self.0.cwnd_event(w, event);
    }

    fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        self.0.undo_cwnd(w, prior)
    }

    fn alpha(&self) -> Option<f64> {
        self.0.alpha()
    }
}
