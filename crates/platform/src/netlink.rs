//! Requests to the kernel over netlink(7), and their answers.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};
use std::io;

/// A netlink socket of one protocol, in the network namespace of the thread that opened it.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// Error number with which the kernel refused a request, positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The error number.
    pub errno: i32,
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        io::Error::from_raw_os_error(refused.errno)
    }
}

impl Netlink {
    /// Opens a socket of a protocol such as `NETLINK_ROUTE`.
    ///
    /// # Errors
    /// Errors of the socket.
    pub fn open(protocol: isize) -> io::Result<Netlink> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Sends a request and collects the answers up to the last one.
    ///
    /// # Errors
    /// Errors of the socket, or an answer that cannot be parsed. The inner error is the kernel's.
    pub fn request<M>(&mut self, message: M, flags: u16) -> io::Result<Result<Vec<M>, Refused>>
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
        self.socket.send(&buffer, 0)?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let part = NetlinkMessage::<M>::deserialize(rest)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("an answer that cannot be read: {e}")))?;
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
                        // A request for one object is answered by one message without an end mark, unless it requests an ACK.
                        if flags & (NLM_F_DUMP | NLM_F_ACK) == 0 {
                            return Ok(Ok(answers));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
