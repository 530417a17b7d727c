//! Signals as messages: blocked, and read from a descriptor.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Descriptor that receives signals from its opening on. They stay blocked in the thread, and in threads that it starts.
#[derive(Debug)]
pub(super) struct Signals(OwnedFd);

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
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is made empty before it is used, and lives through the calls.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in all {
                libc::sigaddset(set.as_mut_ptr(), *signal);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened and has no other owner.
        Ok(Signals(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal that has arrived.
    pub(super) fn next(&self) -> Option<i32> {
        let mut info = std::mem::MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: room for one description, which the call fills.
        let n = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        // SAFETY: filled, as the call says.
        (usize::try_from(n) == Ok(size)).then(|| unsafe { info.assume_init() }.ssi_signo.cast_signed())
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
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
