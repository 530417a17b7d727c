//! The simulator as a library for C: the functions that `include/forebay.h` declares and describes.
//!
//! A panic is caught in every function, so that it never reaches the caller. That needs a build with unwinding panics.

#[cfg(all(panic = "abort", not(test)))]
compile_error!("libforebay needs unwinding panics: build it with `cargo build --profile wheel -p forebay-capi`");

mod error;
mod handle;

use error::{report, text};
use handle::Next;
pub use handle::{Callback, Handle};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `work` with the engine, unless it is NULL or has failed. An error, or a panic, becomes `failure` and the text of `forebay_error`.
fn enter<T>(engine: Option<&mut Handle>, failure: T, work: impl FnOnce(&mut Handle) -> Result<T, String>) -> T {
    let Some(handle) = engine else { return report("the engine is NULL", failure) };
    if handle.failed {
        return report("the engine has failed; only forebay_destroy is legal", failure);
    }
    // A panic may leave the engine half changed: it is marked, and not used again.
    match catch_unwind(AssertUnwindSafe(|| work(handle))) {
        Ok(Ok(value)) => value,
        Ok(Err(text)) => report(&text, failure),
        Err(_) => {
            handle.failed = true;
            report("a defect of forebay, printed on standard error; the engine cannot continue", failure)
        }
    }
}

/// Reads an argument of C.
///
/// # Safety
/// `text` is NULL, or a string that ends with a zero byte.
unsafe fn argument<'a>(name: &str, text: *const c_char) -> Result<&'a str, String> {
    if text.is_null() {
        return Err(format!("`{name}` is NULL"));
    }
    // SAFETY: the caller's promise; the reference is used during the call only.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| format!("`{name}` is not UTF-8"))
}

/// Reads a list of texts that ends with NULL; NULL is an empty list.
///
/// # Safety
/// `list` is NULL, or points to such a list of strings that end with a zero byte.
unsafe fn arguments(name: &str, list: *const *const c_char) -> Result<Vec<String>, String> {
    let mut texts = Vec::new();
    if !list.is_null() {
        // SAFETY: the caller's promise: all entries up to the first NULL exist.
        while let Some(text) = Some(unsafe { *list.add(texts.len()) }).filter(|t| !t.is_null()) {
            // SAFETY: as above.
            texts.push(unsafe { argument(name, text) }?.to_owned());
        }
    }
    Ok(texts)
}

/// See `forebay.h`.
///
/// # Safety
/// `file` is a string, and `settings` NULL or a list of strings that ends with NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_create(file: *const c_char, settings: *const *const c_char) -> *mut Handle {
    let create = || {
        // SAFETY: the caller's promises.
        let (file, settings) = unsafe { (argument("file", file)?, arguments("settings", settings)?) };
        Handle::open(file, &settings).map(Box::new)
    };
    match catch_unwind(create) {
        Ok(Ok(handle)) => Box::into_raw(handle),
        Ok(Err(text)) => report(&text, std::ptr::null_mut()),
        Err(_) => report("a defect of forebay, printed on standard error", std::ptr::null_mut()),
    }
}

/// See `forebay.h`.
///
/// # Safety
/// `engine` is NULL, or a result of `forebay_create` that has not been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_destroy(engine: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let Some(handle) = (unsafe { engine.as_ref() }) else { return 0 };
    if handle.running {
        return report("forebay_destroy was called in a callback; call it after forebay_run", -1);
    }
    // SAFETY: forebay_create made it with Box::into_raw, and no reference is alive, because no callback runs.
    let handle = unsafe { Box::from_raw(engine) };
    catch_unwind(AssertUnwindSafe(|| drop(handle)))
        .map_or_else(|_| report("a defect of forebay, printed on standard error", -1), |()| 0)
}

/// See `forebay.h`. NULL is `None`; so it is in the following functions.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_hosts(engine: Option<&mut Handle>) -> u32 {
    enter(engine, 0, |h| Ok(h.engine.hosts()))
}

/// See `forebay.h`.
///
/// # Safety
/// `name` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_host(engine: Option<&mut Handle>, name: *const c_char) -> i64 {
    enter(engine, -1, |h| {
        // SAFETY: the caller's promise.
        let name = unsafe { argument("name", name) }?;
        h.engine.host(name).map(i64::from).ok_or_else(|| format!("there is no host `{name}`"))
    })
}

/// See `forebay.h`. `callback` is NULL or a function that may be called with `argument` until it has been called.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_send(
    engine: Option<&mut Handle>,
    src: u32,
    dst: u32,
    bytes: u64,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    enter(engine, -1, |h| h.send((src, dst), bytes, callback, argument).map(|()| 0))
}

/// See `forebay.h`. `callback` and `argument` are as in [`forebay_send`].
#[unsafe(no_mangle)]
pub extern "C" fn forebay_schedule(
    engine: Option<&mut Handle>,
    delay: u64,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    enter(engine, -1, |h| h.schedule(delay, callback, argument).map(|()| 0))
}

/// See `forebay.h`.
///
/// # Safety
/// As [`forebay_destroy`]. The callbacks are functions as [`forebay_send`] expects them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_run(engine: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    if enter(unsafe { engine.as_mut() }, -1, |h| h.begin().map(|()| 0)) != 0 {
        return -1;
    }
    let result = loop {
        // SAFETY: the caller's promise; the reference that the last call made is gone.
        match enter(unsafe { engine.as_mut() }, Next::Failed, Handle::next) {
            // SAFETY: forebay_send and forebay_schedule demand such a function. No reference to the engine is alive, so that the callback may use it.
            Next::Call(callback, argument) => unsafe { callback(engine, argument) },
            Next::Done => break 0,
            Next::Failed => break -1,
        }
    };
    // SAFETY: the caller's promise; callbacks cannot destroy the engine while it runs.
    if let Some(handle) = unsafe { engine.as_mut() } {
        handle.running = false;
    }
    result
}

/// See `forebay.h`.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_now(engine: Option<&mut Handle>) -> u64 {
    enter(engine, 0, |h| Ok(h.engine.now().0))
}

/// See `forebay.h`.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_error() -> *const c_char {
    text()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: &str = "[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = { rate = \"1Gbps\", delay = \"1us\" }\n\
                           bottleneck = { rate = \"1Gbps\", delay = \"1us\", buffer = \"100pkt\" }\n[transport]\ncc = \"cubic\"\n";

    fn last_error() -> String {
        // SAFETY: the text of this thread, which no call changes meanwhile.
        unsafe { CStr::from_ptr(text()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn panic_becomes_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("network.toml");
        std::fs::write(&file, NETWORK).expect("a file");
        let mut handle = Handle::open(file.to_str().expect("a path"), &[]).expect("an engine");
        assert_eq!(forebay_hosts(Some(&mut handle)), 3);
        assert_eq!(enter(Some(&mut handle), -1, |_| panic!("planted")), -1);
        assert!(last_error().contains("defect"), "{}", last_error());
        assert_eq!(forebay_send(Some(&mut handle), 0, 1, 1, None, std::ptr::null_mut()), -1);
        // SAFETY: `handle` lives until the end of the test, and no other reference to it is alive.
        assert_eq!(unsafe { forebay_run(&raw mut handle) }, -1);
        assert!(last_error().contains("has failed"), "{}", last_error());
    }
}
