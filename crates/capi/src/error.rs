//! Text of the last error of a thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Stores the text of an error, and returns `result`.
pub(crate) fn report<T>(text: &str, result: T) -> T {
    // A zero byte would end the text for C.
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.set(text);
    result
}

/// The text of the last error, which lives until the next one of this thread.
pub(crate) fn text() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}
