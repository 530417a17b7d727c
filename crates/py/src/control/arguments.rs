//! Arguments of the hooks of a congestion control, as Python objects. Times are in seconds.

use forebay_sim::cc;
use forebay_types::{Time, TimeOrNever};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn seconds(time: Option<Time>) -> Option<f64> {
    time.map(Time::as_secs_f64)
}

fn seconds_or_never(time: TimeOrNever) -> Option<f64> {
    seconds(time.get())
}

/// Congestion window and slow start threshold of a connection, in segments, with fractions. Hooks may change both.
#[pyclass(module = "forebay")]
#[derive(Debug)]
pub(crate) struct Window {
    /// Congestion window, segments.
    #[pyo3(get, set)]
    cwnd: f64,
    /// Slow start threshold, segments; infinite until it is set.
    #[pyo3(get, set)]
    ssthresh: f64,
}

#[pymethods]
impl Window {
    /// A window; for tests of a congestion control.
    #[new]
    #[pyo3(signature = (cwnd, ssthresh=f64::INFINITY))]
    pub(super) fn new(cwnd: f64, ssthresh: f64) -> Window {
        Window { cwnd, ssthresh }
    }

    /// True if the window is below the threshold.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.to_sim().in_slow_start()
    }

    /// Slow start by `grow` segments; returns the rest for congestion avoidance after reaching the threshold.
    fn slow_start(&mut self, grow: f64) -> f64 {
        let mut w = self.to_sim();
        let rest = w.slow_start(grow);
        self.take(&w);
        rest
    }

    /// Standard growth: slow start below the threshold, one segment per window above (RFC 5681 section 3.1).
    fn reno(&mut self, grow: f64) {
        let mut w = self.to_sim();
        w.reno(grow);
        self.take(&w);
    }

    fn __repr__(&self) -> String {
        format!("Window(cwnd={}, ssthresh={})", self.cwnd, self.ssthresh)
    }
}

impl Window {
    fn to_sim(&self) -> cc::Window {
        cc::Window { cwnd: self.cwnd, ssthresh: self.ssthresh.into() }
    }

    /// Takes the values of `w`.
    pub(super) fn take(&mut self, w: &cc::Window) {
        (self.cwnd, self.ssthresh) = (w.cwnd, w.ssthresh.or_infinite());
    }

    /// The values that the hook called `hook` left, if they are legal.
    pub(super) fn checked(&self, hook: &str) -> PyResult<cc::Window> {
        if !self.cwnd.is_finite() || self.cwnd < 1.0 {
            let message = format!("`cwnd` is {} after `{hook}`; legal: a finite number of segments, at least 1", self.cwnd);
            return Err(PyValueError::new_err(message));
        }
        segments(self.ssthresh, &format!("`ssthresh` after `{hook}`"))?;
        Ok(self.to_sim())
    }
}

/// A threshold or window, if it is legal; `what` names it.
pub(super) fn segments(value: f64, what: &str) -> PyResult<f64> {
    // NaN is refused as well.
    if value >= 1.0 { Ok(value) } else { Err(PyValueError::new_err(format!("{what} is {value}; legal: segments, at least 1"))) }
}

/// Facts about one ACK.
#[pyclass(module = "forebay", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct Ack {
    /// Time, seconds.
    now: f64,
    /// Stream offset after the ACK, bytes.
    snd_una: u64,
    /// Stream offset of the next new byte.
    snd_nxt: u64,
    /// Bytes newly acknowledged cumulatively; 0 for a duplicate.
    acked: u64,
    /// Bytes newly delivered, including SACKed ones.
    delivered: u64,
    /// Segments newly delivered, however short; without a scoreboard as many as the bytes need.
    segments: u64,
    /// Segments newly marked lost; none before loss detection of the ACK.
    lost: u32,
    /// Bytes in the network: without SACKed and lost segments where there is a scoreboard.
    in_flight: u64,
    /// True if the window limited sending in the last round trip; None where the stack does not track it.
    window_limited: Option<bool>,
    /// True if the ACK carries ECE.
    ece: bool,
    /// Segments of growth, by the stack's counting rule.
    grow: f64,
    /// RTT sample of this ACK, seconds, if any.
    rtt: Option<f64>,
    /// RTT of the newest segment that it acknowledges, seconds; None if one of them had been retransmitted.
    newest_rtt: Option<f64>,
    /// Smoothed RTT, seconds; None before the first sample.
    srtt: Option<f64>,
    /// Smallest RTT of the connection so far, seconds.
    min_rtt: Option<f64>,
    /// Payload bytes of a full segment.
    mss: u32,
}

