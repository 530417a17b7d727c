//! Description of a connection's path for congestion controls.

use crate::cc::Path;
use crate::tcp::config::TcpConfig;
use forebay_experiment::network::Network;
use forebay_experiment::topology::{Fib, Route};
use forebay_types::{NodeId, Rng};

/// The path from host `src` to host `dst` and back, for data with ECMP hash `forth` and ACKs with `back`. `rng` is for the congestion control.
pub fn empty_path(
    network: &Network,
    fib: &Fib,
    src: NodeId,
    dst: NodeId,
    (forth, back): (u16, u16),
    c: &TcpConfig,
    rng: Rng,
) -> Path {
    let Route { idle_rtt, handshake_deficit, packet, packets_per_s, buffer } =
        Route::of(network, fib, (src, dst), (forth, back), c);
    Path { idle_rtt, handshake_deficit, packet, packets_per_s, buffer, rng }
}
