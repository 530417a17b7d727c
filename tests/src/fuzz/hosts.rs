//! Files and messages of programs on real hosts, which are acted on with root's rights.

use forebay_hosts::{check_state_file, guard};

/// The state file of an attachment.
pub(crate) fn state_file(bytes: &[u8]) {
    if let Err(why) = check_state_file("fb_dctcp", bytes) {
        assert!(!why.is_empty());
    }
}

/// A message between a guard and the process that started it.
pub(crate) fn guard_message(bytes: &[u8]) {
    let accepted = guard::check_message(bytes);
    // Objects and strings only: anything else closes the channel.
    assert!(accepted.is_err() || matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'"')));
}
