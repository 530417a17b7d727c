//! Work in the kernel that may never end.
//!
//! To describe a socket (sock_diag) or to change it (BPF iterator) the kernel takes the lock of that socket, and waits for it without being
//! interruptible. A process holds it while it copies data of its own, which can take any time if its memory is a file of a file
//! system that it serves itself (FUSE).

use crate::Error;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

/// Time that the work has.
const LIMIT: Duration = Duration::from_secs(10);

/// Does the work on a thread of its own, in the namespaces and with the capabilities of the calling one; `None` if it takes too long. It then
/// goes on, and its result is dropped.
pub(crate) fn with_time_limit<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<Option<T>, Error> {
    within(LIMIT, work)
}

fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<Option<T>, Error> {
    let (done, result) = sync_channel(1);
    let run = move || {
        // The caller may have given up.
        let _ = done.send(work());
    };
    thread::Builder::new().spawn(run).map_err(|e| Error::io("a thread", &e))?;
    result.recv_timeout(limit).ok().transpose()
}

#[cfg(test)]
mod tests {
    use super::within;
    use crate::Error;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn work_without_end_is_given_up() {
        let (hold, held) = channel::<()>();
        let done = within(Duration::from_millis(10), move || Ok(held.recv().is_ok()));
        assert!(done.unwrap().is_none());
        drop(hold);
        let longest = Duration::from_secs(60);
        assert_eq!(within(longest, || Ok(7)).unwrap(), Some(7));
        assert_eq!(within(longest, || Err::<(), _>(Error::new("refused"))).unwrap_err().to_string(), "refused");
    }
}
