//! Signals as messages: blocked, and read from a descriptor.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Descriptor that receives signals from its opening on. They stay blocked in the thread, and in threads that it starts.
#[derive(Debug)]
pub(super) struct Signals(SignalFd);

impl Signals {
    /// Signals of the foreground process: those of the terminal and of a service manager. An ignored signal, as under `nohup`, stays ignored.
    pub(super) fn of_foreground() -> io::Result<Signals> {
        let ignored = ignored_signals()?;
        let heeded = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
        Signals::listen(&[libc::SIGHUP, libc::SIGINT, libc::SIGTERM].into_iter().filter(heeded).collect::<Vec<_>>())
    }

    /// Signals of the guard: all blockable signals that would end it. Signals that would stop it are ignored, except SIGSTOP.
    pub(super) fn of_guard() -> io::Result<Signals> {
        let fatal = [
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGTERM,
            libc::SIGUSR1,
            libc::SIGUSR2,
            libc::SIGALRM,
            libc::SIGVTALRM,
            libc::SIGPROF,
            libc::SIGXCPU,
            libc::SIGPWR,
        ];
        let ignored = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGPIPE, libc::SIGXFSZ];
        let actions =
            fatal.map(|signal| (signal, libc::SIG_DFL)).into_iter().chain(ignored.map(|signal| (signal, libc::SIG_IGN)));
        for (signal, action) in actions {
            // SAFETY: neither the default action nor ignoring a signal needs a handler.
            unsafe { libc::signal(signal, action) };
        }
        Signals::listen(&fatal)
    }

    fn listen(all: &[i32]) -> io::Result<Signals> {
        let mut set = SigSet::empty();
        for signal in all {
            set.add(Signal::try_from(*signal)?);
        }
        set.thread_block()?;
        Ok(Signals(SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
    }

    /// The next signal that has arrived.
    pub(super) fn next(&self) -> Option<i32> {
        self.0.read_signal().ok().flatten().map(|info| info.ssi_signo.cast_signed())
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Signals that this process ignores, from bit 0 for signal 1 on (proc_pid_status(5), `SigIgn`).
fn ignored_signals() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self/status has no line `SigIgn`"))
}

/// Name of a signal, with its most frequent cause.
pub(super) fn name(signal: i32) -> String {
    match signal {
        libc::SIGHUP => "SIGHUP (the terminal was closed)".into(),
        libc::SIGINT => "Ctrl-C (SIGINT)".into(),
        libc::SIGTERM => "SIGTERM".into(),
        other => format!("signal {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard library of Rust ignores SIGPIPE in every program, and leaves the others as they are.
    #[test]
    fn status_shows_ignored_signals() {
        let ignores = |signal: i32| ignored_signals().expect("the status") >> (signal - 1) & 1 == 1;
        assert!(ignores(libc::SIGPIPE));
        assert!(!ignores(libc::SIGCHLD) && !ignores(libc::SIGALRM));
    }
}
