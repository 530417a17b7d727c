//! Files that other users of a machine cannot redirect, replace or lock.
//!
//! * [`replace`] and [`write_new`] write files for the user: no symbolic link is followed, temporary names are random, their files are created
//!   exclusively, and only a plain file is replaced.
//! * [`TempDir`] is a temporary directory with a lock, so that the next process can remove directories of killed processes.
//! * `Dir` (Linux) holds privileged files: owner and mode are checked, each file has the mode that the caller gives whatever the umask, and the
//!   lock file cannot be opened by other users.

#[cfg(target_os = "linux")]
mod dir;
mod random;
mod temp_dir;
mod write;

#[cfg(target_os = "linux")]
pub use dir::{Dir, Error};
pub use temp_dir::{TempDir, remove_stale};
pub use write::{Options, create_beside, replace, write_new};
