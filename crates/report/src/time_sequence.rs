//! Time-sequence graph of one flow (Stevens, TCP/IP Illustrated, section 20): sequence numbers over time as the sender sees them, with the congestion
//! window and the state of loss recovery below.

use crate::page::{
    Chart, Dimension, EventKind, Events, Fact, Figure, Headline, Page, Panel, Section, Subject, Term, TimeChart, TimeLine, Times,
    View,
};
use forebay_experiment::rows::TcpRow;
use forebay_store::capture::{FlowEventKind, FlowTrace};

/// Maximum number of packets in a picture. Our choice: browsers draw them without delay.
const MAX_PACKETS: usize = 20_000;
/// Time between strokes at the same instant, s: below a pixel at any zoom.
const STROKE: f64 = 1e-12;
/// States of loss recovery by their number in Linux, with the subjects whose colors they have.
const STATES: [(&str, usize); 5] = [("open", DATA), ("disorder", SACK), ("CWR", ACK), ("recovery", AGAIN), ("loss", STATE)];

/// Subjects of the page. Each has a color.
const SUBJECTS: [&str; 6] = ["data", "ACK", "retransmission", "SACK block", "window edge", "loss recovery"];
const DATA: usize = 0;
const ACK: usize = 1;
const AGAIN: usize = 2;
const SACK: usize = 3;
const EDGE: usize = 4;
const STATE: usize = 5;

/// Contents of a picture.
#[derive(Debug)]
pub struct TimeSequence<'a> {
    /// Heading.
    pub title: String,
    /// One line about the flow.
    pub summary: String,
    /// Losses, marks and retransmissions, a sentence each.
    pub sentences: Vec<String>,
    /// Origin of the picture.
    pub facts: Vec<Fact>,
    /// Packets.
    pub flow: &'a FlowTrace,
    /// States of the sender, in order of time.
    pub states: &'a [TcpRow],
    /// Times at which retransmission timers expired, ps.
    pub timeouts: &'a [u64],
    /// Begin and end of the picture, ps.
    pub range: (u64, u64),
}

/// Values of a line, with times in seconds.
#[derive(Default)]
struct Points {
    at: Vec<f64>,
    y: Vec<Option<f64>>,
    /// Lower ends of strokes.
    low: Vec<Option<f64>>,
}

impl Points {
    fn push(&mut self, time: f64, y: Option<f64>) {
        // Times of a line ascend.
        let time = self.at.last().map_or(time, |last| time.max(last + STROKE));
        self.at.push(time);
        self.y.push(y);
    }

    /// A vertical stroke from `low` to `high`.
    fn stroke(&mut self, time: f64, low: u64, high: u64) {
        self.push(time, Some(high as f64));
        self.low.push(Some(low as f64));
    }

    /// A step to `y`.
    fn step(&mut self, time: f64, y: f64) {
        if let Some(last) = self.y.last().copied().flatten() {
            if last == y {
                return;
            }
            self.push(time, Some(last));
        }
        self.push(time, Some(y));
    }

    /// The last value until `time`.
    fn end(&mut self, time: f64) {
        if let Some(last) = self.y.last().copied().flatten() {
            self.push(time, Some(last));
        }
    }

    fn line(self, subject: usize, label: &str) -> Option<TimeLine> {
        let (at, y, low) = (Times::List(self.at), self.y, self.low);
        let strokes = !low.is_empty();
        (!y.is_empty()).then(|| TimeLine { subject: Some(subject), label: label.into(), at, y, low, strokes })
    }
}

/// A time in seconds.
fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}

