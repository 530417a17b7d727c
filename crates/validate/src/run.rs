//! Runs a script: its events in order, in virtual time.

mod stamps;
mod watch;

use crate::code::{self, Fault, Names};
use crate::command::{Effect, effects};
use crate::connection::Sent;
use crate::endpoint::{Endpoint, Returned};
use crate::features::{self, CONSTANTS};
use crate::format::{seconds, show};
use crate::kernel::{self, Kernel};
use crate::observation::Observation;
use crate::outcome::{Options, Outcome, Stack};
use crate::parser::parse;
use crate::script::{Action, Arg, Call, Event, Problem, Script, Segment, When, flag};
use crate::settings::Settings;
use crate::socket::Sockets;
use stamps::Stamps;

/// Runs the script `text`.
pub fn run_text(text: &str, options: &Options) -> Outcome {
    match play(text, options, None) {
        Ok((Ok(()), _)) => Outcome::Passed,
        Ok((Err(f), _)) => Outcome::Failed { line: f.line, expected: f.expected, got: f.got },
        Err(outcome) => outcome,
    }
}

/// Records the behavior of the endpoint with the packets and calls of the script, regardless of its expectations.
///
/// # Errors
/// It could not run, or ended in a way that no script expects.
pub fn watch_text(text: &str, options: &Options) -> Result<Vec<Observation>, Outcome> {
    match play(text, options, Some(Vec::new()))? {
        (Ok(()), seen) => Ok(seen),
        (Err(f), _) => Err(Outcome::Failed { line: f.line, expected: f.expected, got: f.got }),
    }
}

/// Runs the script `text`; with `seen` it is watched instead of tested.
fn play(
    text: &str,
    options: &Options,
    seen: Option<Vec<Observation>>,
) -> Result<(Result<(), Failure>, Vec<Observation>), Outcome> {
    let parsed = parse(text);
    let stack = options.stack.as_deref().unwrap_or("linux");
    let missing = features::missing(text, parsed.as_ref().ok(), stack);
    if !missing.is_empty() {
        return Err(Outcome::NotApplicable(missing));
    }
    let script = parsed.map_err(Outcome::Invalid)?;
    let mut settings = Settings::new(stack);
    settings.strict = options.strict;
    for s in &script.settings {
        settings.option(&s.name, &s.value).map_err(|message| Outcome::Invalid(Problem::new(s.line, message)))?;
    }
    if let Some(us) = options.tolerance {
        settings.tolerance = i64::from(us) * 1000;
    }
    match options.of {
        Stack::Simulator => Ok(Runner::new(Sockets::new(settings.clone()), &settings, seen).all(&script)),
        Stack::Linux => {
            let missing = kernel::missing(&script, &settings, seen.is_some());
            if !missing.is_empty() {
                return Err(Outcome::NotApplicable(missing));
            }
            let parameters = kernel::parameters(&script, &mut settings);
            match Kernel::start(&settings, parameters) {
                Ok(kernel) => Ok(Runner::new(kernel, &settings, seen).all(&script)),
                Err(problem) => Ok((Err(broken(problem)), Vec::new())),
            }
        }
    }
}

struct Failure {
    line: usize,
    expected: String,
    got: String,
}

fn failure(line: usize, expected: impl Into<String>, got: impl Into<String>) -> Failure {
    Failure { line, expected: expected.into(), got: got.into() }
}

/// The endpoint itself failed.
fn broken(problem: String) -> Failure {
    failure(1, "an endpoint that runs", problem)
}

/// Limits of packets that the endpoint sends in a script, and of timer events: a hundred times the need of the project's largest script. An
/// endpoint that never stops must not exhaust memory or time.
const MAX_PACKETS: usize = 1 << 17;
const MAX_STEPS: usize = 1 << 20;

/// Start of scripts, ns: the simulator treats time 0 specially.
const BEGIN: i64 = 1_000_000_000;

