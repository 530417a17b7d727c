//! Work in the kernel that may never end.
//!
//! To describe a socket (sock_diag) or to change it (BPF iterator) the kernel takes the lock of that socket, and waits for it without being
//! interruptible. A process holds it while it copies data of its own, which can take any time if its memory is a file of a file
//! system that it serves itself (FUSE).

use crate::Error;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Time that the work has.
const LIMIT: Duration = Duration::from_secs(10);

/// A function for another thread.
type Work<T> = Box<dyn FnOnce() -> Result<T, Error> + Send>;
/// Starts a thread that waits for its work, does it, and drops the result if the caller has given up.
type Start<T> = fn(Receiver<Work<T>>, SyncSender<Result<T, Error>>) -> io::Result<()>;

/// Does the work on a thread of its own, in the namespaces and with the capabilities of the calling one; `None` if it takes too long. It then
/// goes on, and its result is dropped.
pub(crate) fn with_time_limit<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<Option<T>, Error> {
    within(LIMIT, Box::new(work), start).unwrap_or_else(|(_, e)| Err(Error::io("a thread", &e)))
}

/// As [`with_time_limit`], for work that must be done also where the system has no more threads: then it is done by the calling one, without a
/// limit.
pub(crate) fn with_time_limit_or_in_place<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<Option<T>, Error> {
    or_in_place(work, start)
}

fn or_in_place<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    start: Start<T>,
) -> Result<Option<T>, Error> {
    within(LIMIT, Box::new(work), start).unwrap_or_else(|(work, _)| work().map(Some))
}

fn start<T: Send + 'static>(work: Receiver<Work<T>>, done: SyncSender<Result<T, Error>>) -> io::Result<()> {
    let run = move || {
        if let Ok(work) = work.recv() {
            let _ = done.send(work());
        }
    };
    thread::Builder::new().spawn(run).map(drop)
}

/// The result of the work, or the work itself if the thread cannot be started.
fn within<T: Send + 'static>(
    limit: Duration,
    work: Work<T>,
    start: Start<T>,
) -> Result<Result<Option<T>, Error>, (Work<T>, io::Error)> {
    let (give, given) = sync_channel(1);
    let (done, result) = sync_channel(1);
    match start(given, done) {
        Ok(()) => {
            // A thread that has ended gives no result.
            let _ = give.send(work);
            Ok(result.recv_timeout(limit).ok().transpose())
        }
        Err(e) => Err((work, e)),
    }
}

#[cfg(test)]
mod tests {
    use super::{or_in_place, start, within};
    use crate::Error;
    use std::io;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn work_without_end_is_given_up() {
        let (hold, held) = channel::<()>();
        let done = within(Duration::from_millis(10), Box::new(move || Ok(held.recv().is_ok())), start);
        assert!(done.ok().unwrap().unwrap().is_none());
        drop(hold);
        let longest = Duration::from_secs(60);
        assert_eq!(within(longest, Box::new(|| Ok(7)), start).ok().unwrap().unwrap(), Some(7));
        let refused = within(longest, Box::new(|| Err::<(), _>(Error::new("refused"))), start).ok().unwrap();
        assert_eq!(refused.unwrap_err().to_string(), "refused");
    }

    #[test]
    fn work_is_done_without_threads() {
        let here = thread::current().id();
        let work = move || Ok(thread::current().id() == here);
        let done = or_in_place(work, |_, _| Err(io::Error::from_raw_os_error(libc::EAGAIN)));
        assert_eq!(done.unwrap(), Some(true));
        assert_eq!(or_in_place(work, start).unwrap(), Some(false));
    }
}
