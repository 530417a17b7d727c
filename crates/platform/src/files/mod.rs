//! Files that other users of a machine cannot redirect, replace or lock.
//!
//! * [`replace`] and [`write_new`] write files for the user: no symbolic link is followed, temporary names are random and made exclusively, and
//!   only a plain file is replaced. [`remove_unfinished`] removes the temporary files of processes that were killed.
//! * [`TempDir`] is a temporary directory with a lock, so that the next process finds and removes those of processes that were killed.
//! * [`lock`], [`claim`], [`process_runs`] and [`is_shared`] find out whether a process still uses a temporary file or directory.
//! * `Dir` (Linux) holds privileged files: owner and mode are checked, each file has the mode that the caller gives whatever the umask, and the
//!   lock file cannot be opened by other users.

#[cfg(target_os = "linux")]
mod dir;
mod file_use;
mod random;
mod temp_dir;
mod unfinished_files;
mod write;

#[cfg(target_os = "linux")]
pub use dir::{Dir, Error};
pub use file_use::{Lock, claim, is_own, is_shared, lock, process_runs};
pub use temp_dir::{TempDir, remove_stale};
pub use unfinished_files::remove_unfinished;
pub use write::{
    MAX_TEXT, Options, TEMPORARY, create, create_beside, read_input, read_plain, read_text, remove_unfinished_at, replace,
    write_new,
};
