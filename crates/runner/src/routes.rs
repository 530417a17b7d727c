//! Paths of a message's packets over time. Switches route around failed links after a delay.

use crate::message_timeline::{Route, Routes};
use forebay_experiment::balance::Balance;
use forebay_experiment::network::Network;
use forebay_experiment::topology::{Fib, reverse};
use forebay_types::{NodeId, PortId, Time};

/// Connection, end points and time of a message.
pub(crate) struct Endpoints {
    pub conn: u64,
    pub src: NodeId,
    pub dst: NodeId,
    pub start: Time,
    pub end: Time,
}

/// The routes of a message in a run with this seed, where switches choose by the hash of its connection.
pub(crate) fn routes(network: &Network, seed: u64, ends: &Endpoints) -> Routes {
    let scattered = match network.faults.balance {
        Balance::Flow => None,
        Balance::Packet => Some("packet"),
        Balance::Flowlet { .. } | Balance::Conga { .. } => Some("flowlet"),
    };
    let Ok(intact) = Fib::with_seed(network, seed) else { return Routes::default() };
    let hash = u32::from(intact.flow_hash(ends.conn, ends.src, ends.dst));
    let at = |time: Time| -> Vec<PortId> {
        let avoided = avoided(network, time);
        if avoided.is_empty() {
            return intact.path(network, ends.src, ends.dst, hash);
        }
        // The run succeeded with these tables, so they exist.
        let around = intact.avoiding(network, &|port| !avoided.contains(&port));
        let ports = around.map_or_else(|_| Vec::new(), |(fib, _)| fib.path(network, ends.src, ends.dst, hash));
        // Without a route, packets are lost at the failed link.
        if ports.iter().any(|p| avoided.contains(p)) { Vec::new() } else { ports }
    };
    let mut each = vec![Route { from: ends.start.0, ports: at(ends.start) }];
    for time in changes(network).into_iter().filter(|t| *t > ends.start && *t < ends.end) {
        let ports = at(time);
        if each.last().is_some_and(|route| route.ports != ports) {
            each.push(Route { from: time.0, ports });
        }
    }
    let rates = network.faults.changes.iter().filter_map(|c| Some((c.port, c.at.0, c.rate?))).collect();
    Routes { each, scattered, rates }
}

/// Times at which switches change their tables, in order.
fn changes(network: &Network) -> Vec<Time> {
    let all = network.faults.failures.iter();
    let mut times: Vec<Time> =
        all.flat_map(|f| [Some(f.down), f.up.get()].into_iter().flatten().map(|t| t + f.reroute)).collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// Ports of links, in both directions, that the switches avoid from `time` on.
fn avoided(network: &Network, time: Time) -> Vec<PortId> {
    let failures = network.faults.failures.iter();
    let down = failures.filter(|f| f.down + f.reroute <= time && f.up.get().is_none_or(|up| up + f.reroute > time));
    down.flat_map(|f| std::iter::once(f.port).chain(reverse(network, f.port))).collect()
}
