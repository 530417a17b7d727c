//! TCP, sans-IO: endpoints take packets and the time, and hand packets to a [`Wire`](crate::net::packet::Wire).
//!
//! Data flows one way on a connection; a request/response pair uses two. Stream offsets are 64-bit and start at 0 with the first
//! data byte; on the wire they are 32-bit sequence numbers that wrap.
//!
//! | folder or file | contents |
//! |---|---|
//! | `sender/` | the sending endpoint, and steps that both stacks share |
//! | `receiver/` | the receiving endpoint |
//! | `common/` | state and rules of a connection: sequence space, RTT estimator, scoreboard, RACK, PRR, pacer, timers, send buffer, statistics |
//! | `rfc/` | steps by the RFCs: NewReno, SACK, RACK and tail loss probes |
//! | `linux/` | steps of Linux: ACK processing, timers, recovery without SACK, small queues, segmentation offload, path metrics |
//! | `config.rs`, `options.rs`, `profile.rs`, `initial_window.rs` | configuration of a transport, its TCP options, stack profiles, initial receive window |
//! | `fast_path.rs`, `fast_path_sack.rs`, `fast_transmit.rs` | fast paths: conditions, skipped checks, and savings |
//! | `gro.rs` | segments that the receiver's host merges |
//! | `datagram.rs` | datagrams, without window, timer and ACKs |
//! | `info.rs` | internal state for comparisons (`tcp_info`) |
//!
//! The path of an ACK, by the functions of the kernel:
//!
//! | kernel | here |
//! |---|---|
//! | tcp_v4_rcv, socket lookup | `engine/state/host_rx.rs`: `receive_ack`, `process_ack` |
//! | tcp_rcv_established, fast path | `fast_path.rs`: `fast_path_ack`, `on_fast_ack`, `on_fast_duplicate`; `fast_path_sack.rs`: `fast_path_sack_ack`, `on_fast_sack_ack` |
//! | tcp_ack, tcp_ack_update_window | `sender/ack.rs`: `on_packet`, `ack_slow_path`; with SACK `linux/input.rs`: `on_ack_sack_linux` |
//! | tcp_sacktag_write_queue, tcp_clean_rtx_queue | `sender/sack.rs`: `update_scoreboard`; `common/scoreboard/`, `common/rate_sample.rs` |
//! | tcp_ack_update_rtt | `sender/ack.rs`: `advance`; `linux/input.rs`: `sample_ages` |
//! | tcp_fastretrans_alert, tcp_enter_recovery, tcp_try_undo_* | `linux/input.rs`: `fastretrans_alert`; `sender/recovery.rs`: `enter_recovery`, `leave_episode`; `sender/undo.rs` |
//! | tcp_cong_control, tcp_cwnd_reduction | `sender/ack.rs`: `grow`; `sender/recovery.rs`: `proportional_window`; `sender/cc_events.rs`: `control` |
//! | tcp_add_reno_sack, no SACK | `linux/reno_sack.rs`: `on_ack_without_sack` |
//! | tcp_data_snd_check, tcp_write_xmit | `sender/transmit.rs`: `transmit_after`; `linux/write_xmit.rs` |

mod common;
pub mod config;
pub mod datagram;
pub mod gro;
pub mod profile;
pub mod receiver;
pub mod sender;

mod fast_path;
mod fast_path_sack;
mod fast_transmit;
mod info;
mod initial_window;
mod linux;
mod options;
mod rfc;

pub use common::rtt;
pub use common::seq::Address;
pub use info::Counts;
pub use linux::metrics;
pub use options::offered_shift;

use common::seq;
use common::timer_wheel;
