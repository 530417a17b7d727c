//! Netlink requests, with the errors of this crate.

use crate::Error;
use forebay_platform::netlink::{self, Refused};
use netlink_packet_core::{NetlinkDeserializable, NetlinkSerializable};

/// A netlink socket of one protocol.
pub(crate) struct Netlink {
    socket: netlink::Netlink,
    protocol: &'static str,
}

impl Netlink {
    pub(crate) fn open(protocol: isize, name: &'static str) -> Result<Netlink, Error> {
        let socket = netlink::Netlink::open(protocol).map_err(|e| Error::io(format!("netlink socket ({name})"), &e))?;
        Ok(Netlink { socket, protocol: name })
    }

    /// Sends a request and collects the answers up to the last one.
    pub(crate) fn request<M>(&mut self, message: M, flags: u16) -> Result<std::result::Result<Vec<M>, Refused>, Error>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
    {
        self.socket.request(message, flags).map_err(|e| Error::io(format!("netlink ({})", self.protocol), &e))
    }
}

#[cfg(test)]
mod tests {
    use super::Netlink;
    use netlink_packet_core::NLM_F_DUMP;
    use netlink_packet_sock_diag::SockDiagMessage;
    use netlink_packet_sock_diag::constants::AF_INET;
    use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
    use netlink_sys::protocols::NETLINK_SOCK_DIAG;

    #[test]
    fn failed_dump_is_an_error() {
        // The kernel lists sockets of no such protocol (experimental, RFC 3692).
        let protocol = 253;
        let (states, socket_id) = (StateFlags::all(), SocketId::new_v4());
        let request = InetRequest { family: AF_INET, protocol, extensions: ExtensionFlags::empty(), states, socket_id };
        let mut netlink = Netlink::open(NETLINK_SOCK_DIAG, "sock_diag").unwrap();
        let answer = netlink.request(SockDiagMessage::InetRequest(request), NLM_F_DUMP).unwrap();
        assert_eq!(answer.unwrap_err().errno, libc::ENOENT);
    }
}