/// The page with the picture.
pub fn time_sequence(of: &TimeSequence<'_>) -> Page {
    let (from, to) = of.range;
    let within = |time: u64| (from..=to).contains(&time);
    let all = of.flow.events().iter().filter(|e| within(e.time_ps));
    let shown = all.clone().take(MAX_PACKETS);
    let until = if all.count() > MAX_PACKETS { shown.clone().last().map_or(to, |e| e.time_ps) } else { to };
    let mut sequence = Sequence::default();
    shown.for_each(|e| sequence.add(seconds(e.time_ps), &e.kind));
    let timeouts: Vec<f64> = of.timeouts.iter().filter(|t| within(**t) && **t <= until).map(|t| seconds(*t)).collect();
    let mut panels = vec![sequence.panel(seconds(until), timeouts)];
    let states: Vec<&TcpRow> = of.states.iter().filter(|row| within(row.time_ps) && row.time_ps <= until).collect();
    panels.extend(windows(&states, seconds(until)));
    let mut note = String::new();
    if until < to {
        note = format!("The first {MAX_PACKETS} packets are shown; the files have all.");
    }
    let figure = Figure {
        id: "time-sequence".into(),
        title: "Sequence numbers over time".into(),
        text: "As the sender sees its packets: a stroke for each segment, from its first to its last byte; the line below is the acknowledgment \
               number, and the line above the right edge of the receive window."
            .into(),
        views: vec![View { name: String::new(), chart: Chart::Time(TimeChart { panels, note }) }],
        ..Figure::default()
    };
    Page {
        title: of.title.clone(),
        summary: of.summary.clone(),
        facts: of.facts.clone(),
        subjects: SUBJECTS.map(|name| Subject { name: name.into(), ..Subject::default() }).into(),
        headline: Headline { sentences: of.sentences.clone(), charts: Vec::new() },
        sections: vec![Section {
            id: "flow".into(),
            title: "Time-sequence graph".into(),
            figures: vec![figure],
            ..Section::default()
        }],
        glossary: glossary(),
        ..Page::default()
    }
}

/// Lines of the upper panel.
#[derive(Default)]
struct Sequence {
    data: Points,
    again: Points,
    acks: Points,
    edge: Points,
    sack: Points,
    marks: Vec<f64>,
    drops: Vec<f64>,
}

impl Sequence {
    fn add(&mut self, time: f64, kind: &FlowEventKind) {
        match kind {
            FlowEventKind::Sent { start, end, again, .. } if end > start => {
                let line = if *again { &mut self.again } else { &mut self.data };
                line.stroke(time, *start, *end);
            }
            FlowEventKind::Received { acked, edge, sack, .. } => {
                self.acks.step(time, *acked as f64);
                self.edge.step(time, *edge as f64);
                sack.iter().for_each(|(start, end)| self.sack.stroke(time, *start, *end));
            }
            FlowEventKind::Marked { .. } => self.marks.push(time),
            FlowEventKind::Lost { .. } => self.drops.push(time),
            FlowEventKind::Sent { .. } => {}
        }
    }

    fn panel(mut self, until: f64, timeouts: Vec<f64>) -> Panel {
        self.acks.end(until);
        self.edge.end(until);
        let lines = [
            self.data.line(DATA, "data"),
            self.again.line(AGAIN, "retransmission"),
            self.acks.line(ACK, "ACK"),
            self.sack.line(SACK, "SACK block"),
            self.edge.line(EDGE, "window edge"),
        ];
        let events = [
            (self.marks, EventKind::Mark, EDGE, "marked by a queue"),
            (self.drops, EventKind::Drop, AGAIN, "lost"),
            (timeouts, EventKind::Timeout, STATE, "retransmission timeout"),
        ];
        let events = events.into_iter().filter(|e| !e.0.is_empty()).map(|(at, kind, subject, label)| Events {
            subject: Some(subject),
            label: label.into(),
            kind,
            n: vec![1; at.len()],
            at,
        });
        Panel {
            title: "Sequence number".into(),
            unit: Dimension::Bytes,
            lines: lines.into_iter().flatten().collect(),
            events: events.collect(),
            thresholds: Vec::new(),
            tall: true,
        }
    }
}

