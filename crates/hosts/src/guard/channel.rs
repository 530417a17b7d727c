//! Messages between the two processes of a guard, over a pair of connected sockets that preserve message boundaries. Sending never
//! blocks; a message that does not fit is dropped.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Longest message in bytes.
const LONGEST: usize = 1 << 18;

/// One end of the channel.
#[derive(Debug)]
pub(super) struct Channel(OwnedFd);

/// Result of a receive.
#[derive(Debug)]
pub(super) enum Received<T> {
    Nothing,
    Message(T),
    /// The process at the other end has ended, or has sent an invalid message.
    Closed,
}

impl Channel {
    pub(super) fn pair() -> io::Result<(Channel, Channel)> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let (near, far) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
        Ok((Channel(near), Channel(far)))
    }

    /// The end with this descriptor.
    ///
    /// # Safety
    /// The descriptor is open and owned by nothing else.
    pub(super) unsafe fn from_descriptor(fd: RawFd) -> Channel {
        // SAFETY: the caller's promise.
        Channel(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Number of its descriptor.
    pub(super) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Sends a message; returns whether it was queued.
    pub(super) fn send(&self, message: &impl Serialize) -> bool {
        let Ok(text) = serde_json::to_vec(message) else { return false };
        if text.len() > LONGEST {
            return false;
        }
        send(self.0.as_raw_fd(), &text, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL).is_ok()
    }

    /// Returns true if the process at the other end has ended.
    pub(super) fn is_closed(&self) -> bool {
        let mut one = [PollFd::new(self.0.as_fd(), PollFlags::empty())];
        let found = poll(&mut one, PollTimeout::ZERO);
        found.is_ok_and(|n| n > 0) && one[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP))
    }

    pub(super) fn receive<T: DeserializeOwned>(&self) -> Received<T> {
        let mut buffer = vec![0_u8; LONGEST];
        loop {
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(0) => return Received::Closed,
                Ok(n) => return serde_json::from_slice(&buffer[..n]).map_or(Received::Closed, Received::Message),
                Err(Errno::EAGAIN) => return Received::Nothing,
                // The other end closed with unread messages in its queue. Its own messages follow, then the end.
                Err(Errno::EINTR | Errno::ECONNRESET) => {}
                Err(_) => return Received::Closed,
            }
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of the descriptors is readable or closed, at most for `most`; returns whether one is.
pub(super) fn wait(descriptors: &[BorrowedFd<'_>], most: Duration) -> bool {
    let mut all: Vec<PollFd<'_>> = descriptors.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    // Rounded up, so that the whole time has passed afterwards.
    let most = PollTimeout::try_from(most.as_millis().saturating_add(1)).unwrap_or(PollTimeout::MAX);
    poll(&mut all, most).is_ok_and(|n| n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_before_the_end() {
        let (near, far) = Channel::pair().unwrap();
        assert!(matches!(far.receive::<String>(), Received::Nothing));
        assert!(!far.is_closed());
        assert!(near.send(&"one") && near.send(&"two") && far.send(&"unread"));
        drop(near);
        assert!(far.is_closed());
        for expected in ["one", "two"] {
            assert!(matches!(far.receive::<String>(), Received::Message(m) if m == expected), "{expected}");
        }
        assert!(matches!(far.receive::<String>(), Received::Closed));
        assert!(!far.send(&"unread"));
    }

    #[test]
    fn full_channel_drops_messages() {
        let (near, _far) = Channel::pair().unwrap();
        let sent = (0..100_000).take_while(|_| near.send(&"x".repeat(1000))).count();
        assert!((1..100_000).contains(&sent), "{sent}");
    }
}
