//! State of a socket in the guest, after each packet and each timeout.

use crate::protocol::{STATE_PRIVATE, State, number, text_in};
use forebay_types::Time;

/// State of one end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketState {
    /// When.
    pub time: Time,
    /// Number of its connection.
    pub conn_id: u64,
    /// True for the end that receives the data of the connection, false for its sender.
    pub receiver: bool,
    /// True after an expiry of the retransmission timer, false after a packet.
    pub timeout: bool,
    /// First unacknowledged sequence number, as in the packets.
    pub snd_una: u32,
    /// Next expected sequence number, as in the packets.
    pub rcv_nxt: u32,
    /// Name of its congestion control.
    pub cc: String,
    /// Values of the variables in [`forebay_kernel::state::variables`], in that order.
    pub values: Box<[u64]>,
    /// Memory of the congestion control (`icsk_ca_priv`), in words.
    pub private: [u64; STATE_PRIVATE],
}

impl SocketState {
    pub(crate) fn new(state: &State, conn_id: u64) -> SocketState {
        SocketState {
            time: Time(state.time),
            conn_id,
            receiver: state.receiver != 0,
            timeout: state.cause == number::STATE_TIMEOUT,
            snd_una: state.snd_una,
            rcv_nxt: state.rcv_nxt,
            cc: text_in(&state.cc),
            values: state.value.into(),
            private: state.private,
        }
    }
}
