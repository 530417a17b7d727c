//! Time inside the programs, as the kernel counts it while its statistics are on (BPF_ENABLE_STATS).

use crate::lab::Lab;
use crate::load::Load;
use libbpf_rs::query::ProgInfoIter;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{FromRawFd, OwnedFd};

/// A program at one end: how often it ran and how long altogether.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) at_sender: bool,
    pub(crate) times: u64,
    pub(crate) ns: u64,
}

/// Sum of the programs' run time during a transfer.
#[derive(Debug, Clone)]
pub(crate) struct Inside {
    pub(crate) runs: Vec<Run>,
    /// Packets that reached the receiver.
    pub(crate) packets: u64,
}

/// The programs that are loaded.
pub(crate) fn ids() -> BTreeSet<u32> {
    ProgInfoIter::default().map(|p| p.id).collect()
}

fn look(at_sender: &BTreeSet<u32>) -> BTreeMap<u32, Run> {
    let run = |p: libbpf_rs::query::ProgramInfo| {
        let name = p.name.to_string_lossy().into_owned();
        (p.id, Run { name, at_sender: at_sender.contains(&p.id), times: p.run_cnt, ns: p.run_time_ns })
    };
    ProgInfoIter::default().map(run).collect()
}

/// Runs the work with the statistics on.
pub(crate) fn cost(lab: &Lab, at_sender: &BTreeSet<u32>, work: impl FnOnce() -> Load) -> Inside {
    // SAFETY: no pointers are passed; the descriptor is new and has no other owner. The statistics are on while it is open.
    let on = unsafe {
        let fd = libbpf_rs::libbpf_sys::bpf_enable_stats(libbpf_rs::libbpf_sys::BPF_STATS_RUN_TIME);
        assert!(fd >= 0, "the kernel's statistics of BPF programs: {}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    };
    let count = || lab.right.snmp("Tcp", "InSegs");
    let (before, packets) = (look(at_sender), count());
    work();
    let (after, packets_after) = (look(at_sender), count());
    drop(on);
    let since = |(id, now): (u32, Run)| {
        let was = before.get(&id).map_or((0, 0), |w| (w.times, w.ns));
        Run { times: now.times - was.0, ns: now.ns - was.1, ..now }
    };
    let runs = after.into_iter().map(since).filter(|r| r.times > 0).collect();
    Inside { runs, packets: packets_after - packets }
}
