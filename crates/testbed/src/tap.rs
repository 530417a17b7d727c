//! A host's network interface: a TAP device whose other end this process reads and writes. It carries Ethernet frames, as BPF programs at interfaces
//! expect them. All interfaces have the same link address, so that every host accepts all frames and no ARP is needed.

use crate::frame;
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
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

nix::ioctl_write_int!(
    /// Tells the kernel what the reader of a device takes over (linux/if_tun.h).
    tunsetoffload,
    b'T',
    208
);

/// `TUN_F_CSUM`, `TUN_F_TSO4` and `TUN_F_TSO_ECN`: checksums, and segments of IPv4 with and without CWR.
const OFFLOADS: libc::c_ulong = 1 | 2 | 8;
/// Bytes of `struct virtio_net_hdr`, which precedes every frame of a device with offload.
const HEADER: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum is not computed, as between interfaces of one machine.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`, and the bit that CWR adds.
const GSO_TCP: u8 = 1;
const GSO_ECN: u8 = 0x80;
/// The longest frame with its header: an IPv4 packet of 64 KB.
pub const LARGEST: usize = HEADER + 14 + 65_536;

/// The end of an interface at which this process is.
#[derive(Debug)]
pub struct Device {
    file: File,
    /// The reader cuts segments, and leaves out checksums.
    offload: bool,
}

impl Device {
    /// Reads a frame into `buffer`, which has room for [`LARGEST`] bytes. Returns the frame, and the payload of a segment if it must be cut.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is none.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<(&'a [u8], Option<usize>)> {
        let n = (&self.file).read(buffer)?;
        if !self.offload || n < HEADER {
            return Ok((&buffer[..n], None));
        }
        let (header, frame) = buffer[..n].split_at(HEADER);
        let size = usize::from(u16::from_le_bytes([header[4], header[5]]));
        Ok((frame, (header[1] & !GSO_ECN == GSO_TCP && size > 0).then_some(size)))
    }

    /// Hands a frame to the host.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if the kernel has no memory for it.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        if !self.offload {
            return (&self.file).write(frame).map(drop);
        }
        let mut header = [0; HEADER];
        if let Some((start, offset)) = frame::transport_checksum(frame) {
            header[0] = NEEDS_CHECKSUM;
            header[6..8].copy_from_slice(&start.to_le_bytes());
            header[8..].copy_from_slice(&offset.to_le_bytes());
        }
        (&self.file).write_vectored(&[IoSlice::new(&header), IoSlice::new(frame)]).map(drop)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Makes the interface in the namespace of the calling thread. Reads and writes do not block: a read without a packet, and a write that the
/// kernel has no memory for, fail with [`io::ErrorKind::WouldBlock`]. With `offload` the kernel hands over TCP data of up to 64 KB in one frame.
///
/// # Errors
/// There is no `/dev/net/tun`, or no right to use it.
pub fn create(offload: bool) -> io::Result<Device> {
    let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
    let file = device.map_err(|e| io::Error::new(e.kind(), format!("/dev/net/tun: {e}")))?;
    let vnet = if offload { libc::IFF_VNET_HDR } else { 0 };
    let flags = (libc::IFF_TAP | libc::IFF_NO_PI | vnet) as libc::c_short;
    let mut request = libc::ifreq { ifr_name: [0; libc::IFNAMSIZ], ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the kernel reads and writes one `ifreq`, which lives until the call returns.
    unsafe { tunsetiff(file.as_raw_fd(), &raw mut request as libc::c_ulong as _) }?;
    if offload {
        // SAFETY: the argument is a number.
        unsafe { tunsetoffload(file.as_raw_fd(), OFFLOADS as _) }?;
    }
    Ok(Device { file, offload })
}
