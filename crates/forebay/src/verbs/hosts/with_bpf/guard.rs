//! `--rollback-on`: the foreground process of a guard. Output goes through a separate thread, because a terminal or a pipe may block
//! for ever and this process must notice when the guard hangs.

use super::{MEASURED, first_metrics, line, report};
use crate::terminal::failure::Failure;
use crate::terminal::output::{print, warn};
use crate::verbs::{attach, watch};
use forebay_hosts::Error;
use forebay_hosts::attach::Request;
use forebay_hosts::condition::Condition;
use forebay_hosts::guard::{Ending, Event, Order, Subject, start};
use forebay_hosts::prometheus;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines that wait for the output; further ones are dropped.
const WAITING: usize = 1024;
/// Time that the output has for the last lines when the process ends.
const PATIENCE: Duration = Duration::from_secs(2);

enum Line {
    Out(String),
    Warning(String),
}

/// Standard output and error, written without blocking this process. Closed or blocked output does not end a guard.
#[derive(Clone)]
struct Output(SyncSender<Line>);

impl Output {
    fn start() -> Result<(Output, Receiver<()>), Failure> {
        let (lines, waiting) = sync_channel::<Line>(WAITING);
        // Closed when the thread has written everything.
        let (end, ended) = channel::<()>();
        let run = move || {
            let _end = end;
            for line in waiting {
                match line {
                    Line::Out(text) => {
                        let _ = print(&text);
                    }
                    Line::Warning(text) => warn(&text),
                }
            }
        };
        thread::Builder::new()
            .spawn(run)
            .map_err(|e| Failure::Machine(format!("cannot start the thread for the output: {e}")))?;
        Ok((Output(lines), ended))
    }

    fn print(&self, text: String) {
        let _ = self.0.try_send(Line::Out(text));
    }

    fn warn(&self, text: String) {
        let _ = self.0.try_send(Line::Warning(text));
    }
}

pub(super) fn attach(request: Request, args: &attach::Args) -> Result<(), Failure> {
    let order = Order {
        conditions: request.conditions.clone(),
        subject: Subject::New(request),
        keep_after: args.watch_for.map(Duration::from_secs),
        keep_on_interrupt: args.keep_on_interrupt,
    };
    run(order, &format!("measuring the connections for {} s before attaching\n", MEASURED.as_secs()), || Ok(()), |_| Ok(()))
}

pub(super) fn watch(args: &watch::Args, conditions: Vec<Condition>, port: Option<prometheus::Port>) -> Result<(), Failure> {
    let order = Order {
        subject: Subject::Attached(args.name.clone()),
        conditions,
        keep_after: args.seconds.map(Duration::from_secs),
        keep_on_interrupt: args.keep_on_interrupt,
    };
    run(
        order,
        "",
        || first_metrics(args),
        |output| {
            port.map(prometheus::Port::serve).transpose()?;
            if let Some(path) = args.prometheus.clone() {
                let output = output.clone();
                prometheus::keep_writing(path, move |e| output.warn(e.to_string()))?;
            }
            Ok(())
        },
    )
}

/// Starts the guard and shows its events. `prepare` runs before the guard is forked, `serve` afterwards: it starts threads, which must not exist
/// before.
fn run(
    order: Order,
    first: &str,
    prepare: impl FnOnce() -> Result<(), Error>,
    serve: impl FnOnce(&Output) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let keeps = match (order.keep_after, order.keep_on_interrupt) {
        (Some(time), true) => format!("after {} s, and on Ctrl-C, it stays attached", time.as_secs()),
        (Some(time), false) => format!("after {} s it stays attached", time.as_secs()),
        (None, true) => "on Ctrl-C it stays attached".into(),
        (None, false) => "Ctrl-C also rolls back".into(),
    };
    let mut guard = start(order, prepare)?;
    let (output, ended) = Output::start()?;
    output.print(first.to_owned());
    serve(&output)?;
    let ended_with = |interrupted| Err(Failure::Reported(if interrupted { 130 } else { 1 }));
    let mut result = Ok(());
    while let Some(event) = guard.next() {
        let name = guard.name();
        match event {
            Event::Guarded { process, done, before } => {
                output.print(super::lines(&done));
                output.print(format!(
                    "guarded by process {process}: a condition that is met, a closed terminal and the end of this process roll back; {keeps}\n"
                ));
                output.print(format!("before   {}\n", line(&before)));
            }
            Event::Second { at, now } => output.print(report(at, &now)),
            Event::Note(text) => output.warn(text),
            Event::Ended(Ending::Kept) => output.print(format!("{name} stays attached\n")),
            Event::Ended(Ending::Detached) => output.print(format!("{name} was detached by another command\n")),
            Event::Ended(Ending::RolledBack { why, interrupted }) => {
                output.warn(format!("rolled back {name}: {why}"));
                result = ended_with(interrupted);
            }
            Event::Ended(Ending::Cancelled { why, interrupted }) => {
                output.warn(format!("{why}: nothing was attached"));
                result = ended_with(interrupted);
            }
            Event::Ended(Ending::Refused(why)) => result = Err(Failure::Machine(why)),
        }
    }
    drop(output);
    let _ = ended.recv_timeout(PATIENCE);
    result
}