impl From<&cc::Ack> for Ack {
    fn from(a: &cc::Ack) -> Ack {
        Ack {
            now: a.now.as_secs_f64(),
            snd_una: a.snd_una,
            snd_nxt: a.snd_nxt,
            acked: a.acked,
            delivered: a.delivered,
            segments: a.segments_delivered(),
            lost: a.lost,
            in_flight: a.in_flight(),
            window_limited: a.window_limited,
            ece: a.ece,
            grow: a.grow,
            rtt: seconds(a.rtt),
            newest_rtt: seconds(a.newest_rtt),
            srtt: seconds_or_never(a.srtt),
            min_rtt: seconds_or_never(a.min_rtt),
            mss: a.mss,
        }
    }
}

/// A reduction that begins.
#[pyclass(module = "forebay", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct Reduction {
    /// Cause: `"ecn"`, `"loss"` or `"timeout"`.
    trigger: &'static str,
    /// Window or flight from which the stack reduces, segments.
    base: f64,
    /// Bytes in the network.
    in_flight: u64,
}

impl From<cc::Reduction> for Reduction {
    fn from(r: cc::Reduction) -> Reduction {
        let trigger = match r.trigger {
            cc::Trigger::Ecn => "ecn",
            cc::Trigger::Loss => "loss",
            cc::Trigger::Timeout => "timeout",
        };
        Reduction { trigger, base: r.from, in_flight: r.in_flight }
    }
}

/// An event other than an ACK. Attributes that an event does not have are None.
#[pyclass(module = "forebay", frozen, get_all)]
#[derive(Debug, Default)]
pub(crate) struct Event {
    /// Name of the event.
    ///
    /// * `"established"`: the handshake is complete.
    /// * `"write"`: the application wrote a message.
    /// * `"tx-start"`: first transmission after nothing was outstanding.
    /// * `"counted"`: a stack without SACK counted a duplicate ACK as an arrived segment.
    /// * `"recovery"`: fast recovery begins.
    /// * `"timeout"`: a retransmission timeout; the window is 1 now.
    /// * `"complete"`: an episode of recovery ended.
    /// * `"restart"`: the window was reduced after an idle time.
    kind: &'static str,
    /// Of `tx-start`: time, seconds.
    now: Option<f64>,
    /// Of `tx-start`: time since the last transmission, seconds.
    idle: Option<f64>,
    /// Of `write`: stream offset of the first byte.
    begin: Option<u64>,
    /// Of `write`: stream offset behind the last byte.
    end: Option<u64>,
    /// Of `write`: deadline, seconds, if the message has one.
    deadline: Option<f64>,
    /// Of `established`: RTT of SYN and SYN-ACK, seconds, if it could be measured.
    rtt: Option<f64>,
    /// Of `counted`: true if the duplicate ACK carries ECE.
    ece: Option<bool>,
    /// Of `timeout`: stream offset behind the highest byte sent so far.
    snd_max: Option<u64>,
}

impl Event {
    /// The event for an object in Python; None for one that only congestion controls with records of segments get.
    pub(crate) fn of(e: cc::Event) -> Option<Event> {
        let of = |kind| Event { kind, ..Event::default() };
        Some(match e {
            cc::Event::TxStart { now, idle } => {
                Event { now: Some(now.as_secs_f64()), idle: Some(idle.as_secs_f64()), ..of("tx-start") }
            }
            cc::Event::Write { begin, end, deadline } => {
                Event { begin: Some(begin), end: Some(end), deadline: seconds(deadline), ..of("write") }
            }
            cc::Event::AppLimited(_) => return None,
            cc::Event::Established { rtt } => Event { rtt: seconds(rtt), ..of("established") },
            cc::Event::Counted { ece } => Event { ece: Some(ece), ..of("counted") },
            cc::Event::Recovery => of("recovery"),
            cc::Event::Restart => of("restart"),
            cc::Event::Timeout { snd_max } => Event { snd_max: Some(snd_max), ..of("timeout") },
            cc::Event::Complete => of("complete"),
        })
    }
}
