//! Memory that Linux charges for data in the buffers of a socket: payload, headers and the structures of a buffer (`struct sk_buff`).

use crate::transport::Transport;

/// `SOCK_MIN_SNDBUF`: two segments of 2048 bytes, each with an aligned `struct sk_buff`.
pub const SMALLEST_SEND_BUFFER: u64 = 2 * (2048 + SKB as u64);

/// Bytes of the timestamp option in a TCP header, with its alignment.
pub const TIMESTAMPS: u16 = 12;

/// Aligned sizes of `struct sk_buff` and `struct skb_shared_info`, and the space before the packet (NET_SKB_PAD).
const SKB: u32 = 256;
const SHARED_INFO: u32 = 320;
const PAD: u32 = 64;
/// Headers of a segment without timestamps.
const HEADERS: u32 = 40;

/// Memory in bytes of a received segment with `len` bytes of payload (`skb->truesize`): a buffer of a power of two for each packet, as drivers
/// allocate.
pub fn received(len: u32, timestamps: bool) -> u32 {
    let packet = len + HEADERS + if timestamps { u32::from(TIMESTAMPS) } else { 0 };
    ((PAD + packet).next_multiple_of(64) + SHARED_INFO).next_power_of_two().max(2_048) + SKB
}

/// Bytes behind a received segment in its buffer (`skb_tailroom`): TCP copies a short segment that follows into them (skb_try_coalesce).
pub fn tailroom(len: u32, timestamps: bool) -> u32 {
    let packet = len + HEADERS + if timestamps { u32::from(TIMESTAMPS) } else { 0 };
    (received(len, timestamps) - SKB).saturating_sub(SHARED_INFO + PAD + packet)
}

/// Largest number of payload bytes that a sender can have written and not acknowledged; `None` without a limit.
pub fn send_limit(tcp: &Transport) -> Option<u64> {
    // setsockopt doubles SO_SNDBUF (socket(7)).
    let fixed = tcp.snd_buf.map(|bytes| bytes.saturating_mul(2).max(SMALLEST_SEND_BUFFER));
    let memory = fixed.or(tcp.wmem_max)?;
    // A buffer is one segment, or with segmentation offload as many whole ones as fit.
    let segments = tcp.tso.map_or(1, |burst| (burst / tcp.mss).max(1));
    let payload = u64::from(segments) * u64::from(tcp.mss);
    Some((u128::from(memory) * u128::from(payload) / u128::from(payload + tcp.kernel.sent_head())) as u64)
}

/// Largest window in bytes that a receiver can offer. It is given by its key, or by the memory of the buffer and the share of payload in full segments
/// (tcp_win_from_space with the ratio of tcp_measure_rcv_mss; half of it in 6.1).
pub fn window_limit(tcp: &Transport) -> u64 {
    // setsockopt doubles SO_RCVBUF (socket(7)).
    let memory = match (tcp.rcv_buf, tcp.rmem_max) {
        (Some(bytes), _) => bytes.saturating_mul(2),
        (None, Some(most)) => most,
        (None, None) => return tcp.rcv_wnd,
    };
    let ratio = match tcp.kernel.measures_window_scale() {
        true => u64::from(tcp.mss) * 256 / u64::from(received(tcp.mss, tcp.timestamps)),
        false => 128,
    };
    ((u128::from(memory) * u128::from(ratio)) >> 8).min(u128::from(tcp.window_limit())) as u64
}
