//! Scripts as input only: packets and calls come at the script's times, regardless of its expectations of the endpoint.

use super::{BEGIN, Failure, Runner, broken};
use crate::command::{Effect, effects};
use crate::endpoint::Endpoint;
use crate::format::show;
use crate::observation::Observation;
use crate::script::{Action, Event, Segment, flag};

/// Time to wait for a packet that a script expects at any time, ps.
const MAX_WAIT: u64 = 10_000_000_000_000;

/// State of the endpoint that is recorded after a packet of its peer.
const VALUES: &[&str] = &[
    "tcpi_ca_state",
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_backoff",
    "tcpi_reordering",
    "tcpi_rto",
    "tcpi_rtt",
    "tcpi_rttvar",
    "tcpi_min_rtt",
];

impl<E: Endpoint> Runner<E> {
    /// Waits for a packet that the script expects at `time`, ps (`None`: at any time), and records the packets that leave.
    pub(super) fn await_packet(&mut self, line: usize, time: Option<u64>, expected: &Segment) -> Result<(), Failure> {
        match time {
            Some(time) => {
                self.advance(time)?;
                while self.happens(self.now)? {}
            }
            None => {
                let latest = self.now + MAX_WAIT;
                while self.endpoint.first_sent().is_none() && self.happens(latest)? {}
            }
        }
        self.note(line, Some(expected));
        Ok(())
    }

    /// Carries out the script's event, without its expectations.
    pub(super) fn act(&mut self, event: &Event, base: i64) -> Result<(), Failure> {
        match &event.action {
            Action::Out(_) | Action::Code(_) => {}
            Action::In(segment) => {
                self.note(event.line, None);
                let segment = self.stamps.translate(segment, self.now);
                // A packet that the endpoint cannot receive does not arrive.
                let arrived = self.endpoint.arrive(self.now, &segment);
                if let Err(problem) = arrived {
                    self.add(event.line, self.now, problem, None);
                } else if self.open && segment.flags & flag::SYN == 0 {
                    let values = self.endpoint.info().map_err(broken)?;
                    let of = |name: &str| values.iter().find(|v| v.0 == name).map(|v| format!("{} {}", &name[5..], v.1));
                    let texts: Vec<String> = VALUES.iter().filter_map(|name| of(name)).collect();
                    self.add(event.line, self.now, texts.join(", "), None);
                }
            }
            Action::Call(call) => {
                self.open = self.open && call.name != "close" || ["accept", "connect"].contains(&call.name.as_str());
                // Another result than the script's does not change its other calls.
                let _ = self.call(event.line, call, base, event.when);
            }
            Action::Command(text) => {
                for effect in effects(text) {
                    if let Effect::Set(name, value) = effect {
                        self.endpoint.set(&name, &value);
                    }
                }
            }
        }
        self.wake()
    }

    /// Records the packets that have left; the first of them is the expected one, if there is one.
    pub(super) fn note(&mut self, line: usize, expected: Option<&Segment>) {
        let mut expected = expected;
        while let Some(sent) = self.take_sent() {
            if let Some(expected) = expected.take() {
                self.stamps.note(expected, &sent.segment);
            }
            // Offered windows and the push flag are not compared.
            let mut segment = Segment { win: None, ..self.stamps.back(&sent.segment) };
            segment.flags &= !flag::PSH;
            if let Some(options) = &mut segment.options {
                (options.wscale, options.ts) = (None, None);
            }
            self.add(line, sent.time, show(&segment), Some(segment));
        }
    }

    fn add(&mut self, line: usize, ps: u64, what: String, packet: Option<Segment>) {
        let time = (ps / 1000) as i64 - BEGIN;
        self.seen.get_or_insert_default().push(Observation { line, time, what, packet });
    }
}
