//! Sockets with the properties of a transport.

use crate::namespace::Namespace;
use forebay_linux::protocol::{Group, number};
use nix::libc;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

/// Send buffer of a datagram source; in the guest the buffer is unlimited. Our choice: 4 MiB, if the machine grants it.
const DATAGRAMS_WAITING: usize = 4 << 20;
/// ECT(0) in the byte of IPv4 that holds DSCP and ECN (RFC 3168).
const ECT0: u32 = 2;
/// Prefix of the names of our congestion controls in the kernel (`crates/kernel/src/congestion_controls.rs`).
const OURS: &str = "forebay_";

/// The error with what was tried.
pub fn io_error(what: &str, e: impl Into<io::Error>) -> io::Error {
    let e = e.into();
    io::Error::new(e.kind(), format!("{what}: {e}"))
}

/// A text that ends with a zero, or with its field.
fn text(field: &[u8]) -> &[u8] {
    field.split(|&b| b == 0).next().unwrap_or_default()
}

/// A transport without a congestion control sends datagrams.
pub fn is_datagrams(group: &Group) -> bool {
    text(&group.cc).is_empty()
}

/// A socket in a namespace with the properties of a transport.
///
/// # Errors
/// The kernel refuses it, or does not have its congestion control.
pub fn socket(namespace: &Namespace, group: &Group) -> io::Result<Socket> {
    namespace.inside(|| if is_datagrams(group) { datagrams(group) } else { stream(group) })
}

fn stream(group: &Group) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    let cc = text(&group.cc);
    socket.set_tcp_congestion(cc).map_err(|e| {
        let name = String::from_utf8_lossy(cc);
        let fix = match name.strip_prefix(OURS) {
            Some(own) => format!("forebay attach {own} --name {name} --default, with its parameters as --param"),
            None => format!("modprobe tcp_{name}"),
        };
        io_error(&format!("this kernel has no congestion control `{name}` ({fix})"), e)
    })?;
    if group.rcvbuf > 0 {
        socket.set_recv_buffer_size(group.rcvbuf as usize)?;
    }
    if group.sndbuf > 0 {
        socket.set_send_buffer_size(group.sndbuf as usize)?;
    }
    if group.max_pacing_rate > 0 {
        set_max_pacing_rate(&socket, group.max_pacing_rate)?;
    }
    socket.set_tcp_nodelay(group.flags & number::GROUP_NODELAY != 0)?;
    // With linger 0 no connection outlives the run to send its last bytes into a removed network, which would keep its namespace alive. Accepted
    // sockets inherit it.
    socket.set_linger(Some(Duration::ZERO))?;
    Ok(socket)
}

/// Limits the rate of a socket, bytes per second (SO_MAX_PACING_RATE). Accepted sockets inherit it.
fn set_max_pacing_rate(socket: &Socket, rate: u64) -> io::Result<()> {
    let size = size_of_val(&rate) as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
    // SAFETY: the kernel reads `size` bytes of `rate`, which lives until the call returns.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const rate).cast(), size) } {
        0 => Ok(()),
        _ => Err(io_error("the kernel refuses SO_MAX_PACING_RATE", io::Error::last_os_error())),
    }
}

fn datagrams(group: &Group) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM.nonblocking().cloexec(), Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_send_buffer_size(DATAGRAMS_WAITING)?;
    if group.flags & number::GROUP_ECN != 0 {
        socket.set_tos_v4(ECT0)?;
    }
    Ok(socket)
}
