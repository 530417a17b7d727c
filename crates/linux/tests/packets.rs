//! Comparison of a guest with the simulator, packet by packet.

use crate::guest;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::PacketRow;
use forebay_linux::world::Linux;
use forebay_sim::world::Simulator;

/// Runs a scenario in the guest and in the simulator; `None` where there is no kernel.
pub(crate) fn both(text: &str) -> Option<[Report; 2]> {
    let mut e = guest::experiment(text);
    e.observe.packets = true;
    reports(&e)
}

/// Runs an experiment in the guest and in the simulator; `None` where there is no kernel.
pub(crate) fn reports(e: &Experiment) -> Option<[Report; 2]> {
    guest::kernel().then(|| [guest::run_in(&Linux, e), guest::run_in(&Simulator, e)])
}

/// A packet, and the time at which it reached its host.
type Seen = (u64, bool, u32, u32, [bool; 3], u64);

/// Packets of each direction of each connection, in order; probes and the last packet of a handshake are left out, which carry nothing.
fn packets(report: &Report) -> Vec<Seen> {
    let seen = |p: PacketRow| (p.conn_id, p.back, p.number, p.payload, [p.syn, p.ece, p.ce], p.time_ps.div_ceil(1_000));
    let mut all: Vec<PacketRow> = report.packets.iter().filter(|p| p.back || p.payload > 0 || p.syn).collect();
    all.sort_by_key(|p| (p.conn_id, p.back, p.time_ps));
    all.into_iter().map(seen).collect()
}

/// Every packet is the same, `within` so many nanoseconds of its equal.
pub(crate) fn same_packets([linux, sim]: &[Report; 2], within: u64) {
    let [linux, sim] = [linux, sim].map(packets);
    for (a, b) in linux.iter().zip(&sim) {
        assert!((a.0, a.1, a.2, a.3, a.4) == (b.0, b.1, b.2, b.3, b.4) && a.5.abs_diff(b.5) <= within, "{a:?} in Linux, {b:?}");
    }
    assert_eq!(linux.len(), sim.len());
}
