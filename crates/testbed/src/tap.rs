//! A host's network interface: a TAP device whose other end this process reads and writes. It carries Ethernet frames, as BPF programs at interfaces
//! expect them. All interfaces have the same link address, so that every host accepts all frames and no ARP is needed.

use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Name of the interface in its namespace.
pub const NAME: &str = "host0";
/// Link address of every interface: a local one.
pub const LINK_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

nix::ioctl_write_int!(
    /// Makes the device of a file (linux/if_tun.h).
    tunsetiff,
    b'T',
    202
);

/// Makes the interface in the namespace of the calling thread. Reads and writes do not block: a read without a packet, and a write that the
/// kernel has no memory for, fail with [`io::ErrorKind::WouldBlock`].
///
/// # Errors
/// There is no `/dev/net/tun`, or no right to use it.
pub fn create() -> io::Result<File> {
    let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
    let device = device.map_err(|e| io::Error::new(e.kind(), format!("/dev/net/tun: {e}")))?;
    // SAFETY: all zero is a legal value of this plain struct of the kernel.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the kernel reads and writes one `ifreq`, which lives until the call returns.
    unsafe { tunsetiff(device.as_raw_fd(), &raw mut request as libc::c_ulong as _) }?;
    Ok(device)
}