struct Runner<E> {
    endpoint: E,
    /// ps, of the endpoint.
    now: u64,
    /// Script time of the last event, ns.
    last: i64,
    names: Names,
    /// Blocked calls: line, call, and the range of ends, ns.
    waiting: Vec<(usize, Call, (i64, i64))>,
    stamps: Stamps,
    tolerance: i64,
    strict: bool,
    /// Record of a watched script.
    seen: Option<Vec<Observation>>,
    /// True while the application has its end of the connection.
    open: bool,
    /// Number of packets that were taken from the endpoint.
    taken: usize,
    /// Number of timer events of the endpoint.
    steps: usize,
}

impl<E: Endpoint> Runner<E> {
    fn new(endpoint: E, settings: &Settings, seen: Option<Vec<Observation>>) -> Runner<E> {
        let names = CONSTANTS.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        let stamps = Stamps::new(settings.tick, settings.tolerance);
        let (tolerance, strict) = (settings.tolerance, settings.strict);
        Runner {
            endpoint,
            now: ps(0),
            last: 0,
            names,
            waiting: Vec::new(),
            stamps,
            tolerance,
            strict,
            seen,
            open: false,
            taken: 0,
            steps: 0,
        }
    }

    /// Runs the whole script; returns the record too.
    fn all(mut self, script: &Script) -> (Result<(), Failure>, Vec<Observation>) {
        let result = self.run(script);
        (result, self.seen.unwrap_or_default())
    }

    fn run(&mut self, script: &Script) -> Result<(), Failure> {
        for event in &script.events {
            let base = self.last;
            let range = match event.when {
                When::Absolute(from, to) => (from, to),
                When::Relative(from, to) => (base + from, base + to),
                When::Any => (0, i64::MAX),
            };
            let done = self.event(event, base, range).and_then(|()| self.bounded());
            done.map_err(|f| if f.line == 0 { Failure { line: event.line, ..f } } else { f })?;
            self.last = if event.when == When::Any { self.time() } else { range.0 };
        }
        if self.seen.is_some() {
            self.note(script.events.last().map_or(1, |e| e.line), None);
            return Ok(());
        }
        if let Some((line, call, range)) = self.waiting.first() {
            return Err(failure(*line, format!("{} returns by {} s", call.name, seconds(range.1)), "it still waits"));
        }
        let line = script.events.last().map_or(1, |e| e.line);
        self.no_more(line)
    }

    /// Script time now, ns.
    fn time(&self) -> i64 {
        (self.now / 1000) as i64 - BEGIN
    }

