//! The process that the user has started. Its caller must take the next event without delay, because only then the process detects that
//! the guard hangs.

use super::channel::{Channel, Received, wait};
use super::rollback::{Found, keep, roll_back};
use super::signals::{self, Signals};
use super::{Command, Ending, Event, Order, Report, Subject};
use crate::lease::LEASE;
use crate::state::{Attachment, Guard};
use crate::{Error, Health};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_secs(1);
/// Seconds without a report that the guard has to attach, or to wait for the lock and roll back.
const BUSY: u32 = 60;

/// A guard, from the side of its user. If it is dropped before [`Event::Ended`], the guard rolls back.
#[derive(Debug)]
pub struct Foreground {
    channel: Channel,
    signals: Signals,
    guard: Guard,
    name: String,
    copy: Option<Attachment>,
    done: Vec<String>,
    keep_on_interrupt: bool,
    /// The guard creates the attachment.
    is_new: bool,
    /// Seconds without a report, and how many of them there may be.
    quiet: u32,
    allowed: u32,
    state: State,
    /// Reason of a rollback that has begun.
    why: Option<String>,
    interrupted: bool,
    notes: VecDeque<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The guard measures and attaches.
    Starting,
    /// The guard judges.
    Guarded,
    /// The user wants to keep the attachment.
    Keeping,
    /// The guard has ended or hangs: this process rolls back, or keeps.
    Alone {
        keep: bool,
        started: bool,
    },
    Over,
}

impl Iterator for Foreground {
    type Item = Event;

    /// Waits for the next event. [`Event::Ended`] is the last.
    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(note) = self.notes.pop_front() {
                return Some(Event::Note(note));
            }
            match self.state {
                State::Over => return None,
                State::Alone { keep, started } => {
                    if let Some(event) = self.alone(keep, started) {
                        return Some(event);
                    }
                }
                State::Starting | State::Guarded | State::Keeping => {
                    if let Some(event) = self.step() {
                        return Some(event);
                    }
                }
            }
        }
    }
}

impl Foreground {
    pub(super) fn new(order: &Order, guard: Guard, channel: Channel, signals: Signals) -> Foreground {
        Foreground {
            channel,
            signals,
            guard,
            name: match &order.subject {
                Subject::New(request) => request.registered_name(),
                Subject::Attached(name) => name.clone(),
            },
            copy: None,
            done: Vec::new(),
            keep_on_interrupt: order.keep_on_interrupt,
            is_new: matches!(order.subject, Subject::New(_)),
            quiet: 0,
            allowed: BUSY,
            state: State::Starting,
            why: None,
            interrupted: false,
            notes: VecDeque::new(),
        }
    }

