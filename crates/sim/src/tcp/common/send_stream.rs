//! Connection state and send sequence space (RFC 9293 section 3.3.1), in stream offsets.

use crate::tcp::fast_path::FastPath;
use crate::tcp::sender::Phase;

/// Send side of a connection. Offsets count from 0, the first byte of data.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct SendStream {
    /// Oldest unacknowledged offset (SND.UNA).
    pub(in crate::tcp) snd_una: u64,
    /// Next offset to send (SND.NXT).
    pub(in crate::tcp) snd_nxt: u64,
    /// Highest offset sent so far.
    pub(in crate::tcp) snd_max: u64,
    /// Bytes the application has written.
    pub(in crate::tcp) written: u64,
    /// Right edge of the receive window (SND.UNA + SND.WND).
    pub(in crate::tcp) snd_wnd_edge: u64,
    /// Number of the transport, in 16 bits because every connection has it.
    pub(in crate::tcp) group: u16,
    /// State of the connection.
    pub(in crate::tcp) phase: Phase,
    /// A FIN follows the last byte.
    pub(in crate::tcp) fin: bool,
    /// The application has closed, but the FIN waits until the send buffer has taken all data.
    pub(in crate::tcp) closing: bool,
    /// Window scale of the receiver (Snd.Wind.Shift, RFC 7323 section 2.2).
    pub(in crate::tcp) snd_wscale: u8,
    /// Full new segments are copies of the template: there is no scoreboard, and ECN is as configured.
    pub(in crate::tcp) plain: bool,
    /// Fast path of this endpoint.
    pub(in crate::tcp) fast_path: FastPath,
}
