//! Processes of a run as threads that exchange messages, as several machines would.

use forebay_experiment::Experiment;
use forebay_sim::exchange::Exchange;
use forebay_sim::run::{Cores, Report, RunError, run_among};
use std::mem;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// One process: its channels to and from the others.
struct Process {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Mutex<Vec<Receiver<Vec<u8>>>>,
}

impl Exchange for Process {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn swap(&self, out: &mut [Vec<u8>], come: &mut [Vec<u8>]) {
        for (rank, bytes) in out.iter_mut().enumerate().filter(|(rank, _)| *rank != self.rank) {
            self.to[rank].send(mem::take(bytes)).expect("the other process goes on");
        }
        let from = self.from.lock().unwrap_or_else(PoisonError::into_inner);
        for (rank, bytes) in come.iter_mut().enumerate().filter(|(rank, _)| *rank != self.rank) {
            *bytes = from[rank].recv().expect("the other process goes on");
        }
    }

    fn end_all(&self, code: u8) -> ! {
        panic!("process {} ends with code {code}", self.rank)
    }
}

/// Connected processes.
fn processes(count: usize) -> Vec<Arc<dyn Exchange>> {
    let mut from: Vec<Vec<Receiver<Vec<u8>>>> = (0..count).map(|_| Vec::new()).collect();
    let mut line = |_| {
        let ends = from.iter_mut().map(|list| {
            let (to, end) = channel();
            list.push(end);
            to
        });
        ends.collect()
    };
    let to: Vec<Vec<Sender<Vec<u8>>>> = (0..count).map(&mut line).collect();
    let all = to.into_iter().zip(from).enumerate();
    all.map(|(rank, (to, from))| Arc::new(Process { rank, to, from: Mutex::new(from) }) as Arc<dyn Exchange>).collect()
}

/// Runs an experiment on this many processes of this many cores each; returns the report of the first one.
///
/// # Errors
/// The reason why it cannot be divided.
///
/// # Panics
/// If a process panics, if processes disagree about the existence of a report, or if the experiment is invalid.
pub fn execute_among(config: &Experiment, count: usize, cores: usize) -> Result<Report, RunError> {
    let checked = config.check().unwrap_or_else(|e| panic!("{e}"));
    thread::scope(|scope| {
        let run = |exchange| run_among(checked, config.seed, Cores::exactly(cores), exchange, &mut |_| ControlFlow::Continue(()));
        let running: Vec<_> = processes(count).into_iter().map(|exchange| scope.spawn(move || run(exchange))).collect();
        let mut ended = running.into_iter().map(|process| process.join().expect("no process panics"));
        let first = ended.next().expect("there is a first process");
        let others: Vec<_> = ended.collect();
        match first {
            Ok(report) => {
                assert!(others.iter().all(|other| matches!(other, Ok(None))), "only the first process has a report");
                Ok(report.expect("the first process has the report"))
            }
            Err(error) => {
                assert!(others.iter().all(|other| other.as_ref().err() == Some(&error)), "all processes say why there is none");
                Err(error)
            }
        }
    })
}
