//! Requests to the kernel over netlink, and their answers.

use crate::Error;
use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

/// A netlink socket of one protocol.
pub(crate) struct Netlink {
    socket: Socket,
    protocol: &'static str,
    sequence: u32,
}

/// Error of a netlink request.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The error number, positive.
    pub(crate) errno: i32,
}

impl Netlink {
    pub(crate) fn open(protocol: isize, name: &'static str) -> Result<Netlink, Error> {
        let open = || -> std::io::Result<Socket> {
            let mut socket = Socket::new(protocol)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        let socket = open().map_err(|e| Error::io(format!("netlink socket ({name})"), &e))?;
        Ok(Netlink { socket, protocol: name, sequence: 0 })
    }

    /// Sends a request and collects what comes back until the kernel says that this was all.
    pub(crate) fn ask<M>(&mut self, message: M, flags: u16) -> Result<std::result::Result<Vec<M>, Refused>, Error>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
    {
        let mut packet = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::InnerMessage(message));
        self.sequence += 1;
        packet.header.flags = NLM_F_REQUEST | flags;
        packet.header.sequence_number = self.sequence;
        packet.finalize();
        let mut buffer = vec![0; packet.buffer_len()];
        packet.serialize(&mut buffer);
        let failed = |e: std::io::Error| Error::io(format!("netlink ({})", self.protocol), &e);
        self.socket.send(&buffer, 0).map_err(failed)?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full().map_err(failed)?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let part = NetlinkMessage::<M>::deserialize(rest)
                    .map_err(|e| Error::new(format!("netlink ({}): an answer that cannot be read: {e}", self.protocol)))?;
                let length = (part.header.length as usize).next_multiple_of(4).min(rest.len());
                rest = &rest[length..];
                if part.header.sequence_number != self.sequence || length == 0 {
                    continue;
                }
                match part.payload {
                    // A dump that fails, at its start or later, ends with the error number.
                    NetlinkPayload::Done(end) if end.code < 0 => return Ok(Err(Refused { errno: end.code.saturating_neg() })),
                    NetlinkPayload::Done(_) => return Ok(Ok(answers)),
                    NetlinkPayload::Error(e) => match e.raw_code() {
                        0 => return Ok(Ok(answers)),
                        code => return Ok(Err(Refused { errno: code.abs() })),
                    },
                    NetlinkPayload::InnerMessage(m) => {
                        answers.push(m);
                        // The answer to a request for one thing is one message without an end mark, unless an ACK was asked for.
                        if flags & (NLM_F_DUMP | netlink_packet_core::NLM_F_ACK) == 0 {
                            return Ok(Ok(answers));
                        }
                    }
                    _ => {}
                }
            }
        }
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
    fn failed_dump_is_no_empty_answer() {
        // The kernel lists sockets of no such protocol (experimental, RFC 3692).
        let protocol = 253;
        let (states, socket_id) = (StateFlags::all(), SocketId::new_v4());
        let request = InetRequest { family: AF_INET, protocol, extensions: ExtensionFlags::empty(), states, socket_id };
        let mut netlink = Netlink::open(NETLINK_SOCK_DIAG, "sock_diag").unwrap();
        let answer = netlink.ask(SockDiagMessage::InetRequest(request), NLM_F_DUMP).unwrap();
        assert_eq!(answer.unwrap_err().errno, libc::ENOENT);
    }
}
