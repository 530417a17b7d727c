//! Windows of simulated time in which no host can affect another.

use forebay_experiment::Experiment;
use forebay_experiment::host_timing::HostTiming;
use forebay_experiment::network::PortConfig;
use forebay_types::Time;

/// Maximum average number of messages or datagrams of one workload that begin in a window, which bounds its memory and time. Our choice: more than
/// the shortest link delay allows in realistic scenarios.
const ARRIVALS_PER_WINDOW: f64 = 65_536.0;

/// Length of a window: at most the shortest time in which one node can affect another. That is the smallest link delay (where a link has none, the
/// time to send the smallest packet), or a shorter request latency. Shorter where more than `ARRIVALS_PER_WINDOW` would begin in that time. The first
/// window begins at time 0. `packet`: bytes of the smallest packet of a shim.
pub fn window_length(config: &Experiment, packet: Option<u32>) -> Time {
    let segments = config.groups.iter().map(|g| g.tcp.ack_size.min(g.tcp.header + 1));
    let datagrams = config.workloads.iter().filter_map(|w| w.kind.smallest_datagram());
    let smallest = segments.chain(packet).chain(datagrams).min().unwrap_or(40);
    let (ports, changes) = (&config.network.ports, &config.network.faults.changes);
    let (timing, later) = (HostTiming::of(&config.groups), changes.iter().filter_map(|c| c.rate).max());
    let affects = |p: &PortConfig, delay: Time| match delay {
        // A link is as fast as the clock of its host or a later change makes it.
        Time::ZERO => timing.fastest(p.rate.max(later.unwrap_or(p.rate))).tx_time(u64::from(smallest)),
        _ => delay,
    };
    let changed = changes.iter().filter_map(|c| c.delay.map(|delay| affects(&ports[c.port], delay)));
    let links = ports.iter().map(|p| affects(p, p.delay)).chain(changed).min();
    let requests = config.workloads.iter().filter_map(|w| w.kind.request_latency()).min();
    let gap = config.workloads.iter().filter_map(|w| w.kind.arrival_gap()).fold(f64::INFINITY, f64::min);
    let arrivals = Time((gap * ARRIVALS_PER_WINDOW) as u64);
    // Keys of gathered packets hold 40 bits of time inside a window.
    links.into_iter().chain(requests).chain([arrivals]).min().unwrap_or(Time(1)).clamp(Time(1), Time(1 << 39))
}