    fn event(&mut self, event: &Event, base: i64, range: (i64, i64)) -> Result<(), Failure> {
        if let Action::Out(segment) = &event.action {
            return match self.seen {
                None => self.expect(event.line, range, segment),
                Some(_) => self.await_packet(event.line, (event.when != When::Any).then(|| ps(range.0)), segment),
            };
        }
        if event.when != When::Any {
            self.advance(ps(range.0))?;
        }
        if self.seen.is_some() {
            return self.act(event, base);
        }
        self.no_more(event.line)?;
        match &event.action {
            Action::Out(_) => {}
            Action::In(segment) => {
                let now = self.now;
                let segment = self.stamps.translate(segment, now);
                let arrived = self.endpoint.arrive(now, &segment);
                arrived.map_err(|e| failure(event.line, "a segment that the endpoint can receive", e))?;
            }
            Action::Call(call) => self.call(event.line, call, base, event.when)?,
            Action::Code(text) => self.code(event.line, text)?,
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

    /// Advances the time to `end`, ps. Events at that very time follow the script's own.
    fn advance(&mut self, end: u64) -> Result<(), Failure> {
        while self.happens(end.saturating_sub(1))? {}
        self.now = self.now.max(end);
        Ok(())
    }

    /// Advances the time until the endpoint acts, at most until `until`; true if it has.
    fn happens(&mut self, until: u64) -> Result<bool, Failure> {
        let Some(time) = self.endpoint.pass(self.now, until).map_err(broken)? else { return Ok(false) };
        self.now = self.now.max(time);
        self.steps += 1;
        self.bounded()?;
        self.wake()?;
        Ok(true)
    }

    /// Fails, without a line, if the endpoint exceeds a limit.
    fn bounded(&self) -> Result<(), Failure> {
        let packets = self.taken + self.endpoint.sent();
        if packets > MAX_PACKETS {
            return Err(failure(
                0,
                format!("at most {MAX_PACKETS} packets sent"),
                format!("{packets} packets; shorten the script, or let it acknowledge less"),
            ));
        }
        if self.steps > MAX_STEPS {
            return Err(failure(0, format!("at most {MAX_STEPS} timer events"), "more timer events; shorten the script"));
        }
        Ok(())
    }

    /// Takes the first packet that was not taken yet.
    fn take_sent(&mut self) -> Option<Sent> {
        let sent = self.endpoint.take_sent();
        self.taken += usize::from(sent.is_some());
        sent
    }

    /// In strict mode, fails if the endpoint sent a packet that the script does not expect.
    fn no_more(&mut self, line: usize) -> Result<(), Failure> {
        match self.endpoint.first_sent() {
            Some(front) if self.strict => Err(failure(line, "nothing sent before this", self.describe(front))),
            _ => Ok(()),
        }
    }

    fn describe(&self, sent: &Sent) -> String {
        format!("at {} s: {}", seconds((sent.time / 1000) as i64 - BEGIN), show(&self.stamps.back(&sent.segment)))
    }

    /// A packet that should leave in `range`, ns.
    fn expect(&mut self, line: usize, range: (i64, i64), expected: &Segment) -> Result<(), Failure> {
        let any = range.1 == i64::MAX;
        let latest_ns = if any { i64::MAX } else { range.1 + self.tolerance + self.endpoint.late((range.1 - self.last).max(0)) };
        let latest = if any { u64::MAX } else { ps(latest_ns) };
        let wanted = || format!("{}{}", show(expected), if any { String::new() } else { format!(" at {} s", seconds(range.0)) });
        let mut sent = self.next_sent(latest).map_err(|f| failure(line, wanted(), f.got))?;
        let Some(first) = sent.take() else {
            let until = if any { "nothing".into() } else { format!("nothing until {} s", seconds(latest_ns)) };
            return Err(failure(line, wanted(), until));
        };
        let mut whole = first;
        // A segment longer than the MSS represents consecutive ones, as a host with segmentation offload would show them.
        while whole.segment.len > 0 && whole.segment.len < expected.len && whole.segment.flags & flag::FIN == 0 {
            let more = self.next_sent(latest).map_err(|f| failure(line, wanted(), f.got))?;
            let Some(next) = more else { return Err(failure(line, wanted(), format!("no more than {}", self.describe(&whole)))) };
            if next.segment.seq != whole.segment.seq.wrapping_add(whole.segment.len) {
                return Err(failure(line, wanted(), format!("{}, then {}", self.describe(&whole), self.describe(&next))));
            }
            whole.segment.len += next.segment.len;
            whole.segment.flags |= next.segment.flags;
            whole.time = next.time;
        }
        self.stamps.note(expected, &whole.segment);
        let time = (whole.time / 1000) as i64 - BEGIN;
        let late = !any && (time < range.0 - self.tolerance || time > latest_ns);
        if late || !self.same(expected, &whole.segment) {
            return Err(failure(line, wanted(), self.describe(&whole)));
        }
        // The script's time advances even if the packet came a little early.
        if !any {
            self.now = self.now.max(ps(range.0).min(self.endpoint.idle_until(self.now)));
        }
        Ok(())
    }

    /// The next packet that leaves, not later than `latest`, ps.
    fn next_sent(&mut self, latest: u64) -> Result<Option<Sent>, Failure> {
        loop {
            if let Some(sent) = self.take_sent() {
                return Ok(Some(sent));
            }
            if !self.happens(latest)? {
                return Ok(None);
            }
        }
    }

    fn same(&self, expected: &Segment, got: &Segment) -> bool {
        let flags = |s: &Segment| s.flags & !flag::PSH;
        let basic = |s: &Segment| (flags(s), s.seq, s.len, if s.flags & flag::ACK != 0 { s.ack } else { 0 });
        basic(expected) == basic(got)
            && (expected.win.is_none() || expected.win == got.win)
            && expected.ecn.is_none_or(|e| crate::format::agrees(e, got.ecn))
            && match (&expected.options, &got.options) {
                (None, _) | (_, None) => true,
                (Some(a), Some(b)) => self.stamps.same(a, b),
            }
    }

    fn call(&mut self, line: usize, call: &Call, base: i64, when: When) -> Result<(), Failure> {
        let end = call.until.map(|until| match (until, when) {
            // The end of a call that begins at a relative time counts from the same event.
            (When::Absolute(a, b), When::Relative(..)) | (When::Relative(a, b), _) => (base + a, base + b),
            (When::Absolute(a, b), _) => (a, b),
            (When::Any, _) => (0, i64::MAX),
        });
        match self.endpoint.call(self.now, call) {
            Err(problem) => Err(failure(line, format!("{} as in the script", call.name), problem)),
            Ok(Returned::Waits) => {
                let Some(range) = end else {
                    return Err(failure(line, format!("{} returns at once", call.name), "it waits"));
                };
                self.waiting.push((line, call.clone(), range));
                Ok(())
            }
            Ok(Returned::Value(value, error)) => {
                if let Some((from, _)) = end
                    && self.time() < from - self.tolerance
                {
                    return Err(failure(line, format!("{} waits until {} s", call.name, seconds(from)), "it returned at once"));
                }
                returned(line, call, value, error)
            }
        }
    }

    /// Ends the blocked calls that are over.
    fn wake(&mut self) -> Result<(), Failure> {
        for (line, call, range) in std::mem::take(&mut self.waiting) {
            match self.endpoint.call(self.now, &call) {
                Ok(Returned::Waits) if self.seen.is_none() && self.time() > range.1.saturating_add(self.tolerance) => {
                    return Err(failure(line, format!("{} returns by {} s", call.name, seconds(range.1)), "it still waits"));
                }
                Ok(Returned::Waits) => self.waiting.push((line, call, range)),
                Ok(Returned::Value(..)) if self.seen.is_some() => {}
                Ok(Returned::Value(value, error)) => {
                    if self.time() < range.0 - self.tolerance {
                        let got = format!("it returned at {} s", seconds(self.time()));
                        return Err(failure(line, format!("{} returns at {} s", call.name, seconds(range.0)), got));
                    }
                    returned(line, &call, value, error)?;
                }
                Err(problem) => return Err(failure(line, format!("{} as in the script", call.name), problem)),
            }
        }
        Ok(())
    }

    fn code(&mut self, line: usize, text: &str) -> Result<(), Failure> {
        self.names.extend(self.endpoint.info().map_err(broken)?.into_iter().map(|(n, v)| (n.to_owned(), v)));
        code::run(text, &mut self.names).map_err(|fault| match fault {
            Fault::False(condition, values) => failure(line, condition, values),
            Fault::Unknown(name) => failure(line, format!("a value of {name}"), "none: it is not known here"),
            Fault::Syntax(what) => failure(line, "Python of the subset", what),
        })
    }
}

/// Simulator time of a script time, ps.
fn ps(script_ns: i64) -> u64 {
    (script_ns + BEGIN).max(0).unsigned_abs().saturating_mul(1000)
}

fn returned(line: usize, call: &Call, value: i64, error: Option<&str>) -> Result<(), Failure> {
    let right = match &call.result {
        Arg::Int(v) => *v == value && (call.errno.is_none() || call.errno.as_deref() == error),
        Arg::Any => true,
        Arg::Word(flags) => value == flags.split('|').map(|f| if f == "O_NONBLOCK" { 0x800 } else { 2 }).sum::<i64>(),
        _ => false,
    };
    if right {
        return Ok(());
    }
    let errno = |e: Option<&str>| e.map_or_else(String::new, |e| format!(" {e}"));
    let wanted = match &call.result {
        Arg::Int(v) => format!("{} = {v}{}", call.name, errno(call.errno.as_deref())),
        other => format!("{} = {other:?}", call.name),
    };
    Err(failure(line, wanted, format!("{value}{}", errno(error))))
}
