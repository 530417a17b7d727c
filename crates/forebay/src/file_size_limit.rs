//! Limit on the size of files (ulimit -f).

/// Ignores SIGXFSZ, which would end the process without a message: a write beyond the limit fails with EFBIG instead.
pub(crate) fn ignore_signal() {
    // SAFETY: no handler is installed, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
