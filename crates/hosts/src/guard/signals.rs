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
        let ignored = |signal: &i32| {
            let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: room for an action, which the call fills; nothing is changed.
            let done = unsafe { libc::sigaction(*signal, std::ptr::null(), now.as_mut_ptr()) };
            // SAFETY: filled if the call succeeded, and zeroed in any case.
            done == 0 && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
        };
        Signals::listen(&[libc::SIGHUP, libc::SIGINT, libc::SIGTERM].into_iter().filter(|s| !ignored(s)).collect::<Vec<_>>())
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
        for signal in fatal {
            // SAFETY: the default action needs no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGPIPE, libc::SIGXFSZ] {
            // SAFETY: to ignore a signal needs no handler.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
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

/// Name of a signal, with its most frequent cause.
pub(super) fn name(signal: i32) -> String {
    match signal {
        libc::SIGHUP => "SIGHUP (the terminal was closed)".into(),
        libc::SIGINT => "Ctrl-C (SIGINT)".into(),
        libc::SIGTERM => "SIGTERM".into(),
        other => format!("signal {other}"),
    }
}
