//! Packets that a congestion control delays: the random waits of TRIM (AD, AS), which a BPF program can draw but not implement.
//!
//! The sockets of such a transport carry a mark with a slot (`crates/kernel/bpf/trim/trim_hold.bpf.h`). The program writes the
//! end of the delay into that slot of a map before the first packet leaves the kernel. The switch has the map in its memory.

use crate::clock::Clock;
use forebay_linux::protocol::Group;
use forebay_platform::mounts::mount_points;
use forebay_types::Time;
use nix::libc;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The congestion control with waits, as the kernel calls it.
const CC: &str = "forebay_trim";
/// Index in `param` of the congestion control of AD, AS and AD at the start (`trim_read` of `trim_core.h`, behind two common numbers).
const WAITS: usize = 15;
/// `HOLD_MARK`, and where the bits of the waits begin (`HOLD_BEFORE`).
const MARK: u32 = 0xFB00_0000;
const FIRST_WAIT: u32 = 16;
/// `HOLD_SLOTS`.
const SLOTS: usize = 1 << 16;

/// The random waits of a transport, as bits of a mark; none if it has none.
pub fn waits(group: &Group) -> Option<u32> {
    let name = group.cc.split(|&b| b == 0).next().unwrap_or_default();
    let [before, after, start] = [0, 1, 2].map(|i| u32::from(group.param[WAITS + i] != 0));
    (name == CC.as_bytes() && before | after != 0).then_some((before | after << 1 | start << 2) << FIRST_WAIT)
}

/// The slot of connection `conn`: there are more of them than ports of senders.
fn slot(conn: u32) -> u32 {
    conn % SLOTS as u32
}

/// The mark of the sending socket of connection `conn` with `waits`.
pub fn mark(waits: u32, conn: u32) -> u32 {
    MARK | waits | slot(conn)
}

/// The map of the program.
#[derive(Debug)]
pub struct HoldTimes(NonNull<AtomicU64>);

// SAFETY: the memory is the kernel's, is read with atomic loads, and stays until the value is dropped.
unsafe impl Send for HoldTimes {}

impl HoldTimes {
    /// Opens the map of the attached program.
    ///
    /// # Errors
    /// No program is attached, or privileges are missing.
    pub fn open() -> io::Result<HoldTimes> {
        let missing = |e: io::Error| {
            let fix = format!("attach it with this version of forebay, as root: forebay attach trim --name {CC} --default");
            io::Error::new(e.kind(), format!("the waits of TRIM (`at`) need the program's map `holds`: {e} ({fix})"))
        };
        let pin = |mount: PathBuf| mount.join("forebay").join(CC).join("holds");
        let found = mount_points("bpf")?.into_iter().map(pin).find(|p| p.exists());
        let path = found.ok_or_else(|| missing(io::Error::new(io::ErrorKind::NotFound, "no such program is attached")))?;
        HoldTimes::map(&pinned(&path).map_err(missing)?).map_err(missing)
    }

    fn map(map: &File) -> io::Result<HoldTimes> {
        // SAFETY: a new mapping, read only, of the whole map.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), SLOTS * 8, libc::PROT_READ, libc::MAP_SHARED, map.as_raw_fd(), 0) };
        match NonNull::new(memory.cast()) {
            Some(first) if memory != libc::MAP_FAILED => Ok(HoldTimes(first)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// End of the hold of connection `conn`.
    pub fn until(&self, conn: u32, clock: Clock) -> Time {
        // SAFETY: the map has so many values of eight bytes, and is mapped until `self` is dropped.
        let entry = unsafe { self.0.add(slot(conn) as usize).as_ref() };
        clock.at(entry.load(Ordering::Acquire))
    }
}

impl Drop for HoldTimes {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; nothing refers to it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), SLOTS * 8) };
    }
}

/// A pinned map (bpf(2), `BPF_OBJ_GET`). One that was opened to be read only cannot be shared memory (bpf_map_mmap).
fn pinned(path: &std::path::Path) -> io::Result<File> {
    const OBJ_GET: libc::c_long = 7;
    #[repr(C)]
    struct Attributes {
        path: u64,
        fd: u32,
        flags: u32,
    }
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    let attributes = Attributes { path: path.as_ptr() as u64, fd: 0, flags: 0 };
    // SAFETY: the kernel reads the attributes and the path, which live until the call returns.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, OBJ_GET, &raw const attributes, size_of::<Attributes>()) };
    match i32::try_from(fd) {
        // SAFETY: the descriptor is new and has no other owner.
        Ok(fd) if fd >= 0 => Ok(unsafe { File::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
