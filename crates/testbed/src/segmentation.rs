//! TCP segmentation offload: cuts a frame that the kernel hands over with more than a segment into the frames of the wire, as tcp_gso_segment does.

use crate::frame::{ETHERNET, flag};

/// Place of the control bits in a TCP header.
const FLAGS: usize = 13;

/// The frames of the wire of `frame`, TCP over IPv4, in segments of `size` bytes of payload.
///
/// `None` if the frame is shorter than its headers say.
pub fn segments(frame: &[u8], size: usize) -> Option<Vec<Vec<u8>>> {
    let packet = frame.get(ETHERNET..)?;
    let ip = usize::from(packet.first()? & 0xF) * 4;
    let total = usize::from(u16::from_be_bytes(packet.get(2..4)?.try_into().ok()?));
    let tcp = usize::from(packet.get(ip + 12)? >> 4) * 4;
    let (headers, payload) = frame.get(..ETHERNET + total)?.split_at_checked(ETHERNET + ip + tcp)?;
    let id = u16::from_be_bytes(packet.get(4..6)?.try_into().ok()?);
    let seq = u32::from_be_bytes(packet.get(ip + 4..ip + 8)?.try_into().ok()?);
    let count = payload.len().div_ceil(size.max(1));
    let segment = |(i, data): (usize, &[u8])| {
        let mut bytes = [headers, data].concat();
        let packet = &mut bytes[ETHERNET..];
        packet[2..4].copy_from_slice(&((ip + tcp + data.len()) as u16).to_be_bytes());
        packet[4..6].copy_from_slice(&id.wrapping_add(i as u16).to_be_bytes());
        packet[10..12].fill(0);
        let sum = checksum(&packet[..ip]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet[ip + 4..ip + 8].copy_from_slice(&seq.wrapping_add((i * size) as u32).to_be_bytes());
        if i > 0 {
            packet[ip + FLAGS] &= !flag::CWR;
        }
        if i + 1 < count {
            packet[ip + FLAGS] &= !(flag::FIN | flag::PSH);
        }
        bytes
    };
    Some(payload.chunks(size.max(1)).enumerate().map(segment).collect())
}

/// Internet checksum (RFC 1071) of a header of whole words.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes.chunks_exact(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::headers;

    /// A frame from 10.0.0.1:10000 to 10.0.0.2:5000 with `payload` bytes from sequence number 4 294 967 000 on, and the control bits `flags`.
    fn frame(payload: usize, flags: u8) -> Vec<u8> {
        let mut f = [vec![2; 12], vec![0x08, 0]].concat();
        f.extend([0x45, 0x02]);
        f.extend(((40 + payload) as u16).to_be_bytes());
        f.extend([0xFF, 0xFF, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        f.extend([0x27, 0x10, 0x13, 0x88]);
        f.extend(4_294_967_000_u32.to_be_bytes());
        f.extend([0, 0, 0, 9, 0x50, flags, 0xFF, 0xFF, 0, 0, 0, 0]);
        f.extend((0..payload).map(|i| i as u8));
        f
    }

    #[test]
    fn segments_carry_the_payload_in_order() {
        let all = segments(&frame(1_000, flag::ACK | flag::PSH | flag::FIN | flag::CWR), 400).unwrap();
        let read: Vec<_> = all.iter().map(|f| headers(f).unwrap()).map(|h| (h.payload, h.tcp.unwrap())).collect();
        let found: Vec<_> = read.iter().map(|(payload, tcp)| (*payload, tcp.seq, tcp.flags)).collect();
        // CWR on the first segment (RFC 3168 section 6.1.2), PSH and FIN on the last; sequence numbers wrap at 2^32.
        let expected =
            [(400, 4_294_967_000, flag::ACK | flag::CWR), (400, 104, flag::ACK), (200, 504, flag::ACK | flag::PSH | flag::FIN)];
        assert_eq!(found, expected);
        let payload: Vec<u8> = all.iter().flat_map(|f| f[54..].to_vec()).collect();
        assert_eq!(payload, (0..1_000).map(|i| i as u8).collect::<Vec<u8>>());
        // Each is a packet of its own, with a number and a checksum.
        let ids: Vec<u16> = all.iter().map(|f| u16::from_be_bytes([f[18], f[19]])).collect();
        assert_eq!(ids, [0xFFFF, 0, 1]);
        assert!(all.iter().all(|f| checksum(&f[14..34]) == 0));
    }

    #[test]
    fn truncated_frame_is_refused() {
        let whole = frame(100, flag::ACK);
        assert!((0..whole.len()).all(|n| segments(&whole[..n], 50).is_none()));
        assert_eq!(segments(&whole, 100).unwrap().len(), 1);
    }
}