/// Panels of the windows, and of the state of loss recovery as a band for each state.
fn windows(states: &[&TcpRow], until: f64) -> Vec<Panel> {
    let (mut cwnd, mut ssthresh) = (Points::default(), Points::default());
    let mut bands: [Points; STATES.len()] = Default::default();
    for (number, row) in states.iter().enumerate() {
        let time = seconds(row.time_ps);
        cwnd.step(time, row.cwnd);
        if let Some(threshold) = row.ssthresh {
            ssthresh.step(time, threshold);
        }
        let begins = number == 0 || states[number - 1].ca_state != row.ca_state;
        let next = states[number..].iter().find(|next| next.ca_state != row.ca_state);
        if let Some(band) = bands.get_mut(usize::from(row.ca_state)).filter(|_| begins) {
            let level = f64::from(row.ca_state);
            band.push(time, Some(level));
            let end = next.map_or(until, |next| seconds(next.time_ps));
            band.push(end, Some(level));
            band.push(end, None);
        }
    }
    cwnd.end(until);
    ssthresh.end(until);
    let windows = [cwnd.line(ACK, "cwnd"), ssthresh.line(EDGE, "ssthresh")];
    let panel = |title: &str, unit, lines| Panel { title: title.into(), unit, lines, ..Panel::default() };
    let bands = bands.into_iter().zip(STATES).filter_map(|(band, (name, subject))| band.line(subject, name));
    vec![
        panel("Congestion window", Dimension::Segments, windows.into_iter().flatten().collect()),
        panel("State of loss recovery (0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss)", Dimension::Count, bands.collect()),
    ]
}

fn glossary() -> Vec<Term> {
    let term = |name: &str, unit: &str, text: &str| Term { name: name.into(), unit: unit.into(), text: text.into() };
    vec![
        term("data", "bytes", "a segment that the sender's host has put on the wire for the first time"),
        term("retransmission", "bytes", "a segment with bytes that were sent before"),
        term("ACK", "bytes", "acknowledgment number of the ACKs that have reached the sender's host"),
        term("SACK block", "bytes", "data beyond the acknowledgment number that an ACK reports as received"),
        term("window edge", "bytes", "acknowledgment number plus the receive window: the sender may not send beyond it"),
        term("marked by a queue", "", "a switch has set CE (congestion experienced) in a packet of the flow"),
        term("lost", "", "a queue has dropped a packet of the flow, or a link has lost it"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_have_ascending_times() {
        let mut points = Points::default();
        points.stroke(1.0, 0, 10);
        points.stroke(1.0, 10, 20);
        assert!(points.at.windows(2).all(|w| w[0] < w[1]), "{:?}", points.at);
        assert_eq!((points.y, points.low), ([10.0, 20.0].map(Some).to_vec(), [0.0, 10.0].map(Some).to_vec()));
    }

    #[test]
    fn steps_hold_until_the_next_value() {
        let mut points = Points::default();
        points.step(1.0, 5.0);
        points.step(2.0, 5.0);
        points.step(3.0, 7.0);
        points.end(4.0);
        assert_eq!(points.y, [5.0, 5.0, 7.0, 7.0].map(Some));
        assert_eq!(points.at.first().zip(points.at.last()), Some((&1.0, &4.0)));
    }

    #[test]
    fn states_are_bands_without_gaps() {
        let row = |ms: u64, ca_state| TcpRow {
            time_ps: ms * 1_000_000_000,
            conn_id: 0,
            cwnd: 10.0,
            ssthresh: None,
            unacked_bytes: 0,
            srtt_ps: None,
            rto_ps: 0,
            alpha: None,
            bytes_acked: 0,
            retrans: 0,
            ca_state,
            cc: Default::default(),
        };
        let rows = [row(1, 0), row(2, 0), row(3, 3), row(5, 0)];
        let panels = windows(&rows.iter().collect::<Vec<_>>(), 0.006);
        let lines = &panels[1].lines;
        assert_eq!(lines.iter().map(|l| l.label.as_str()).collect::<Vec<_>>(), ["open", "recovery"]);
        let Times::List(at) = &lines[1].at else { panic!("times") };
        assert!((at[0] - 0.003).abs() < 1e-9 && (at[1] - 0.005).abs() < 1e-9, "{at:?}");
    }
}
