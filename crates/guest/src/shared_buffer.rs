//! The shared memory of a switch (`driver/queue.h`).

use forebay_queues::{SharedBuffer, SharedPolicy};

/// Returns true if a packet may join a port that holds `port_bytes`, while all ports together hold `used`.
/// `param` has the three numbers of `struct fb_switch`.
#[unsafe(no_mangle)]
pub extern "C" fn fb_shared_admits(param: &[u64; 3], used: u64, port_bytes: u64, wire: u64) -> bool {
    let [total, policy, number] = *param;
    let policy = match policy {
        0 => SharedPolicy::Static { per_port: number },
        _ => SharedPolicy::Dynamic { alpha: f64::from_bits(number) },
    };
    SharedBuffer { total, policy }.admits(used, port_bytes, wire)
}
