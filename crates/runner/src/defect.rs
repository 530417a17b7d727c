//! Conversion of panics to errors. A panic is a defect of forebay; where it must not end the process, such as in an interpreter, it becomes an
//! error.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, Once, PoisonError};

/// Message of the last panic, on any thread.
static LAST: Mutex<Option<String>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Calls `work`. A panic in it, or in threads that it waits for, becomes an error with the message and place of the first panic. The state that
/// `work` was changing is lost.
///
/// # Errors
/// The message of the panic.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            // A thread that waits for a panicked thread panics too, with a less specific message.
            if last.is_none() || !thread_of_another(info) {
                *last = Some(info.to_string());
            }
            drop(last);
            usual(info);
        }));
    });
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let output = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        output.unwrap_or_else(|| "a panic without a message".into())
    })
}

/// True for the panic of a `thread::scope` whose thread panicked.
fn thread_of_another(info: &PanicHookInfo<'_>) -> bool {
    info.payload().downcast_ref::<&str>() == Some(&"a scoped thread panicked")
}
