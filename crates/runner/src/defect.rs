//! A panic is a defect of forebay. Where it must not end the process, such as in an interpreter, it becomes a text that says what happened.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, Once, PoisonError};

/// What the last panic said, on whichever thread.
static LAST: Mutex<Option<String>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Does `work`. A panic in it, or in threads that it waits for, is an error with the first panic's message and place. Whatever `work` was
/// changing is lost with it.
///
/// # Errors
/// What the panic said.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            // Whoever waits for a thread that panicked panics too, and says less.
            if last.is_none() || !thread_of_another(info) {
                *last = Some(info.to_string());
            }
            drop(last);
            usual(info);
        }));
    });
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let said = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        said.unwrap_or_else(|| "a panic without a message".into())
    })
}

/// Whether the panic is that of a `thread::scope` whose thread panicked.
fn thread_of_another(info: &PanicHookInfo<'_>) -> bool {
    info.payload().downcast_ref::<&str>() == Some(&"a scoped thread panicked")
}
