//! Message exchange with a guest: the plan and its version, then the messages of the guest until the end of the run, and its failures.

use super::Run;
use crate::link::{Frames, Incoming, Link};
use crate::plan::Plan;
use crate::protocol::{self, Ask, Done, Hello, LOG, Record, text_in};
use crate::socket_state::SocketState;
use forebay_experiment::Experiment;
use forebay_experiment::report::{EarlyEnd, Progress, Report};
use forebay_experiment::topology::Fib;
use forebay_types::Time;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Longest wait for the guest before the next check whether the run has to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Frames between two calls of the progress callback while frames of the guest arrive.
const FRAMES_PER_LOOK: u32 = 64;

/// End of a run without a report.
#[derive(Debug)]
pub enum Failed {
    /// The progress callback asked for it.
    Interrupted,
    /// The guest, or the conversation with it; in words.
    Guest(String),
}

impl From<io::Error> for Failed {
    fn from(e: io::Error) -> Failed {
        Failed::Guest(format!("lost the connection to the guest: {e}"))
    }
}

/// Progress callback; it can end the run.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>;

/// Runs `experiment` under `seed` as planned, with the guest at the other end of `link`, whatever that is. `patience`: how long it may be
/// silent.
///
/// # Errors
/// Being stopped, and what the guest fails at.
pub fn run_guest(
    experiment: &Experiment,
    seed: u64,
    fib: &Fib,
    plan: &Plan,
    link: &mut Link,
    patience: Duration,
    watch: Watch<'_>,
) -> Result<Report, Failed> {
    run_guest_with_states(experiment, seed, fib, plan, link, patience, watch).map(|(report, _)| report)
}

/// As [`run_guest`], with the states of sockets if the plan records them.
pub(crate) fn run_guest_with_states(
    experiment: &Experiment,
    seed: u64,
    fib: &Fib,
    plan: &Plan,
    link: &mut Link,
    patience: Duration,
    watch: Watch<'_>,
) -> Result<(Report, Vec<SocketState>), Failed> {
    hello(link, plan, experiment, seed, patience)?;
    Run::new(experiment, seed, fib, plan).talk(link, patience, watch)
}

/// Sends the plan to the guest, and receives which kernel it is.
pub(crate) fn hello(
    link: &mut Link,
    plan: &Plan,
    experiment: &Experiment,
    seed: u64,
    patience: Duration,
) -> Result<String, Failed> {
    let mut frames = Frames::default();
    plan.frames(experiment, seed, &mut frames);
    link.send(&mut frames)?;
    let begin = Instant::now();
    let mut said = String::new();
    while begin.elapsed() < patience {
        match link.next(LOOK)? {
            Incoming::Silence => {}
            Incoming::End if said.is_empty() => return Err(Failed::Guest("the guest ended before it was ready".into())),
            Incoming::End => {
                return Err(Failed::Guest(format!("the guest ended before it was ready; its log: {}", said.trim_end())));
            }
            Incoming::Frame(frame) if frame.kind == LOG => said.push_str(&frame.text()),
            Incoming::Frame(frame) => {
                let Some(hello) = frame.only::<Hello>() else { continue };
                if (hello.protocol, hello.record_sizes) != (protocol::PROTOCOL, protocol::RECORD_SIZES) {
                    return Err(Failed::Guest("the kernel was built by another version of this program: build it again".into()));
                }
                return Ok(text_in(&hello.version));
            }
        }
    }
    Err(Failed::Guest(format!("the guest was not ready after {} s", patience.as_secs())))
}

impl Run<'_> {
    /// Talks to a guest that has the plan, until the run is over. `patience`: how long it may be silent.
    pub(crate) fn talk(
        mut self,
        link: &mut Link,
        patience: Duration,
        watch: Watch<'_>,
    ) -> Result<(Report, Vec<SocketState>), Failed> {
        let (mut heard, mut frames) = (Instant::now(), 0);
        loop {
            let mut look = false;
            let mut out = None;
            match link.next(LOOK)? {
                Incoming::End => return Err(Failed::Guest(format!("the guest ended before the run did{}", self.said()))),
                Incoming::Silence if heard.elapsed() > patience => {
                    return Err(Failed::Guest(format!("no message from the guest for {} s", patience.as_secs())));
                }
                Incoming::Silence => look = true,
                Incoming::Frame(frame) => {
                    heard = Instant::now();
                    frames += 1;
                    match frame.kind {
                        Ask::KIND => {
                            let Some(ask) = frame.only::<Ask>() else { continue };
                            self.answer(Time(ask.now));
                            out = Some(&mut self.hosts.frames);
                        }
                        Done::KIND => break,
                        _ => self.note(frame)?,
                    }
                }
            }
            if let Some(out) = out
                && let Err(e) = link.send(out)
            {
                // It has ended during the answer: its earlier messages are still in the pipe.
                while let Ok(Incoming::Frame(frame)) = link.next(LOOK) {
                    if frame.kind == LOG {
                        self.log.push_str(&frame.text());
                    }
                }
                return Err(Failed::Guest(format!("lost the connection to the guest: {e}{}", self.said())));
            }
            if look || frames >= FRAMES_PER_LOOK {
                frames = 0;
                match watch(self.progress()) {
                    ControlFlow::Continue(()) => {}
                    ControlFlow::Break(EarlyEnd::Discard) => return Err(Failed::Interrupted),
                    ControlFlow::Break(EarlyEnd::WithReport) => {
                        self.cut = true;
                        break;
                    }
                }
            }
        }
        let last = self.progress();
        let states = std::mem::take(&mut self.states);
        let report = self.report();
        let _ = watch(Progress { now: report.end, ..last });
        Ok((report, states))
    }

    /// The guest's log, appended to error messages.
    fn said(&self) -> String {
        if self.log.is_empty() { String::new() } else { format!("; its log: {}", self.log.trim_end()) }
    }
}
