//! Output of libbpf and the verifier, stored for our own messages.

use libbpf_rs::PrintLevel;
use std::sync::Mutex;

static TEXT: Mutex<String> = Mutex::new(String::new());

fn append(_: PrintLevel, text: String) {
    if let Ok(mut kept) = TEXT.lock() {
        kept.push_str(&text);
    }
}

/// Stores libbpf's output instead of printing it.
pub(crate) fn keep() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, append)));
}

/// As `keep`, after the stored output is cleared.
pub(crate) fn clear_and_capture() {
    if let Ok(mut kept) = TEXT.lock() {
        kept.clear();
    }
    keep();
}

/// The stored output.
pub(crate) fn text() -> String {
    TEXT.lock().map(|kept| kept.clone()).unwrap_or_default()
}
