//! Timers of the shim `proboscis`, in a separate process (`forebay attach --daemon`). It repeats unanswered probes and SYNs, holds SYN-ACKs until enough
//! probes have arrived, and stores the estimate of a train for connections that open soon after it. The shim reports events through a ring buffer,
//! and checks for a sign of life before it relies on the process (`crates/kernel/bpf/proboscis/helper.bpf.h`). Without this process, however it ends,
//! traffic continues.

mod estimates;
mod frames;
pub mod in_process;
mod ring;
mod schedule;

pub use schedule::Timers;

use crate::catalog::Program;
use crate::state::Attachment;
use crate::tune::named;
use crate::{Error, counters, privileges};
use estimates::{Change, Estimates};
use forebay_platform::clock;
use frames::Wire;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use ring::{IDLE, Ring, TICK};
use schedule::{Notice, Order, Schedule, Sending};
use std::path::{Path, PathBuf};

/// Interval of the checks for the shim and its parameters, us.
const LOOK: u64 = 100_000;

/// Counters of the helper.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Trains of probes that were sent again, of those the ones with their SYN.
    pub trains: u64,
    /// SYNs that were sent again.
    pub syns: u64,
    /// SYN-ACKs that were let go.
    pub released: u64,
    /// Frames that the interface did not take.
    pub failed: u64,
}

fn map(folder: &Path, name: &str) -> Result<MapHandle, Error> {
    let path = folder.join(name);
    MapHandle::from_pinned_path(&path).map_err(|e| Error::bpf(path.display(), &e))
}

/// The helper of an attachment, before it starts.
#[derive(Debug)]
pub struct Helper {
    attachment: Attachment,
    program: &'static Program,
    folder: PathBuf,
    wire: Wire,
}

/// Opens the packet socket of the helper of that attachment, and drops all capabilities that attaching does not need. Call it before other threads
/// start, because they keep theirs.
///
/// # Errors
/// Nothing of that name is attached, it has no timers, or the process lacks a capability.
pub fn open(name: &str) -> Result<Helper, Error> {
    let attachment = named(name)?;
    let program = Program::named(&attachment.program)?;
    let folder = attachment.pins().unwrap_or(Path::new("")).to_owned();
    if !folder.join("helper").exists() {
        return Err(
            Error::new(format!("`{}` has no timers, so it needs no daemon", program.name)).fix("only `proboscis` has timers")
        );
    }
    // The socket stays in the namespace in which it was opened.
    let wire = attachment.namespace.run(Wire::open)?.ok_or_else(|| gone(name))?;
    privileges::keep_needed()?;
    Ok(Helper { attachment, program, folder, wire })
}

fn gone(name: &str) -> Error {
    Error::new(format!("the network namespace of {name} is gone"))
}

impl Helper {
    /// Keeps the timers until `stop` returns true or the shim is detached; calls `ready` once it does.
    ///
    /// # Errors
    /// Another helper keeps them, or the kernel refuses access to them.
    pub fn run(self, stop: impl Fn() -> bool + Sync, ready: impl FnOnce() + Send) -> Result<Done, Error> {
        let work = || keep(self.program, &self.folder, &self.wire, &stop, ready);
        self.attachment.namespace.run(work)?.ok_or_else(|| gone(&self.attachment.name))
    }
}

fn keep(
    program: &'static Program,
    folder: &Path,
    wire: &Wire,
    stop: &impl Fn() -> bool,
    ready: impl FnOnce(),
) -> Result<Done, Error> {
    let (params, table) = (map(folder, "params")?, map(folder, "recent")?);
    let (alive, notices) = (map(folder, "helper")?, map(folder, "notices")?);
    if ring::is_kept(&alive)? {
        return Err(Error::new("another daemon runs these timers").fix("end that one first"));
    }
    let ring = Ring::open(alive, &notices)?;
    for path in table.keys() {
        let _ = table.delete(&path);
    }
    let (mut schedule, mut estimates) = (Schedule::new(Timers::published(8)), Estimates::default());
    let (mut done, mut looked, mut ready) = (Done::default(), None, Some(ready));
    while !stop() {
        let now = clock::monotonic_ns() / 1000;
        if looked.is_none_or(|l| now - l >= LOOK) {
            if !folder.join("helper").exists() {
                break;
            }
            let params = counters::params(program, &params)?;
            let of = |name: &str| params.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
            schedule.probes(of("probes").map_or(8, |v| v as u32));
            estimates.time(of("recent").unwrap_or(0));
            looked = Some(now);
        }
        ring.show_life()?;
        if let Some(ready) = ready.take() {
            ready();
        }
        let notices = ring.wait(if schedule.waits() { TICK } else { IDLE })?;
        let now = clock::monotonic_ns() / 1000;
        for notice in notices {
            let left = if let Notice::Answered(flow, _) = &notice { schedule.left(flow) } else { None };
            change(&table, estimates.notice(now, &notice, left));
            send(wire, schedule.notice(now, notice), &mut done);
        }
        send(wire, schedule.due(now), &mut done);
        change(&table, estimates.due(now));
    }
    // From here on nothing is reported and nothing held back any more; what was held back leaves.
    let notices = ring.end()?;
    let now = clock::monotonic_ns() / 1000;
    for notice in notices {
        send(wire, schedule.notice(now, notice), &mut done);
    }
    send(wire, schedule.release_all(), &mut done);
    Ok(done)
}

/// Writes `struct estimate` of recent.bpf.h. A path that the table does not take sends its trains.
fn change(table: &MapHandle, all: Vec<Change>) {
    for change in all {
        let _ = match change {
            Change::Remove(path) => table.delete(&path),
            Change::Set(path, until, segments) => {
                let mut value = [0; 16];
                value[..8].copy_from_slice(&(until * 1000).to_ne_bytes());
                value[8..12].copy_from_slice(&segments.to_ne_bytes());
                table.update(&path, &value, MapFlags::ANY)
            }
        };
    }
}

fn send(wire: &Wire, all: Vec<Sending>, done: &mut Done) {
    for mut sending in all {
        // A frame that cannot leave is one that was lost on the way.
        if wire.send(&mut sending).is_err() {
            done.failed += 1;
            continue;
        }
        match sending.order {
            Order::Release => done.released += 1,
            Order::Train(_) => done.trains += 1,
            Order::Again(_) => {
                done.trains += 1;
                done.syns += 1;
            }
        }
    }
}