    /// Name of the attachment.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn over(&mut self, ending: Ending) -> Option<Event> {
        self.state = State::Over;
        Some(Event::Ended(ending))
    }

    /// Waits for the guard and for signals, at most a second.
    fn step(&mut self) -> Option<Event> {
        let woken = wait(&[self.channel.as_fd(), self.signals.as_fd()], TICK);
        if let Some(signal) = self.signals.next() {
            return self.signal(signal);
        }
        match self.channel.receive() {
            Received::Message(report) => {
                self.quiet = 0;
                return self.report(report);
            }
            Received::Closed => self.take_over("the guard has ended".into()),
            // Seconds in which this process itself did not run are not counted.
            Received::Nothing if !woken => {
                self.quiet += 1;
                if self.quiet >= self.allowed {
                    self.take_over(format!("the guard has not renewed its lease for {} s", self.quiet));
                }
            }
            Received::Nothing => {}
        }
        None
    }

    /// Handles a signal.
    fn signal(&mut self, signal: i32) -> Option<Event> {
        if self.state == State::Keeping || self.why.is_some() {
            return Some(Event::Note(format!(
                "{} is under way; the guard, process {}, continues if this process is killed",
                self.ending(),
                self.guard.process
            )));
        }
        let name = signals::name(signal);
        // A new attachment is not kept before it is guarded: it may not be there yet.
        let is_there = !self.is_new || self.state != State::Starting;
        if signal == libc::SIGINT && self.keep_on_interrupt && is_there {
            self.state = State::Keeping;
            self.channel.send(&Command::Keep);
            return None;
        }
        self.interrupted = signal == libc::SIGINT;
        if self.state == State::Starting {
            // The guard measures or attaches, and does not handle messages. This process undoes incomplete changes.
            self.take_over(name);
            return None;
        }
        self.channel.send(&Command::RollBack(name.clone()));
        let hint = if self.interrupted { " (--keep-on-interrupt leaves it attached)" } else { "" };
        self.why = Some(name.clone());
        Some(Event::Note(format!("{name}: rolling back{hint}")))
    }

    fn ending(&self) -> &'static str {
        if self.state == State::Keeping { "keeping the attachment" } else { "rolling back" }
    }

    fn report(&mut self, report: Report) -> Option<Event> {
        match report {
            Report::Done(line) => {
                self.done.push(line);
                None
            }
            Report::Guarded { attachment, before } => Some(self.guarded(attachment, before)),
            Report::Second { at, now } => Some(Event::Second { at, now }),
            Report::Note(text) => Some(Event::Note(text)),
            Report::RollingBack(why) => {
                self.allowed = BUSY;
                self.why = Some(why);
                None
            }
            Report::Stuck(error) => {
                self.notes.push_back(format!("rolling back {} failed and will be retried: {error}", self.name));
                // This process may be able to do what the guard cannot; the guard would retry for ever.
                let found = self.attempt().ok()?;
                self.end_guard();
                self.finished(found)
            }
            Report::Refused(error) => {
                // The guard may have left changes that it could not undo.
                match self.attempt() {
                    Ok(_) => self.over(Ending::Refused(error)),
                    Err(_) => {
                        self.take_over(error);
                        None
                    }
                }
            }
            Report::Kept => self.over(Ending::Kept),
            Report::Detached => self.over(Ending::Detached),
            Report::RolledBack(why) => {
                self.why = Some(why);
                self.finished(Found::Ours)
            }
        }
    }

    fn guarded(&mut self, attachment: Option<Box<Attachment>>, before: Health) -> Event {
        self.allowed = LEASE.as_secs() as u32;
        self.state = State::Guarded;
        if let Some(attachment) = attachment {
            self.name.clone_from(&attachment.name);
            self.copy = Some(*attachment);
        }
        Event::Guarded { process: self.guard.process, done: std::mem::take(&mut self.done), before }
    }

    /// Ends the guard if it has not ended, and takes over its task.
    fn take_over(&mut self, why: String) {
        self.end_guard();
        self.why.get_or_insert(why);
        self.state = State::Alone { keep: self.state == State::Keeping, started: self.state != State::Starting };
    }

    /// Kills the process of the guard and waits, for a second at most, until it has ended.
    fn end_guard(&self) {
        let child = Pid::from_raw(self.guard.process.cast_signed());
        // It is a child of this process that was not waited for: no other process can have its number. A failure means that it has ended.
        let _ = kill(child, Signal::SIGKILL);
        let begin = Instant::now();
        while waitpid(child, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive) && begin.elapsed() < TICK {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn attempt(&mut self) -> Result<Found, Error> {
        let notes = &mut self.notes;
        roll_back(&self.name, self.guard, self.copy.as_ref(), &mut |n| notes.push_back(n))
    }

    /// One attempt, followed by a pause of a second if it failed.
    fn alone(&mut self, wanted: bool, started: bool) -> Option<Event> {
        let done = if wanted {
            let notes = &mut self.notes;
            keep(&self.name, self.guard, self.copy.as_ref(), &mut |n| notes.push_back(n)).map(|_| Found::Kept)
        } else {
            self.attempt()
        };
        match done {
            Ok(Found::Gone) if !started => {
                let why = self.why.clone().unwrap_or_default();
                let interrupted = self.interrupted;
                self.over(Ending::Cancelled { why, interrupted })
            }
            Ok(found) => self.finished(found),
            Err(e) => {
                std::thread::sleep(TICK);
                let what = if wanted { "keeping" } else { "rolling back" };
                Some(Event::Note(format!("{what} {} failed and will be retried: {e}", self.name)))
            }
        }
    }

    fn finished(&mut self, found: Found) -> Option<Event> {
        let why = self.why.clone().unwrap_or_default();
        let interrupted = self.interrupted;
        self.over(match found {
            Found::Kept => Ending::Kept,
            Found::Ours | Found::Gone => Ending::RolledBack { why, interrupted },
        })
    }
}
