//! Connections with content that is checked: what arrives is hashed and compared with what was sent.

use crate::check::wait_until;
use crate::lab::{Host, Lab};
use forebay_hosts::inet_diag::{self, Socket};
use std::hash::Hasher;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest wait of a read before the test reports that the connection is stuck.
const STUCK: Duration = Duration::from_secs(120);

/// Bytes that differ from place to place, so that lost, doubled and swapped ones are seen.
struct Content(u64);

impl Content {
    fn fill(&mut self, buffer: &mut [u8]) {
        for word in buffer.chunks_mut(8) {
            // xorshift64 (Marsaglia 2003).
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            let n = word.len();
            word.copy_from_slice(&self.0.to_le_bytes()[..n]);
        }
    }
}

/// Waits until all that was written is acknowledged (SIOCOUTQ, tcp(7)).
pub(crate) fn acknowledged(socket: &TcpStream) {
    let empty = wait_until(|| {
        let mut bytes: libc::c_int = 0;
        // SAFETY: an open socket, and a number that lives through the call.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        assert_eq!(done, 0, "SIOCOUTQ: {}", std::io::Error::last_os_error());
        bytes == 0
    });
    assert!(empty, "what was written is acknowledged");
}

/// A pair of connected sockets, left to right.
pub(crate) fn connect(lab: &Lab) -> (TcpStream, TcpStream) {
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    connect_to(lab, &listener)
}

pub(crate) fn connect_to(lab: &Lab, listener: &TcpListener) -> (TcpStream, TcpStream) {
    connect_from(&lab.left, listener)
}

pub(crate) fn connect_from(host: &Host, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let address = listener.local_addr().expect("the listener has an address");
    let near = host.run(|| TcpStream::connect(address).expect("the hosts reach each other"));
    let (far, _) = listener.accept().expect("right accepts");
    for s in [&near, &far] {
        s.set_read_timeout(Some(STUCK)).expect("a timeout");
        s.set_write_timeout(Some(STUCK)).expect("a timeout");
    }
    (near, far)
}

/// Bytes on their way; `finish` says whether they arrived as they were sent.
pub(crate) struct Transfer {
    pub(crate) near: SocketAddr,
    stop: Arc<AtomicBool>,
    sender: JoinHandle<std::io::Result<(u64, u64)>>,
    receiver: JoinHandle<std::io::Result<(u64, u64)>>,
}

/// Result of a transfer.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) bytes: u64,
    pub(crate) intact: bool,
}

impl Transfer {
    /// Sends until `bytes` are written or `finish` is called.
    pub(crate) fn start(lab: &Lab, bytes: u64) -> Transfer {
        let (near, far) = connect(lab);
        Transfer::over(near, far, bytes)
    }

    pub(crate) fn over(mut near: TcpStream, mut far: TcpStream, bytes: u64) -> Transfer {
        let stop = Arc::new(AtomicBool::new(false));
        let address = near.local_addr().expect("a connected socket");
        let stopped = Arc::clone(&stop);
        let sender = std::thread::spawn(move || {
            let (mut content, mut hash, mut sent) = (Content(0x9e37_79b9_7f4a_7c15), hasher(), 0);
            let mut buffer = [0; 16384];
            while sent < bytes && !stopped.load(Ordering::Relaxed) {
                let n = buffer.len().min((bytes - sent) as usize);
                content.fill(&mut buffer[..n]);
                near.write_all(&buffer[..n])?;
                hash.write(&buffer[..n]);
                sent += n as u64;
            }
            near.shutdown(std::net::Shutdown::Write)?;
            // Until the other end has everything.
            near.read_exact(&mut [0])?;
            Ok((sent, hash.finish()))
        });
        let receiver = std::thread::spawn(move || {
            // In pieces as large as those of the sender, because the hash depends on where they end.
            let (mut hash, mut got, mut buffer, mut have) = (hasher(), 0, [0; 16384], 0);
            loop {
                let n = match far.read(&mut buffer[have..]) {
                    // A machine that was stopped for a while.
                    Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                    n => n?,
                };
                have += n;
                if n == 0 || have == buffer.len() {
                    if have > 0 {
                        hash.write(&buffer[..have]);
                    }
                    got += have as u64;
                    have = 0;
                }
                if n == 0 {
                    break;
                }
            }
            far.write_all(&[1])?;
            Ok((got, hash.finish()))
        });
        Transfer { near: address, stop, sender, receiver }
    }

    /// The sending socket as the kernel sees it.
    pub(crate) fn socket(&self, lab: &Lab) -> Option<Socket> {
        lab.left.run(|| inet_diag::sockets().expect("sockets are listed")).into_iter().find(|s| s.local == self.near)
    }

    /// Lets what was written arrive, and compares.
    pub(crate) fn finish(self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        self.wait()
    }

    /// Waits until all bytes have arrived, and compares.
    pub(crate) fn wait(self) -> Outcome {
        let sent = self.sender.join().expect("the sender runs to its end");
        let got = self.receiver.join().expect("the receiver runs to its end");
        match (sent, got) {
            (Ok(sent), Ok(got)) => Outcome { bytes: got.0, intact: sent == got },
            (sent, got) => {
                println!("      sender: {sent:?}, receiver: {got:?}");
                Outcome { bytes: 0, intact: false }
            }
        }
    }
}

fn hasher() -> impl Hasher {
    std::collections::hash_map::DefaultHasher::new()
}
