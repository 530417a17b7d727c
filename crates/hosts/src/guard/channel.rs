//! Messages between the two processes of a guard, over a pair of connected sockets that preserve message boundaries. Sending never
//! blocks; a message that does not fit is dropped.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
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
        let mut ends = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: room for two descriptors, which the call fills.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both were just opened and have no other owner.
        Ok(unsafe { (Channel(OwnedFd::from_raw_fd(ends[0])), Channel(OwnedFd::from_raw_fd(ends[1]))) })
    }

    /// The end with this descriptor.
    ///
    /// # Safety
    /// The descriptor is open and owned by nothing else.
    pub(super) unsafe fn from_descriptor(fd: RawFd) -> Channel {
        // SAFETY: the caller's promise.
        Channel(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Sends a message; returns whether it was queued.
    pub(super) fn send(&self, message: &impl Serialize) -> bool {
        let Ok(text) = serde_json::to_vec(message) else { return false };
        if text.len() > LONGEST {
            return false;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the buffer lives through the call.
        unsafe { libc::send(self.0.as_raw_fd(), text.as_ptr().cast(), text.len(), flags) >= 0 }
    }

    /// Returns true if the process at the other end has ended.
    pub(super) fn is_closed(&self) -> bool {
        let mut one = libc::pollfd { fd: self.0.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: one descriptor, which lives through the call.
        unsafe { libc::poll(&raw mut one, 1, 0) > 0 && one.revents & libc::POLLHUP != 0 }
    }

    pub(super) fn receive<T: DeserializeOwned>(&self) -> Received<T> {
        let mut buffer = vec![0_u8; LONGEST];
        loop {
            // SAFETY: the buffer lives through the call and is as long as it says.
            let n = unsafe { libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
            match usize::try_from(n) {
                Ok(0) => return Received::Closed,
                Ok(n) => return serde_json::from_slice(&buffer[..n]).map_or(Received::Closed, Received::Message),
                Err(_) => match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EAGAIN) => return Received::Nothing,
                    // The other end closed with unread messages in its queue. Its own messages follow, then the end.
                    Some(libc::EINTR | libc::ECONNRESET) => {}
                    _ => return Received::Closed,
                },
            }
        }
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits until one of the descriptors is readable or closed, at most for `most`; returns whether one is.
pub(super) fn wait(descriptors: &[RawFd], most: Duration) -> bool {
    let mut all: Vec<libc::pollfd> =
        descriptors.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    // Rounded up, so that the whole time has passed afterwards.
    let most = most.as_millis().saturating_add(1).try_into().unwrap_or(i32::MAX);
    // SAFETY: the list lives through the call and is as long as it says.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, most) > 0 }
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
