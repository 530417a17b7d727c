//! Sends frames again by a packet socket, so that they pass the shim again, with its order in their mark.

use super::schedule::{Order, Sending};
use crate::Error;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, setsockopt, socket, sockopt};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
/// ORDER of helper.bpf.h: the upper half of such a mark.
const ORDER: u32 = 0xfb0b_0000;

/// A packet socket that receives nothing.
#[derive(Debug)]
pub(super) struct Wire(OwnedFd);

impl Wire {
    pub(super) fn open() -> Result<Wire, Error> {
        // Without a protocol it receives nothing.
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None::<SockProtocol>);
        socket.map(Wire).map_err(|e| Error::io("a packet socket", &e.into()).fix("run it as root, or with CAP_NET_RAW"))
    }

    /// Sends a frame at the interface where it was captured.
    pub(super) fn send(&self, sending: &mut Sending) -> io::Result<()> {
        let (what, size) = match sending.order {
            Order::Release => (1, 0),
            Order::Train(n) => (2, n),
            Order::Again(n) => (3, n),
        };
        let mark = ORDER | what << 8 | size.min(255);
        complete(&mut sending.frame);
        setsockopt(&self.0, sockopt::Mark, &mark)?;
        // SAFETY: zero is a legal address; address and frame live through the call and have the sizes that are given.
        unsafe {
            let mut to: libc::sockaddr_ll = std::mem::zeroed();
            to.sll_family = libc::AF_PACKET as u16;
            to.sll_protocol = (libc::ETH_P_IP as u16).to_be();
            to.sll_ifindex = sending.interface as i32;
            let frame = &sending.frame;
            let n = libc::sendto(
                self.0.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const to).cast(),
                size_of_val(&to) as u32,
            );
            if n < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        }
    }
}

/// Computes TCP's checksum: where the card does it, the frame that was seen had none yet (RFC 9293, section 3.1).
fn complete(frame: &mut [u8]) {
    let Some(headers) = frame.get(ETHERNET..ETHERNET + IPV4) else { return };
    let total = usize::from(u16::from_be_bytes([headers[2], headers[3]]));
    let (at, end) = (ETHERNET + IPV4, (ETHERNET + total).min(frame.len()));
    if headers[0] != 0x45 || end < at + 20 {
        return;
    }
    frame[at + 16..at + 18].fill(0);
    let words = |bytes: &[u8]| bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum::<u32>();
    // Addresses, protocol and length are the pseudo header.
    let mut sum = words(&frame[ETHERNET + 12..at]) + u32::from(frame[ETHERNET + 9]) + (end - at) as u32 + words(&frame[at..end]);
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[at + 16..at + 18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN as the kernel sent it: with the checksum that belongs to it, whatever stood there before.
    #[test]
    fn a_checksum_is_computed_anew() {
        let mut frame = vec![0; 14];
        frame[12..].copy_from_slice(&[8, 0]);
        frame.extend([0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0, 80, 0x1f, 0x90, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0xaa, 0xaa, 0, 0]);
        complete(&mut frame);
        let words = |b: &[u8]| b.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum::<u32>();
        // With its checksum a segment and its pseudo header add up to all ones.
        let mut sum = words(&frame[26..34]) + 6 + 20 + words(&frame[34..]);
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        assert_eq!(sum, 0xffff);
        assert_ne!(frame[50..52], [0xaa, 0xaa]);
        // Frames that are not segments are unchanged.
        let mut short = vec![0x45; 30];
        complete(&mut short);
        assert_eq!(short, vec![0x45; 30]);
    }
}
